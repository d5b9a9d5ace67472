// The process's log: one line per call, written by a thread of its own, never blocking the caller.
// Link tide_log. Before log_init() and after log_shutdown() every call is a no-op.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/params.hpp"
#include "base/result.hpp"

namespace tide {

struct LogConfig {
  std::string path;     // appended to, made with mode 0600; empty: standard error
  std::string program;  // "prte", "prted" …
  std::string node;     // may be empty
  std::map<std::string, int, std::less<>> verbosity;  // by subsystem; 0 where not named
  // Beyond this the oldest waiting lines are dropped and counted; each costs 400 bytes of memory.
  std::size_t queue_lines = 2048;
};

// {"plm": 2, …} from the *_base_verbose parameters.
std::map<std::string, int, std::less<>> log_verbosity(const Params& params);

// Starts the writing thread: call it after the last fork() that continues in the child without
// exec. Replaces an earlier configuration.
Status log_init(LogConfig config);

// Whether a note would be written: for callers who must work to make the text.
bool log_enabled(std::string_view subsystem, int verbosity);

// Written if the subsystem's verbosity is at least `verbosity`; 0 is always written.
void log_note(std::string_view subsystem, int verbosity, std::string_view text);
void log_warning(std::string_view text);
void log_error(std::string_view text);

// Lines lost so far because the queue was full or the file could not take them.
std::uint64_t log_dropped_lines();

// Waits until all lines so far are written, at most `timeout_ms`; false if they were not.
bool log_flush(std::uint32_t timeout_ms = 1000);

// Writes what is waiting and ends the thread.
void log_shutdown();

}  // namespace tide
