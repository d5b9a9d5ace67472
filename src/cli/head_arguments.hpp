// How the head is told what kind of DVM is wanted.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.hpp"

namespace tide::cli {

// Adds the options of a DVM to start, as prte takes them, in the order given.
void add_head_options(const CommandLine& line, std::vector<std::string>& argv);

// For execv and its kin: valid as long as `argv`.
std::vector<char*> argument_pointers(std::vector<std::string>& argv);

}  // namespace tide::cli
