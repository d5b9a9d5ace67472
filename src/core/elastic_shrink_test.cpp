// Shrinks, and jobs that are held before their launch, seen through the head.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/elastic_rig.hpp"
#include "wire/exit_status.hpp"

namespace tide::core {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// row:E9 row:E12 row:E13
TEST(ElasticDesk, AShrinkIsDoneWhenItsDaemonsHaveReallyEnded) {
  ElasticRig rig(2);
  rig.release({"v2"});
  ASSERT_EQ(begun(rig.seen).size(), 1U);
  EXPECT_FALSE(begun(rig.seen)[0].allocation().empty());
  EXPECT_EQ(orders_to_leave(rig.seen), std::vector<RankSet>{RankSet(Rank(2))});
  rig.submit(kUser, job_spec(1));
  rig.acknowledge(1);
  rig.acknowledge(2);
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(), "WAITING_FOR_DAEMONS") << "only ordered to";
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "ended"});
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(), "WAITING_FOR_DAEMONS") << "it is watched";
  const auto gone = rig.on(DaemonExited{Rank(2), "ended"});
  EXPECT_EQ(launched_on(gone), (std::set<std::uint32_t>{1}));
  EXPECT_FALSE(rig.head.overlay().membership().has(Rank(2)));
  EXPECT_THAT(rig.names(), ElementsAre("v1"));
  EXPECT_THAT(outcomes(rig.seen), IsEmpty()) << "the resource manager is asked first";
  rig.give_back();
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_TRUE(outcomes(rig.seen)[0].done());
  rig.on(DaemonExited{Rank(2), "again"});
  EXPECT_EQ(outcomes(rig.seen).size(), 1U);
}

// row:S15
TEST(ElasticDesk, AnOrderThatCannotBeSentChangesNothing) {
  auto config = elastic_config();
  config.overlay.message_limit = 8;  // bytes: no order fits
  ElasticRig rig(2, config);
  rig.release({"v2"});
  EXPECT_THAT(orders_to_leave(rig.seen), IsEmpty());
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_FALSE(outcomes(rig.seen)[0].done());
  EXPECT_EQ(outcomes(rig.seen)[0].cause(), "resources");
  EXPECT_THAT(outcomes(rig.seen)[0].text(), HasSubstr("does not fit into a message"));
  EXPECT_EQ(rig.state_of(2), NodeState::kUp);
  EXPECT_FALSE(rig.head.jobs().fence().holds_mapping());
  EXPECT_TRUE(rig.head.elastic().idle());
}

// row:S15 who waits to hear of a node under suspicion goes on waiting, if the order fails at once
TEST(ElasticDesk, AnOrderThatCannotBeSentFailsNobodyWhoWaitsForTheNode) {
  auto config = elastic_config();
  config.roster.orders_fail = true;
  ElasticRig rig(1, config);
  rig.on(LinkDown{LinkId(1), LinkEnd::kClosed, "reset"});
  rig.submit(kUser, job_spec(1));
  rig.release({"v1"});
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_THAT(endings(rig.seen), IsEmpty());
  rig.link_up_of(1, 0);
  rig.attach_at(1);
  EXPECT_EQ(launched_on(rig.seen), (std::set<std::uint32_t>{1}));
}

// row:S15 row:E20 nobody waits for a departure that does not come, or ends a full member for it
TEST(ElasticDesk, AnOrderThatCannotBeSentFailsWhoCountedOnIt) {
  auto config = elastic_config();
  config.roster.orders_fail = true;
  ElasticRig rig(2, config);
  rig.submit(kUser, on_node("v2"));
  rig.launched(2, 1, {0});
  rig.release({"v2"});
  rig.release({"v2"}, 8);
  rig.fire(TimerKind::kChange, 3);  // the second one has nothing of its own to end
  EXPECT_THAT(outcomes(rig.seen), IsEmpty());
  rig.fire(TimerKind::kChange, 2);
  ASSERT_EQ(outcomes(rig.seen).size(), 2U);
  EXPECT_FALSE(outcomes(rig.seen)[0].done() || outcomes(rig.seen)[1].done());
  EXPECT_EQ(rig.state_of(2), NodeState::kUp);
  EXPECT_FALSE(rig.head.jobs().fence().holds_mapping());
  EXPECT_TRUE(rig.head.elastic().idle());
}

// row:S15 row:E12 as long as one of its nodes is there
TEST(ElasticDesk, AShrinkIsNotDoneByNodesThatNeverCameIfOthersStay) {
  auto config = elastic_config();
  config.roster.orders_fail = true;
  ElasticRig rig(2, config);
  rig.submit(kUser, on_node("v2"));
  rig.launched(2, 1, {0});
  const auto first = rig.begin_grow(1);
  rig.release({"v2"}, 8);
  rig.release({"v2", "v3"}, 10);
  rig.on(DaemonLaunchFailed{Rank(first), "no"});
  rig.fire(TimerKind::kChange, 3);
  ASSERT_EQ(outcomes(rig.seen).size(), 2U);
  EXPECT_FALSE(outcomes(rig.seen)[0].done() || outcomes(rig.seen)[1].done());
  EXPECT_EQ(rig.state_of(2), NodeState::kUp);
}

// row:S15 row:E12
TEST(ElasticDesk, AShrinkIsNotDoneByANodeThatIsLostIfOthersStay) {
  auto config = elastic_config();
  config.roster.orders_fail = true;
  ElasticRig rig(3, config);
  rig.submit(kUser, job_spec(6));
  for (const std::uint32_t rank : {1U, 2U, 3U}) rig.launched(rank, 1, {2 * rank - 2, 2 * rank - 1});
  rig.release({"v2"});
  rig.release({"v2", "v3"}, 8);
  rig.fire(TimerKind::kChange, 2);
  EXPECT_EQ(outcomes(rig.seen).size(), 1U) << "the second one may still order its own";
  rig.on(DaemonExited{Rank(3), "killed"});
  ASSERT_EQ(outcomes(rig.seen).size(), 2U);
  EXPECT_FALSE(outcomes(rig.seen)[0].done() || outcomes(rig.seen)[1].done());
  EXPECT_THAT(rig.names(), ElementsAre("v1", "v2"));
}

// row:S15 once its order is out
TEST(ElasticDesk, AShrinkThatOrdersItsOwnDoesWithoutThoseThatStay) {
  auto config = elastic_config();
  config.overlay.radix = 500;
  config.overlay.message_limit = 1200;  // bytes: more than a launch takes, less than 200 ranges
  ElasticRig rig(400, config);
  for (const std::uint32_t rank : {1U, 2U}) {
    rig.submit(kUser + rank, on_node("v" + std::to_string(rank)));
    rig.launched(rank, rank, {0});
  }
  std::vector<std::string> many;
  for (std::uint32_t rank = 1; rank < 400; rank += 2) many.push_back("v" + std::to_string(rank));
  rig.release(many);
  rig.release({"v1", "v2"}, 8);
  rig.fire(TimerKind::kChange, 2);
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_FALSE(outcomes(rig.seen)[0].done());
  rig.fire(TimerKind::kChange, 3);
  EXPECT_EQ(orders_to_leave(rig.seen), std::vector<RankSet>{RankSet(Rank(2))});
  rig.on(DaemonExited{Rank(2), "ended"});
  rig.give_back();
  ASSERT_EQ(outcomes(rig.seen).size(), 2U);
  EXPECT_EQ(outcomes(rig.seen)[1].text(), "shrunk by 1 node: v2; the DVM has 399 now");
  EXPECT_EQ(rig.state_of(1), NodeState::kUp);
}

// row:S15 who is lost meanwhile is not taken for a full member
TEST(ElasticDesk, WhoHasToStayIsStillUnderSuspicion) {
  auto config = elastic_config();
  config.roster.orders_fail = true;
  ElasticRig rig(3, config);
  rig.submit(kUser, job_spec(6));
  for (const std::uint32_t rank : {1U, 2U, 3U}) rig.launched(rank, 1, {2 * rank - 2, 2 * rank - 1});
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "reset"});
  EXPECT_EQ(rig.state_of(2), NodeState::kSuspect);
  rig.release({"v2", "v3"});
  rig.on(LinkDown{LinkId(3), LinkEnd::kClosed, "reset"});
  EXPECT_EQ(rig.state_of(3), NodeState::kLeaving);
  rig.fire(TimerKind::kChange, 2);
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_EQ(rig.state_of(2), NodeState::kSuspect);
  EXPECT_EQ(rig.state_of(3), NodeState::kSuspect);
  rig.now_ms += 3'600'000;
  rig.fire(TimerKind::kSuspects);
  EXPECT_EQ(rig.head.roster().nodes().size(), 1U) << "their time is over";
}

TEST(ElasticDesk, ProcessesOnReleasedNodesEndFirstAndAreNoSuccess) {
  ElasticRig rig(2);
  rig.submit(kUser, job_spec(4));
  rig.launched(1, 1, {0, 1});
  rig.launched(2, 1, {2, 3});
  const auto actions = rig.release({"v2"});
  EXPECT_THAT(orders_to_leave(rig.seen), IsEmpty()) << "not before they have ended";
  EXPECT_FALSE(orders(actions).empty());
  rig.ended(1, 1, {0, 1}, ProcState::kKilledByCmd, 0, SIGTERM);
  rig.ended(2, 1, {2, 3}, ProcState::kKilledByCmd, 0, SIGTERM);
  ASSERT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_EQ(endings(rig.seen)[0].exit_status(), kExitNodeLost);
  EXPECT_THAT(endings(rig.seen)[0].messages(0), HasSubstr("released"));
  EXPECT_EQ(orders_to_leave(rig.seen).size(), 1U);
}

TEST(ElasticDesk, ProcessesOnReleasedNodesHaveTheTimeThatIsMeantForThem) {
  for (const bool recoverable : {false, true}) {
    ElasticRig rig(2);
    auto spec = job_spec(4);
    spec.mutable_runtime()->set_recoverable(recoverable);
    rig.submit(kUser, spec);
    rig.launched(1, 1, {0, 1});
    rig.launched(2, 1, {2, 3});
    std::size_t ordered = 0;
    for (const auto& [rank, body] : downs(rig.release({"v2"}))) {
      if (!body.has_signal()) continue;
      ++ordered;
      EXPECT_EQ(body.signal().grace_ms(), ElasticConfig().process_grace_ms) << recoverable;
    }
    EXPECT_GT(ordered, 0U);
  }
}

// row:E20 who leaves with a shrink that came first has its time
TEST(ElasticDesk, AShrinkEndsByForceOnlyWhomItHasOrdered) {
  ElasticRig rig(3);
  rig.submit(kUser, on_node("v2", 2));
  rig.launched(2, 1, {0, 1});
  rig.release({"v2"});
  rig.release({"v2", "v3"}, kAsker + 1);
  for (int times = 0; times < 2; ++times) {
    const auto actions = rig.fire(TimerKind::kChange, 3);
    for (const auto& end : all_of<EndDaemon>(actions)) EXPECT_EQ(end.rank, Rank(3));
  }
  EXPECT_EQ(rig.state_of(2), NodeState::kLeaving) << "its processes still have their time";
  EXPECT_FALSE(rig.head.roster().nodes().contains(Rank(3)));
  EXPECT_THAT(outcomes(rig.seen), IsEmpty());
  rig.ended(2, 1, {0, 1}, ProcState::kKilledByCmd, 0, SIGTERM);
  rig.on(DaemonExited{Rank(2), "ended"});
  EXPECT_THAT(rig.names(), ElementsAre("v1"));
}

// A job that goes on without a node: processes 0 and 1 on v1, processes 2 and 3 on v2.
class ReleasedUnderRecoverable : public ::testing::Test {
 public:
  ReleasedUnderRecoverable() {
    auto spec = job_spec(4);
    spec.mutable_runtime()->set_recoverable(true);
    rig.submit(kUser, spec);
    rig.launched(1, 1, {0, 1});
    rig.launched(2, 1, {2, 3});
  }
  void v2_ends() { rig.ended(2, 1, {2, 3}, ProcState::kKilledByCmd, 0, SIGTERM); }
  // What the job has to tell at its end.
  std::vector<std::string> messages() {
    rig.ended(1, 1, {0, 1});
    const auto ends = endings(rig.seen);
    EXPECT_EQ(ends.size(), 1U);
    EXPECT_EQ(ends.at(0).exit_status(), status);
    return {ends.at(0).messages().begin(), ends.at(0).messages().end()};
  }
  ElasticRig rig{2};
  int status = kExitNodeLost;
};

TEST_F(ReleasedUnderRecoverable, ItsProcessesThereAreToldOfOnce) {
  rig.release({"v2"});
  v2_ends();
  EXPECT_THAT(messages(), ElementsAre(HasSubstr("its processes on v2 were ended")));
}

TEST_F(ReleasedUnderRecoverable, AlsoThoseThatDoNotEnd) {
  rig.release({"v2"});
  rig.fire(TimerKind::kChange, 2);
  EXPECT_EQ(orders_to_leave(rig.seen).size(), 1U);
  EXPECT_THAT(messages(), ElementsAre(HasSubstr("its processes on v2 were ended")));
}

TEST_F(ReleasedUnderRecoverable, AfterAnotherFailureEachOfThemCounts) {
  rig.proc_failed(1, proc_report(1, 0, ProcState::kWaitpidFired, 7));
  rig.release({"v2"});
  v2_ends();
  status = 7;
  EXPECT_THAT(messages(), ElementsAre(HasSubstr("exited with status 7"),
                                      HasSubstr("2 more of its processes failed")));
}

TEST_F(ReleasedUnderRecoverable, ALostNodeCountsAsMuch) {
  rig.proc_failed(1, proc_report(1, 0, ProcState::kWaitpidFired, 7));
  rig.on(DaemonExited{Rank(2), "signal 9"});
  status = 7;
  EXPECT_THAT(messages(), ElementsAre(HasSubstr("exited with status 7"),
                                      HasSubstr("2 more of its processes failed")));
}

TEST(ElasticDesk, ProcessesThatDoNotEndHoldUpNoShrinkForEver) {
  ElasticRig rig(2);
  rig.submit(kUser, on_node("v2"));
  rig.launched(2, 1, {0});
  rig.release({"v2"});
  EXPECT_THAT(orders_to_leave(rig.seen), IsEmpty());
  rig.fire(TimerKind::kChange, 2);
  EXPECT_EQ(orders_to_leave(rig.seen).size(), 1U);
  EXPECT_EQ(endings(rig.seen).size(), 1U) << "the job does not wait either";
}

// Five nodes, and a job that is mapped and held before its launch: it could not be mapped before v1
// was heard of again, and by then v2 was about to leave.
class HeldBeforeLaunch : public ::testing::Test {
 public:
  static constexpr std::uint32_t kHeld = 3;  // the number of the job
  HeldBeforeLaunch() : rig(5) {
    rig.submit(kUser, on_node("v2", 2));
    rig.launched(2, 1, {0, 1});
    rig.submit(kUser + 1, on_node("v5", 2));
    rig.launched(5, 2, {0, 1});
    rig.on(LinkDown{LinkId(1), LinkEnd::kClosed, "cut"});
    rig.submit(kUser + 2, job_spec(5));
    rig.release({"v2"});
    rig.link_up_of(1, 1);
    rig.attach_at(1);
    rig.seen.clear();
  }
  void v2_leaves() {
    rig.ended(2, 1, {0, 1}, ProcState::kKilledByCmd, 0, SIGTERM);
    rig.on(DaemonExited{Rank(2), "ended"});
  }
  [[nodiscard]] std::uint32_t used(std::uint32_t rank) const {
    return rig.head.roster().nodes().at(Rank(rank)).used;
  }
  ElasticRig rig;
};

// row:E10
TEST_F(HeldBeforeLaunch, ItHasItsSlotsAndNothingElse) {
  EXPECT_EQ(used(1), 2U);
  EXPECT_TRUE(launched_on(rig.seen).empty());
  wire::JobRef job;
  job.set_number(kHeld);
  EXPECT_EQ(rig.head.explain(job)->job().state(), "PRTE_JOB_STATE_WAITING_FOR_DAEMONS");
}

TEST_F(HeldBeforeLaunch, ItsMapIsSeenWithoutAQuestion) {
  const auto held = rig.head.jobs().glance(JobId(kHeld));
  ASSERT_TRUE(held);
  EXPECT_EQ(held->state, JobState::kWaitingForDaemons);
  EXPECT_THAT(held->mapped, ElementsAre(Rank(1), Rank(3), Rank(4)));
  EXPECT_EQ(held->processes, 5U);
  EXPECT_FALSE(rig.head.jobs().glance(JobId(kHeld + 1)));
}

// row:E11 row:E10 a grow does not keep it there
TEST_F(HeldBeforeLaunch, ItIsLaunchedOnItsMapWhenTheLastShrinkEnds) {
  rig.begin_grow(1, 8);
  v2_leaves();
  EXPECT_EQ(launched_on(rig.seen), (std::set<std::uint32_t>{1, 3, 4}));
}

// row:E11
TEST_F(HeldBeforeLaunch, ItIsMappedAnewIfItLostANode) {
  rig.ended(5, 2, {0, 1});
  rig.release({"v1"}, 8);
  v2_leaves();
  EXPECT_TRUE(launched_on(rig.seen).empty()) << "v1 is still there";
  rig.on(DaemonExited{Rank(1), "ended"});
  EXPECT_EQ(launched_on(rig.seen), (std::set<std::uint32_t>{3, 4, 5}));
  EXPECT_EQ(used(3) + used(4) + used(5), 5U) << "the old places were given back";
}

// row:E21
TEST_F(HeldBeforeLaunch, ItFailsWithTheNumbersIfItDoesNotFitAnyMore) {
  rig.release({"v1"}, 8);
  v2_leaves();
  rig.on(DaemonExited{Rank(1), "ended"});
  ASSERT_EQ(endings(rig.seen).size(), 2U);
  EXPECT_EQ(endings(rig.seen)[1].state(), static_cast<std::uint32_t>(JobState::kMapFailed));
  EXPECT_EQ(used(3) + used(4), 0U);
}

// row:E6 a failed grow does not take it along
TEST_F(HeldBeforeLaunch, ItIsNotGivenUpWithAGrow) {
  const auto first = rig.begin_grow(1, 8);
  rig.on(DaemonLaunchFailed{Rank(first), "no"});
  EXPECT_TRUE(endings(rig.seen).empty());
  v2_leaves();
  EXPECT_EQ(launched_on(rig.seen), (std::set<std::uint32_t>{1, 3, 4}));
}

TEST_F(HeldBeforeLaunch, ItCanBeKilled) {
  rig.kill(4, kHeld, SIGTERM);
  EXPECT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_EQ(used(1) + used(3) + used(4), 0U);
  v2_leaves();
  EXPECT_TRUE(launched_on(rig.seen).empty());
}

// row:E20
TEST(ElasticDesk, WhatAnUnfinishedGrowBringsLeavesWhenThatHasEnded) {
  ElasticRig rig(1);
  const auto first = rig.begin_grow(1);
  rig.release({"v2"}, 8);
  ASSERT_EQ(begun(rig.seen).size(), 2U) << "accepted";
  EXPECT_THAT(orders_to_leave(rig.seen), IsEmpty());
  rig.report_of(first, 2);
  rig.attach_at(first);
  rig.acknowledge(1);
  EXPECT_EQ(orders_to_leave(rig.seen).size(), 1U);
  rig.on(DaemonExited{Rank(first), "ended"});
  rig.give_back();
  EXPECT_EQ(outcomes(rig.seen).size(), 2U);
  EXPECT_THAT(rig.names(), ElementsAre("v1"));
}

// What was said of each change that has ended, in this order.
std::vector<std::string> words(const ElasticRig& rig) {
  std::vector<std::string> out;
  for (const auto& outcome : outcomes(rig.seen)) {
    EXPECT_TRUE(outcome.done());
    out.push_back(outcome.text());
  }
  return out;
}

// row:E20
TEST(ElasticDesk, ANodeThatLeavesAlreadyIsOrderedAndCountedOnce) {
  ElasticRig rig(3);
  rig.release({"v2"});
  rig.release({"v2"}, 8);
  rig.release({"v2", "v3"}, 10);
  ASSERT_EQ(begun(rig.seen).size(), 3U);
  EXPECT_THAT(begun(rig.seen)[0].already(), IsEmpty());
  EXPECT_THAT(begun(rig.seen)[1].already(), ElementsAre("v2"));
  EXPECT_THAT(begun(rig.seen)[2].already(), ElementsAre("v2"));
  EXPECT_EQ(begun(rig.seen)[2].number(), 4U);
  EXPECT_EQ(orders_to_leave(rig.seen).size(), 2U);
  rig.on(DaemonExited{Rank(2), "ended"});
  rig.on(DaemonExited{Rank(3), "ended"});
  for (const auto& returned : all_of<ReturnNodes>(rig.seen)) {
    rig.answer(returned);
  }
  EXPECT_THAT(words(rig),
              ElementsAre("shrunk by 1 node: v2; the DVM has 1 now",
                          "v2 was leaving already, and has left; the DVM has 1 now",
                          "shrunk by 1 node: v3; v2 was leaving already, and has left; the DVM has "
                          "1 now"));
  EXPECT_EQ(rig.head.elastic().counts().shrinks, 2U) << "what let nobody go is none";
}

// row:E20
TEST(ElasticDesk, ANodeThatLeftWhileTheShrinkWaitedWasNotItsOwn) {
  ElasticRig rig(3);
  const auto first = rig.begin_grow(1);
  rig.release({"v2", "v3", "v4"}, 8);
  rig.release({"v2"}, 10);
  rig.on(DaemonExited{Rank(2), "ended"});
  rig.give_back();
  rig.on(DaemonExited{Rank(3), "killed"});
  rig.report_of(first, 2);
  rig.attach_at(first);
  rig.acknowledge(1);
  rig.seen.clear();
  rig.on(DaemonExited{Rank(first), "ended"});
  rig.give_back();
  EXPECT_THAT(words(rig),
              ElementsAre("shrunk by 1 node: v4; v2 was leaving already, and has left; v3 was lost "
                          "before; the DVM has 1 now"));
  EXPECT_EQ(rig.head.elastic().counts().shrinks, 2U);
}

TEST(ElasticDesk, AShrinkThatIsDoneWhileTheDvmEndsCountsNoNodes) {
  ElasticRig rig(2);
  rig.release({"v2"});
  rig.on(DaemonExited{Rank(2), "ended"});
  rig.down(kUser);
  rig.on(DaemonExited{Rank(1), "ended"});
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_TRUE(outcomes(rig.seen)[0].done());
  EXPECT_EQ(outcomes(rig.seen)[0].text(), "shrunk by 1 node: v2; the DVM ends");
}

// row:E20
TEST(ElasticDesk, ANodeWhoseGrowFailsNeverCame) {
  ElasticRig rig(2);
  const auto first = rig.begin_grow(1);
  rig.release({"v3"}, 8);
  rig.release({"v2", "v3"}, 10);
  rig.on(DaemonLaunchFailed{Rank(first), "no"});
  rig.seen.clear();
  rig.on(DaemonExited{Rank(2), "ended"});
  for (const std::uint32_t number : {2U, 3U, 4U}) {
    rig.on(ReturnAnswered{number, "pool", ReturnVerdict::kTaken});
  }
  const auto all = outcomes(rig.seen);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_FALSE(all[0].done()) << "the grow";
  EXPECT_TRUE(all[1].done() && all[2].done()) << "they are not there";
  EXPECT_EQ(all[1].text(),
            "v3 never came, because the grow that was to bring it failed; the DVM has 1 now");
  EXPECT_EQ(all[2].text(),
            "shrunk by 1 node: v2; v3 never came, because the grow that was to bring it failed; "
            "the DVM has 1 now");
  EXPECT_EQ(rig.head.elastic().counts().shrinks, 1U);
}

// row:S11
TEST(ElasticDesk, ATargetThatCrashesChangesNothing) {
  ElasticRig rig(2);
  rig.submit(kUser, on_node("v2"));
  rig.launched(2, 1, {0});
  rig.release({"v2"});
  rig.on(DaemonExited{Rank(2), "killed"});  // before the order
  rig.give_back();
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_TRUE(outcomes(rig.seen)[0].done());
  EXPECT_TRUE(rig.head.elastic().idle());
}

// row:S11 a scheduler takes a node and ends what runs there before it says so
TEST(ElasticDesk, ATargetThatHasEndedIsNotWaitedFor) {
  ElasticRig rig(2);
  rig.submit(kUser, on_node("v2"));
  rig.launched(2, 1, {0});
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "the peer closed the connection"});
  rig.on(ProbeAnswered{Rank(2), false});
  rig.release({"v2"});
  EXPECT_EQ(rig.state_of(2), NodeState::kLeaving);
  EXPECT_EQ(all_of<Probe>(rig.fire(TimerKind::kProbeAgain)).size(), 1U);
  const auto actions = rig.on(ProbeAnswered{Rank(2), true});
  ASSERT_EQ(all_of<EndDaemon>(actions).size(), 1U);
  EXPECT_FALSE(all_of<EndDaemon>(actions)[0].answers);
  EXPECT_TRUE(rig.head.overlay().membership().departed(Rank(2)));
  std::vector<std::string> kinds;
  for (const auto& event : rig.head.events().events()) kinds.push_back(event.kind());
  EXPECT_THAT(kinds, Contains(event_kind_name(EventKind::kNodeLeft)));
  EXPECT_THAT(kinds, Not(Contains(event_kind_name(EventKind::kNodeLost)))) << "it was taken";
  rig.give_back();
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_TRUE(outcomes(rig.seen)[0].done());
  ASSERT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_THAT(endings(rig.seen)[0].messages(0), HasSubstr("released"));
  EXPECT_TRUE(rig.head.elastic().idle());
}

TEST(ElasticDesk, ATargetThatIsCutOffWhileItsProcessesEndIsAskedWhetherItHasEnded) {
  ElasticRig rig(2);
  rig.submit(kUser, on_node("v2"));
  rig.launched(2, 1, {0});
  rig.release({"v2"});
  EXPECT_EQ(all_of<Probe>(rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "reset"})).size(), 1U);
  rig.on(ProbeAnswered{Rank(2), true});
  rig.give_back();
  EXPECT_EQ(outcomes(rig.seen).size(), 1U);
}

TEST(ElasticDesk, DaemonsThatDoNotGoAreEndedAndThenGivenUp) {
  ElasticRig rig(2);
  rig.release({"v2"});
  EXPECT_THAT(all_of<EndDaemon>(rig.seen), IsEmpty());
  rig.fire(TimerKind::kChange, 2);
  ASSERT_EQ(all_of<EndDaemon>(rig.seen).size(), 1U);
  rig.fire(TimerKind::kChange, 2);
  rig.give_back();
  EXPECT_EQ(outcomes(rig.seen).size(), 1U);
}

TEST(ElasticDesk, AResourceManagerThatDoesNotAnswerChangesNoOutcome) {
  ElasticRig rig(2);
  rig.release({"v2"});
  rig.on(DaemonExited{Rank(2), "ended"});
  EXPECT_THAT(outcomes(rig.seen), IsEmpty());
  rig.fire(TimerKind::kChange, 2);
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_TRUE(outcomes(rig.seen)[0].done());
}

TEST(ElasticDesk, TheLastNodeMayGoAndOthersMayCome) {
  ElasticRig rig(1);
  rig.release({"v1"});
  rig.on(DaemonExited{Rank(1), "ended"});
  rig.give_back();
  EXPECT_THAT(rig.names(), IsEmpty());
  rig.submit(kUser, job_spec(1));
  ASSERT_EQ(endings(rig.seen).size(), 1U) << "says so, and does not wait";
  rig.grow_wholly(1, 3);
  rig.submit(kUser, job_spec(1));
  EXPECT_EQ(launched_on(rig.seen), (std::set<std::uint32_t>{2}));
}

TEST(ElasticDesk, BadRequestsAreRefusedAndChangeNothing) {
  ElasticRig rig(2);
  EXPECT_THAT(refusal(rig.release({"v7"})), HasSubstr("v7"));
  EXPECT_THAT(refusal(rig.release({})), HasSubstr("neither"));
  wire::ClientRequest many;
  many.mutable_shrink()->set_count(3);
  EXPECT_THAT(refusal(rig.request(kAsker, many)), HasSubstr("has 2"));
  wire::ClientRequest unknown;
  unknown.mutable_shrink()->set_allocation("a99");
  EXPECT_THAT(refusal(rig.request(kAsker, unknown)), HasSubstr("a99"));
  EXPECT_THAT(refusal(rig.ask(0)), HasSubstr("neither"));
  EXPECT_TRUE(rig.head.elastic().idle());
  EXPECT_THAT(rig.names(), ElementsAre("v1", "v2"));
}

TEST(ElasticDesk, ByCountTheNewestLeaveThatNobodyUses) {
  ElasticRig rig(3);
  rig.submit(kUser, on_node("v3"));
  rig.launched(3, 1, {0});
  wire::ClientRequest message;
  message.mutable_shrink()->set_count(1);
  rig.request(kAsker, std::move(message));
  EXPECT_EQ(orders_to_leave(rig.seen), std::vector<RankSet>{RankSet(Rank(2))});
}

}  // namespace
}  // namespace tide::core
