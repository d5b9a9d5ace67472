// What becomes of nodes, told to those whom it concerns.
#include <utility>

#include "core/head_core.hpp"
#include "say/elastic.hpp"

namespace tide::core {

// One that is well, and only lost a neighbour, is heard of again by what it answers.
void HeadCore::on_suspect(const Suspicion& suspicion) {
  const auto suspected = roster_.suspect(suspicion, now_ms_);
  Slices pings;
  for (const Rank rank : suspected) {
    pings.emplace_back(rank, wire::DownBody{}).second.mutable_ping();
    const Node& node = roster_.nodes().at(rank);
    events_.add_of_node(EventKind::kNodeSuspected, node.name, node.suspicion);
  }
  scatter(std::move(pings), nullptr, {});
  for (const Rank rank : suspected) {
    const auto peer = peers_.find(rank);
    if (peer != peers_.end()) peer->second.asked = peer->second.control_out.last();
  }
}

void HeadCore::on_stranger_lost(Rank rank, const std::string& reason, bool silent) {
  roster_.on_stranger_lost(rank, reason, silent);
}

void HeadCore::on_node_lost(const Node& node, const std::string& reason) {
  nodes_changed_ = true;
  events_.add_of_node(EventKind::kNodeLost, node.name, reason);
  services_.on_node_lost(node.rank, node.name);
  jobs_.on_node_lost(node, reason);
  jobs_.map_undecided_jobs();
}

// Whatever is still there of its processes is not waited for.
void HeadCore::on_withdrawn(const Node& node) {
  if (node.state < NodeState::kUp) {
    events_.add_of_node(EventKind::kNodeLeft, node.name, say::grow_rolled_back());
  }
  services_.on_node_lost(node.rank, node.name);
  jobs_.on_node_lost(node, say::node_was_released());
  jobs_.map_undecided_jobs();
}

void HeadCore::on_departed(const Node& node) {
  nodes_changed_ = true;
  events_.add_of_node(EventKind::kNodeLeft, node.name, "");
  elastic_.on_departed(node);
}

void HeadCore::on_grown(CampaignId campaign) {
  nodes_changed_ = true;
  elastic_.on_grown(campaign);
}

// Once for all that were lost together.
void HeadCore::tell_nodes() {
  if (!std::exchange(nodes_changed_, false)) return;
  out_.emplace_back(
      NodesChanged{static_cast<std::uint32_t>(roster_.nodes().size()), roster_.total_slots()});
}

}  // namespace tide::core
