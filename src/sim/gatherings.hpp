// What processes do together: each daemon's server waits for those that are there, then tells its
// core, as libpmix does. What comes back is held against who came.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/actions.hpp"
#include "sim/what.hpp"

namespace tide::sim {

class Services;
struct Given;

class Gatherings {
 public:
  using Id = std::pair<std::uint32_t, std::uint32_t>;  // a job, and which of its steps
  struct Plan {
    Id id;
    wire::CollectiveId::Kind kind = wire::CollectiveId::FENCE;
    std::string name;
    wire::ProcNames names;
    std::vector<core::ProcKey> participants;
    std::uint32_t timeout_ms = 0;
  };

  explicit Gatherings(Services& services) : services_(services) {}

  [[nodiscard]] bool knows(Id id) const { return gatherings_.contains(id); }
  void plan(Plan plan) { gatherings_[plan.id].plan = std::move(plan); }
  void come(Id id, core::ProcKey who);
  void on_ended(core::ProcKey who, HostId host);
  void host_gone(HostId host);

 private:
  struct Local {
    std::vector<core::ProcKey> expected;
    std::set<core::ProcKey> came;
    bool entered = false;
  };
  struct Gathering {
    Plan plan;
    std::map<HostId, Local> locals;
    std::optional<std::string> result;
    std::uint64_t context = 0;
    std::uint64_t first_ms = 0;
  };

  void enter_if_complete(Gathering& gathering, HostId host);
  void on_answer(Id id, HostId host, const Given& given);
  void check_success(Gathering& gathering, HostId host, const Given& given);
  void check_failure(const Gathering& gathering, const Given& given) const;

  Services& services_;
  std::map<Id, Gathering> gatherings_;
  std::set<std::pair<Id, HostId>> incomplete_;
  std::set<std::uint64_t> contexts_;
};

}  // namespace tide::sim
