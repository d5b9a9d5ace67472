#include "core/routing_tree.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
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

RankSet set_of(const std::vector<Rank>& ranks) {
  RankSet out;
  for (const Rank rank : ranks) out.insert(rank);
  return out;
}

struct Shape {
  std::uint32_t span;
  std::uint32_t radix;
  std::vector<Rank> living;
  [[nodiscard]] RoutingTree tree() const { return {span, radix, set_of(living)}; }
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

// The definition, played through from the root down: slot by slot, with the ranks of its subtree
// that hold no slot yet.
class ByDefinition {
 public:
  explicit ByDefinition(const Shape& shape) : radix_(shape.radix) {
    std::vector<std::uint32_t> everybody;
    for (const Rank rank : shape.living) everybody.push_back(rank.value());
    hand_out(0, std::nullopt, everybody);
  }
  std::map<Rank, std::optional<Rank>> parent;
  std::map<std::uint32_t, Rank> holder;  // by slot

 private:
  void hand_out(std::uint32_t slot, std::optional<Rank> above,
                std::vector<std::uint32_t> available) {
    if (available.empty()) return;
    auto chosen = std::find(available.begin(), available.end(), slot);
    if (chosen == available.end()) chosen = available.begin();
    const Rank here{*chosen};
    parent[here] = above;
    holder.emplace(slot, here);
    available.erase(chosen);
    for (std::uint32_t child = slot * radix_ + 1; child <= slot * radix_ + radix_; ++child) {
      std::vector<std::uint32_t> below;
      for (const auto rank : available) {
        if (lies_below(rank, child)) below.push_back(rank);
      }
      hand_out(child, here, below);
    }
  }
  [[nodiscard]] bool lies_below(std::uint32_t rank, std::uint32_t slot) const {
    while (rank > slot) rank = (rank - 1) / radix_;
    return rank == slot;
  }

  std::uint32_t radix_;
};

RC_GTEST_PROP(RoutingTree, IsWhatTheDefinitionSays, ()) {
  const Shape shape = any_shape();
  const RoutingTree tree = shape.tree();
  const ByDefinition wanted(shape);
  for (const Rank rank : shape.living) RC_ASSERT(tree.parent(rank) == wanted.parent.at(rank));
}

RC_GTEST_PROP(RoutingTree, PathsAndSubtreesFollowTheParents, ()) {
  const Shape shape = any_shape();
  const RoutingTree tree = shape.tree();
  std::map<Rank, RankSet> below;
  for (const Rank rank : shape.living) {
    const auto path = tree.path(rank);
    RC_ASSERT(path.front() == kHeadRank);
    RC_ASSERT(path.back() == rank);
    for (std::size_t i = 1; i < path.size(); ++i) RC_ASSERT(tree.parent(path[i]) == path[i - 1]);
    for (const Rank above : path) below[above].insert(rank);
  }
  for (const Rank rank : shape.living) RC_ASSERT(tree.subtree(rank) == below[rank]);
  RC_ASSERT(tree.path(Rank(shape.span)).empty());
  RC_ASSERT(tree.subtree(Rank(shape.span)).empty());
}

// Whoever has a new ancestor finds it among the movers, however many left together.
RC_GTEST_PROP(RoutingTree, MoversAreThoseWhoHoldAnotherSlot, ()) {
  Shape shape = any_shape();
  const RoutingTree before = shape.tree();
  const ByDefinition slots_before(shape);
  const int share = *rc::gen::inRange(0, 101);
  const auto draws =
      *rc::gen::container<std::vector<int>>(shape.living.size(), rc::gen::inRange(0, 100));
  std::vector<Rank> staying{kHeadRank};
  for (std::size_t i = 1; i < draws.size(); ++i) {
    if (draws[i] < share) staying.push_back(shape.living[i]);
  }
  shape.living = staying;
  RankSet movers;
  for (const auto& [slot, rank] : ByDefinition(shape).holder) {
    const auto old = slots_before.holder.find(slot);
    if (old == slots_before.holder.end() || old->second != rank) movers.insert(rank);
  }
  RC_ASSERT(shape.tree().movers_since(before) == movers);
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
    const auto children = tree.children(rank);
    RC_ASSERT(std::ranges::is_sorted(children));
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
  const RoutingTree tree(9, 2, RankSet::range(Rank(0), Rank(8)));
  EXPECT_EQ(tree.children(Rank(0)), ranks({1, 2}));
  EXPECT_EQ(tree.children(Rank(1)), ranks({3, 4}));
  EXPECT_EQ(tree.children(Rank(2)), ranks({5, 6}));
  EXPECT_EQ(tree.children(Rank(3)), ranks({7, 8}));
}

// row:S10 around holes: the lowest living rank of a hole's subtree takes its place, and so on down
TEST(RoutingTree, HolesAreFilledFromTheirOwnSubtree) {
  const RoutingTree tree(9, 2, set_of(ranks({0, 2, 3, 4, 5, 6, 7, 8})));
  EXPECT_EQ(tree.children(Rank(0)), ranks({2, 3}));
  EXPECT_EQ(tree.children(Rank(3)), ranks({4, 7}));
  EXPECT_EQ(tree.children(Rank(7)), ranks({8}));
  EXPECT_EQ(tree.children(Rank(2)), ranks({5, 6}));
  EXPECT_EQ(tree.parent(Rank(1)), std::nullopt);
  EXPECT_FALSE(tree.living(Rank(1)));
}

TEST(RoutingTree, OnlyTheHead) {
  const RoutingTree tree(1, 64, RankSet(kHeadRank));
  EXPECT_TRUE(tree.children(kHeadRank).empty());
  EXPECT_EQ(tree.parent(kHeadRank), std::nullopt);
  EXPECT_EQ(tree.depth(kHeadRank), 0U);
  EXPECT_FALSE(tree.living(Rank(1)));
  EXPECT_TRUE(tree.children(Rank(99)).empty());
}

TEST(RoutingTreeDeathTest, TheHeadIsAlwaysThere) {
  EXPECT_DEATH(RoutingTree(3, 2, set_of(ranks({1, 2}))), "kHeadRank");
  EXPECT_DEATH(RoutingTree(3, 2, set_of(ranks({0, 3}))), "span");
  EXPECT_DEATH(RoutingTree(3, 0, set_of(ranks({0, 1}))), "radix");
}

}  // namespace
}  // namespace tide::core
