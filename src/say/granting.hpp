// Messages about nodes that a scheduler has granted before the DVM starts, and how they are found.
#pragma once

#include <string>
#include <string_view>

#include "base/messages.hpp"
#include "say/hosts.hpp"

namespace tide::say {

// ---- texts of schedulers that are not understood; without what to do ----
Error bad_node_list(const HostPlace& place, HostFault fault);
Error bad_count_list(const HostPlace& place);

}  // namespace tide::say
