// Many names of hosts in few letters.
#pragma once

#include <string>
#include <vector>

namespace tide::hosts {

// `node[1-3,7],gpu01`: names that differ in the number at their end only share a bracket, with the
// zeros that their numbers have in front. Sorted, each name once. Read back by written_out(), and
// by schedulers.
std::string short_list(const std::vector<std::string>& names);

}  // namespace tide::hosts
