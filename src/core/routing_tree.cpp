#include "core/routing_tree.hpp"

#include <algorithm>
#include <map>

#include "base/check.hpp"

namespace tide::core {

namespace {

// The child slot of `slot` on the way down to `rank`, which lies below it.
std::uint32_t child_slot_towards(std::uint32_t slot, std::uint32_t rank, std::uint32_t radix) {
  while ((rank - 1) / radix != slot) rank = (rank - 1) / radix;
  return rank;
}

}  // namespace

RoutingTree::RoutingTree(std::uint32_t span, std::uint32_t radix, const std::vector<Rank>& living)
    : parent_(span, kNone), children_(span), living_(span, false) {
  TIDE_CHECK(radix >= 1 && !living.empty() && living.front() == kHeadRank);
  std::vector<std::uint32_t> available;
  available.reserve(living.size());
  for (const Rank rank : living) {
    TIDE_CHECK(rank.value() < span);
    living_[rank.value()] = true;
    available.push_back(rank.value());
  }
  struct Todo {
    std::uint32_t slot;
    std::uint32_t parent_rank;
    std::vector<std::uint32_t> available;  // ascending, all in the subtree of `slot`
  };
  std::vector<Todo> todo;
  todo.push_back({0, kNone, std::move(available)});
  while (!todo.empty()) {
    Todo current = std::move(todo.back());
    todo.pop_back();
    auto own = std::lower_bound(current.available.begin(), current.available.end(), current.slot);
    const bool own_living = own != current.available.end() && *own == current.slot;
    auto chosen = own_living ? own : current.available.begin();
    const std::uint32_t holder = *chosen;
    parent_[holder] = current.parent_rank;
    if (current.parent_rank != kNone) children_[current.parent_rank].emplace_back(holder);
    current.available.erase(chosen);
    std::map<std::uint32_t, std::vector<std::uint32_t>> below;
    for (const auto rank : current.available) {
      below[child_slot_towards(current.slot, rank, radix)].push_back(rank);
    }
    for (auto& [slot, ranks] : below) todo.push_back({slot, holder, std::move(ranks)});
  }
  for (auto& children : children_) std::sort(children.begin(), children.end());
}

std::optional<Rank> RoutingTree::parent(Rank rank) const {
  if (rank.value() >= parent_.size() || parent_[rank.value()] == kNone) return std::nullopt;
  return Rank(parent_[rank.value()]);
}

const std::vector<Rank>& RoutingTree::children(Rank rank) const {
  static const std::vector<Rank> kEmpty;
  return rank.value() < children_.size() ? children_[rank.value()] : kEmpty;
}

bool RoutingTree::living(Rank rank) const {
  return rank.value() < living_.size() && living_[rank.value()];
}

std::uint32_t RoutingTree::depth(Rank rank) const {
  std::uint32_t steps = 0;
  for (auto up = parent(rank); up; up = parent(*up)) ++steps;
  return steps;
}

bool RoutingTree::is_ancestor_or_self(Rank ancestor, Rank rank) const {
  for (std::optional<Rank> at = rank; at; at = parent(*at)) {
    if (*at == ancestor) return true;
  }
  return false;
}

}  // namespace tide::core
