// A resource manager: where nodes of a DVM come from, and go back to. Several may be active at
// once; each keeps its own book of what it has granted.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/events.hpp"
#include "hosts/host_word.hpp"
#include "rm/host.hpp"

namespace tide::rm {

class Manager {
 public:
  Manager() = default;
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  Manager(Manager&&) = delete;
  Manager& operator=(Manager&&) = delete;
  virtual ~Manager() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;

  // Whether it is the one to ask for this host, by whatever spelling of its name.
  [[nodiscard]] virtual bool supplies(std::string_view host) const = 0;
  // So many, or the named ones; as a whole or not at all. Exactly one of the two is given.
  virtual Result<std::vector<Host>> grant(std::uint32_t count,
                                          std::span<const hosts::HostWord> named) = 0;
  // For how long, if so long is wished.
  [[nodiscard]] virtual core::Lease lease(core::Lease wish) const = 0;
  // Those of `names` that it granted are its own again.
  virtual core::ReturnVerdict take_back(std::span<const std::string> names) = 0;

  // Daemons were started there: from now on whoever is neither known to the DVM nor taken back was
  // lost.
  virtual void note_started(std::span<const std::string> names) = 0;
  // Takes back what was lost; `known` are the nodes that the DVM has, gets or gives back.
  virtual void free_lost(const std::set<std::string>& known) = 0;
};

}  // namespace tide::rm
