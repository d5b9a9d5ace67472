// A set of daemon ranks kept as ranges: a collective names ten thousand participants in a few
// bytes.
#pragma once

#include <algorithm>
#include <map>

#include "base/ids.hpp"
#include "wire/link.pb.h"

namespace tide::core {

class RankSet {
 public:
  void insert(Rank rank) {
    const auto value = rank.value();
    auto next = ranges_.upper_bound(value);
    if (next != ranges_.begin()) {
      auto before = std::prev(next);
      if (before->second >= value) return;
      if (before->second + 1 == value) {
        before->second = value;
        merge_with_next(before);
        return;
      }
    }
    merge_with_next(ranges_.emplace(value, value).first);
  }
  [[nodiscard]] bool contains(Rank rank) const {
    auto next = ranges_.upper_bound(rank.value());
    return next != ranges_.begin() && std::prev(next)->second >= rank.value();
  }
  [[nodiscard]] bool empty() const { return ranges_.empty(); }

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

  [[nodiscard]] wire::RankSet to_wire() const {
    wire::RankSet out;
    for (const auto& [first, last] : ranges_) {
      auto* range = out.add_ranges();
      range->set_first(first);
      range->set_last(last);
    }
    return out;
  }
  static RankSet from_wire(const wire::RankSet& in) {
    RankSet out;
    for (const auto& range : in.ranges()) {
      if (range.first() <= range.last()) out.insert_range(range.first(), range.last());
    }
    return out;
  }
  bool operator==(const RankSet&) const = default;

 private:
  using Ranges = std::map<std::uint32_t, std::uint32_t>;  // first → last, inclusive

  void merge_with_next(Ranges::iterator at) {
    auto next = std::next(at);
    while (next != ranges_.end() && std::uint64_t{at->second} + 1 >= next->first) {
      at->second = std::max(at->second, next->second);
      next = ranges_.erase(next);
    }
  }
  void insert_range(std::uint32_t first, std::uint32_t last) {
    auto at = ranges_.upper_bound(first);
    if (at != ranges_.begin() && std::uint64_t{std::prev(at)->second} + 1 >= first) {
      at = std::prev(at);
      at->second = std::max(at->second, last);
    } else {
      at = ranges_.emplace(first, last).first;
    }
    merge_with_next(at);
  }

  Ranges ranges_;
};

}  // namespace tide::core
