#include "core/membership.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <ranges>

namespace tide::core {
namespace {

Contact contact(std::uint32_t rank) {
  wire::Endpoint endpoint;
  endpoint.set_address("127.0.0.1");
  endpoint.set_port(4000 + rank);
  return {Incarnation(1000 + rank), {endpoint}};
}

wire::RankSet ranks_to_wire(const std::vector<std::uint32_t>& ranks) {
  RankSet out;
  for (const auto rank : ranks) out.insert(Rank(rank));
  return out.to_wire();
}

wire::Operation next_operation(const Membership& membership) {
  wire::Operation out;
  out.set_serial(membership.serial().value() + 1);
  return out;
}

// At the head, which knows everybody.
wire::Operation joining(Membership& membership, const std::vector<std::uint32_t>& ranks) {
  auto operation = next_operation(membership);
  for (const auto rank : ranks) membership.learn(Rank(rank), contact(rank));
  *operation.mutable_membership()->mutable_joined() = ranks_to_wire(ranks);
  *operation.mutable_membership() = membership.completed(operation.membership());
  return operation;
}

wire::Operation leaving(const Membership& membership, const std::vector<std::uint32_t>& ranks) {
  auto operation = next_operation(membership);
  *operation.mutable_membership()->mutable_left() = ranks_to_wire(ranks);
  *operation.mutable_membership() = membership.completed(operation.membership());
  return operation;
}

void join(Membership& membership, const std::vector<std::uint32_t>& ranks) {
  membership.apply(joining(membership, ranks));
}

void leave(Membership& membership, const std::vector<std::uint32_t>& ranks) {
  membership.apply(leaving(membership, ranks));
}

bool same_tree(const Membership& a, const Membership& b) {
  return a.span() == b.span() && a.radix() == b.radix() && a.tree().living() == b.tree().living();
}

// What a daemon has to know: who lives, and how to reach its ancestors, and nobody else.
bool knows_its_place(const Membership& seen, Rank self, const Membership& head) {
  if (!same_tree(seen, head) || seen.serial() != head.serial()) return false;
  auto path = head.tree().path(self);
  path.pop_back();
  if (seen.ancestors() != path || seen.children() != head.tree().children(self)) return false;
  for (std::uint32_t i = 1; i < head.span(); ++i) {
    const bool above = std::ranges::find(path, Rank(i)) != path.end();
    const Contact* known = seen.contact(Rank(i));
    if ((known != nullptr) != above) return false;
    if (above && known->endpoints.at(0).port() != 4000 + i) return false;
  }
  return true;
}

TEST(Membership, WhoComesLateIsKnownToThoseWhoComeToStandBelowIt) {
  Membership head(kHeadRank, 2);
  EXPECT_EQ(joining(head, {2, 3, 4}).membership().moved_size(), 0) << "all know by their snapshots";
  join(head, {2, 3, 4});
  Membership below(Rank(3), 2);
  below.load(head.snapshot_for(Rank(3)));
  const auto late = joining(head, {1});
  EXPECT_EQ(late.membership().moved_size(), 1);
  below.apply(late);
  EXPECT_EQ(below.parent(), Rank(1));
  ASSERT_NE(below.contact(Rank(1)), nullptr);
  EXPECT_EQ(below.contact(Rank(1))->incarnation, Incarnation(1001));
}

TEST(Membership, BeginsWithTheHeadAlone) {
  const Membership membership(kHeadRank, 4);
  EXPECT_EQ(membership.serial(), Serial(0));
  EXPECT_EQ(membership.span(), 1U);
  EXPECT_EQ(membership.radix(), 4U);
  EXPECT_EQ(membership.tree().living(), RankSet(kHeadRank));
  EXPECT_FALSE(membership.departed(Rank(1))) << "never given out is not departed";
}

// row:S10 a rank stays a hole
TEST(Membership, JoinAndLeave) {
  Membership membership(kHeadRank, 2);
  join(membership, {1, 2, 3});
  EXPECT_EQ(membership.serial(), Serial(1));
  EXPECT_EQ(membership.changed_at(), Serial(1));
  EXPECT_EQ(membership.span(), 4U);
  EXPECT_TRUE(membership.has(Rank(2)));
  ASSERT_NE(membership.contact(Rank(2)), nullptr);
  EXPECT_EQ(membership.contact(Rank(2))->incarnation, Incarnation(1002));
  ASSERT_EQ(membership.contact(Rank(2))->endpoints.size(), 1U);
  EXPECT_EQ(membership.contact(Rank(2))->endpoints[0].port(), 4002U);
  leave(membership, {3});
  EXPECT_FALSE(membership.has(Rank(3)));
  EXPECT_EQ(membership.contact(Rank(3)), nullptr);
  EXPECT_TRUE(membership.departed(Rank(3))) << "a rank stays a hole";
  EXPECT_FALSE(membership.departed(Rank(2)));
  EXPECT_FALSE(membership.departed(Rank(4)));
  EXPECT_EQ(membership.span(), 4U) << "the span never shrinks";
  EXPECT_EQ(membership.changed_at(), Serial(2));
}

TEST(Membership, OtherOperationsOnlyAdvanceTheSerial) {
  Membership membership(kHeadRank, 2);
  join(membership, {1});
  const auto repairs = membership.repairs();
  auto operation = next_operation(membership);
  operation.mutable_shutdown();
  membership.apply(operation);
  EXPECT_EQ(membership.serial(), Serial(2));
  EXPECT_EQ(membership.changed_at(), Serial(1));
  EXPECT_EQ(membership.repairs(), repairs);
}

TEST(Membership, ManyChangesInOneOperationAreOneRepair) {
  Membership membership(kHeadRank, 2);
  join(membership, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto repairs = membership.repairs();
  leave(membership, {1, 2, 5});
  EXPECT_EQ(membership.repairs(), repairs + 1);
}

TEST(Membership, WhoeverJoinsRepairsNothing) {
  Membership membership(kHeadRank, 2);
  EXPECT_EQ(membership.repairs(), 0U);
  join(membership, {1, 2, 3});
  EXPECT_EQ(membership.repairs(), 0U);
}

TEST(Membership, TheHeadCannotLeave) {
  Membership membership(kHeadRank, 2);
  join(membership, {1});
  leave(membership, {0});
  EXPECT_TRUE(membership.has(kHeadRank));
}

TEST(Membership, ARadixOfNothingIsTakenAsOne) {
  Membership membership(kHeadRank, 2);
  wire::Snapshot snapshot;
  snapshot.set_span(3);
  *snapshot.mutable_living() = ranks_to_wire({2});
  membership.load(snapshot);
  EXPECT_EQ(membership.radix(), 1U);
  EXPECT_EQ(membership.tree().parent(Rank(2)), kHeadRank);
}

TEST(Membership, ASnapshotOfNobodyHoldsTheHead) {
  Membership membership;
  membership.load(wire::Snapshot());
  EXPECT_EQ(membership.span(), 1U);
  EXPECT_TRUE(membership.tree().living(kHeadRank));
}

TEST(MembershipDeathTest, OperationsComeInOrder) {
  Membership membership(kHeadRank, 2);
  wire::Operation operation;
  operation.set_serial(2);
  EXPECT_DEATH(membership.apply(operation), "serial");
}

// row:S10 old and new daemons compute the same: whatever the history, and whenever they came
RC_GTEST_PROP(Membership, EveryDaemonKnowsItsPlace, ()) {
  const auto radix = *rc::gen::inRange<std::uint32_t>(1, 65);
  Membership head(kHeadRank, radix);
  std::map<std::uint32_t, Membership> daemons;
  std::uint32_t next = 1;
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100));
  for (const int step : steps) {
    std::vector<std::uint32_t> joined;
    wire::Operation operation;
    if (step < 50 || daemons.empty()) {
      for (int i = 0; i <= step % 4; ++i) joined.push_back(next++);
      operation = joining(head, joined);
    } else {
      std::vector<std::uint32_t> left;
      for (int i = 0; i <= step % 3 && !daemons.empty(); ++i) {
        const auto at = std::next(daemons.begin(), step % static_cast<int>(daemons.size()));
        left.push_back(at->first);
        daemons.erase(at);
      }
      operation = leaving(head, left);
    }
    head.apply(operation);
    for (auto& [rank, daemon] : daemons) daemon.apply(operation);
    for (const auto rank : joined) {
      daemons.emplace(rank, Membership(Rank(rank), 17))
          .first->second.load(head.snapshot_for(Rank(rank)));
    }
    for (const auto& [rank, daemon] : daemons) {
      RC_ASSERT(knows_its_place(daemon, Rank(rank), head));
    }
    for (std::uint32_t i = 1; i < next; ++i) {
      RC_ASSERT(head.departed(Rank(i)) == !daemons.contains(i));
    }
  }
}

RC_GTEST_PROP(Membership, TheOrderOfDeparturesDoesNotMatter, ()) {
  const auto size = *rc::gen::inRange<std::uint32_t>(2, 120);
  const auto radix = *rc::gen::inRange<std::uint32_t>(1, 65);
  std::vector<std::uint32_t> everybody;
  for (std::uint32_t i = 1; i < size; ++i) everybody.push_back(i);
  const auto order = *rc::gen::map(rc::gen::arbitrary<std::vector<std::uint32_t>>(),
                                   [&](const std::vector<std::uint32_t>& picks) {
                                     std::vector<std::uint32_t> out;
                                     for (const auto pick : picks) {
                                       const auto rank = everybody[pick % everybody.size()];
                                       if (std::find(out.begin(), out.end(), rank) == out.end()) {
                                         out.push_back(rank);
                                       }
                                     }
                                     return out;
                                   });
  Membership one_by_one(kHeadRank, radix);
  Membership backwards(kHeadRank, radix);
  Membership at_once(kHeadRank, radix);
  join(one_by_one, everybody);
  for (const auto rank : order) leave(one_by_one, {rank});
  join(backwards, {everybody.rbegin(), everybody.rend()});
  for (const auto rank : order | std::views::reverse) leave(backwards, {rank});
  join(at_once, everybody);
  leave(at_once, order);
  RC_ASSERT(same_tree(one_by_one, backwards));
  RC_ASSERT(same_tree(one_by_one, at_once));
}

}  // namespace
}  // namespace tide::core
