// Names of hosts with ranges in brackets, written out.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "say/hosts.hpp"

namespace tide::hosts {

// What is wrong, and with which part of the text that was given.
struct NameFault {
  say::HostFault fault = say::HostFault::kNoName;
  std::string_view part;
};

// `node[01-03]` is node01, node02, node03: zeros in front are kept. Several brackets make every
// combination, the last one changing fastest. At most `limit` names.
std::variant<std::vector<std::string>, NameFault> written_out(std::string_view pattern,
                                                              std::size_t limit);

// An IPv6 address, which may have a zone: fe80::1%eth0.
bool is_ipv6(std::string_view text);

}  // namespace tide::hosts
