// Assertions for what must be true, kept on in production.
#pragma once

namespace tide {
// Prints the failed condition with its place and aborts (which dumps the flight recorder).
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace tide

#define TIDE_CHECK(condition)                               \
  do {                                                      \
    if (!(condition)) [[unlikely]]                          \
      ::tide::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
