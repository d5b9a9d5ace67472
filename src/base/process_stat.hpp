// /proc/PID/stat, of which several want to know something.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tide {

// The fields after the program's name, which is in parentheses and may hold anything; the first is
// the state, the 3rd field of all. Empty: the line makes no sense.
std::vector<std::string> stat_fields_after_name(std::string_view line);

// Ended, and at most not reaped.
bool is_ended_state(std::string_view state);

}  // namespace tide
