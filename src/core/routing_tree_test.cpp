#include "core/routing_tree.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace tide::core {
namespace {

std::vector<Rank> ranks(std::initializer_list<std::uint32_t> values) {
  std::vector<Rank> out;
  for (const auto value : values) out.emplace_back(value);
  return out;
}

// Rank 0 and whatever `present` says of the others.
std::vector<Rank> living_of(const std::vector<bool>& present) {
  std::vector<Rank> out;
  for (std::uint32_t i = 0; i < present.size(); ++i) {
    if (i == 0 || present[i]) out.emplace_back(i);
  }
  return out;
}

// Depth of a slot in the tree without holes.
std::uint32_t slot_depth(std::uint32_t slot, std::uint32_t radix) {
  std::uint32_t steps = 0;
  for (; slot != 0; slot = (slot - 1) / radix) ++steps;
  return steps;
}

struct Shape {
  std::uint32_t span;
  std::uint32_t radix;
  std::vector<Rank> living;
  [[nodiscard]] RoutingTree tree() const { return {span, radix, living}; }
  [[nodiscard]] std::uint32_t full_depth() const { return slot_depth(span - 1, radix); }
};

// From nearly nobody to everybody: the share of the living is drawn first.
Shape any_shape() {
  Shape out;
  out.span = *rc::gen::inRange<std::uint32_t>(1, 300);
  out.radix = *rc::gen::inRange<std::uint32_t>(1, 65);
  const int share = *rc::gen::inRange(0, 101);
  const auto draws = *rc::gen::container<std::vector<int>>(out.span, rc::gen::inRange(0, 100));
  std::vector<bool> present;
  for (const int draw : draws) present.push_back(draw < share);
  out.living = living_of(present);
  return out;
}

RC_GTEST_PROP(RoutingTree, EveryLivingRankIsReachedExactlyOnce, ()) {
  const Shape shape = any_shape();
  const RoutingTree tree = shape.tree();
  std::multiset<Rank> reached;
  std::vector<Rank> todo{kHeadRank};
  while (!todo.empty() && reached.size() <= shape.living.size()) {
    const Rank rank = todo.back();
    todo.pop_back();
    reached.insert(rank);
    for (const Rank child : tree.children(rank)) todo.push_back(child);
  }
  RC_ASSERT(std::vector<Rank>(reached.begin(), reached.end()) == shape.living);
}

RC_GTEST_PROP(RoutingTree, DegreeAndDepthAreBounded, ()) {
  const Shape shape = any_shape();
  const RoutingTree tree = shape.tree();
  for (const Rank rank : shape.living) {
    RC_ASSERT(tree.children(rank).size() <= shape.radix);
    RC_ASSERT(tree.depth(rank) <= shape.full_depth());
    // A rank never sinks below the slot that it was born to.
    RC_ASSERT(tree.depth(rank) <= slot_depth(rank.value(), shape.radix));
  }
}

RC_GTEST_PROP(RoutingTree, ParentsAndChildrenAgree, ()) {
  const Shape shape = any_shape();
  const RoutingTree tree = shape.tree();
  std::size_t links = 0;
  for (std::uint32_t i = 0; i < shape.span + 3; ++i) {
    const Rank rank{i};
    const bool living = std::binary_search(shape.living.begin(), shape.living.end(), rank);
    RC_ASSERT(tree.living(rank) == living);
    RC_ASSERT(tree.parent(rank).has_value() == (living && rank != kHeadRank));
    RC_ASSERT(living || tree.children(rank).empty());
    RC_ASSERT(std::is_sorted(tree.children(rank).begin(), tree.children(rank).end()));
    for (const Rank child : tree.children(rank)) {
      RC_ASSERT(tree.parent(child) == rank);
      RC_ASSERT(tree.is_ancestor_or_self(rank, child));
      RC_ASSERT(!tree.is_ancestor_or_self(child, rank));
      RC_ASSERT(tree.depth(child) == tree.depth(rank) + 1);
      ++links;
    }
  }
  RC_ASSERT(links + 1 == shape.living.size());
}

// row:S10 as far as it goes without a DVM that changes size
RC_GTEST_PROP(RoutingTree, WithoutHolesItIsPositional, ()) {
  const auto span = *rc::gen::inRange<std::uint32_t>(1, 400);
  const auto radix = *rc::gen::inRange<std::uint32_t>(1, 65);
  const Shape shape{span, radix, living_of(std::vector<bool>(span, true))};
  const RoutingTree tree = shape.tree();
  for (std::uint32_t i = 1; i < span; ++i) RC_ASSERT(tree.parent(Rank(i)) == Rank((i - 1) / radix));
}

// Why the bound holds. If r, holder of slot t, departs, no slot outside the subtree of t changes
// its holder: none of them chose r. At t another rank moves in; where that one came from, strictly
// below t, the same happens again: the slots that change hands lie on one path downwards, at most
// full_depth + 1 of them. A link changes only if it ends above at a slot that changed hands (radix
// children each) or below at one (its one link upwards).
RC_GTEST_PROP(RoutingTree, OneDepartureMovesFewLinks, ()) {
  Shape shape = any_shape();
  RC_PRE(shape.living.size() > 1);
  const RoutingTree before = shape.tree();
  const auto at = *rc::gen::inRange<std::size_t>(1, shape.living.size());
  const Rank gone = shape.living[at];
  shape.living.erase(shape.living.begin() + static_cast<std::ptrdiff_t>(at));
  const RoutingTree after = shape.tree();
  std::size_t moved = 0;
  for (const Rank rank : shape.living) {
    if (before.parent(rank) != after.parent(rank)) ++moved;
  }
  const std::size_t below = shape.full_depth() - before.depth(gone) + 1;
  RC_ASSERT(moved <= below * (shape.radix + 1));
  if (before.children(gone).empty()) RC_ASSERT(moved == 0U);
}

// row:S10 the example of the text
TEST(RoutingTree, RadixTwoExample) {
  const RoutingTree tree(9, 2, living_of(std::vector<bool>(9, true)));
  EXPECT_EQ(tree.children(Rank(0)), ranks({1, 2}));
  EXPECT_EQ(tree.children(Rank(1)), ranks({3, 4}));
  EXPECT_EQ(tree.children(Rank(2)), ranks({5, 6}));
  EXPECT_EQ(tree.children(Rank(3)), ranks({7, 8}));
}

// row:S10 around holes: the lowest living rank of a hole's subtree takes its place, and so on down
TEST(RoutingTree, HolesAreFilledFromTheirOwnSubtree) {
  const RoutingTree tree(9, 2, ranks({0, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(tree.children(Rank(0)), ranks({2, 3}));
  EXPECT_EQ(tree.children(Rank(3)), ranks({4, 7}));
  EXPECT_EQ(tree.children(Rank(7)), ranks({8}));
  EXPECT_EQ(tree.children(Rank(2)), ranks({5, 6}));
  EXPECT_EQ(tree.parent(Rank(1)), std::nullopt);
  EXPECT_FALSE(tree.living(Rank(1)));
}

TEST(RoutingTree, OnlyTheHead) {
  const RoutingTree tree(1, 64, ranks({0}));
  EXPECT_TRUE(tree.children(kHeadRank).empty());
  EXPECT_EQ(tree.parent(kHeadRank), std::nullopt);
  EXPECT_EQ(tree.depth(kHeadRank), 0U);
  EXPECT_FALSE(tree.living(Rank(1)));
  EXPECT_TRUE(tree.children(Rank(99)).empty());
}

TEST(RoutingTreeDeathTest, TheHeadIsAlwaysThere) {
  EXPECT_DEATH(RoutingTree(3, 2, ranks({1, 2})), "kHeadRank");
  EXPECT_DEATH(RoutingTree(3, 2, ranks({0, 3})), "span");
  EXPECT_DEATH(RoutingTree(3, 0, ranks({0, 1})), "radix");
}

}  // namespace
}  // namespace tide::core
