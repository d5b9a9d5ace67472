// Nodes that a job asks for beyond those that the DVM has: --add-host, --add-hostfile, --activate.
#pragma once

#include "cli/command_line.hpp"
#include "wire/job.pb.h"

namespace tide::cli {

// Reads the files. Of all programs of the job together.
Status take_added_nodes(const CommandLine& line, wire::JobSpec& job);

}  // namespace tide::cli
