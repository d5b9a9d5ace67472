// The tree over the living daemons, computed alike by everybody from (span, radix, living ranks).
//
// Slots are fixed: slot s has the child slots s·radix+1 … s·radix+radix. A living rank holds its
// own slot; the slot of a hole is held by the lowest living rank of its subtree that holds none
// yet, and so on downwards. Degree stays ≤ radix and depth ≤ that of the full tree; a departure
// moves few links.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.hpp"

namespace tide::core {

class RoutingTree {
 public:
  RoutingTree() = default;
  // `living` is ascending, holds rank 0, and every rank in it is below `span`.
  RoutingTree(std::uint32_t span, std::uint32_t radix, const std::vector<Rank>& living);

  // nullopt for the root and for ranks that are not living.
  [[nodiscard]] std::optional<Rank> parent(Rank rank) const;
  [[nodiscard]] const std::vector<Rank>& children(Rank rank) const;
  [[nodiscard]] bool living(Rank rank) const;
  [[nodiscard]] std::uint32_t depth(Rank rank) const;
  // True if `ancestor` is `rank` or lies on its way to the root.
  [[nodiscard]] bool is_ancestor_or_self(Rank ancestor, Rank rank) const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::vector<std::uint32_t> parent_;        // by rank; kNone: root or not living
  std::vector<std::vector<Rank>> children_;  // by rank
  std::vector<bool> living_;
};

}  // namespace tide::core
