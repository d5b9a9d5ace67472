#include "core/routing_tree.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/check.hpp"

namespace tide::core {
namespace {

// The slots of one level of a subtree: they follow one another.
struct Level {
  std::uint64_t first;
  std::uint64_t last;
  [[nodiscard]] Level below(std::uint32_t radix) const {
    return {first * radix + 1, last * radix + radix};
  }
  [[nodiscard]] Rank first_rank() const { return Rank(static_cast<std::uint32_t>(first)); }
  [[nodiscard]] Rank last_rank(std::uint32_t span) const {
    return Rank(static_cast<std::uint32_t>(std::min<std::uint64_t>(last, span - 1)));
  }
};

bool contains(const std::vector<Rank>& ranks, Rank rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

RoutingTree::RoutingTree(std::uint32_t span, std::uint32_t radix, RankSet living)
    : span_(span), radix_(radix), living_(std::move(living)) {
  TIDE_CHECK(radix_ >= 1 && living_.contains(kHeadRank));
  TIDE_CHECK(living_.highest().value() < span_);
}

std::vector<std::uint32_t> RoutingTree::slots_towards(std::uint32_t slot) const {
  std::vector<std::uint32_t> out{slot};
  for (; slot != 0; slot = (slot - 1) / radix_) out.push_back((slot - 1) / radix_);
  std::ranges::reverse(out);
  return out;
}

std::optional<Rank> RoutingTree::choose(std::uint32_t slot, const std::vector<Rank>& taken) const {
  if (living_.contains(Rank(slot)) && !contains(taken, Rank(slot))) return Rank(slot);
  for (Level level{slot, slot}; level.first < span_; level = level.below(radix_)) {
    const Rank last = level.last_rank(span_);
    for (auto found = living_.first_in(level.first_rank(), last); found;
         found = living_.first_in(Rank(found->value() + 1), last)) {
      if (!contains(taken, *found)) return found;
    }
  }
  return std::nullopt;
}

std::optional<RoutingTree::Place> RoutingTree::place_of(Rank rank) const {
  if (!living_.contains(rank)) return std::nullopt;
  Place place;
  for (const auto slot : slots_towards(rank.value())) {
    const auto held_by = choose(slot, place.taken);
    TIDE_CHECK(held_by);  // if by nobody else, then by the rank that we look for
    place.slot = slot;
    place.path.push_back(*held_by);
    if (held_by->value() != slot) place.taken.push_back(*held_by);
    if (*held_by == rank) break;
  }
  return place;
}

std::optional<Rank> RoutingTree::holder(std::uint32_t slot) const {
  std::vector<Rank> taken;
  std::optional<Rank> held_by;
  for (const auto at : slots_towards(slot)) {
    held_by = choose(at, taken);
    if (!held_by) return std::nullopt;
    if (held_by->value() != at) taken.push_back(*held_by);
  }
  return held_by;
}

std::vector<Rank> RoutingTree::path(Rank rank) const {
  auto place = place_of(rank);
  return place ? std::move(place->path) : std::vector<Rank>();
}

std::optional<Rank> RoutingTree::parent(Rank rank) const {
  const auto way = path(rank);
  if (way.size() < 2) return std::nullopt;
  return way[way.size() - 2];
}

std::vector<Rank> RoutingTree::children(Rank rank) const {
  std::vector<Rank> out;
  const auto place = place_of(rank);
  if (!place) return out;
  const Level below = Level{place->slot, place->slot}.below(radix_);
  for (auto slot = below.first; slot <= below.last && slot < span_; ++slot) {
    const auto child = choose(static_cast<std::uint32_t>(slot), place->taken);
    if (child) out.push_back(*child);
  }
  std::ranges::sort(out);
  return out;
}

RankSet RoutingTree::subtree(Rank rank) const {
  RankSet out;
  const auto place = place_of(rank);
  if (!place) return out;
  for (Level level{place->slot, place->slot}; level.first < span_; level = level.below(radix_)) {
    out.insert(RankSet::range(level.first_rank(), level.last_rank(span_)));
  }
  out = out.intersection(living_);
  for (const Rank above : place->taken) out.erase(above);
  out.insert(rank);
  return out;
}

std::uint32_t RoutingTree::depth(Rank rank) const {
  const auto way = path(rank);
  return way.empty() ? 0 : static_cast<std::uint32_t>(way.size() - 1);
}

bool RoutingTree::is_ancestor_or_self(Rank ancestor, Rank rank) const {
  return contains(path(rank), ancestor);
}

// Where somebody left a slot, another moves in, whose own slot is free then, and so on downwards.
RankSet RoutingTree::movers_since(const RoutingTree& before) const {
  RankSet gone = before.living_;
  gone.erase(living_);
  std::vector<std::uint32_t> free_slots;
  gone.for_each(before.span_,
                [&](Rank rank) { free_slots.push_back(before.place_of(rank)->slot); });
  RankSet movers;
  while (!free_slots.empty()) {
    const auto mover = holder(free_slots.back());
    free_slots.pop_back();
    if (!mover || movers.contains(*mover)) continue;
    movers.insert(*mover);
    if (const auto place = before.place_of(*mover)) free_slots.push_back(place->slot);
  }
  return movers;
}

}  // namespace tide::core
