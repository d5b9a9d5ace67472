#include "core/sessions.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/check.hpp"
#include "say/allocations.hpp"
#include "say/elastic.hpp"

namespace tide::core {

const Allocation* Sessions::find(const std::string& id) const {
  const auto found = std::ranges::find(allocations_, id, &Allocation::id);
  return found == allocations_.end() ? nullptr : &*found;
}

Allocation* Sessions::find_mutable(const std::string& id) {
  const auto found = std::ranges::find(allocations_, id, &Allocation::id);
  return found == allocations_.end() ? nullptr : &*found;
}

const Allocation* Sessions::resolve(const std::string& id) const {
  const Allocation* found = find(id);
  return found == nullptr || found->ending ? nullptr : found;
}

const Allocation* Sessions::resolve(const std::string& owner, const std::string& request_id) const {
  for (const auto& one : std::views::reverse(allocations_)) {
    if (one.owner == owner && one.request_id == request_id && !one.ending) return &one;
  }
  return nullptr;
}

void Sessions::make(Allocation allocation) {
  TIDE_CHECK(!allocation.id.empty() && find(allocation.id) == nullptr);
  allocations_.push_back(std::move(allocation));
}

Status Sessions::may_join(const std::vector<std::string>& nodes,
                          const Allocation& allocation) const {
  const std::string session = allocation.shared ? "" : allocation.id;
  for (const auto& name : nodes) {
    const Node* node = roster_.find(name);
    if (node == nullptr) return say::node_is_gone(name);
    if (node->state >= NodeState::kLeaving) return say::node_is_leaving(node->name);
    if (!node->session.empty() && node->session != session) {
      return say::node_is_reserved(node->name, node->session);
    }
    // If what brings it fails, it has to go to where it came from, not out of a reservation.
    const bool moves = !allocation.shared && node->session.empty();
    if (moves && node->state < NodeState::kUp) return say::node_is_still_starting(node->name);
  }
  return ok_status();
}

std::set<Rank> Sessions::join(const std::vector<std::string>& nodes, const Allocation& allocation) {
  std::set<Rank> out;
  if (allocation.shared) return out;
  for (const auto& name : nodes) {
    const Node* named = roster_.find(name);
    if (named == nullptr || !named->session.empty()) continue;
    roster_.find(named->rank)->session = allocation.id;
    out.insert(named->rank);
  }
  return out;
}

void Sessions::unreserve(const std::set<Rank>& ranks) {
  for (const Rank rank : ranks) {
    if (Node* node = roster_.find(rank)) node->session.clear();
  }
}

Sessions::Nodes Sessions::nodes_of(const Allocation& allocation) const {
  Nodes out;
  const std::string session = allocation.shared ? "" : allocation.id;
  for (const auto& [rank, node] : roster_.nodes()) {
    if (node.session != session) continue;
    if (node.allocation == allocation.id) {
      out.brought.insert(rank);
    } else if (!allocation.shared) {
      out.taken.insert(rank);
    }
  }
  return out;
}

void Sessions::set_ending(const std::string& id, bool ending) {
  if (Allocation* allocation = find_mutable(id)) allocation->ending = ending;
}

void Sessions::end(const std::string& id) {
  const Allocation* allocation = find(id);
  if (allocation == nullptr) return;
  if (!allocation->shared) {
    const auto nodes = nodes_of(*allocation);
    unreserve(nodes.brought);
    unreserve(nodes.taken);
  }
  std::erase_if(allocations_, [&](const Allocation& one) { return one.id == id; });
}

void Sessions::on_owner_gone(const std::string& nspace) {
  std::erase_if(allocations_, [&](const Allocation& one) {
    return one.owner == nspace && one.shared && !one.ending;
  });
}

}  // namespace tide::core
