// The network interfaces of this machine, and which of their addresses a DVM uses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace tide::net {

struct InterfaceAddress {
  std::string address;            // in numbers
  std::uint32_t prefix_bits = 0;  // of its network
  bool loopback = false;
};

struct Interface {
  std::string name;
  bool up = false;
  std::vector<InterfaceAddress> addresses;  // IPv4 and IPv6, without link-local ones
};

// All there are, those that are down or have no address included.
Result<std::vector<Interface>> interfaces_of_this_machine();

// The value of prte_if_include or prte_if_exclude, on the machine of this name.
struct InterfaceChoice {
  std::string parameter;
  std::string value;
  std::string machine;
  bool excludes = false;
};

// Each interface that is named must be there.
Status check_interface_names(const std::vector<Interface>& all, const InterfaceChoice& choice);

// Addresses of interfaces that are up, in the order of the list. Loopback means nothing to other
// machines, so it is only taken where it is asked for. None left is an error.
Result<std::vector<std::string>> chosen_addresses(const std::vector<Interface>& all,
                                                  const InterfaceChoice& choice);

}  // namespace tide::net
