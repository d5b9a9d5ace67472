// The whole thin client as a function.
#pragma once

#include <span>
#include <string_view>

namespace tide::cli {

// Does what the command line says, by the name in argv[0]; `environment` is a null-terminated array
// such as environ. Returns the exit status.
int run_program(std::span<const std::string_view> argv, const char* const* environment);

}  // namespace tide::cli
