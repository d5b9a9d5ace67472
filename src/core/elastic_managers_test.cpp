// Several resource managers at once, seen through the head.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/elastic_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

HeadConfig with_two_managers() {
  auto out = elastic_config();
  out.elastic.managers = {"pool", "hosts"};
  return out;
}

// v1 is nobody's that is known, v2 the pool's, v3 of the manager `hosts`; each in an allocation of
// its own.
class TwoManagers : public ::testing::Test {
 public:
  TwoManagers() : rig(1, with_two_managers()) {
    grow("v2", "pool", 2, 2);
    grow("v3", "hosts", 3, 3);
    rig.seen.clear();
  }
  void grow(const std::string& name, const std::string& manager, std::uint32_t rank,
            std::uint32_t campaign) {
    const auto asked = all_of<AskForNodes>(rig.ask(1));
    NodeRequest node{name, HeadRig::kSlots, HeadRig::incarnation(rank)};
    node.manager = manager;
    rig.on(NodesGranted{asked.at(0).ask, {node}});
    rig.report_of(rank, campaign);
    rig.attach_at(rank);
    for (std::uint32_t old = 1; old < rank; ++old) rig.acknowledge(old);
  }
  void both_leave() {
    rig.release({"v2", "v3"});
    rig.on(DaemonExited{Rank(2), "ended"});
    rig.on(DaemonExited{Rank(3), "ended"});
  }
  [[nodiscard]] std::vector<std::string> events_of(const std::string& kind) const {
    std::vector<std::string> out;
    for (const auto& event : rig.head.events().events()) {
      if (event.kind() == kind) out.push_back(event.detail());
    }
    return out;
  }
  ElasticRig rig;
};

// row:C6 one release spans two allocations and two managers
TEST_F(TwoManagers, EachIsOfferedItsShareBeforeAnybodyIsTold) {
  both_leave();
  const auto offers = all_of<ReturnNodes>(rig.seen);
  ASSERT_EQ(offers.size(), 2U);
  EXPECT_EQ(offers[0].manager, "pool");
  EXPECT_THAT(offers[0].nodes, ElementsAre("v2"));
  EXPECT_EQ(offers[1].manager, "hosts");
  EXPECT_THAT(offers[1].nodes, ElementsAre("v3"));
  rig.answer(offers[0]);
  EXPECT_THAT(outcomes(rig.seen), IsEmpty()) << "the second has not answered";
  rig.answer(offers[0]);
  EXPECT_THAT(outcomes(rig.seen), IsEmpty()) << "the first, again, is not the second";
  rig.answer(offers[1]);
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_TRUE(outcomes(rig.seen)[0].done());
  EXPECT_THAT(events_of("return-failed"), IsEmpty());
}

class Verdicts : public TwoManagers, public ::testing::WithParamInterface<ReturnVerdict> {};

// row:C6
TEST_P(Verdicts, ChangeNeitherOutcomeNorAnswer) {
  both_leave();
  const auto offers = all_of<ReturnNodes>(rig.seen);
  rig.answer(offers.at(1), GetParam());
  EXPECT_THAT(outcomes(rig.seen), IsEmpty()) << "the pool has not answered";
  rig.answer(offers.at(0));
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_TRUE(outcomes(rig.seen)[0].done());
  EXPECT_THAT(events_of("return-failed"), ElementsAre(HasSubstr("hosts has not taken back v3")));
}

INSTANTIATE_TEST_SUITE_P(Managers, Verdicts,
                         ::testing::Values(ReturnVerdict::kDeclined, ReturnVerdict::kDeferred,
                                           ReturnVerdict::kFailed));

// row:C6
TEST_F(TwoManagers, OneThatPassesItsDeadlineIsNotWaitedFor) {
  both_leave();
  const auto offers = all_of<ReturnNodes>(rig.seen);
  rig.answer(offers.at(0));
  rig.fire(TimerKind::kChange, 4);
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_TRUE(outcomes(rig.seen)[0].done());
  EXPECT_THAT(events_of("return-failed"), ElementsAre(HasSubstr("v3: no answer")));
  rig.answer(offers.at(1));
  EXPECT_EQ(outcomes(rig.seen).size(), 1U) << "late";
}

// row:C6 row:R22
TEST_F(TwoManagers, WhatNobodyIsKnownToHaveGrantedIsOfferedToAll) {
  rig.release({"v1"});
  rig.on(DaemonExited{Rank(1), "ended"});
  const auto offers = all_of<ReturnNodes>(rig.seen);
  ASSERT_EQ(offers.size(), 2U);
  EXPECT_THAT(offers[0].nodes, ElementsAre("v1"));
  EXPECT_THAT(offers[1].nodes, ElementsAre("v1"));
}

// row:C6 a grow that is rolled back goes the same way
TEST_F(TwoManagers, ARolledBackGrowGoesBackToWhoGrantedIt) {
  const auto asked = all_of<AskForNodes>(rig.ask(1));
  NodeRequest node{"v4", HeadRig::kSlots, HeadRig::incarnation(4)};
  node.manager = "hosts";
  rig.on(NodesGranted{asked.at(0).ask, {node}});
  rig.on(DaemonLaunchFailed{Rank(4), "no"});
  const auto offers = all_of<ReturnNodes>(rig.seen);
  ASSERT_EQ(offers.size(), 2U);
  EXPECT_THAT(offers[0].nodes, IsEmpty());
  EXPECT_THAT(offers[1].nodes, ElementsAre("v4"));
  rig.answer(offers[1]);
  EXPECT_THAT(outcomes(rig.seen), IsEmpty()) << "the pool is asked, too, if only for nothing";
  rig.answer(offers[0], ReturnVerdict::kDeclined);
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_FALSE(outcomes(rig.seen)[0].done());
  EXPECT_THAT(events_of("return-failed"), IsEmpty()) << "there was nothing to take";
}

// row:E20 row:R22
TEST_F(TwoManagers, WhatLeavesForTwoShrinksGoesBackOnce) {
  rig.release({"v2"});
  rig.release({"v2", "v3"}, 8);
  rig.on(DaemonExited{Rank(2), "ended"});
  rig.on(DaemonExited{Rank(3), "ended"});
  std::vector<std::string> offered;
  for (const auto& offer : all_of<ReturnNodes>(rig.seen)) {
    offered.insert(offered.end(), offer.nodes.begin(), offer.nodes.end());
  }
  EXPECT_THAT(offered, ElementsAre("v2", "v3"));
}

TEST_F(TwoManagers, GrantsThatComeTooLateGoBackToo) {
  const auto asked = all_of<AskForNodes>(rig.ask(1));
  rig.fire(TimerKind::kGrant, asked.at(0).ask);
  NodeRequest node{"v4", HeadRig::kSlots, HeadRig::incarnation(4)};
  node.manager = "hosts";
  rig.on(NodesGranted{asked.at(0).ask, {node}});
  const auto offers = all_of<ReturnNodes>(rig.seen);
  ASSERT_EQ(offers.size(), 1U);
  EXPECT_EQ(offers[0].number, 0U);
  EXPECT_EQ(offers[0].manager, "hosts");
}

// ---- taken back unasked ----

class Reclaimed : public ::testing::Test {
 public:
  // v1 to v3, and v4 on its way.
  Reclaimed() : rig(3) {
    rig.begin_grow(1);
    rig.seen.clear();
  }
  Actions reclaim(const std::vector<std::string>& nodes) {
    return rig.on(NodesReclaimed{nodes, "Slurm job 17 reached its time limit\n  more"});
  }
  [[nodiscard]] std::vector<std::string> begun_shrinks() const {
    std::vector<std::string> out;
    for (const auto& event : rig.head.events().events()) {
      if (event.kind() == "shrink-begun") out.push_back(event.detail());
    }
    return out;
  }
  ElasticRig rig;
};

// row:E9
TEST_F(Reclaimed, TheReasonIsWhatPeopleSee) {
  rig.on(DaemonLaunchFailed{Rank(4), "no"});
  rig.give_back();
  rig.submit(kUser, on_node("v2"));
  rig.launched(2, 1, {0});
  reclaim({"v2"});
  const auto report = rig.head.elastic().explain_change(3);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->asked(),
            "not asked for: a resource manager takes nodes back: Slurm job 17 reached its time "
            "limit");
  EXPECT_THAT(begun_shrinks(), ElementsAre("shrink 3 (v2): Slurm job 17 reached its time limit"));
  const auto status = rig.head.status(10, rig.now_ms);
  ASSERT_EQ(status.jobs_size(), 1);
  EXPECT_THAT(status.jobs(0).messages(0),
              HasSubstr("takes this node back: Slurm job 17 reached its time limit"));
}

// row:E20
TEST_F(Reclaimed, WhatIsStartingIsLetComeFirst) {
  reclaim({"v4", "v2"});
  EXPECT_THAT(begun_shrinks(), ElementsAre(HasSubstr("(v2, v4)")));
  EXPECT_THAT(orders_to_leave(rig.seen), IsEmpty());
  rig.report_of(4, 2);
  rig.attach_at(4);
  for (const std::uint32_t rank : {1U, 2U, 3U}) rig.acknowledge(rank);
  EXPECT_EQ(orders_to_leave(rig.seen).size(), 1U);
}

// row:E20
TEST_F(Reclaimed, WhatLeavesAlreadyAndWhatIsNotKnownIsNoChange) {
  rig.on(DaemonLaunchFailed{Rank(4), "no"});
  rig.give_back();
  rig.release({"v2"});
  reclaim({"v2", "v9"});
  EXPECT_THAT(begun_shrinks(), ElementsAre("shrink 3 (v2)"));
  reclaim({"v2", "v3"});
  EXPECT_THAT(begun_shrinks(), ElementsAre("shrink 3 (v2)", HasSubstr("shrink 4 (v3): ")));
}

// row:E20 row:C3 else it would be started when the other grow has ended
TEST_F(Reclaimed, WhatHasNotBegunToStartNeverComes) {
  wire::ClientRequest message;
  for (const char* name : {"v4", "v5"}) message.mutable_grow()->add_hosts()->set_node(name);
  const auto asked = all_of<AskForNodes>(rig.request(kUser, std::move(message)));
  rig.grant(asked.at(0).ask, 1);
  rig.seen.clear();
  reclaim({"v5"});
  EXPECT_THAT(begun_shrinks(), IsEmpty());
  rig.give_back();
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_FALSE(outcomes(rig.seen)[0].done());
  EXPECT_THAT(outcomes(rig.seen)[0].text(), HasSubstr("Slurm job 17 reached its time limit"));
  rig.report_of(4, 2);
  rig.attach_at(4);
  for (const std::uint32_t rank : {1U, 2U, 3U}) rig.acknowledge(rank);
  EXPECT_THAT(rig.names(), ElementsAre("v1", "v2", "v3", "v4"));
  EXPECT_TRUE(rig.head.elastic().idle());
}

TEST_F(Reclaimed, NothingLeavesADvmThatKeepsItsSize) {
  ElasticRig fixed(2, false);
  fixed.on(NodesReclaimed{{"v2"}, "wanted"});
  EXPECT_TRUE(fixed.head.elastic().idle());
  EXPECT_EQ(fixed.state_of(2), NodeState::kUp);
}

// What a manager that does not answer holds up is said.
TEST_F(TwoManagers, AManagerThatDoesNotAnswerIsNamed) {
  both_leave();
  rig.answer(all_of<ReturnNodes>(rig.seen).at(0));
  const auto status = rig.head.status(0, rig.now_ms);
  ASSERT_EQ(status.campaigns_size(), 1);
  EXPECT_EQ(status.campaigns(0).phase(), "returning");
  EXPECT_THAT(status.campaigns(0).managers(), ElementsAre("hosts"));
  const auto report = rig.head.elastic().explain_change(4);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->waits_size(), 1);
  EXPECT_EQ(report->waits(0).kind(), "manager");
  EXPECT_THAT(report->waits(0).text(), HasSubstr("hosts to answer whether it takes back v3"));
}

}  // namespace
}  // namespace tide::core
