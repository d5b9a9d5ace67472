#include "core/reducer.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tide::core {
namespace {

// Radix 2, ranks 1 to 6: below rank 1 are 3 and 4.
Membership seven_daemons(Rank self) {
  Membership membership(self, 2);
  wire::Operation operation;
  operation.set_serial(1);
  *operation.mutable_membership()->mutable_joined() = RankSet::range(Rank(1), Rank(6)).to_wire();
  membership.apply(operation);
  return membership;
}

void leave(Membership& membership, std::uint32_t rank) {
  wire::Operation operation;
  operation.set_serial(membership.serial().value() + 1);
  *operation.mutable_membership()->mutable_left() = RankSet(Rank(rank)).to_wire();
  membership.apply(operation);
}

wire::Reduction contribution(std::uint32_t rank, const std::string& data, std::uint32_t job = 1,
                             wire::ReductionId::Kind kind = wire::ReductionId::LAUNCHED) {
  RankSet participants;
  for (const std::uint32_t participant : {1U, 2U, 3U, 4U}) participants.insert(Rank(participant));
  wire::Reduction out;
  out.mutable_id()->set_job(job);
  out.mutable_id()->set_attempt(1);
  out.mutable_id()->set_kind(kind);
  *out.mutable_participants() = participants.to_wire();
  out.add_contributions()->set_rank(rank);
  out.mutable_contributions(0)->set_data(data);
  return out;
}

std::map<std::uint32_t, std::string> data_of(const wire::Reduction& reduction) {
  std::map<std::uint32_t, std::string> out;
  for (const auto& one : reduction.contributions()) out[one.rank()] = one.data();
  return out;
}

TEST(Reducer, CompleteWhenTheWholeSubtreeHasContributed) {
  const auto membership = seven_daemons(Rank(1));
  Reducer reducer;
  reducer.add(contribution(3, "c"));
  reducer.add(contribution(1, "a"));
  EXPECT_TRUE(reducer.take_complete(membership).empty()) << "rank 4 is missing";
  reducer.add(contribution(4, "d"));
  const auto complete = reducer.take_complete(membership);
  ASSERT_EQ(complete.size(), 1U) << "rank 2 takes part, but not below rank 1";
  EXPECT_EQ(data_of(complete[0]),
            (std::map<std::uint32_t, std::string>{{1, "a"}, {3, "c"}, {4, "d"}}));
  EXPECT_TRUE(complete[0].participants().ranges(0).last() == 4);
  EXPECT_TRUE(reducer.empty());
}

TEST(Reducer, TheLostAreNotWaitedFor) {
  auto membership = seven_daemons(Rank(1));
  Reducer reducer;
  reducer.add(contribution(3, "c"));
  reducer.add(contribution(1, "a"));
  leave(membership, 4);
  EXPECT_EQ(reducer.take_complete(membership).size(), 1U);
}

TEST(Reducer, WhoMovesBelowIsWaitedFor) {
  auto membership = seven_daemons(Rank(3));
  Reducer reducer;
  reducer.add(contribution(3, "c"));
  leave(membership, 1);  // rank 3 takes its place, above rank 4
  EXPECT_TRUE(reducer.take_complete(membership).empty());
  reducer.add(contribution(4, "d"));
  EXPECT_EQ(reducer.take_complete(membership).size(), 1U);
}

TEST(Reducer, ARepeatedContributionCountsOnce) {
  const auto membership = seven_daemons(Rank(1));
  Reducer reducer;
  reducer.add(contribution(3, "c"));
  reducer.add(contribution(3, "c"));
  reducer.add(contribution(1, "a"));
  EXPECT_TRUE(reducer.take_complete(membership).empty());
  const auto taken = reducer.take_all();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].contributions_size(), 2);
}

TEST(Reducer, ReductionsDoNotMix) {
  const auto membership = seven_daemons(Rank(3));
  Reducer reducer;
  reducer.add(contribution(3, "first"));
  reducer.add(contribution(3, "second", 2));
  reducer.add(contribution(3, "end", 1, wire::ReductionId::ENDED));
  const auto complete = reducer.take_complete(membership);
  ASSERT_EQ(complete.size(), 3U);
  std::map<std::pair<std::uint32_t, int>, std::string> seen;
  for (const auto& one : complete) {
    seen[{one.id().job(), one.id().kind()}] = one.contributions(0).data();
  }
  EXPECT_EQ((seen[{1, wire::ReductionId::LAUNCHED}]), "first");
  EXPECT_EQ((seen[{2, wire::ReductionId::LAUNCHED}]), "second");
  EXPECT_EQ((seen[{1, wire::ReductionId::ENDED}]), "end");
}

TEST(Reducer, WhatIsTooMuchForOneMessageGoesInSeveral) {
  const auto membership = seven_daemons(Rank(1));
  Reducer reducer(5);
  for (const std::uint32_t rank : {1U, 3U, 4U}) reducer.add(contribution(rank, "abc"));
  const auto complete = reducer.take_complete(membership);
  ASSERT_EQ(complete.size(), 3U);
  for (const auto& part : complete) {
    EXPECT_EQ(part.contributions_size(), 1);
    EXPECT_EQ(part.id().job(), 1U);
    EXPECT_EQ(RankSet::from_wire(part.participants()).size(), 4U);
  }
  EXPECT_TRUE(reducer.empty());
  reducer.add(contribution(3, "ab"));
  reducer.add(contribution(4, "cde"));
  EXPECT_EQ(reducer.take_all().size(), 1U) << "as much as fits goes together";
}

TEST(Reducer, PatienceEnds) {
  Reducer reducer;
  reducer.add(contribution(3, "c"));
  EXPECT_FALSE(reducer.empty());
  const auto taken = reducer.take_all();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(data_of(taken[0]), (std::map<std::uint32_t, std::string>{{3, "c"}}));
  EXPECT_TRUE(reducer.empty());
  EXPECT_TRUE(reducer.take_all().empty());
}

}  // namespace
}  // namespace tide::core
