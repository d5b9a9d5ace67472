// The same for programs: JSON documents of schema version 1, described in docs/status-json.md.
#pragma once

#include <span>
#include <string>

#include "base/result.hpp"
#include "cli/status_text.hpp"
#include "wire/client.pb.h"

namespace tide::cli {

std::string status_json(const wire::StatusReply& status);
std::string jobs_json(const wire::StatusReply& status);
std::string params_json(std::span<const ShownParam> params);
std::string error_json(const Error& error);

}  // namespace tide::cli
