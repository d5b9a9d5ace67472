#include "base/process_stat.hpp"

#include "base/text.hpp"

namespace tide {

std::vector<std::string> stat_fields_after_name(std::string_view line) {
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 > line.size()) return {};
  return split(trim(line.substr(name_end + 2)), ' ');
}

bool is_ended_state(std::string_view state) {
  return state == "Z" || state == "X";
}

}  // namespace tide
