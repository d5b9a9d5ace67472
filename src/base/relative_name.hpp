// Names of files that stay below the directory they are meant for.
#pragma once

#include <algorithm>
#include <string_view>

namespace tide {

// Not absolute, and without an element that is empty, "." or "..".
inline bool stays_below(std::string_view name) {
  constexpr std::size_t kLongest = 4096;
  if (name.empty() || name.size() >= kLongest || name.find('\0') != std::string_view::npos) {
    return false;
  }
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t slash = std::min(name.find('/', from), name.size());
    const std::string_view element = name.substr(from, slash - from);
    if (element.empty() || element == "." || element == "..") return false;
    from = slash + 1;
  }
  return true;
}

}  // namespace tide
