// Where an elastic DVM gets nodes from while it runs, and gives them back to: the pool, in place of
// a scheduler, and hosts that whoever asks names.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "head/node_places.hpp"
#include "head/options.hpp"
#include "rm/pool.hpp"
#include "wire/elastic.pb.h"

namespace tide::head {

// A node as its place says, with an incarnation of its own.
core::NodeRequest node_request(const NodePlace& place);

class NodeSupply {
 public:
  // What the DVM knows of its nodes.
  struct View {
    std::set<std::string> staying;  // those it has, or gets, and that are not leaving
    std::set<std::string> known;    // these, and those that it gives back
  };

  // Hosts that are named later are added to `places`, which has to stay.
  NodeSupply(const HeadOptions& options, NodePlaces& places);

  Result<std::vector<core::NodeRequest>> grant(const core::AskForNodes& ask, const View& view);
  Result<std::vector<core::NodeRequest>> push(const wire::PoolOrder& order, const View& view);
  [[nodiscard]] Result<std::vector<std::string>> reclaim(const wire::PoolOrder& order,
                                                         const View& view) const;
  void note_started(std::span<const std::string> nodes) { pool_.note_started(nodes); }
  void take_back(std::span<const std::string> nodes) { pool_.take_back(nodes); }

 private:
  using Words = std::vector<hosts::HostWord>;

  Result<std::vector<core::NodeRequest>> grant(std::uint32_t count, const Words& words);
  [[nodiscard]] Result<std::vector<rm::Host>> strangers(const Words& words) const;

  NodePlaces& places_;
  rm::Pool pool_;
  std::uint32_t default_slots_;
};

}  // namespace tide::head
