// The version of what is said on links and local sockets, and the rule by which two versions agree.
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace tide::net {

inline constexpr std::uint32_t kProtocol = 1;         // what this program speaks
inline constexpr std::uint32_t kProtocolMinimum = 1;  // the oldest that it understands

// Before a peer has introduced itself nothing large is taken from it.
inline constexpr std::uint32_t kMaxHelloBytes = 4096;

// Fine when the ranges of both sides overlap, else an Error that names both.
Status check_protocol(std::uint32_t peer_protocol, std::uint32_t peer_minimum);

}  // namespace tide::net
