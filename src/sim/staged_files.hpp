// The disks of all hosts: the files that jobs brought, as how many pieces of them are there.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "core/actions.hpp"
#include "sim/hash.hpp"
#include "sim/network.hpp"

namespace tide::sim {

class World;

inline constexpr std::uint32_t kPiecesPerFile = 3;

class StagedFiles {
 public:
  explicit StagedFiles(World& world) : world_(world) {}

  // False: it was none of these.
  bool perform(HostId host, const core::Action& action);
  // Whoever outlives the host's daemon has removed what it left.
  void host_gone(HostId host);

  // Throws unless the host has all that the job brings.
  void require_all(HostId host, JobId job) const;
  [[nodiscard]] bool any_on(HostId host) const;
  [[nodiscard]] bool any_of(HostId host, JobId job) const { return pieces_.contains({host, job}); }
  void add_to(Hash& hash) const;

 private:
  void stage(HostId host, const core::StageFile& order);
  void remove(HostId host, JobId job);

  World& world_;
  std::map<std::pair<HostId, JobId>, std::uint32_t> pieces_;
  std::map<std::pair<HostId, JobId>, std::uint64_t> busy_until_us_;  // pieces are written in order
};

}  // namespace tide::sim
