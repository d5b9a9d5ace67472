// What a daemon's starter on another machine and the foreground there exchange over its streams.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include "base/result.hpp"
#include "exec/secret.hpp"

namespace tide::daemon {

using Clock = std::chrono::steady_clock;

// Before a key comes: no core file will hold it, and no terminal shows it.
Status guard_session();

// What stands on standard input with its length before it, of so many bytes at most.
Result<exec::Secret> read_framed(std::size_t most_bytes);

bool write_all(int fd, std::string_view text);

// For poll(): 0 when it is over.
int ms_until(Clock::time_point deadline);

}  // namespace tide::daemon
