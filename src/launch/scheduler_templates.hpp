// How each scheduler's own command starts programs on the nodes of a job: a table.
#pragma once

#include <optional>
#include <string_view>

#include "launch/step_command.hpp"

namespace tide::launch {

// `manager` is named as by the parameter ras. Nothing for one that has no command which passes its
// standard input on, and for none.
std::optional<StepTemplate> template_of(std::string_view manager);

}  // namespace tide::launch
