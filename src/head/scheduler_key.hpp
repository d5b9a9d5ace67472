// What a scheduler proves itself by: the contents of a file that only whoever runs the DVM reads.
#pragma once

#include <string>

#include "base/result.hpp"

namespace tide::head {

// Of this file, without white space at its end; empty where no file is named. An error if it can't
// be read, if others may read it, or if it is too short to prove anything.
Result<std::string> read_scheduler_key(const std::string& path);

}  // namespace tide::head
