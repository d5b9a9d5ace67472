#include "say/granting.hpp"

#include <fmt/format.h>

namespace tide::say {

Error bad_node_list(const HostPlace& place, HostFault fault) {
  return invalid(what_is_wrong(place, fault));
}

Error bad_count_list(const HostPlace& place) {
  return invalid(what_is_wrong(place, HostFault::kBadSlots));
}

}  // namespace tide::say
