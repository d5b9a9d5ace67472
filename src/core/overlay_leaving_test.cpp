// Daemons that are ordered to leave, in the tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/overlay_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// With radix 2: 0→1,2 1→3,4 2→5,6 3→7,8
constexpr std::uint32_t kDaemons = 8;
constexpr std::uint32_t kRadix = 2;

class OverlayLeaving : public ::testing::Test {
 public:
  OverlayLeaving() : net(kDaemons, kRadix) { net.start(); }
  void expect_nobody_suspected() {
    for (std::uint32_t rank = 0; rank <= kDaemons; ++rank) {
      EXPECT_THAT(net.rig(rank).suspects, IsEmpty()) << rank;
      EXPECT_THAT(net.rig(rank).cut_off, IsEmpty()) << rank;
    }
  }
  OverlayNet net;
};

// row:S2 row:S4 one branch: those below end first, and its closed link stands for all of it
TEST_F(OverlayLeaving, ABranchLeavesFromTheBottom) {
  net.order_to_leave({3, 7, 8});
  net.settle();
  EXPECT_THAT(net.ended, UnorderedElementsAre(3, 7, 8));
  EXPECT_EQ(net.ended.back(), 3U);
  EXPECT_THAT(net.rig(1).departed, ElementsAre(Pair(3, true)));
  EXPECT_THAT(net.rig(3).let_go, ElementsAre("released"));
  expect_nobody_suspected();
}

// row:S2 the disconnects that follow cost no repair
TEST_F(OverlayLeaving, TheTreeIsRepairedOnceByEverybody) {
  net.order_to_leave({3, 6, 7, 8});
  net.settle();
  for (const std::uint32_t rank : {0U, 1U, 2U, 4U, 5U}) {
    EXPECT_EQ(net.rig(rank).overlay.membership().repairs(), 1U) << rank;
  }
  EXPECT_EQ(net.ended.size(), 4U);
  EXPECT_EQ(net.head().completed.back(), 2U) << "everybody who stays has acknowledged";
}

// row:S6
TEST_F(OverlayLeaving, TheOrderIsForwardedBeforeItIsProcessed) {
  net.order_to_leave({1, 3});
  net.settle({1});
  net.head().collect();
  EXPECT_THAT(net.rig(1).let_go, IsEmpty());
  EXPECT_EQ(net.rig(1).forwarded_when_processed, 2U) << "to both children";
}

// row:S3
TEST_F(OverlayLeaving, LeavingBeginsWithTheOrderAndOnlyForThoseItNames) {
  net.order_to_leave({3});
  net.settle({3});  // what it has to say does not get out
  EXPECT_TRUE(net.rig(3).overlay.leaving());
  EXPECT_FALSE(net.rig(7).overlay.leaving());
  EXPECT_FALSE(net.rig(1).overlay.leaving());
  EXPECT_THAT(net.rig(3).let_go, IsEmpty()) << "it relays until nobody needs it";
}

TEST_F(OverlayLeaving, ChildrenThatStayFindAnotherParentBeforeItGoes) {
  net.order_to_leave({1});
  net.settle({3});  // has not moved yet
  EXPECT_THAT(net.ended, IsEmpty());
  net.settle();
  EXPECT_THAT(net.ended, ElementsAre(1));
  EXPECT_THAT(net.head().departed, ElementsAre(Pair(1, true)));
  EXPECT_EQ(net.rig(3).overlay.parent_peer(), Rank(0)) << "holds the place of 1";
  EXPECT_EQ(net.rig(4).overlay.parent_peer(), Rank(3));
  expect_nobody_suspected();
}

// row:S3 and it reports nobody
TEST_F(OverlayLeaving, TheFirstLostConnectionEndsIt) {
  net.order_to_leave({3});
  net.settle({3});
  net.rig(3).collect();
  net.cut(net.up_link(3));
  EXPECT_THAT(net.rig(3).let_go, ElementsAre("the connection to a neighbour ended: cut"));
  EXPECT_THAT(net.rig(3).suspects, IsEmpty());
  net.end(3);
  net.settle();
  EXPECT_THAT(net.rig(1).departed, ElementsAre(Pair(3, false)));
  EXPECT_THAT(net.rig(1).suspects, IsEmpty()) << "it has the order";
}

TEST_F(OverlayLeaving, AnOlderAcknowledgementLetsNobodyGo) {
  net.order_to_leave({3});
  net.settle({3});
  wire::LinkMessage message;
  message.mutable_operation_ack()->set_serial(1);
  net.rig(1).overlay.handle(MessageIn{net.up_link(3), message, {}});
  for (const auto& sent : all_of<Send>(net.rig(1).collect())) {
    EXPECT_FALSE(sent.message.has_let_go());
  }
}

TEST_F(OverlayLeaving, NobodyIsWaitedForForEver) {
  net.order_to_leave({3});
  net.settle({3, 7, 8});
  net.rig(3).collect();
  EXPECT_TRUE(net.rig(3).fire(TimerKind::kLeaving));
  EXPECT_EQ(net.rig(3).let_go.size(), 1U) << "those below it stay, and find their way";
}

TEST_F(OverlayLeaving, ChildrenThatDoNotEndAreWaitedForForABoundedTime) {
  net.order_to_leave({3, 7});
  net.settle({7});
  EXPECT_THAT(net.ended, IsEmpty()) << "7 has not acknowledged";
  net.rig(3).overlay.handle(MessageIn{net.up_link(3),
                                      [] {
                                        wire::LinkMessage message;
                                        message.mutable_let_go();
                                        return message;
                                      }(),
                                      {}});
  EXPECT_THAT(net.rig(3).let_go, IsEmpty());
  net.rig(3).collect();
  EXPECT_TRUE(net.rig(3).fire(TimerKind::kLeaving));
  EXPECT_EQ(net.rig(3).let_go.size(), 1U);
}

// row:S5 row:S11
TEST_F(OverlayLeaving, WhoMissedTheOrderHearsItFromTheNextAncestor) {
  net.order_to_leave({3, 7});
  net.settle({3});  // got the order, and told nobody
  net.end(3);
  net.settle();
  EXPECT_THAT(net.rig(7).operations, ElementsAre(2)) << "from 1";
  EXPECT_TRUE(net.rig(7).overlay.leaving());
  EXPECT_THAT(net.ended, ElementsAre(3, 7));
  EXPECT_THAT(net.rig(1).departed, ElementsAre(Pair(3, false), Pair(7, true)));
  EXPECT_EQ(net.rig(8).overlay.parent_peer(), Rank(1)) << "stays";
  EXPECT_THAT(net.rig(1).suspects, IsEmpty()) << "it has the order";
}

// Of a grow, or of a loss: the one who leaves is no member, but that is no news.
TEST_F(OverlayLeaving, AnotherChangeBeforeItIsLetGoEndsItNoOtherWay) {
  net.order_to_leave({3, 5});
  wire::Operation grow;
  grow.mutable_membership()->set_span(kDaemons + 2);
  *grow.mutable_membership()->mutable_joined() = RankSet(Rank(kDaemons + 1)).to_wire();
  net.head().overlay.broadcast(grow);
  net.settle();
  EXPECT_THAT(net.rig(3).operations, ElementsAre(2, 3)) << "it relays them still";
  EXPECT_THAT(net.rig(3).let_go, ElementsAre("released"));
  EXPECT_THAT(net.rig(5).let_go, ElementsAre("released"));
  expect_nobody_suspected();
}

// The first order makes 8 move from 3 to 7, the second comes to it by 3 before it has moved, and 7
// waits for it.
TEST_F(OverlayLeaving, WhoIsOnItsWayToItsParentLeavesFromThere) {
  net.order_to_leave({3});
  net.order_to_leave({7, 8});
  net.settle();
  EXPECT_THAT(net.ended, UnorderedElementsAre(3, 7, 8));
  EXPECT_LT(std::ranges::find(net.ended, 8U), std::ranges::find(net.ended, 7U));
  EXPECT_THAT(net.rig(1).departed, UnorderedElementsAre(Pair(3, true), Pair(7, true)));
  expect_nobody_suspected();
}

TEST_F(OverlayLeaving, WhoMovesToOneThatStaysIsSeenToLeave) {
  net.order_to_leave({3});
  net.order_to_leave({8});
  net.settle();
  EXPECT_THAT(net.ended, UnorderedElementsAre(3, 8));
  EXPECT_THAT(net.rig(7).departed, ElementsAre(Pair(8, true)));
  EXPECT_THAT(net.rig(1).departed, ElementsAre(Pair(3, true)));
  expect_nobody_suspected();
}

// It is unreachable, and waits for nobody.
TEST_F(OverlayLeaving, WhoCannotGetToItsParentLeavesFromWhereItIs) {
  net.order_to_leave({3});
  net.order_to_leave({8});
  net.unreachable.insert(7);
  net.settle();
  EXPECT_THAT(net.ended, UnorderedElementsAre(3, 8));
}

// row:S7
TEST_F(OverlayLeaving, AWordOfOneThatHasLeftChangesNothing) {
  net.order_to_leave({8});
  net.settle();
  ASSERT_THAT(net.rig(3).departed, ElementsAre(Pair(8, true)));
  const auto repairs = net.rig(3).overlay.membership().repairs();
  net.rig(3).overlay.handle(LinkDown{LinkId(77), LinkEnd::kSilent, "late"});
  net.rig(3).overlay.handle(ConnectFailed{Rank(8), true, "late"});
  net.settle();
  EXPECT_EQ(net.rig(3).departed.size(), 1U);
  EXPECT_EQ(net.rig(3).overlay.membership().repairs(), repairs);
  expect_nobody_suspected();
}

TEST_F(OverlayLeaving, TheHeadKeepsTheOrderUntilItNeedNot) {
  net.order_to_leave({8});
  net.settle();
  wire::Operation other;
  other.mutable_release();
  net.head().overlay.broadcast(other);
  net.settle();
  EXPECT_EQ(net.rig(3).operations.size(), 2U);
  EXPECT_EQ(net.head().completed.back(), 3U);
  // One that missed it attaches now, and is told.
  const LinkId link = net.connect(8, 3);
  wire::LinkMessage attach;
  attach.mutable_attach()->set_applied(1);
  net.rig(3).collect();
  net.rig(3).overlay.handle(MessageIn{link, attach, {}});
  const auto sent = all_of<Send>(net.rig(3).collect());
  EXPECT_TRUE(std::ranges::any_of(
      sent, [](const Send& one) { return one.message.operation().membership().orderly(); }));
}

// Everybody but the head, at any radix.
TEST(OverlayLeavingAll, AllMayLeave) {
  for (const std::uint32_t radix : {1U, 2U, 64U}) {
    OverlayNet net(kDaemons, radix);
    net.start();
    std::vector<std::uint32_t> all(kDaemons);
    std::iota(all.begin(), all.end(), 1U);
    net.order_to_leave(all);
    net.settle();
    EXPECT_EQ(net.ended.size(), kDaemons) << radix;
    for (const auto& [rank, let_go] : net.head().departed) EXPECT_TRUE(let_go) << rank;
  }
}

}  // namespace
}  // namespace tide::core
