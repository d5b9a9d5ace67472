#include "core/membership.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <ranges>
#include <set>

namespace tide::core {
namespace {

wire::DaemonInfo info(std::uint32_t rank) {
  wire::DaemonInfo out;
  out.set_rank(rank);
  out.set_incarnation(1000 + rank);
  out.set_node("v" + std::to_string(rank));
  out.set_slots(rank % 7 + 1);
  auto* endpoint = out.add_endpoints();
  endpoint->set_address("127.0.0.1");
  endpoint->set_port(4000 + rank);
  return out;
}

wire::Operation next_operation(const Membership& membership) {
  wire::Operation out;
  out.set_serial(membership.serial().value() + 1);
  return out;
}

void join(Membership& membership, const std::vector<std::uint32_t>& ranks) {
  auto operation = next_operation(membership);
  for (const auto rank : ranks) *operation.mutable_membership()->add_joined() = info(rank);
  membership.apply(operation);
}

void leave(Membership& membership, const std::vector<std::uint32_t>& ranks) {
  auto operation = next_operation(membership);
  for (const auto rank : ranks) operation.mutable_membership()->add_left(rank);
  membership.apply(operation);
}

std::string bytes_of(const Membership& membership) {
  return membership.snapshot().SerializeAsString();
}

bool same_tree(const Membership& a, const Membership& b) {
  const auto span = std::max(a.span(), b.span());
  for (std::uint32_t i = 0; i < span; ++i) {
    if (a.tree().parent(Rank(i)) != b.tree().parent(Rank(i))) return false;
    if (a.tree().children(Rank(i)) != b.tree().children(Rank(i))) return false;
  }
  return true;
}

TEST(Membership, BeginsWithTheHeadAlone) {
  const Membership membership(4);
  EXPECT_EQ(membership.serial(), Serial(0));
  EXPECT_EQ(membership.span(), 1U);
  EXPECT_EQ(membership.radix(), 4U);
  EXPECT_NE(membership.find(kHeadRank), nullptr);
  EXPECT_EQ(membership.members().size(), 1U);
  EXPECT_FALSE(membership.departed(Rank(1))) << "never given out is not departed";
}

// row:S10 a rank stays a hole
TEST(Membership, JoinAndLeave) {
  Membership membership(2);
  join(membership, {1, 2, 3});
  EXPECT_EQ(membership.serial(), Serial(1));
  EXPECT_EQ(membership.changed_at(), Serial(1));
  EXPECT_EQ(membership.span(), 4U);
  ASSERT_NE(membership.find(Rank(2)), nullptr);
  EXPECT_EQ(membership.find(Rank(2))->incarnation, Incarnation(1002));
  EXPECT_EQ(membership.find(Rank(2))->node, "v2");
  EXPECT_EQ(membership.find(Rank(2))->slots, 3U);
  ASSERT_EQ(membership.find(Rank(2))->endpoints.size(), 1U);
  EXPECT_EQ(membership.find(Rank(2))->endpoints[0].port(), 4002U);
  leave(membership, {3});
  EXPECT_EQ(membership.find(Rank(3)), nullptr);
  EXPECT_TRUE(membership.departed(Rank(3))) << "a rank stays a hole";
  EXPECT_FALSE(membership.departed(Rank(2)));
  EXPECT_FALSE(membership.departed(Rank(4)));
  EXPECT_EQ(membership.span(), 4U) << "the span never shrinks";
  EXPECT_EQ(membership.changed_at(), Serial(2));
}

TEST(Membership, OtherOperationsOnlyAdvanceTheSerial) {
  Membership membership(2);
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
  Membership membership(2);
  join(membership, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto repairs = membership.repairs();
  leave(membership, {1, 2, 5});
  EXPECT_EQ(membership.repairs(), repairs + 1);
}

TEST(Membership, WhoeverJoinsRepairsNothing) {
  Membership membership(2);
  EXPECT_EQ(membership.repairs(), 0U);
  join(membership, {1, 2, 3});
  EXPECT_EQ(membership.repairs(), 0U);
}

TEST(Membership, TheHeadCannotLeave) {
  Membership membership(2);
  join(membership, {1});
  leave(membership, {0});
  EXPECT_NE(membership.find(kHeadRank), nullptr);
}

TEST(Membership, ARadixOfNothingIsTakenAsOne) {
  Membership membership(2);
  wire::Snapshot snapshot;
  snapshot.set_span(3);
  *snapshot.add_members() = info(2);
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
  Membership membership(2);
  wire::Operation operation;
  operation.set_serial(2);
  EXPECT_DEATH(membership.apply(operation), "serial");
}

// row:S10 old and new daemons compute the same: whatever the history, a snapshot says it all
RC_GTEST_PROP(Membership, ASnapshotCarriesEverything, ()) {
  Membership membership(*rc::gen::inRange<std::uint32_t>(1, 65));
  std::uint32_t next = 1;
  std::set<std::uint32_t> living;
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100));
  for (const int step : steps) {
    if (step < 60 || living.empty()) {
      std::vector<std::uint32_t> ranks;
      for (int i = 0; i <= step % 4; ++i) ranks.push_back(next++);
      living.insert(ranks.begin(), ranks.end());
      join(membership, ranks);
    } else {
      const auto rank = *std::next(living.begin(), step % static_cast<int>(living.size()));
      living.erase(rank);
      leave(membership, {rank});
    }
  }
  Membership copy(17);
  copy.load(membership.snapshot());
  RC_ASSERT(bytes_of(copy) == bytes_of(membership));
  RC_ASSERT(copy.serial() == membership.serial());
  RC_ASSERT(copy.span() == membership.span());
  RC_ASSERT(copy.radix() == membership.radix());
  RC_ASSERT(same_tree(copy, membership));
  for (std::uint32_t i = 1; i < next; ++i) {
    RC_ASSERT(membership.departed(Rank(i)) == !living.contains(i));
    RC_ASSERT(copy.departed(Rank(i)) == !living.contains(i));
  }
  join(membership, {next});
  join(copy, {next});
  RC_ASSERT(bytes_of(copy) == bytes_of(membership));
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
  Membership one_by_one(radix);
  Membership backwards(radix);
  Membership at_once(radix);
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
