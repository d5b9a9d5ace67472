#include "net/protocol.hpp"

#include <fmt/format.h>

namespace tide::net {

Status check_protocol(std::uint32_t peer_protocol, std::uint32_t peer_minimum) {
  if (peer_protocol >= kProtocolMinimum && kProtocol >= peer_minimum) return ok_status();
  return Error{ErrorCode::kProtocol,
               fmt::format("no common protocol version: one side speaks {} (oldest {}), the other "
                           "{} (oldest {})",
                           kProtocol, kProtocolMinimum, peer_protocol, peer_minimum)};
}

}  // namespace tide::net
