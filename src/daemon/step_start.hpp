// `prted --step`: one task of a scheduler's step, which starts the daemon of this machine for a
// head elsewhere.
#pragma once

#include <string>

namespace tide::daemon {

// Takes from standard input what all daemons of the step are told, finds its own part by the name
// of this machine, and stays until the daemon has ended, or standard input. What it says on
// standard output is in launch/step_words.hpp.
int run_step(const std::string& version);

}  // namespace tide::daemon
