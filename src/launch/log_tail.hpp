// The last words of a program, from its log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tide::launch {

// Size of the file now; 0 if there is none. What is written later starts here.
std::uint64_t log_size(const std::string& path);

// At most the last `max_lines` lines written from `from_bytes` on, within the last 4 KiB, each with
// control characters made visible and preceded by `prefix`. Empty where there are none.
std::string log_tail(const std::string& path, std::uint64_t from_bytes, std::size_t max_lines,
                     const std::string& prefix);

}  // namespace tide::launch
