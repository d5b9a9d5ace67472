// A place in the tree: joining, attaching, the log of operations, relaying.
#include "core/overlay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/overlay_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

wire::LinkMessage attach(std::uint64_t applied, std::uint64_t acknowledged) {
  wire::LinkMessage out;
  out.mutable_attach()->set_applied(applied);
  out.mutable_attach()->set_acknowledged(acknowledged);
  return out;
}

TEST(Overlay, ADaemonJoinsByConnectingAndReporting) {
  OverlayNet net(1, 2);
  net.rig(1).overlay.join({}, {});
  ASSERT_EQ(all_of<Connect>(net.rig(1).out).size(), 1U);
  EXPECT_EQ(all_of<Connect>(net.rig(1).out)[0].peer, kHeadRank);
  net.settle();
  EXPECT_THAT(net.head().reports, ElementsAre(1));
  EXPECT_FALSE(net.rig(1).overlay.attached()) << "a member only when the head says so";
  EXPECT_THAT(net.rig(1).operations, IsEmpty());
}

TEST(Overlay, EverybodyHangsOnItsParent) {
  OverlayNet net(4, 2);
  net.start();
  EXPECT_EQ(net.head().overlay.adopted_children(), ranks({1, 2}));
  EXPECT_EQ(net.rig(1).overlay.adopted_children(), ranks({3, 4}));
  EXPECT_EQ(net.rig(3).overlay.parent_peer(), Rank(1));
  EXPECT_EQ(net.rig(2).overlay.parent_peer(), kHeadRank);
  for (std::uint32_t rank = 1; rank <= 4; ++rank) {
    const Membership& seen = net.rig(rank).overlay.membership();
    EXPECT_EQ(seen.tree().living(), RankSet::range(Rank(0), Rank(4)));
    EXPECT_EQ(seen.serial(), net.head().overlay.membership().serial());
    EXPECT_EQ(net.rig(rank).path_changes, 1);
    EXPECT_THAT(net.rig(rank).suspects, IsEmpty()) << "the link it joined by was closed on purpose";
  }
  EXPECT_EQ(net.head().overlay.completed(), Serial(1));
}

// row:L8 everybody knows everybody before the membership counts as complete
TEST(Overlay, ABroadcastIsCompleteOnlyWhenAllHaveIt) {
  OverlayNet net(4, 2);
  net.start();
  net.head().completed.clear();
  EXPECT_EQ(net.head().overlay.broadcast(shutdown()), Serial(2));
  net.settle({4});
  EXPECT_THAT(net.rig(4).operations, ElementsAre(2));
  EXPECT_THAT(net.head().completed, IsEmpty()) << "rank 4 has not acknowledged";
  net.settle();
  EXPECT_THAT(net.head().completed, ElementsAre(2));
  for (std::uint32_t rank = 1; rank <= 4; ++rank) {
    EXPECT_THAT(net.rig(rank).operations, ElementsAre(2));
    EXPECT_EQ(net.rig(rank).overlay.completed(), Serial(2));
  }
}

TEST(Overlay, AHeadAloneIsCompleteAtOnce) {
  OverlayNet net(0, 2);
  net.head().overlay.broadcast(shutdown());
  EXPECT_THAT(net.head().completed, ElementsAre(1));
}

TEST(Overlay, AnOperationIsAppliedOnce) {
  OverlayNet net(1, 2);
  net.start();
  const LinkId link = net.up_link(1);
  wire::LinkMessage message;
  *message.mutable_operation() = shutdown();
  message.mutable_operation()->set_serial(2);
  net.rig(1).overlay.handle(MessageIn{link, message, {}});
  net.rig(1).overlay.handle(MessageIn{link, message, {}});
  EXPECT_THAT(net.rig(1).operations, ElementsAre(2));
  message.mutable_operation()->set_serial(4);
  net.rig(1).overlay.handle(MessageIn{link, message, {}});
  EXPECT_THAT(net.rig(1).operations, ElementsAre(2)) << "a gap is not jumped";
}

// row:S6 orders are forwarded before they are processed
TEST(Overlay, ForwardThenProcess) {
  OverlayNet net(3, 2);
  net.start();
  wire::LinkMessage message;
  *message.mutable_operation() = shutdown();
  message.mutable_operation()->set_serial(2);
  net.rig(1).overlay.handle(MessageIn{net.up_link(1), message, {}});
  const auto sends = all_of<Send>(net.rig(1).out);
  ASSERT_EQ(sends.size(), 1U) << "no acknowledgement before rank 3 has it";
  EXPECT_EQ(sends[0].link, net.up_link(3));
  EXPECT_EQ(sends[0].message.operation().serial(), 2U);
}

TEST(Overlay, WhoeverAttachesLateGetsTheRestOfTheLog) {
  OverlayNet net(2, 2);
  net.start();
  net.cut(net.up_link(2));
  net.head().overlay.broadcast(shutdown());
  net.head().overlay.broadcast(shutdown());
  net.settle();
  EXPECT_EQ(net.rig(2).overlay.parent_peer(), kHeadRank);
  EXPECT_THAT(net.rig(2).operations, ElementsAre(2, 3));
  EXPECT_EQ(net.head().overlay.completed(), Serial(3));
}

TEST(Overlay, WhoMissedTooMuchIsTurnedAway) {
  OverlayNet net(1, 2);
  net.start();
  net.head().overlay.broadcast(shutdown());
  net.settle();
  const LinkId link{77};
  net.head().overlay.handle(LinkUp{link, Rank(1), OverlayNet::incarnation(1), 1, false});
  net.head().overlay.handle(MessageIn{link, attach(0, 0), {}});
  const auto closed = all_of<CloseLink>(net.head().out);
  ASSERT_FALSE(closed.empty());
  EXPECT_EQ(closed.back().link, link);
  EXPECT_EQ(closed.back().reason, wire::GOODBYE_REFUSED);
}

TEST(Overlay, ANewerLinkOfAChildReplacesTheOlder) {
  OverlayNet net(1, 2);
  net.start();
  const LinkId older = net.up_link(1);
  const LinkId newer{88};
  net.head().overlay.handle(LinkUp{newer, Rank(1), OverlayNet::incarnation(1), 1, false});
  net.head().overlay.handle(MessageIn{newer, attach(1, 1), {}});
  const auto closed = all_of<CloseLink>(net.head().out);
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].link, older);
  EXPECT_EQ(closed[0].reason, wire::GOODBYE_MOVED);
  EXPECT_EQ(net.head().overlay.adopted_children(), ranks({1}));
  EXPECT_THAT(net.head().suspects, IsEmpty());
}

TEST(Overlay, TheDeclaredDeadAreRefusedByIncarnation) {
  OverlayNet net(2, 2);
  net.start();
  net.head().overlay.handle(LinkUp{LinkId(90), Rank(2), Incarnation(5), 1, false});
  auto closed = all_of<CloseLink>(net.head().collect());
  ASSERT_EQ(closed.size(), 1U) << "another life of a living rank";
  EXPECT_EQ(closed[0].reason, wire::GOODBYE_DECLARED_DEAD);
  net.declare_dead(2);
  net.settle();
  EXPECT_EQ(net.rig(2).cut_off.size(), 1U) << "it is told, and has to end";
  net.head().admit_strangers = false;  // it is in no book any more
  net.head().overlay.handle(LinkUp{LinkId(91), Rank(2), OverlayNet::incarnation(2), 1, false});
  closed = all_of<CloseLink>(net.head().collect());
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].link, LinkId(91));
  EXPECT_EQ(closed[0].reason, wire::GOODBYE_DECLARED_DEAD);
  EXPECT_EQ(net.head().overlay.adopted_children(), ranks({1}));
}

TEST(Overlay, AStrangerWithoutATicketIsRefused) {
  OverlayNet net(1, 2);
  net.head().admit_strangers = false;
  net.rig(1).overlay.join({}, {});
  net.settle();
  EXPECT_THAT(net.head().reports, IsEmpty());
  EXPECT_EQ(net.rig(1).cut_off.size(), 1U);
}

TEST(Overlay, AStrangerThatIsLostIsReported) {
  OverlayNet net(1, 2);
  const LinkId link = net.connect(1, 0);
  net.head().overlay.handle(LinkDown{link, LinkEnd::kClosed, "gone"});
  EXPECT_THAT(net.head().strangers_lost, ElementsAre(1));
  EXPECT_THAT(net.head().suspects, IsEmpty());
}

TEST(Overlay, AnUnreachableHeadCutsOffAtOnce) {
  OverlayNet net(1, 2);
  net.unreachable = {0};
  net.rig(1).overlay.join({}, {});
  net.settle();
  EXPECT_EQ(net.rig(1).cut_off.size(), 1U);
}

// Rank 1 waits for word of the head when rank 3 comes to it.
void meet_early(OverlayRig& parent, std::uint64_t acknowledged) {
  parent.overlay.join({}, {});
  parent.overlay.handle(LinkUp{LinkId(1), kHeadRank, Incarnation(0), 0, true});
  parent.overlay.handle(LinkUp{LinkId(2), Rank(3), OverlayNet::incarnation(3), 1, false});
  parent.overlay.handle(MessageIn{LinkId(2), attach(1, acknowledged), {}});
}

void tell_members(OverlayRig& parent) {
  wire::LinkMessage message;
  message.mutable_snapshot()->set_serial(1);
  message.mutable_snapshot()->set_radix(2);
  *message.mutable_snapshot()->mutable_living() = RankSet::range(Rank(1), Rank(3)).to_wire();
  parent.overlay.handle(MessageIn{LinkId(1), message, {}});
}

// Rank 3 knows the membership before its parent does: its attaching waits until the parent knows.
TEST(Overlay, AnAttachBeforeTheMembershipIsKnownIsKept) {
  OverlayRig parent(Rank(1), 2);
  meet_early(parent, 1);
  EXPECT_THAT(parent.overlay.adopted_children(), IsEmpty());
  EXPECT_TRUE(all_of<CloseLink>(parent.out).empty());
  tell_members(parent);
  EXPECT_EQ(parent.overlay.adopted_children(), ranks({3}));
  EXPECT_EQ(parent.overlay.parent_peer(), kHeadRank);
  EXPECT_EQ(parent.overlay.completed(), Serial(1));
}

TEST(Overlay, AnAcknowledgementBeforeTheMembershipIsKnownCounts) {
  OverlayRig parent(Rank(1), 2);
  meet_early(parent, 0);
  wire::LinkMessage ack;
  ack.mutable_operation_ack()->set_serial(1);
  parent.overlay.handle(MessageIn{LinkId(2), ack, {}});
  tell_members(parent);
  EXPECT_EQ(parent.overlay.completed(), Serial(1));
}

TEST(Overlay, WhatWasSaidBeforeTheMembershipIsKnownIsAskedForAgain) {
  const auto resyncs = [](bool speaks) {
    OverlayRig parent(Rank(1), 2);
    meet_early(parent, 0);
    wire::LinkMessage word;
    word.mutable_up()->set_origin(3);
    if (speaks) parent.overlay.handle(MessageIn{LinkId(2), word, {}});
    tell_members(parent);
    return std::ranges::count_if(all_of<Send>(parent.collect()), [](const Send& send) {
      return send.link == LinkId(2) && send.message.has_resync();
    });
  };
  EXPECT_EQ(resyncs(true), resyncs(false) + 1) << "beside the one for the new path of all";
}

TEST(Overlay, LinksWithoutAPurposeAreSweptAway) {
  OverlayNet net(1, 2);
  net.start();
  net.rig(1).overlay.handle(LinkUp{LinkId(50), Rank(9), Incarnation(1), 1, false});
  net.settle();
  ASSERT_TRUE(net.rig(1).fire(TimerKind::kPendingLinks));
  EXPECT_TRUE(all_of<CloseLink>(net.rig(1).collect()).empty()) << "a whole period at least";
  ASSERT_TRUE(net.rig(1).fire(TimerKind::kPendingLinks));
  const auto closed = all_of<CloseLink>(net.rig(1).collect());
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].link, LinkId(50));
}

// row:L11 who hosts nothing of it gets nothing
TEST(Overlay, ScattersAreSplitByNextHop) {
  OverlayNet net(4, 2);
  net.start();
  wire::DownScatter scatter;
  scatter.mutable_launch()->set_nspace("common");
  for (const std::uint32_t rank : {1U, 2U, 4U}) {
    auto* entry = scatter.add_entries();
    entry->set_destination(rank);
    entry->set_seq(rank);
  }
  net.head().overlay.send_down(scatter, {});
  EXPECT_EQ(all_of<Send>(net.head().out).size(), 2U) << "one message per child";
  net.settle();
  EXPECT_THAT(net.rig(3).downs, IsEmpty()) << "who hosts nothing of it gets nothing";
  for (const std::uint32_t rank : {1U, 2U, 4U}) {
    ASSERT_EQ(net.rig(rank).downs.size(), 1U) << rank;
    EXPECT_EQ(net.rig(rank).downs[0].first.seq(), rank);
    EXPECT_EQ(net.rig(rank).downs[0].second.nspace(), "common");
  }
}

TEST(Overlay, WhatGoesUpIsRelayedToTheHead) {
  OverlayNet net(4, 2);
  net.start();
  wire::LinkMessage message;
  message.mutable_up()->set_origin(4);
  message.mutable_up()->set_seq(9);
  net.rig(4).overlay.send_up(message, {});
  net.settle();
  ASSERT_EQ(net.head().ups.size(), 1U);
  EXPECT_EQ(net.head().ups[0].origin(), 4U);
  EXPECT_EQ(net.head().ups[0].seq(), 9U);
}

wire::Reduction contribution(std::uint32_t rank) {
  RankSet participants;
  for (const std::uint32_t one : {1U, 3U, 4U}) participants.insert(Rank(one));
  wire::Reduction out;
  out.mutable_id()->set_job(1);
  *out.mutable_participants() = participants.to_wire();
  out.add_contributions()->set_rank(rank);
  return out;
}

TEST(Overlay, ReductionsAreMergedOnTheWay) {
  OverlayNet net(4, 2);
  net.start();
  net.rig(3).overlay.contribute(contribution(3));
  net.rig(1).overlay.contribute(contribution(1));
  net.settle();
  EXPECT_THAT(net.head().reductions, IsEmpty());
  net.rig(4).overlay.contribute(contribution(4));
  net.settle();
  ASSERT_EQ(net.head().reductions.size(), 1U);
  EXPECT_EQ(net.head().reductions[0].contributions_size(), 3);
}

TEST(Overlay, AReductionDoesNotWaitForEver) {
  OverlayNet net(4, 2);
  net.start();
  net.rig(3).overlay.contribute(contribution(3));
  net.settle();
  ASSERT_TRUE(net.rig(1).fire(TimerKind::kReduction));
  net.settle();
  ASSERT_EQ(net.head().reductions.size(), 1U);
  EXPECT_EQ(net.head().reductions[0].contributions_size(), 1);
}

TEST(Overlay, OutputIsBulkAndEverythingElseControl) {
  wire::LinkMessage message;
  message.mutable_up()->mutable_body()->mutable_stream();
  EXPECT_EQ(class_of(message), MessageClass::kBulk);
  message.mutable_up()->mutable_body()->mutable_output_complete();
  EXPECT_EQ(class_of(message), MessageClass::kBulk) << "must not overtake the output";
  message.mutable_up()->mutable_body()->mutable_proc_failed();
  EXPECT_EQ(class_of(message), MessageClass::kControl);
  message.mutable_down()->add_entries()->mutable_body()->mutable_input();
  EXPECT_EQ(class_of(message), MessageClass::kBulk);
  message.mutable_down()->mutable_entries(0)->mutable_body()->mutable_signal();
  EXPECT_EQ(class_of(message), MessageClass::kControl);
  message.mutable_attach();
  EXPECT_EQ(class_of(message), MessageClass::kControl);
}

}  // namespace
}  // namespace tide::core
