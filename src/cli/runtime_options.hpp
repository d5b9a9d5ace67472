// What --runtime-options takes: a list of what becomes of a job in cases that people decide about.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "wire/job.pb.h"

namespace tide::cli {

// Adds the directives in `text`, a list, to the job: `recoverable`, `error-nonzero-status=no`,
// `max-restarts=3`.
Status parse_runtime_options(std::string_view text, wire::JobSpec& job);

}  // namespace tide::cli
