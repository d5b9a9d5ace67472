// Names of nodes, jobs and namespaces, as people see lists of them.
#pragma once

#include <string>
#include <vector>

#include "base/next_step.hpp"
#include "base/text.hpp"

namespace tide::cli {

template <class Names>
std::vector<std::string> list_of(const Names& names) {
  return {names.begin(), names.end()};
}

// The first ones of many; a dash for none.
template <class Names>
std::string listed(const Names& names) {
  return names.empty() ? "-" : one_line(say::name_list(list_of(names)));
}

}  // namespace tide::cli
