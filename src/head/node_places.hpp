// The nodes that a command line asks for, now or later, and where each of them is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "head/options.hpp"
#include "launch/this_machine.hpp"

namespace tide::head {

struct NodePlace {
  std::string name;
  std::uint32_t slots = 0;                // 0: as the hardware has
  std::uint32_t max_slots = 0;            // 0: no limit
  std::string host = {};                  // of another machine; empty: this one
  std::string user = {};                  // there
  std::vector<std::string> aliases = {};  // as far as they are known here
  bool in_step = false;                   // started by a scheduler's command, with others at once
  std::string job = {};                   // … in this one of its jobs
};

class NodePlaces {
 public:
  // The hosts, or virtual nodes v1…vN of this machine where none are named; then those of the pool.
  // `in_step`: a scheduler's command starts daemons, also on this machine.
  NodePlaces(const HeadOptions& options, launch::ThisMachine machine, bool in_step = false);

  // Of the start; and those of the pool behind them.
  [[nodiscard]] std::span<const NodePlace> at_start() const {
    return std::span(places_).first(at_start_);
  }
  [[nodiscard]] const std::vector<NodePlace>& all() const { return places_; }
  // There are some, or may be: whoever names hosts can name others later, for a grow or a job.
  [[nodiscard]] bool has_other_machines() const { return on_others_ > 0 || may_get_others_; }
  [[nodiscard]] std::size_t on_other_machines() const { return on_others_; }
  // A scheduler's command starts daemons.
  [[nodiscard]] bool in_step() const { return in_step_; }
  // All are nodes of this machine that only look like several.
  [[nodiscard]] bool are_virtual() const { return virtual_; }
  // Of a node that is there.
  [[nodiscard]] const NodePlace& of(const std::string& node) const;

  // A host that joins later, of this job of a scheduler; one of the same name is replaced.
  const NodePlace& add(const rm::Host& host, const std::string& job = {});

 private:
  std::vector<NodePlace> places_;
  std::map<std::string, std::size_t> index_;  // by name
  launch::ThisMachine machine_;
  std::size_t at_start_ = 0;
  bool virtual_ = false;
  bool in_step_ = false;
  bool may_get_others_ = false;
  std::size_t on_others_ = 0;
};

// Open files of a head of these nodes that has so many sessions with other machines at once.
std::uint64_t descriptors_needed(std::size_t nodes, std::size_t sessions);

}  // namespace tide::head
