// The same for programs: JSON documents of schema version 1, described in docs/json.md.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/status_text.hpp"
#include "wire/client.pb.h"

namespace tide::cli {

// What a command that changes the size of a DVM has to tell.
struct ShownChange {
  bool shrinks = false;
  std::string allocation;
  std::vector<std::string> nodes;
  std::uint64_t lease_ms = 0;  // they may stay so long; 0: no limit
  bool complete = false;       // there was nothing to do for daemons
  std::string outcome;         // "done", "failed", "unknown"; empty: not waited for
  std::string cause;           // of a failure, in a word
  std::string text;
};

std::string change_json(const ShownChange& change);
std::string status_json(const wire::StatusReply& status);
std::string jobs_json(const wire::StatusReply& status);
std::string params_json(std::span<const ShownParam> params);
std::string error_json(const Error& error);

}  // namespace tide::cli
