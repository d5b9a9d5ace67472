// Whether two daemons are on one machine, whatever it is called.
#pragma once

#include <string>

namespace tide::exec {

// The same for all programs of one machine, another on every other, also where machines are
// namespaces of one kernel. Machines that only look like several are told apart by TIDE_MACHINE in
// the environment, set by whoever makes them.
std::string machine_identity();

}  // namespace tide::exec
