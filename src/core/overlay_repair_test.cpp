// The tree when links and daemons are lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/overlay_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<Rank> ranks(std::initializer_list<std::uint32_t> values) {
  std::vector<Rank> out;
  for (const auto value : values) out.emplace_back(value);
  return out;
}

wire::Operation shutdown() {
  wire::Operation out;
  out.mutable_shutdown();
  return out;
}

wire::Operation release() {
  wire::Operation out;
  out.mutable_release();
  return out;
}

TEST(OverlayRepair, ABrokenLinkIsMadeAnewAndNobodyIsSuspectedBelow) {
  OverlayNet net(3, 2);
  net.start();
  net.cut(net.up_link(3));
  net.settle();
  EXPECT_EQ(net.rig(3).overlay.parent_peer(), Rank(1));
  EXPECT_EQ(net.rig(1).overlay.adopted_children(), ranks({3}));
  EXPECT_THAT(net.rig(3).suspects, IsEmpty()) << "the parent is there";
  EXPECT_THAT(net.rig(1).suspects, ElementsAre(Pair(3, "cut")));
  EXPECT_EQ(net.rig(3).path_changes, 2) << "what may be lost is sent again";
}

// Rank 7 hangs below 3, 1 and the head.
TEST(OverlayRepair, ALostParentIsReportedThroughTheNextAncestor) {
  OverlayNet net(8, 2);
  net.start();
  net.unreachable = {3};
  net.cut(net.up_link(7), "reset");
  net.settle();
  EXPECT_EQ(net.rig(7).overlay.parent_peer(), Rank(1));
  EXPECT_EQ(net.rig(1).overlay.adopted_children(), ranks({3, 4, 7}));
  EXPECT_THAT(net.rig(7).suspects, ElementsAre(Pair(3, "reset")));
  EXPECT_FALSE(net.rig(7).timers.armed(TimerKind::kReattachDeadline));
  EXPECT_TRUE(net.rig(7).timers.armed(TimerKind::kReturnToParent));
  EXPECT_THAT(net.rig(7).cut_off, IsEmpty());
}

TEST(OverlayRepair, WhoHangsOnAnAncestorReturnsToItsParent) {
  OverlayNet net(8, 2);
  net.start();
  net.unreachable = {3};
  net.cut(net.up_link(7));
  net.settle();
  ASSERT_TRUE(net.rig(7).fire(TimerKind::kReturnToParent));
  net.settle();
  EXPECT_EQ(net.rig(7).overlay.parent_peer(), Rank(1)) << "still not there";
  EXPECT_EQ(net.rig(7).suspects.size(), 2U);
  net.unreachable = {};
  ASSERT_TRUE(net.rig(7).fire(TimerKind::kReturnToParent));
  net.settle();
  EXPECT_EQ(net.rig(7).overlay.parent_peer(), Rank(3));
  EXPECT_EQ(net.rig(1).overlay.adopted_children(), ranks({3, 4}));
  EXPECT_THAT(net.rig(1).suspects, IsEmpty()) << "it said that it moved";
}

TEST(OverlayRepair, ADeathMovesTheChildrenToTheirNewPlaces) {
  OverlayNet net(8, 2);
  net.start();
  net.head().completed.clear();
  net.unreachable = {1};
  net.cut(net.up_link(1));
  net.cut(net.up_link(3));
  net.cut(net.up_link(4));
  net.settle({1});
  net.declare_dead(1);
  net.settle({1});
  // Rank 3 takes the place of 1, rank 7 that of 3.
  EXPECT_EQ(net.head().overlay.adopted_children(), ranks({2, 3}));
  EXPECT_EQ(net.rig(3).overlay.adopted_children(), ranks({4, 7}));
  EXPECT_EQ(net.rig(7).overlay.adopted_children(), ranks({8}));
  EXPECT_THAT(net.head().completed, ElementsAre(2)) << "the dead are not waited for";
  net.head().overlay.broadcast(shutdown());
  net.settle({1});
  for (const std::uint32_t rank : {2U, 3U, 4U, 5U, 6U, 7U, 8U}) {
    EXPECT_THAT(net.rig(rank).operations, ElementsAre(2, 3)) << rank;
  }
  EXPECT_THAT(net.head().completed, ElementsAre(2, 3));
}

// Rank 7 hung below 3. It lost its parent and does not come: no link tells anybody.
TEST(OverlayRepair, AnOrphanThatDoesNotComeIsMissedByItsNewParent) {
  OverlayNet net(8, 2);
  net.start();
  net.unreachable = {3, 7};
  net.cut(net.up_link(3));
  net.cut(net.up_link(7));
  net.cut(net.up_link(8));
  net.settle({3, 7});
  net.declare_dead(3);
  net.settle({3, 7});
  OverlayRig& parent = net.rig(1);  // rank 7 takes the place of 3
  ASSERT_TRUE(parent.timers.armed(TimerKind::kMissingChildren));
  parent.suspects.clear();
  ASSERT_TRUE(parent.fire(TimerKind::kMissingChildren));
  EXPECT_THAT(parent.suspects, ElementsAre(Pair(7, "it did not come to its new parent")));
  parent.collect();
  ASSERT_TRUE(parent.timers.armed(TimerKind::kMissingChildren)) << "one word may be lost";
  net.declare_dead(7);
  net.settle({3, 7});
  parent.suspects.clear();
  ASSERT_TRUE(parent.fire(TimerKind::kMissingChildren));
  EXPECT_THAT(parent.suspects, IsEmpty());
  EXPECT_FALSE(parent.timers.armed(TimerKind::kMissingChildren)) << "nobody is missed any more";
}

TEST(OverlayRepair, AnOrphanThatComesIsNotSuspected) {
  OverlayNet net(8, 2);
  net.start();
  net.unreachable = {3};
  net.cut(net.up_link(3));
  net.cut(net.up_link(7));
  net.cut(net.up_link(8));
  net.settle({3});
  net.declare_dead(3);
  net.settle({3});
  for (const std::uint32_t rank : {0U, 1U, 2U, 7U}) {
    net.rig(rank).suspects.clear();
    if (net.rig(rank).timers.armed(TimerKind::kMissingChildren)) {
      ASSERT_TRUE(net.rig(rank).fire(TimerKind::kMissingChildren));
    }
    EXPECT_THAT(net.rig(rank).suspects, IsEmpty()) << rank;
    EXPECT_FALSE(net.rig(rank).timers.armed(TimerKind::kMissingChildren)) << rank;
  }
}

// An acknowledgement from before a repair does not speak for those who moved since.
TEST(OverlayRepair, CompletionWaitsForThoseWhoMoved) {
  OverlayNet net(4, 2);
  net.start();
  net.unreachable = {1};
  net.cut(net.up_link(1));
  net.declare_dead(1);
  net.head().completed.clear();
  net.settle({1, 4});
  EXPECT_THAT(net.head().completed, IsEmpty()) << "rank 4 has not heard of it";
  EXPECT_LT(net.head().overlay.completed(), Serial(2));
}

// The same for an operation from before the repair: rank 3 had it, without rank 4 below it.
TEST(OverlayRepair, AnEarlierOperationWaitsForThoseWhoMovedToo) {
  OverlayNet net(4, 2);
  net.start();
  net.head().completed.clear();
  net.head().overlay.broadcast(release());
  net.settle({4});
  net.unreachable = {1};
  for (const std::uint32_t rank : {1U, 3U, 4U}) net.cut(net.up_link(rank));
  net.declare_dead(1);
  net.settle({1, 4});
  ASSERT_EQ(net.head().overlay.adopted_children(), ranks({2, 3}));
  EXPECT_THAT(net.head().completed, IsEmpty()) << "rank 4 may not have either";
  net.settle({1});
  EXPECT_THAT(net.head().completed, ElementsAre(3));
}

TEST(OverlayRepair, WithoutAnyPathItTriesAgainAndThenGivesUp) {
  OverlayNet net(3, 2);
  net.start();
  net.unreachable = {0, 1};
  net.cut(net.up_link(3), "reset");
  net.settle();
  EXPECT_FALSE(net.rig(3).overlay.attached());
  ASSERT_TRUE(net.rig(3).fire(TimerKind::kReattach));
  net.settle();
  EXPECT_THAT(net.rig(3).cut_off, IsEmpty());
  EXPECT_THAT(net.rig(3).suspects, IsEmpty()) << "nobody to tell it to";
  ASSERT_TRUE(net.rig(3).fire(TimerKind::kReattachDeadline));
  ASSERT_EQ(net.rig(3).cut_off.size(), 1U);
  EXPECT_NE(net.rig(3).cut_off[0].find("reset"), std::string::npos) << net.rig(3).cut_off[0];
}

TEST(OverlayRepair, RetriesDoNotPutTheDeadlineOff) {
  OverlayNet net(1, 2);
  net.start();
  net.unreachable = {0};
  net.cut(net.up_link(1));
  net.settle();
  const auto deadline = firing(net.rig(1).seen, TimerKind::kReattachDeadline);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(net.rig(1).fire(TimerKind::kReattach));
    net.settle();
  }
  EXPECT_EQ(firing(net.rig(1).seen, TimerKind::kReattachDeadline).generation, deadline.generation);
  EXPECT_TRUE(net.rig(1).timers.armed(TimerKind::kReattachDeadline));
}

TEST(OverlayRepair, APathFoundInTimeEndsTheDeadline) {
  OverlayNet net(1, 2);
  net.start();
  net.unreachable = {0};
  net.cut(net.up_link(1));
  net.settle();
  net.unreachable = {};
  ASSERT_TRUE(net.rig(1).fire(TimerKind::kReattach));
  net.settle();
  EXPECT_TRUE(net.rig(1).overlay.attached());
  EXPECT_FALSE(net.rig(1).fire(TimerKind::kReattachDeadline));
  EXPECT_THAT(net.rig(1).cut_off, IsEmpty());
}

std::vector<Rank> asked(OverlayRig& daemon) {
  std::vector<Rank> out;
  for (const auto& connect : all_of<Connect>(daemon.collect())) out.push_back(connect.peer);
  return out;
}

// The parent neither answers nor refuses: the head would give us up before that is known.
TEST(OverlayRepair, AnAncestorThatDoesNotAnswerDoesNotHoldUpTheNext) {
  OverlayNet net(3, 2);
  net.start();
  OverlayRig& daemon = net.rig(3);
  daemon.collect();
  daemon.overlay.handle(LinkDown{net.up_link(3), LinkEnd::kSilent, "silent"});
  EXPECT_THAT(asked(daemon), ElementsAre(Rank(1)));
  ASSERT_TRUE(daemon.fire(TimerKind::kReattach));
  EXPECT_THAT(asked(daemon), ElementsAre(kHeadRank));
  daemon.overlay.handle(LinkUp{LinkId(70), kHeadRank, Incarnation(0), 1, true});
  EXPECT_EQ(daemon.overlay.parent_peer(), kHeadRank);
  // Late, but it is the proper one after all.
  daemon.overlay.handle(LinkUp{LinkId(71), Rank(1), OverlayNet::incarnation(1), 1, true});
  EXPECT_EQ(daemon.overlay.parent_peer(), Rank(1));
}

TEST(OverlayRepair, OfSeveralThatAnswerTheFirstIsTaken) {
  OverlayNet net(8, 2);  // rank 7 hangs below 3, 1 and the head
  net.start();
  OverlayRig& daemon = net.rig(7);
  daemon.collect();
  daemon.overlay.handle(LinkDown{net.up_link(7), LinkEnd::kSilent, "silent"});
  EXPECT_THAT(asked(daemon), ElementsAre(Rank(3)));
  ASSERT_TRUE(daemon.fire(TimerKind::kReattach));
  EXPECT_THAT(asked(daemon), ElementsAre(Rank(1)));
  ASSERT_TRUE(daemon.fire(TimerKind::kReattach));
  EXPECT_THAT(asked(daemon), ElementsAre(kHeadRank));
  daemon.overlay.handle(LinkUp{LinkId(70), Rank(1), OverlayNet::incarnation(1), 1, true});
  daemon.overlay.handle(LinkUp{LinkId(71), kHeadRank, Incarnation(0), 1, true});
  EXPECT_EQ(daemon.overlay.parent_peer(), Rank(1));
  const auto closed = all_of<CloseLink>(daemon.out);
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].link, LinkId(71));
}

// Ranks 3, 7 and 15 hang below 1, one below the other. The head's machine is gone.
class WithoutHead : public ::testing::Test {
 public:
  WithoutHead() {
    net.start();
    net.unreachable = {0};
    net.cut(net.up_link(1), "silent");
    net.cut(net.up_link(2), "silent");
    net.settle();
  }
  void begin_second_round() {
    ASSERT_TRUE(net.rig(1).fire(TimerKind::kReattach));
    net.settle();
  }

  OverlayNet net{16, 2};
};

TEST_F(WithoutHead, ARepairThatSucceedsAtOnceIsNotToldToThoseBelow) {
  EXPECT_TRUE(net.rig(1).timers.armed(TimerKind::kReattachDeadline));
  EXPECT_FALSE(net.rig(3).timers.armed(TimerKind::kReattachDeadline));
}

TEST_F(WithoutHead, AllLevelsEndAtTheSameTime) {
  begin_second_round();
  for (const std::uint32_t rank : {3U, 7U, 15U}) {
    EXPECT_TRUE(net.rig(rank).timers.armed(TimerKind::kReattachDeadline)) << rank;
    EXPECT_TRUE(net.rig(rank).overlay.attached()) << rank;
    ASSERT_TRUE(net.rig(rank).fire(TimerKind::kReattachDeadline));
    ASSERT_EQ(net.rig(rank).cut_off.size(), 1U) << rank;
    EXPECT_NE(net.rig(rank).cut_off[0].find("above has none either"), std::string::npos);
  }
}

TEST_F(WithoutHead, TheLossOfTheParentDoesNotPutTheDeadlineOff) {
  begin_second_round();
  const auto deadline = firing(net.rig(7).seen, TimerKind::kReattachDeadline);
  net.unreachable = {0, 1, 3};
  net.cut(net.up_link(7), "it has ended");
  net.settle();
  EXPECT_EQ(firing(net.rig(7).seen, TimerKind::kReattachDeadline).generation, deadline.generation);
}

TEST_F(WithoutHead, AWayThatIsFoundInTimeEndsTheDeadlineOfAll) {
  begin_second_round();
  net.unreachable = {};
  ASSERT_TRUE(net.rig(1).fire(TimerKind::kReattach));
  net.settle();
  for (const std::uint32_t rank : {1U, 3U, 7U, 15U}) {
    EXPECT_FALSE(net.rig(rank).timers.armed(TimerKind::kReattachDeadline)) << rank;
    EXPECT_FALSE(net.rig(rank).timers.armed(TimerKind::kOwnWay)) << rank;
  }
  EXPECT_EQ(net.rig(15).overlay.parent_peer(), Rank(7));
}

// Rank 1 is the only one that can't get there.
TEST_F(WithoutHead, WhoHasAnotherWayTakesItAndReturnsLater) {
  begin_second_round();
  net.unreachable = {};
  ASSERT_TRUE(net.rig(7).fire(TimerKind::kOwnWay));
  net.settle();
  EXPECT_EQ(net.rig(7).overlay.parent_peer(), kHeadRank);
  for (const std::uint32_t rank : {7U, 15U}) {
    EXPECT_FALSE(net.rig(rank).timers.armed(TimerKind::kReattachDeadline)) << rank;
  }
  EXPECT_TRUE(net.rig(3).timers.armed(TimerKind::kReattachDeadline));
  const auto waits = all_of<StartTimer>(net.rig(7).seen);
  const auto last = firing(net.rig(7).seen, TimerKind::kReturnToParent);
  const auto found = std::ranges::find_if(
      waits, [&](const StartTimer& timer) { return timer.generation == last.generation; });
  ASSERT_NE(found, waits.end());
  EXPECT_EQ(found->after_ms, OverlayConfig{}.reattach_timeout_ms) << "when its parent has one, too";
}

TEST_F(WithoutHead, AnAncestorWithoutAWayDoesNotPutTheDeadlineOff) {
  begin_second_round();
  const auto deadline = firing(net.rig(7).seen, TimerKind::kReattachDeadline);
  net.unreachable = {0, 3};
  ASSERT_TRUE(net.rig(7).fire(TimerKind::kOwnWay));
  net.settle();
  EXPECT_EQ(net.rig(7).overlay.parent_peer(), Rank(1));
  EXPECT_TRUE(net.rig(7).timers.armed(TimerKind::kReattachDeadline));
  EXPECT_EQ(firing(net.rig(7).seen, TimerKind::kReattachDeadline).generation, deadline.generation);
}

// What a daemon said before it moved arrives late, by its old path.
TEST(OverlayRepair, AnOldPathDoesNotTakeBackWhoHasComeSince) {
  OverlayNet net(8, 2);
  net.start();
  const LinkId old_path = net.up_link(3);
  net.unreachable = {3};
  net.cut(net.up_link(7));
  net.settle();
  ASSERT_EQ(net.rig(1).overlay.adopted_children(), ranks({3, 4, 7}));
  wire::LinkMessage late;
  late.mutable_up()->set_origin(7);
  late.mutable_up()->set_moves(1);
  net.rig(1).overlay.handle(MessageIn{old_path, late, {}});
  EXPECT_EQ(net.rig(1).overlay.adopted_children(), ranks({3, 4, 7}));
  late.mutable_up()->set_moves(net.rig(7).overlay.moves() + 1);
  net.rig(1).overlay.handle(MessageIn{old_path, late, {}});
  EXPECT_EQ(net.rig(1).overlay.adopted_children(), ranks({3, 4})) << "it has moved there since";
}

// 9 has gone from 4 to 1 and says nothing more, with 19 below it. Then 4 hangs on the head for a
// while, and so leads to them by the tree.
class HiddenWay : public ::testing::Test {
 public:
  HiddenWay() {
    net.start();
    net.unreachable = {4};
    net.cut(net.up_link(9));
    net.settle();
    net.unreachable = {1};
    net.cut(net.up_link(4));
    net.settle();
    EXPECT_EQ(net.rig(9).overlay.parent_peer(), Rank(1));
    EXPECT_EQ(net.rig(4).overlay.parent_peer(), kHeadRank);
    path_changes_of_9 = net.rig(9).path_changes;
    path_changes_of_19 = net.rig(19).path_changes;
  }
  void expect_asked_again(const std::set<std::uint32_t>& withheld = {}) {
    ASSERT_TRUE(net.head().fire(TimerKind::kLostWays));
    net.settle(withheld);
    EXPECT_EQ(net.rig(9).path_changes, path_changes_of_9 + 1) << "what went by 4 is sent again";
    EXPECT_EQ(net.rig(19).path_changes, path_changes_of_19 + 1);
    EXPECT_EQ(net.rig(9).overlay.parent_peer(), Rank(1)) << "it did not move";
  }

  OverlayNet net{19, 2};
  int path_changes_of_9 = 0;
  int path_changes_of_19 = 0;
};

TEST_F(HiddenWay, IsAskedAgainWhenTheOneThatHidItDies) {
  net.declare_dead(4);
  net.settle({4});
  expect_asked_again({4});
}

TEST_F(HiddenWay, IsAskedAgainWhenTheOneThatHidItLosesItsLink) {
  net.cut(net.up_link(4));
  net.settle();
  expect_asked_again();
}

TEST_F(HiddenWay, IsAskedAgainWhenTheOneThatHidItReturnsToItsPlace) {
  net.unreachable = {};
  ASSERT_TRUE(net.rig(4).fire(TimerKind::kReturnToParent));
  net.settle();
  ASSERT_EQ(net.rig(4).overlay.parent_peer(), Rank(1));
  expect_asked_again();
}

TEST_F(HiddenWay, IsAskedAgainWhenTheOneThatHidItIsHeardFromElsewhere) {
  wire::LinkMessage word;
  word.mutable_up()->set_origin(4);
  word.mutable_up()->set_moves(net.rig(4).overlay.moves() + 1);
  net.head().overlay.handle(MessageIn{net.up_link(1), word, {}});
  ASSERT_EQ(net.head().overlay.adopted_children(), ranks({1, 2}));
  net.settle();
  expect_asked_again();
}

int resyncs(const Actions& actions) {
  const auto sends = all_of<Send>(actions);
  return static_cast<int>(
      std::ranges::count_if(sends, [](const Send& send) { return send.message.has_resync(); }));
}

// After a repair a whole family may return to its place at once.
TEST(OverlayRepair, ManyWhoLeaveTogetherMakeOneRequest) {
  OverlayNet net(8, 2);
  net.start();
  net.unreachable = {1};
  for (const std::uint32_t rank : {3U, 4U}) net.cut(net.up_link(rank));
  net.settle();
  ASSERT_EQ(net.head().overlay.adopted_children(), ranks({1, 2, 3, 4}));
  net.unreachable = {};
  for (const std::uint32_t rank : {3U, 4U}) {
    ASSERT_TRUE(net.rig(rank).fire(TimerKind::kReturnToParent));
  }
  net.settle();
  ASSERT_EQ(net.head().overlay.adopted_children(), ranks({1, 2}));
  EXPECT_EQ(resyncs(net.head().seen), 0);
  ASSERT_TRUE(net.head().fire(TimerKind::kLostWays));
  EXPECT_EQ(resyncs(net.head().collect()), 1);
  EXPECT_FALSE(net.head().timers.armed(TimerKind::kLostWays));
}

TEST(OverlayRepair, WithOneThatHungInItsPlaceNobodyElsesWayIsLost) {
  OverlayNet net(8, 2);
  net.start();
  net.cut(net.up_link(1));
  net.cut(net.up_link(3));
  net.settle();
  net.declare_dead(2);
  net.settle({2});
  for (const std::uint32_t rank : {0U, 1U}) {
    EXPECT_FALSE(net.rig(rank).timers.armed(TimerKind::kLostWays)) << rank;
  }
}

TEST(OverlayRepair, ATicketIsNotTakenTwice) {
  OverlayNet net(3, 2);
  net.start();
  net.head().collect();
  net.head().overlay.handle(LinkUp{LinkId(70), Rank(2), OverlayNet::incarnation(2), 1, false});
  wire::LinkMessage report;
  report.mutable_report()->set_node("v2");
  net.head().overlay.handle(MessageIn{LinkId(70), report, {}});
  const auto closed = all_of<CloseLink>(net.head().out);
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].reason, wire::GOODBYE_REFUSED);
  EXPECT_THAT(net.head().suspects, IsEmpty());
}

TEST(OverlayRepair, AnotherLifeAtTheParentsAddressIsNoParent) {
  OverlayNet net(3, 2);
  net.start();
  net.unreachable = {1};
  const LinkId link = net.up_link(3);
  net.rig(3).overlay.handle(LinkDown{link, LinkEnd::kClosed, "reset"});
  ASSERT_EQ(all_of<Connect>(net.rig(3).out).size(), 1U);
  net.rig(3).overlay.handle(LinkUp{LinkId(70), Rank(1), Incarnation(5), 1, true});
  const auto closed = all_of<CloseLink>(net.rig(3).out);
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].link, LinkId(70));
  ASSERT_EQ(all_of<Connect>(net.rig(3).out).size(), 2U);
  EXPECT_EQ(all_of<Connect>(net.rig(3).out)[1].peer, kHeadRank);
}

TEST(OverlayRepair, DuringShutdownLostLinksMeanNothing) {
  OverlayNet net(3, 2);
  net.start();
  for (const std::uint32_t rank : {0U, 1U, 3U}) net.rig(rank).overlay.enter_shutdown();
  net.cut(net.up_link(3));
  net.cut(net.up_link(1));
  EXPECT_THAT(net.head().suspects, IsEmpty());
  EXPECT_THAT(net.rig(1).suspects, IsEmpty());
  EXPECT_TRUE(all_of<Connect>(net.rig(3).out).empty());
  EXPECT_TRUE(all_of<Connect>(net.rig(1).out).empty());
}

TEST(OverlayRepair, ARepairedSubtreeSendsAgain) {
  OverlayNet net(8, 2);
  net.start();
  net.cut(net.up_link(1));
  net.settle();
  for (const std::uint32_t rank : {1U, 3U, 4U, 7U, 8U})
    EXPECT_EQ(net.rig(rank).path_changes, 2) << rank;
  EXPECT_EQ(net.rig(2).path_changes, 1);
}

// Rank 15 lost its parent 7 for a moment and came back to it, with 3, 1 and 0 left to try. Then 3
// and 7 are declared dead, and whoever is to be its parent now does not answer.
void lose_old_ancestors() {
  OverlayNet net(16, 2);
  net.start();
  net.cut(net.up_link(15));
  net.settle();
  net.unreachable = {3};
  for (const std::uint32_t rank : {3U, 7U, 8U}) net.cut(net.up_link(rank));
  net.declare_dead(3);
  net.settle({3});
  net.unreachable = {8};
  net.declare_dead(7);
  net.settle({3});
  const auto tried = all_of<Connect>(net.rig(15).seen);
  const auto& members = net.rig(15).overlay.membership();
  for (const auto& connect : tried) {
    if (connect.peer != Rank(7) && !members.has(connect.peer)) std::exit(3);
  }
  if (net.rig(15).overlay.membership().serial() != Serial(3)) std::exit(5);
  std::exit(net.rig(15).overlay.attached() ? 0 : 4);
}

TEST(OverlayRepairDeathTest, AncestorsThatHaveLeftAreNotTriedAgain) {
  EXPECT_EXIT(lose_old_ancestors(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tide::core
