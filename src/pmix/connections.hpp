// The connections of libpmix's server, as the kernel has them. What is asked here does not wait for
// libpmix's thread, and may be out of date at once.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

namespace tide::pmix {

// Of every descriptor of ours that is at this port: the listener and what it accepted.
void for_all_at_port(std::uint16_t port, const std::function<void(int)>& what);
bool is_listener(int descriptor);
// Has it a filter, which HandshakeGuard takes away when the connection was answered?
bool has_filter(int descriptor);

// The connections for which libpmix has something to do yet: whoever is at the other end is still
// being let in, or has gone. By numbers that are never given twice.
std::set<std::uint64_t> unsettled_connections(std::uint16_t port);

}  // namespace tide::pmix
