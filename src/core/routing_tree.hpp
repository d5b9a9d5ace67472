// The tree over the living daemons, computed alike by everybody from (span, radix, living ranks).
//
// Slots are fixed: slot s has the child slots s·radix+1 … s·radix+radix. A living rank holds its
// own slot; the slot of a hole is held by the lowest living rank of its subtree that holds none
// yet, and so on downwards. Degree stays ≤ radix and depth ≤ that of the full tree; a departure
// moves few links.
//
// Nothing is stored but who lives, as ranges: each answer is found on the way down from the root.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "core/rank_set.hpp"

namespace tide::core {

class RoutingTree {
 public:
  RoutingTree() = default;
  // `living` holds rank 0, and every rank in it is below `span`.
  RoutingTree(std::uint32_t span, std::uint32_t radix, RankSet living);

  [[nodiscard]] const RankSet& living() const { return living_; }
  [[nodiscard]] bool living(Rank rank) const { return living_.contains(rank); }
  [[nodiscard]] std::uint32_t span() const { return span_; }
  [[nodiscard]] std::uint32_t radix() const { return radix_; }

  // From the root to `rank`, both included; empty if it does not live.
  [[nodiscard]] std::vector<Rank> path(Rank rank) const;
  // nullopt for the root and for ranks that are not living.
  [[nodiscard]] std::optional<Rank> parent(Rank rank) const;
  [[nodiscard]] std::vector<Rank> children(Rank rank) const;  // ascending
  // `rank` and all below it; empty if it does not live.
  [[nodiscard]] RankSet subtree(Rank rank) const;
  [[nodiscard]] std::uint32_t depth(Rank rank) const;
  // True if `ancestor` is `rank` or lies on its way to the root.
  [[nodiscard]] bool is_ancestor_or_self(Rank ancestor, Rank rank) const;

  // Whoever holds a slot here that another rank held in `before`, which had more living ranks.
  [[nodiscard]] RankSet movers_since(const RoutingTree& before) const;

 private:
  struct Place {  // of a rank
    std::uint32_t slot = 0;
    std::vector<Rank> path;
    std::vector<Rank> taken;  // those of the path who hold a slot that is not their own
  };
  [[nodiscard]] std::optional<Place> place_of(Rank rank) const;
  [[nodiscard]] std::optional<Rank> holder(std::uint32_t slot) const;
  [[nodiscard]] std::optional<Rank> choose(std::uint32_t slot,
                                           const std::vector<Rank>& taken) const;
  [[nodiscard]] std::vector<std::uint32_t> slots_towards(std::uint32_t slot) const;

  std::uint32_t span_ = 1;
  std::uint32_t radix_ = 1;
  RankSet living_{kHeadRank};
};

}  // namespace tide::core
