// Nodes that may stay for a time only, seen through the head.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/elastic_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kTimeMs = 60'000;
constexpr std::uint32_t kWarnMs = 5'000;

// v1, and v2 for a minute with a warning five seconds before.
class Leased : public ::testing::Test {
 public:
  Leased() : rig(1) {
    began_ms = rig.now_ms;
    const auto asked = all_of<AskForNodes>(rig.ask(1));
    grant(asked.at(0).ask, 2, {kTimeMs, kWarnMs});
    rig.report_of(2, 2);
    rig.attach_at(2);
    rig.acknowledge(1);
  }
  void grant(std::uint32_t ask, std::uint32_t rank, const Lease& lease) {
    NodeRequest node{"v" + std::to_string(rank), HeadRig::kSlots, HeadRig::incarnation(rank)};
    node.manager = "pool";
    rig.on(NodesGranted{ask, {node}, lease});
  }
  Actions at(std::uint64_t after_ms, std::uint32_t lease = 1) {
    rig.now_ms = began_ms + after_ms;
    return rig.fire(TimerKind::kLease, lease);
  }
  Actions extend(const std::string& allocation, std::uint32_t time_ms, std::uint32_t warn_ms = 0) {
    wire::ClientRequest message;
    message.mutable_grow()->set_extend(allocation);
    message.mutable_grow()->set_time_ms(time_ms);
    message.mutable_grow()->set_warn_ms(warn_ms);
    return rig.request(kAsker, std::move(message));
  }
  [[nodiscard]] std::vector<std::string> leases() const {
    std::vector<std::string> out;
    for (const auto& event : rig.head.events().events()) {
      if (event.kind().starts_with("lease")) out.push_back(event.kind());
    }
    return out;
  }
  [[nodiscard]] std::uint64_t left_ms() const {
    const auto status = rig.head.status(0, rig.now_ms);
    return status.allocations_size() == 1 ? status.allocations(0).lease().left_ms() : 0;
  }
  [[nodiscard]] std::uint64_t left_of(const std::string& allocation) const {
    const auto status = rig.head.status(0, rig.now_ms);
    for (const auto& one : status.allocations()) {
      if (one.name() == allocation) return one.lease().left_ms();
    }
    return 0;
  }
  // The timer that was set last.
  [[nodiscard]] std::uint32_t next_look_ms() const {
    return all_of<StartTimer>(rig.seen).back().after_ms;
  }
  ElasticRig rig;
  std::uint64_t began_ms = 0;
};

TEST_F(Leased, TimeLeftIsThatOfTheFirstToGo) {
  const auto left_of_nodes = [this](const std::set<Rank>& nodes) {
    return rig.head.elastic().time_left_ms(nodes);
  };
  EXPECT_EQ(left_of_nodes({Rank(1)}), std::nullopt);
  EXPECT_EQ(left_of_nodes({Rank(1), Rank(2)}), kTimeMs);
  rig.on(SourceLimit{40'000});
  EXPECT_EQ(left_of_nodes({Rank(2)}), 40'000U) << "none outlives the DVM";
  EXPECT_EQ(left_of_nodes({}), 40'000U);
  rig.on(SourceLimit{90'000});
  EXPECT_EQ(left_of_nodes({Rank(2)}), kTimeMs);
  rig.now_ms += 95'000;
  rig.on(LeaseMoved{{"v1"}, 1'000});  // says nothing of nodes without a lease, and tells the time
  EXPECT_EQ(left_of_nodes({}), 0U);
  rig.on(SourceLimit{0});
  EXPECT_EQ(left_of_nodes({}), std::nullopt);
}

TEST_F(Leased, WhatIsAskedForIsAWishAndTheGrantIsTold) {
  wire::ClientRequest message;
  message.mutable_grow()->set_count(1);
  message.mutable_grow()->set_time_ms(7'000);
  message.mutable_grow()->set_warn_ms(300);
  const auto asked = all_of<AskForNodes>(rig.request(kAsker, std::move(message)));
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].wish, (Lease{7'000, 300}));
  rig.seen.clear();
  grant(asked[0].ask, 3, {4'000, 0});
  ASSERT_EQ(begun(rig.seen).size(), 1U);
  EXPECT_EQ(begun(rig.seen)[0].lease_ms(), 4'000U);
  EXPECT_FALSE(begun(rig.seen)[0].has_cut()) << "no manager said so";
  EXPECT_EQ(rig.head.status(0, rig.now_ms).allocations(1).lease().left_ms(), 4'000U);
}

TEST_F(Leased, WhoGrantsLessThanIsAskedForIsTold) {
  const auto asked = all_of<AskForNodes>(rig.ask(1));
  rig.seen.clear();
  rig.on(NodesGranted{
      asked.at(0).ask, {{"v3", HeadRig::kSlots, HeadRig::incarnation(3)}}, {4'000, 0}, "pool"});
  ASSERT_EQ(begun(rig.seen).size(), 1U);
  EXPECT_EQ(begun(rig.seen)[0].cut().granted_ms(), 4'000U);
  EXPECT_EQ(begun(rig.seen)[0].cut().manager(), "pool");
  const auto more = all_of<AskForTime>(extend("a1", 90'000));
  rig.seen.clear();
  rig.on(TimeGranted{more.at(0).ask, 20'000, "pool"});
  ASSERT_EQ(begun(rig.seen).size(), 1U);
  EXPECT_EQ(begun(rig.seen)[0].lease_ms(), kTimeMs + 20'000);
  EXPECT_EQ(begun(rig.seen)[0].cut().granted_ms(), 20'000U);
}

// row:E17 row:R16 a warning changes nothing by itself
TEST_F(Leased, AWarningComesBeforeTheEndAndOnce) {
  EXPECT_EQ(left_ms(), kTimeMs);
  const auto warned = at(kTimeMs - kWarnMs);
  EXPECT_THAT(leases(), ElementsAre("lease-warning"));
  EXPECT_EQ(all_of<StartTimer>(warned).back().after_ms, kWarnMs);
  EXPECT_TRUE(rig.head.elastic().idle());
  EXPECT_TRUE(rig.head.status(0, rig.now_ms).allocations(0).lease().warned());
  EXPECT_EQ(rig.head.elastic().counts().lease_warnings, 1U);
  EXPECT_EQ(left_ms(), kWarnMs);
}

// row:E17 row:E9 row:C5
TEST_F(Leased, WhenItIsOverItsNodesLeaveAsByAnyShrink) {
  at(kTimeMs - kWarnMs);
  at(kTimeMs);
  EXPECT_THAT(leases(), ElementsAre("lease-warning", "lease-ended"));
  EXPECT_EQ(orders_to_leave(rig.seen), std::vector<RankSet>{RankSet(Rank(2))});
  rig.submit(kUser, job_spec(1));
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(), "WAITING_FOR_DAEMONS");
  const auto report = rig.head.elastic().explain_change(3);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->asked_by(), "lease");
  EXPECT_EQ(report->campaign().allocation(), "a1");
  rig.on(DaemonExited{Rank(2), "ended"});
  EXPECT_THAT(all_of<ReturnNodes>(rig.seen).back().nodes, ElementsAre("v2"));
  rig.give_back();
  EXPECT_EQ(launched_on(rig.seen), (std::set<std::uint32_t>{1}));
  EXPECT_THAT(outcomes(rig.seen), SizeIs(1)) << "that of the grow: nobody has asked for this";
  EXPECT_EQ(rig.head.elastic().counts().lease_ends, 1U);
  EXPECT_EQ(rig.head.elastic().counts().shrinks, 1U);
}

TEST_F(Leased, ATimerThatComesEarlyEndsNothing) {
  at(kTimeMs - kWarnMs - 1);
  EXPECT_THAT(leases(), IsEmpty());
  EXPECT_EQ(next_look_ms(), 1U);
}

// row:C5 row:R16
TEST_F(Leased, MoreTimeIsAnsweredAtOnceAndWarnedOfAgain) {
  at(kTimeMs - kWarnMs);
  rig.seen.clear();
  const auto asked = all_of<AskForTime>(extend("a1", 90'000, 1'000));
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_THAT(asked[0].managers, ElementsAre("pool"));
  EXPECT_EQ(asked[0].time_ms, 90'000U);
  EXPECT_THAT(asked[0].nodes, ElementsAre("v2"));
  EXPECT_THAT(begun(rig.seen), IsEmpty()) << "the manager decides";
  rig.on(TimeGranted{asked[0].ask, 20'000});
  ASSERT_EQ(begun(rig.seen).size(), 1U);
  EXPECT_TRUE(begun(rig.seen)[0].complete());
  EXPECT_EQ(begun(rig.seen)[0].allocation(), "a1");
  EXPECT_THAT(begun(rig.seen)[0].nodes(), ElementsAre("v2"));
  EXPECT_EQ(begun(rig.seen)[0].lease_ms(), kWarnMs + 20'000);
  EXPECT_FALSE(rig.head.jobs().fence().holds_mapping()) << "no change of the size";
  at(kTimeMs);
  EXPECT_TRUE(rig.head.elastic().idle()) << "the old end is none any more";
  at(kTimeMs + 19'000);
  EXPECT_THAT(leases(), ElementsAre("lease-warning", "lease-extended", "lease-warning"));
  at(kTimeMs + 20'000);
  EXPECT_FALSE(rig.head.elastic().idle());
}

TEST_F(Leased, OnlyWhatIsThereAndHasALeaseCanBeProlonged) {
  EXPECT_THAT(refusal(extend("a9", 1'000)), HasSubstr("'a9'"));
  EXPECT_THAT(refusal(extend("a1", 0)), HasSubstr("--extend ID --time"));
  const auto asked = all_of<AskForTime>(extend("a1", 1'000));
  rig.seen.clear();
  rig.on(NodesRefused{asked.at(0).ask, Error{ErrorCode::kUnavailable, "no more"}});
  EXPECT_EQ(refusal(rig.seen), "no more");
  const auto silent = all_of<AskForTime>(extend("a1", 1'000));
  EXPECT_THAT(refusal(rig.fire(TimerKind::kGrant, silent.at(0).ask)), HasSubstr("answered"));
  const auto unlimited = all_of<AskForNodes>(rig.ask(1));
  grant(unlimited.at(0).ask, 3, {});
  EXPECT_THAT(refusal(extend("a2", 1'000)), HasSubstr("has no lease"));
}

TEST_F(Leased, MoreTimeThatComesTooLateIsRefused) {
  const auto asked = all_of<AskForTime>(extend("a1", 1'000));
  at(kTimeMs);
  rig.seen.clear();
  rig.on(TimeGranted{asked.at(0).ask, 1'000});
  EXPECT_THAT(refusal(rig.seen), HasSubstr("nothing was prolonged"));
}

// row:E20 shorter than its grow
TEST_F(Leased, AnUnfinishedGrowEndsBeforeItsLeaseIsTakenBack) {
  const auto asked = all_of<AskForNodes>(rig.ask(1));
  grant(asked.at(0).ask, 3, {1'000, 0});
  at(1'000, 2);
  EXPECT_THAT(leases(), ElementsAre("lease-ended"));
  EXPECT_THAT(orders_to_leave(rig.seen), IsEmpty());
  rig.report_of(3, 3);
  rig.attach_at(3);
  rig.acknowledge(1);
  rig.acknowledge(2);
  EXPECT_EQ(orders_to_leave(rig.seen).size(), 1U);
}

// row:E17 whose time is over before it has begun to start
TEST_F(Leased, AGrowThatWaitsForAnotherDoesNotOutliveItsLease) {
  grant(all_of<AskForNodes>(rig.ask(1)).at(0).ask, 3, {});
  wire::ClientRequest message;
  for (const char* name : {"v3", "v4"}) message.mutable_grow()->add_hosts()->set_node(name);
  const auto asked = all_of<AskForNodes>(rig.request(kAsker, std::move(message)));
  grant(asked.at(0).ask, 4, {1'000, 0});
  rig.now_ms += 2'000;
  rig.report_of(3, 3);
  rig.attach_at(3);
  rig.acknowledge(1);
  rig.acknowledge(2);
  EXPECT_THAT(leases(), IsEmpty());
  rig.fire(TimerKind::kLease, 2);
  EXPECT_THAT(leases(), ElementsAre("lease-ended"));
  rig.report_of(4, 4);
  rig.attach_at(4);
  for (const std::uint32_t rank : {1U, 2U, 3U}) rig.acknowledge(rank);
  EXPECT_EQ(orders_to_leave(rig.seen), std::vector<RankSet>{RankSet(Rank(4))});
}

TEST_F(Leased, WhatIsGoneBeforeItsTimeIsNotTakenAgain) {
  rig.release({"v2"});
  rig.on(DaemonExited{Rank(2), "ended"});
  rig.give_back();
  at(kTimeMs - kWarnMs);
  EXPECT_THAT(leases(), IsEmpty());
  EXPECT_TRUE(rig.head.elastic().idle());
  EXPECT_EQ(rig.head.elastic().counts().shrinks, 1U);
}

TEST_F(Leased, WhatLeavesAlreadyIsNotTakenAgain) {
  rig.release({"v2"});
  at(kTimeMs - kWarnMs);
  EXPECT_THAT(leases(), IsEmpty());
  EXPECT_EQ(rig.head.elastic().counts().shrinks, 1U);
}

TEST_F(Leased, WhatIsRolledBackHasNoLease) {
  const auto asked = all_of<AskForNodes>(rig.ask(1));
  grant(asked.at(0).ask, 3, {1'000, 0});
  rig.on(DaemonLaunchFailed{Rank(3), "no"});
  rig.give_back();
  at(1'000, 2);
  EXPECT_THAT(leases(), IsEmpty());
  EXPECT_EQ(rig.head.elastic().counts().shrinks, 0U);
}

// ---- moved by the manager ----

// row:E17 row:R16
TEST_F(Leased, AnEndThatIsMovedLaterIsWarnedOfAgain) {
  at(kTimeMs - kWarnMs);
  rig.on(LeaseMoved{{"v2"}, 600'000});
  EXPECT_THAT(leases(), ElementsAre("lease-warning", "lease-moved"));
  EXPECT_EQ(left_ms(), 600'000U);
  EXPECT_EQ(next_look_ms(), 600'000U - kWarnMs);
  at(kTimeMs);
  EXPECT_TRUE(rig.head.elastic().idle()) << "the old end is none any more";
  const auto moved_at = kTimeMs - kWarnMs;
  at(moved_at + 600'000 - kWarnMs);
  EXPECT_EQ(leases().back(), "lease-warning");
  at(moved_at + 600'000);
  EXPECT_EQ(leases().back(), "lease-ended");
  EXPECT_FALSE(rig.head.elastic().idle());
}

// row:R16
TEST_F(Leased, AnEndThatIsMovedEarlierIsWarnedOfInTime) {
  rig.on(LeaseMoved{{"v2"}, 20'000});
  EXPECT_EQ(next_look_ms(), 20'000U - kWarnMs);
  rig.on(LeaseMoved{{"v2"}, kWarnMs - 1'000});
  EXPECT_EQ(next_look_ms(), 0U) << "the moment of the warning has passed";
  at(0);
  EXPECT_THAT(leases(), ElementsAre("lease-moved", "lease-moved", "lease-warning"));
  rig.on(LeaseMoved{{"v2"}, kWarnMs - 3'000});
  EXPECT_EQ(next_look_ms(), kWarnMs - 3'000);
  at(kWarnMs - 3'000);
  EXPECT_THAT(leases(), ElementsAre("lease-moved", "lease-moved", "lease-warning", "lease-moved",
                                    "lease-ended"))
      << "warned of once";
}

TEST_F(Leased, TheSameEndSaidAgainIsNoNews) {
  rig.now_ms += 10'000;
  rig.on(LeaseMoved{{"v2"}, kTimeMs - 10'000 + 900});
  rig.on(LeaseMoved{{"v2"}, kTimeMs - 10'000 - 900});
  EXPECT_THAT(leases(), IsEmpty());
  EXPECT_EQ(left_ms(), kTimeMs - 10'000);
  rig.on(LeaseMoved{{"v2"}, kTimeMs - 10'000 - 1'000});
  EXPECT_THAT(leases(), ElementsAre("lease-moved"));
}

TEST_F(Leased, ALimitThatIsLiftedIsNoneAnyMore) {
  rig.on(LeaseMoved{{"v2"}, 0});
  EXPECT_THAT(leases(), ElementsAre("lease-moved"));
  EXPECT_FALSE(rig.head.status(0, rig.now_ms).allocations(0).has_lease());
  at(kTimeMs);
  EXPECT_TRUE(rig.head.elastic().idle());
  rig.on(LeaseMoved{{"v2"}, 0});
  EXPECT_THAT(leases(), SizeIs(1)) << "it had none";
  rig.on(LeaseMoved{{"v2"}, 30'000, 10'000});
  EXPECT_EQ(left_ms(), 30'000U);
  EXPECT_EQ(next_look_ms(), 20'000U) << "the first warning of the new limit";
  at(kTimeMs + 30'000, 2);
  EXPECT_EQ(leases().back(), "lease-ended");
}

// … once, whichever of them are named
TEST_F(Leased, NodesThatCameTogetherMoveTogether) {
  const auto asked = all_of<AskForNodes>(rig.ask(2)).at(0).ask;
  rig.on(NodesGranted{asked,
                      {{"v3", HeadRig::kSlots, HeadRig::incarnation(3)},
                       {"v4", HeadRig::kSlots, HeadRig::incarnation(4)}}});
  rig.on(LeaseMoved{{"v3", "v4", "v1", "v9"}, 40'000});
  EXPECT_THAT(leases(), ElementsAre("lease-moved")) << "v1 was there at the start";
  EXPECT_EQ(rig.head.status(0, rig.now_ms).allocations(1).lease().left_ms(), 40'000U);
  EXPECT_EQ(left_of("a1"), kTimeMs);
  rig.on(LeaseMoved{{"v4"}, 50'000});
  EXPECT_EQ(left_of("a2"), 50'000U);
}

TEST_F(Leased, WhatLeavesHasNoLimitAnyMore) {
  rig.release({"v2"});
  rig.on(LeaseMoved{{"v2"}, 600'000});
  EXPECT_THAT(leases(), IsEmpty());
}

// row:E17 granted, and waiting for another grow
TEST_F(Leased, WhatHasNotBegunToStartMovesToo) {
  grant(all_of<AskForNodes>(rig.ask(1)).at(0).ask, 3, {});
  wire::ClientRequest message;
  for (const char* name : {"v3", "v4"}) message.mutable_grow()->add_hosts()->set_node(name);
  const auto asked = all_of<AskForNodes>(rig.request(kAsker, std::move(message)));
  grant(asked.at(0).ask, 4, {30'000, 0});
  const auto moved = rig.on(LeaseMoved{{"v4"}, 2'000});
  EXPECT_THAT(leases(), ElementsAre("lease-moved"));
  EXPECT_THAT(all_of<StartTimer>(moved), IsEmpty()) << "nothing is there to be taken out";
  rig.report_of(3, 3);
  rig.attach_at(3);
  rig.acknowledge(1);
  rig.acknowledge(2);
  EXPECT_EQ(left_of("a3"), 2'000U);
  rig.now_ms += 2'000;
  rig.fire(TimerKind::kLease, 2);
  EXPECT_THAT(leases(), ElementsAre("lease-moved", "lease-ended"));
}

TEST_F(Leased, TimeThatIsAskedForIsTakenBackWhenNobodyWaits) {
  const auto asked = all_of<AskForTime>(extend("a1", 1'000)).at(0).ask;
  rig.on(NodesQueued{asked, "an operator has to agree"});
  const auto over = at(kTimeMs);
  ASSERT_THAT(all_of<CancelAsk>(over), SizeIs(1));
  EXPECT_EQ(all_of<CancelAsk>(over)[0].ask, asked);
  EXPECT_THAT(refusal(over), HasSubstr("nothing was prolonged"));
}

// ---- seen ----

TEST_F(Leased, AnAllocationIsExplained) {
  rig.submit(kUser, on_node("v2"));
  rig.launched(2, 1, {0});
  rig.now_ms = began_ms + 10'000;
  rig.on(ClientGone{ClientId(77)});
  const auto report = rig.head.elastic().explain_allocation("a1");
  ASSERT_TRUE(report);
  EXPECT_THAT(report->allocation().nodes(), ElementsAre("v2"));
  EXPECT_THAT(report->allocation().managers(), ElementsAre("pool"));
  EXPECT_EQ(report->allocation().lease().left_ms(), kTimeMs - 10'000);
  EXPECT_THAT(report->jobs(), ElementsAre(1U));
  ASSERT_EQ(report->changes_size(), 1);
  EXPECT_TRUE(report->changes(0).end().done());
  EXPECT_THAT(rig.head.elastic().explain_allocation("a7").error().message, HasSubstr("'a7'"));
}

}  // namespace
}  // namespace tide::core
