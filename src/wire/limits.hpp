// Limits that client and head agree on.
#pragma once

#include <cstdint>

namespace tide {

// Processes of one job. Reports about all of them must fit into one message.
inline constexpr std::uint32_t kMaxProcessesPerJob = 131'072;

// Ranks of daemons ever given out in one DVM. It bounds what a single number in a message can make
// a receiver allocate.
inline constexpr std::uint32_t kMaxDaemonRanks = 1U << 22U;

// Jobs of one client that have not ended.
inline constexpr std::uint32_t kMaxJobsPerClient = 10'000;

// Files that one job brings, and how much of one is sent at a time.
inline constexpr std::uint32_t kMaxFilesPerJob = 10'000;
inline constexpr std::uint32_t kMaxFileChunkBytes = 128 * 1024;

// What is shown of the stacks of one process.
inline constexpr std::uint32_t kMaxStackTraceBytes = 16 * 1024;

}  // namespace tide
