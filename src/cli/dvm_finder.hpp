// Finds the DVM that a command means among those of this user on this machine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/run_directory.hpp"
#include "cli/dvm_choice.hpp"

namespace tide::cli {

// Those whose head lives, sorted by name. What dead ones left behind is passed over.
Result<std::vector<DvmInfo>> running_dvms(const std::string& run_base);

// The one running DVM that `choice` means. kNotFound: there is none, and the message says how to
// start or see one. kInvalidArgument: several run and none was chosen; the message lists them.
Result<DvmInfo> find_dvm(const std::string& run_base, const DvmChoice& choice,
                         std::uint64_t now_unix_ms);

// The list of DVMs for people: name, age, nodes, pid and URI, one line each under a heading.
std::string dvm_table(std::span<const DvmInfo> dvms, std::uint64_t now_unix_ms);

}  // namespace tide::cli
