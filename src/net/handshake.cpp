#include "net/handshake.hpp"

#include <fmt/format.h>

#include "net/protocol.hpp"

namespace tide::net {

wire::LinkMessage hello_message(const LinkConfig& config) {
  wire::LinkMessage message;
  wire::Hello& hello = *message.mutable_hello();
  hello.set_protocol(kProtocol);
  hello.set_protocol_minimum(kProtocolMinimum);
  hello.set_dvm_id(config.dvm_id);
  hello.set_rank(config.rank.value());
  hello.set_incarnation(config.incarnation.value());
  hello.set_campaign(config.campaign);
  return message;
}

Status check_hello(const LinkConfig& config, std::optional<Rank> asked_for,
                   const wire::Hello& hello) {
  if (Status status = check_protocol(hello.protocol(), hello.protocol_minimum()); !status)
    return status;
  if (hello.dvm_id() != config.dvm_id)
    return Error{ErrorCode::kPermissionDenied,
                 fmt::format("DVM {} does not know DVM {}", config.dvm_id, hello.dvm_id())};
  const Rank peer(hello.rank());
  if (asked_for && peer != *asked_for)
    return Error{
        ErrorCode::kPermissionDenied,
        fmt::format("rank {} answers where rank {} should be", peer.value(), asked_for->value())};
  if (peer == config.rank)
    return Error{ErrorCode::kPermissionDenied,
                 fmt::format("the peer claims to be rank {}, and so are we", peer.value())};
  return ok_status();
}

LinkEnd link_end_of(wire::GoodbyeReason reason) {
  switch (reason) {
    case wire::GOODBYE_REFUSED:
      return LinkEnd::kRefused;
    case wire::GOODBYE_DECLARED_DEAD:
      return LinkEnd::kDeclaredDead;
    case wire::GOODBYE_MOVED:
      return LinkEnd::kMoved;
    default:
      return LinkEnd::kClosed;
  }
}

}  // namespace tide::net
