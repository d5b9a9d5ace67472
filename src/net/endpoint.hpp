// Network addresses: how they are written, which to tell others, and which of a peer's to try
// first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "net/interfaces.hpp"
#include "wire/link.pb.h"

namespace tide::net {

// "127.0.0.1:4711", "[::1]:4711".
std::string endpoint_text(const std::string& address, std::uint32_t port);

// `address` as given to listen(); for a wildcard every address of an interface that is up, except
// loopback and link-local ones, which mean nothing elsewhere (loopback when there is no other).
Result<std::vector<wire::Endpoint>> endpoints_to_tell(const std::string& address,
                                                      std::uint16_t port);

// A peer's endpoints in the order in which to try them, from a machine with these interfaces.
// A peer whose addresses are all ours is on this machine: loopback first. On another machine:
// first those in a network of ours. What leads back to us is left out, loopback and the addresses
// that each machine has alike (of bridges for containers, say): it can't be the peer that answers
// there. Otherwise the order is kept.
std::vector<wire::Endpoint> ranked_endpoints(std::vector<wire::Endpoint> endpoints,
                                             const std::vector<Interface>& own);

}  // namespace tide::net
