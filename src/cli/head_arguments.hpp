// How the head is told what kind of DVM is wanted.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/command_line.hpp"

namespace tide::cli {

// The hosts on the command line are all there is in the DVM, and the job need not choose: prterun
// with one program and without --nodes.
bool hosts_are_the_dvm(const CommandLine& line);

// What the command line says of the hosts of a DVM to start is written as it should be. Files are
// for the head alone to read: they may be pipes.
Status check_hosts(const CommandLine& line);

// Adds the options of a DVM to start, as prte takes them, in the order given.
void add_head_options(const CommandLine& line, std::vector<std::string>& argv);

// For execv and its kin: valid as long as `argv`.
std::vector<char*> argument_pointers(std::vector<std::string>& argv);

}  // namespace tide::cli
