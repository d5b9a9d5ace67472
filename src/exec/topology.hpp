// The hardware of this node. A library of its own: only the daemon pays for hwloc.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "wire/link.pb.h"

namespace tide::exec {

// The hardware as hwloc sees it, loaded once for all who want to know: it takes milliseconds.
class Hardware {
 public:
  static Result<Hardware> discover();

  // Packages, cores and hardware threads that this program may use.
  [[nodiscard]] wire::Topology topology() const;
  // The hwloc_topology_t itself, for libraries that take one. Lives as long as this object or what
  // it was moved to.
  [[nodiscard]] void* hwloc_topology() const { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(void* handle) const;
  };
  explicit Hardware(void* handle) : handle_(handle) {}
  std::unique_ptr<void, Destroy> handle_;
};

// For who needs the numbers only.
Result<wire::Topology> discover_topology();

}  // namespace tide::exec
