// The first message each way on a link: who we are, and whether the peer is acceptable.
#pragma once

#include <optional>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "net/link_config.hpp"
#include "wire/link.pb.h"

namespace tide::net {

wire::LinkMessage hello_message(const LinkConfig& config);

// Fine when versions overlap, the DVM is ours and, for a link that we opened, the peer is the one
// `asked_for`. The Error's text is made to be sent to the peer in a goodbye.
Status check_hello(const LinkConfig& config, std::optional<Rank> asked_for,
                   const wire::Hello& hello);

// The reason of a goodbye as the end of a link.
LinkEnd link_end_of(wire::GoodbyeReason reason);

}  // namespace tide::net
