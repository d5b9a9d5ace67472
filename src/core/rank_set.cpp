#include "core/rank_set.hpp"

#include <algorithm>
#include <iterator>

namespace tide::core {

RankSet RankSet::range(Rank first, Rank last) {
  RankSet out;
  if (first <= last) out.insert_range(first.value(), last.value());
  return out;
}

RankSet RankSet::from_wire(const wire::RankSet& in) {
  RankSet out;
  for (const auto& range : in.ranges()) {
    if (range.first() <= range.last()) out.insert_range(range.first(), range.last());
  }
  return out;
}

wire::RankSet RankSet::to_wire() const {
  wire::RankSet out;
  for (const auto& [first, last] : ranges_) {
    auto* range = out.add_ranges();
    range->set_first(first);
    range->set_last(last);
  }
  return out;
}

void RankSet::insert(const RankSet& other) {
  for (const auto& [first, last] : other.ranges_) insert_range(first, last);
}

void RankSet::erase(const RankSet& other) {
  for (const auto& [first, last] : other.ranges_) erase_range(first, last);
}

RankSet RankSet::intersection(const RankSet& other) const {
  RankSet out;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    const auto first = std::max(a->first, b->first);
    const auto last = std::min(a->second, b->second);
    if (first <= last) out.ranges_.emplace_hint(out.ranges_.end(), first, last);
    if (a->second < b->second) {
      ++a;
    } else {
      ++b;
    }
  }
  return out;
}

std::uint64_t RankSet::size() const {
  std::uint64_t sum = 0;
  for (const auto& [first, last] : ranges_) sum += std::uint64_t{last} - first + 1;
  return sum;
}

std::optional<Rank> RankSet::first_in(Rank first, Rank last) const {
  const auto found = range_reaching(first.value());
  if (found == ranges_.end()) return std::nullopt;
  const auto lowest = std::max(found->first, first.value());
  if (lowest > last.value()) return std::nullopt;
  return Rank(lowest);
}

RankSet::Ranges::const_iterator RankSet::range_reaching(std::uint32_t value) const {
  const auto next = ranges_.upper_bound(value);
  if (next == ranges_.begin()) return next;
  const auto before = std::prev(next);
  return before->second >= value ? before : next;
}

void RankSet::insert_range(std::uint32_t first, std::uint32_t last) {
  // From the first range that touches the new one: ranges that touch are one.
  auto at = ranges_.upper_bound(first);
  if (at != ranges_.begin() && std::uint64_t{std::prev(at)->second} + 1 >= first) --at;
  while (at != ranges_.end() && at->first <= std::uint64_t{last} + 1) {
    first = std::min(first, at->first);
    last = std::max(last, at->second);
    at = ranges_.erase(at);
  }
  ranges_.emplace_hint(at, first, last);
}

void RankSet::erase_range(std::uint32_t first, std::uint32_t last) {
  auto at = range_reaching(first);
  while (at != ranges_.end() && at->first <= last) {
    const auto [old_first, old_last] = *at;
    at = ranges_.erase(at);
    if (old_first < first) ranges_.emplace(old_first, first - 1);
    if (old_last > last) ranges_.emplace(last + 1, old_last);
  }
}

}  // namespace tide::core
