// A job as the head is asked for it, made from a command line.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "cli/command_line.hpp"
#include "cli/environment.hpp"
#include "cli/signal_source.hpp"
#include "cli/values.hpp"
#include "wire/job.pb.h"

namespace tide::cli {

struct JobRequest {
  wire::JobSpec job;
  OutputStyle output;
  std::string target_request;      // of the reservation it is aimed at; the DVM knows its id
  std::vector<std::string> files;  // paths of the files that the job brings
  std::set<int> forwarded_signals = usual_forwarded_signals();
  std::vector<std::string> warnings;  // one line each
};

// `working_directory` is absolute: the client's own, used where none or a relative one is given.
// kInvalidArgument, with a message for people, where a value makes no sense.
Result<JobRequest> make_job_request(const CommandLine& line, const Environment& environment,
                                    const std::string& working_directory);

// What --prtemca says, and options that are parameters, in the order given.
std::vector<std::pair<std::string, std::string>> command_line_params(const CommandLine& line);

}  // namespace tide::cli
