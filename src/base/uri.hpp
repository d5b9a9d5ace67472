// The address of a DVM as `<dvm_id>.0;tcp4://127.0.0.1:PORT` or `<dvm_id>.0;tcp6://[::1]:PORT`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tide {

struct DvmUri {
  std::string dvm_id;
  Rank rank = kHeadRank;
  std::string address;  // numeric, IPv6 without brackets
  std::uint16_t port = 0;

  bool operator==(const DvmUri&) const = default;
};

// The address decides between tcp4 and tcp6.
std::string compose_dvm_uri(const DvmUri& uri);

// White space around it (a line read from a file) is ignored.
Result<DvmUri> parse_dvm_uri(std::string_view text);

}  // namespace tide
