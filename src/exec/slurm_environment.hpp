// What Slurm has left in the environment, and what of it its commands would take for options.
#pragma once

#include <string>
#include <vector>

#include "exec/environment.hpp"

namespace tide::exec {

// Names of the variables that tell a command of Slurm which job it is about or what to do: those of
// the job that we run in. Those by which it finds its controller are not among them.
std::vector<std::string> slurm_variables_that_steer(const Environment& environment);

}  // namespace tide::exec
