// Reservations that a job is aimed at: --target, --alloc-id, --alloc-refid.
#pragma once

#include <string>

#include "cli/command_line.hpp"
#include "wire/client.pb.h"

namespace tide::cli {

// Those that are named by their ids.
Status take_targets(const CommandLine& line, wire::JobSpec& job);

// The one that its owner calls `request`, as the DVM has it. kNotFound: there is none.
Status aim_at_request(const wire::StatusReply& status, const std::string& request,
                      wire::JobSpec& job);

}  // namespace tide::cli
