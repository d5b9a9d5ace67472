#include "exec/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>

namespace tide::exec {
namespace {

hwloc_topology_t as_hwloc(void* handle) {
  return static_cast<hwloc_topology_t>(handle);
}

std::uint32_t count(void* handle, hwloc_obj_type_t type) {
  // Machines that do not tell (some virtual ones) have one of it.
  return static_cast<std::uint32_t>(std::max(1, hwloc_get_nbobjs_by_type(as_hwloc(handle), type)));
}

// Those that this process may run on, and who it starts; empty if that is not known.
std::string own_processors(hwloc_topology_t topology) {
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> set(hwloc_bitmap_alloc(),
                                                                          hwloc_bitmap_free);
  char* list = nullptr;
  const bool known = set != nullptr &&
                     hwloc_get_cpubind(topology, set.get(), HWLOC_CPUBIND_PROCESS) == 0 &&
                     hwloc_bitmap_list_asprintf(&list, set.get()) >= 0;
  std::string text = known ? list : "";
  std::free(list);  // NOLINT(*-no-malloc): hwloc's
  return text;
}

}  // namespace

void Hardware::Destroy::operator()(void* handle) const {
  hwloc_topology_destroy(as_hwloc(handle));
}

Result<Hardware> Hardware::discover() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return system_error("cannot start hwloc", errno);
  Hardware hardware(raw);
  // What HWLOC_COMPONENTS=-gl does, without a change to the environment that processes inherit:
  // that component opens X displays. It is fine if it is not installed.
  (void)hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "gl");
  if (hwloc_topology_load(raw) != 0) return system_error("hwloc cannot read the topology", errno);
  return hardware;
}

wire::Topology Hardware::topology() const {
  wire::Topology result;
  result.set_packages(count(handle_.get(), HWLOC_OBJ_PACKAGE));
  result.set_cores(count(handle_.get(), HWLOC_OBJ_CORE));
  result.set_hwthreads(count(handle_.get(), HWLOC_OBJ_PU));
  result.set_cpuset(own_processors(as_hwloc(handle_.get())));
  return result;
}

Result<wire::Topology> discover_topology() {
  const auto hardware = Hardware::discover();
  if (!hardware) return hardware.error();
  return hardware->topology();
}

}  // namespace tide::exec
