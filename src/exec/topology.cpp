#include "exec/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <type_traits>

namespace tide::exec {
namespace {

using TopologyPtr =
    std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)>;

std::uint32_t count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  // Machines that do not tell (some virtual ones) have one of it.
  return static_cast<std::uint32_t>(std::max(1, hwloc_get_nbobjs_by_type(topology, type)));
}

}  // namespace

Result<wire::Topology> discover_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return system_error("cannot start hwloc", errno);
  const TopologyPtr topology(raw, &hwloc_topology_destroy);
  // What HWLOC_COMPONENTS=-gl does, without a change to the environment that processes inherit:
  // that component opens X displays. It is fine if it is not installed.
  (void)hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "gl");
  if (hwloc_topology_load(raw) != 0) return system_error("hwloc cannot read the topology", errno);
  wire::Topology result;
  result.set_packages(count(raw, HWLOC_OBJ_PACKAGE));
  result.set_cores(count(raw, HWLOC_OBJ_CORE));
  result.set_hwthreads(count(raw, HWLOC_OBJ_PU));
  return result;
}

}  // namespace tide::exec
