// Limits that client and head agree on.
#pragma once

#include <cstdint>

namespace tide {

// Processes of one job. Reports about all of them must fit into one message.
inline constexpr std::uint32_t kMaxProcessesPerJob = 131'072;

}  // namespace tide
