// One word that names hosts, as people write it in hostfiles and after --host.
#pragma once

#include <cstdint>
#include <string>

#include "say/hosts.hpp"

namespace tide::hosts {

struct HostWord {
  enum class Kind : std::uint8_t {
    kName,   // a name or an address
    kIndex,  // +n3: a place in a list that is known elsewhere
    kEmpty,  // +e, +e:2: nodes of such a list that nobody uses
  };
  Kind kind = Kind::kName;
  bool excluded = false;        // ^node: not this one
  std::string name;             // of kName
  std::string user;             // empty: none given
  std::uint32_t number = 0;     // of kIndex: the place, from 0; of kEmpty: how many, 0 for all
  std::uint32_t slots = 0;      // 0: none given
  std::uint32_t max_slots = 0;  // 0: none given
  say::HostPlace place{};       // where it is written
};

inline constexpr std::uint32_t kMaxSlotsPerHost = 65'536;
inline constexpr std::size_t kMaxHosts = 100'000;  // in one file or list, ranges written out
inline constexpr std::size_t kMaxHostNameLength = 253;

}  // namespace tide::hosts
