// The short forms in which Slurm, and who follows it, write lists: of nodes, and of numbers for
// them. Pure. Errors say what is wrong and where; what to do about it is for who knows whose the
// list is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tide::rm {

// `node[1-3,07-10],gpu[1-2]-ib,a[1-2]b[3-4]`, written out in its order: zeros in front are kept,
// of several brackets the last one changes fastest. At least one name and no more than
// hosts::kMaxHosts, each fit to be handed to a command. `source` is named in errors.
Result<std::vector<std::string>> expand_slurm_list(std::string_view list,
                                                   std::string_view source = "a list of nodes");

// `4(x3),2` is 4, 4, 4, 2: a number of slots for each of several nodes.
Result<std::vector<std::uint32_t>> expand_slurm_counts(
    std::string_view list, std::string_view source = "a list of counts");

}  // namespace tide::rm
