// A program that is run for what it prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.hpp"

namespace tide::exec {

struct CommandLimits {
  std::uint32_t time_ms = 30'000;
  std::size_t bytes = std::size_t{16} << 20U;
};

// What `argv` prints to standard output; an error where it does not end with status 0, with what it
// said on standard error, or where it exceeds a limit, and is killed then with all that it started
// in its process group. Blocks: for the start of a program, not for its loop.
Result<std::string> command_output(std::span<const std::string> argv,
                                   const CommandLimits& limits = {});

}  // namespace tide::exec
