#include "core/rank_set.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

namespace tide::core {
namespace {

constexpr std::uint32_t kMax = UINT32_MAX;

// Dense enough to make ranges meet, with the far end of the numbers mixed in.
rc::Gen<std::uint32_t> any_rank() {
  return rc::gen::weightedOneOf<std::uint32_t>(
      {{9, rc::gen::inRange<std::uint32_t>(0, 60)},
       {1, rc::gen::map(rc::gen::inRange<std::uint32_t>(0, 4),
                        [](std::uint32_t below) { return kMax - below; })}});
}

std::vector<std::uint32_t> listed(const RankSet& set, std::uint32_t limit) {
  std::vector<std::uint32_t> out;
  set.for_each(limit, [&](Rank rank) { out.push_back(rank.value()); });
  return out;
}

RC_GTEST_PROP(RankSet, BehavesAsASetOfRanks, ()) {
  const auto inserted = *rc::gen::container<std::vector<std::uint32_t>>(any_rank());
  std::set<std::uint32_t> model(inserted.begin(), inserted.end());
  RankSet set;
  for (const auto rank : inserted) set.insert(Rank(rank));
  RC_ASSERT(set.empty() == model.empty());
  for (std::uint32_t rank = 0; rank < 64; ++rank) {
    RC_ASSERT(set.contains(Rank(rank)) == model.contains(rank));
    RC_ASSERT(set.contains(Rank(kMax - rank)) == model.contains(kMax - rank));
  }
  const auto limit = *rc::gen::inRange<std::uint32_t>(0, 64);
  const std::vector<std::uint32_t> below(model.begin(), model.lower_bound(limit));
  RC_ASSERT(listed(set, limit) == below);
}

std::set<std::uint32_t> model_of(const std::vector<std::uint32_t>& ranks) {
  return {ranks.begin(), ranks.end()};
}

RankSet set_of(const std::set<std::uint32_t>& ranks) {
  RankSet out;
  for (const auto rank : ranks) out.insert(Rank(rank));
  return out;
}

// Equal sets have equal ranges, so that these are also as few as can be.
RC_GTEST_PROP(RankSet, UnionDifferenceAndIntersectionAreThoseOfSets, ()) {
  const auto a = model_of(*rc::gen::container<std::vector<std::uint32_t>>(any_rank()));
  const auto b = model_of(*rc::gen::container<std::vector<std::uint32_t>>(any_rank()));
  std::set<std::uint32_t> both;
  std::set<std::uint32_t> only_a;
  std::set<std::uint32_t> either = a;
  either.insert(b.begin(), b.end());
  for (const auto rank : a) (b.contains(rank) ? both : only_a).insert(rank);
  RankSet joined = set_of(a);
  joined.insert(set_of(b));
  RC_ASSERT(joined == set_of(either));
  RC_ASSERT(joined.size() == either.size());
  RankSet left = set_of(a);
  left.erase(set_of(b));
  RC_ASSERT(left == set_of(only_a));
  RC_ASSERT(set_of(a).intersection(set_of(b)) == set_of(both));
  if (!a.empty()) RC_ASSERT(set_of(a).highest() == Rank(*a.rbegin()));
}

RC_GTEST_PROP(RankSet, TheFirstInARangeIsFound, ()) {
  const auto model = model_of(*rc::gen::container<std::vector<std::uint32_t>>(any_rank()));
  const auto first = *any_rank();
  const auto last = *any_rank();
  const auto expected = model.lower_bound(first);
  const auto found = set_of(model).first_in(Rank(first), Rank(last));
  const bool there = expected != model.end() && *expected <= last;
  RC_ASSERT(found.has_value() == there);
  if (there) RC_ASSERT(found->value() == *expected);
}

// Also: the ranges are as few as can be.
RC_GTEST_PROP(RankSet, ComesBackFromTheWire, ()) {
  const auto inserted = *rc::gen::container<std::vector<std::uint32_t>>(any_rank());
  RankSet set;
  for (const auto rank : inserted) set.insert(Rank(rank));
  const auto wire = set.to_wire();
  RC_ASSERT(RankSet::from_wire(wire) == set);
  for (int i = 1; i < wire.ranges_size(); ++i) {
    RC_ASSERT(std::uint64_t{wire.ranges(i - 1).last()} + 1 < wire.ranges(i).first());
  }
}

// A peer may send ranges in any order, overlapping or turned round.
RC_GTEST_PROP(RankSet, TakesAnyRangesFromTheWire, ()) {
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  const auto ranges = *rc::gen::container<std::vector<Pair>>(rc::gen::pair(
      rc::gen::inRange<std::uint32_t>(0, 60), rc::gen::inRange<std::uint32_t>(0, 60)));
  wire::RankSet wire;
  std::set<std::uint32_t> model;
  RankSet inserted;
  for (const auto& [first, last] : ranges) {
    wire.add_ranges()->set_first(first);
    wire.mutable_ranges(wire.ranges_size() - 1)->set_last(last);
    for (auto rank = first; rank <= last; ++rank) {
      model.insert(rank);
      inserted.insert(Rank(rank));
    }
  }
  const auto set = RankSet::from_wire(wire);
  RC_ASSERT(listed(set, 100) == std::vector<std::uint32_t>(model.begin(), model.end()));
  RC_ASSERT(set == inserted);
}

TEST(RankSet, AHugeRangeIsVisitedUpToTheLimitOnly) {
  wire::RankSet wire;
  wire.add_ranges()->set_last(kMax);
  const auto set = RankSet::from_wire(wire);
  EXPECT_EQ(listed(set, 5), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(set.contains(Rank(kMax)));
}

}  // namespace
}  // namespace tide::core
