// A host that a daemon is to be started on, as a user names it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace tide::rm {

struct Host {
  std::string name;         // as given: a name or an address; the node is called so
  std::string user;         // empty: whoever starts the DVM
  std::uint32_t slots = 0;  // 0: as the hardware has
  std::uint32_t max_slots =
      0;  // processes it takes at most, also where slots may be exceeded; 0: no limit

  bool operator==(const Host&) const = default;
};

// Of slots that were said twice, where 0 says nothing.
inline std::uint32_t smaller_limit(std::uint32_t a, std::uint32_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

}  // namespace tide::rm
