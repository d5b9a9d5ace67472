// Assertions for what must be true, kept on in production.
#pragma once

namespace tide {
// Prints the failed condition with its place and aborts (which dumps the flight recorder).
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
// For the simulator, which goes on with another world: called with the text instead of aborting,
// and must not return (it throws). One for the whole program, to be set before threads are started.
void set_check_failure_handler(void (*handler)(const char* text));
}  // namespace tide

#define TIDE_CHECK(condition)                               \
  do {                                                      \
    if (!(condition)) [[unlikely]]                          \
      ::tide::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
