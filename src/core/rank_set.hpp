// A set of daemon ranks kept as ranges: a collective names ten thousand participants in a few
// bytes.
#pragma once

#include <map>
#include <optional>

#include "base/ids.hpp"
#include "wire/link.pb.h"

namespace tide::core {

class RankSet {
 public:
  RankSet() = default;
  explicit RankSet(Rank rank) { insert(rank); }
  // Both ends are in it.
  static RankSet range(Rank first, Rank last);
  static RankSet from_wire(const wire::RankSet& in);
  [[nodiscard]] wire::RankSet to_wire() const;

  void insert(Rank rank) { insert_range(rank.value(), rank.value()); }
  void insert(const RankSet& other);
  void erase(Rank rank) { erase_range(rank.value(), rank.value()); }
  void erase(const RankSet& other);
  [[nodiscard]] RankSet intersection(const RankSet& other) const;

  [[nodiscard]] bool contains(Rank rank) const { return first_in(rank, rank).has_value(); }
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  [[nodiscard]] std::uint64_t size() const;
  // The lowest that is not below `first` and not above `last`.
  [[nodiscard]] std::optional<Rank> first_in(Rank first, Rank last) const;
  // The highest of all; the set is not empty.
  [[nodiscard]] Rank highest() const { return Rank(ranges_.rbegin()->second); }

  // Calls `visit(Rank)` for every rank below `limit`, ascending. The limit bounds what a peer can
  // ask for.
  template <class Visit>
  void for_each(std::uint32_t limit, Visit visit) const {
    for (const auto& [first, last] : ranges_) {
      for (std::uint64_t rank = first; rank <= last && rank < limit; ++rank) {
        visit(Rank(static_cast<std::uint32_t>(rank)));
      }
    }
  }

  bool operator==(const RankSet&) const = default;

 private:
  using Ranges = std::map<std::uint32_t, std::uint32_t>;  // first → last, inclusive

  void insert_range(std::uint32_t first, std::uint32_t last);
  void erase_range(std::uint32_t first, std::uint32_t last);
  // The first range that ends at `value` or above it.
  [[nodiscard]] Ranges::const_iterator range_reaching(std::uint32_t value) const;

  Ranges ranges_;
};

}  // namespace tide::core
