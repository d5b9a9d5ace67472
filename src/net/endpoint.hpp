// Network addresses: how they are written, and which to tell others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "wire/link.pb.h"

namespace tide::net {

// "127.0.0.1:4711", "[::1]:4711".
std::string endpoint_text(const std::string& address, std::uint32_t port);

// `address` as given to listen(); for a wildcard every address of an interface that is up, except
// loopback and link-local ones, which mean nothing elsewhere (loopback when there is no other).
Result<std::vector<wire::Endpoint>> endpoints_to_tell(const std::string& address,
                                                      std::uint16_t port);

}  // namespace tide::net
