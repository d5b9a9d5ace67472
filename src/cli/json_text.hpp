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
  std::string kind;          // of the command: "grow"
  std::uint32_t number = 0;  // of the change; 0: there is none
  std::string allocation;    // empty: no node comes with it
  std::vector<std::string> nodes;
  std::vector<std::string> already;  // that come or leave with a change that came first
  std::uint64_t lease_ms = 0;        // they may stay so long; 0: no limit
  std::string lease_cut_by;  // the manager that granted less time than was asked for; empty: none
  bool complete = false;     // there was nothing to do for daemons
  std::string outcome;       // "done", "failed", "unknown"; empty: it goes on
  std::string cause;         // of a failure, in a word
  std::string text;
};

std::string change_json(const ShownChange& change);
std::string status_json(const wire::StatusReply& status);
std::string allocations_json(const wire::StatusReply& status);
std::string jobs_json(const wire::StatusReply& status);
std::string params_json(std::span<const ShownParam> params);
std::string error_json(const Error& error);

}  // namespace tide::cli
