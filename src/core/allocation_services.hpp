// What only whoever changes the DVM's size can do for processes and tools.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/ids.hpp"
#include "core/requester.hpp"
#include "wire/services.pb.h"

namespace tide::core {

// A process or tool that asks for a change: it is answered when the change begins, and told of its
// end by an event, where it is attached.
struct PmixAsker {
  wire::ProcName who;
  Requester from;
  bool by_tool = false;
  std::string request_id{};  // its own name for what it asks; empty: none
};

class AllocationServices {
 public:
  virtual ~AllocationServices() = default;
  virtual void allocate(const PmixAsker& asker, const wire::AllocationRequest& request) = 0;
  // A scheduler's word to whoever asked for an allocation; `by_tool`: it may be a scheduler's.
  virtual void relay_warning(const wire::TimeoutWarning& warning, bool by_tool) = 0;
  virtual void on_tool_joined(const std::string& nspace) = 0;
  // How long these may stay, and the DVM with them; none: as far as is known for ever.
  [[nodiscard]] virtual std::optional<std::uint64_t> time_left_ms(
      const std::set<Rank>& nodes) const = 0;
  // Who asked does not wait for the answer any more.
  virtual void cancel_allocation(const Requester& from) = 0;

  // ---- nobody is told in place of these ----
  virtual void on_proc_gone(const wire::ProcName& proc) = 0;
  virtual void on_nspace_gone(const std::string& nspace) = 0;
  virtual void on_daemon_gone(Rank daemon) = 0;
};

}  // namespace tide::core
