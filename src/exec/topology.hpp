// The hardware of this node. A library of its own: only the daemon pays for hwloc.
#pragma once

#include "base/result.hpp"
#include "wire/link.pb.h"

namespace tide::exec {

// Packages, cores and hardware threads that this program may use.
Result<wire::Topology> discover_topology();

}  // namespace tide::exec
