#include "head/node_places.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/check.hpp"

namespace tide::head {

NodePlaces::NodePlaces(const HeadOptions& options, launch::ThisMachine machine, bool in_step)
    : machine_(std::move(machine)),
      virtual_(options.hosts.empty()),
      in_step_(in_step),
      may_get_others_(!options.hosts.empty()) {
  const std::string job = options.grant ? options.grant->job : std::string();
  for (const auto& host : options.hosts) add(host, job);
  const std::uint32_t nodes = virtual_ ? options.nodes : 0;
  for (std::uint32_t i = 1; i <= nodes + options.pool_nodes; ++i) {
    add(rm::Host{fmt::format("v{}", i), "", options.slots, 0});
  }
  at_start_ = places_.size() - options.pool_nodes;
  for (const auto& host : options.pool_hosts) {
    if (!index_.contains(host.name)) add(host);
  }
}

const NodePlace& NodePlaces::add(const rm::Host& host, const std::string& job) {
  const auto [entry, is_new] = index_.try_emplace(host.name, places_.size());
  if (is_new) places_.emplace_back();
  NodePlace& place = places_[entry->second];
  if (!place.host.empty()) --on_others_;
  place = NodePlace{host.name, host.slots, host.max_slots};
  if (virtual_) return place;
  if (in_step_) {
    place.host = host.name;
    place.in_step = true;
    place.job = job;
    ++on_others_;
    return place;
  }
  const bool as_us = host.user.empty() || host.user == launch::our_user_name();
  if (!machine_.is(host.name) || !as_us) {
    place.host = host.name;
    place.user = host.user;
    ++on_others_;
  } else {
    place.aliases.assign(machine_.names().begin(), machine_.names().end());
  }
  return place;
}

const NodePlace& NodePlaces::of(const std::string& node) const {
  const auto found = index_.find(node);
  TIDE_CHECK(found != index_.end());
  return places_[found->second];
}

std::uint64_t descriptors_needed(std::size_t nodes, std::size_t sessions) {
  constexpr std::uint64_t kOfItsOwn = 32;
  constexpr std::uint64_t kPerNode = 2;     // while it moves in the tree
  constexpr std::uint64_t kPerSession = 4;  // the agent's streams, and its pidfd
  return kOfItsOwn + kPerNode * nodes + kPerSession * sessions;
}

}  // namespace tide::head
