// Changes of the DVM's size, seen through the head: requests, grows, answers.
#include "core/elastic_desk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/elastic_rig.hpp"

namespace tide::core {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- grow ----

// row:E2 row:E4
TEST(ElasticDesk, AGrowIsAnsweredTwiceAndJobsAreHeldUntilItIsWired) {
  ElasticRig rig(1);
  const auto first = rig.begin_grow(2);
  ASSERT_EQ(begun(rig.seen).size(), 1U);
  EXPECT_FALSE(begun(rig.seen)[0].allocation().empty());
  EXPECT_THAT(begun(rig.seen)[0].nodes(), ElementsAre("v2", "v3"));
  rig.submit(kUser, on_node("v3"));
  // The node is not known yet: a job that names it fails at once, as in any DVM.
  ASSERT_EQ(endings(rig.seen).size(), 1U);
  rig.submit(kUser, job_spec(4));
  EXPECT_EQ(states_of(rig.seen, "dvm@2").back(), "WAITING_FOR_DAEMONS");
  rig.report_of(first, 2);
  rig.report_of(first + 1, 2);
  rig.attach_at(first);
  rig.attach_at(first + 1);
  EXPECT_THAT(outcomes(rig.seen), IsEmpty()) << "v1 has not acknowledged";
  EXPECT_EQ(states_of(rig.seen, "dvm@2").back(), "WAITING_FOR_DAEMONS");
  rig.acknowledge(1);
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_TRUE(outcomes(rig.seen)[0].done());
  EXPECT_EQ(launched_on(rig.seen), (std::set<std::uint32_t>{1, 2})) << "two slots each";
  EXPECT_EQ(rig.state_of(3), NodeState::kUp);
}

// row:E3
TEST(ElasticDesk, AJobThatWasAdmittedBeforeGoesOn) {
  ElasticRig rig(1);
  rig.submit(kUser, job_spec(1));
  rig.begin_grow(1);
  rig.launched(1, 1, {0});
  rig.ended(1, 1, {0});
  ASSERT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_EQ(endings(rig.seen)[0].exit_status(), 0);
}

// row:E5 row:E6
TEST(ElasticDesk, AFailedGrowIsRolledBackWhole) {
  ElasticRig rig(1);
  const auto first = rig.begin_grow(2);
  rig.submit(kUser, job_spec(1));
  rig.report_of(first, 2);
  const auto failed = rig.on(DaemonLaunchFailed{Rank(first + 1), "no such file"});
  ASSERT_EQ(endings(failed).size(), 1U) << "the job hears at once";
  EXPECT_EQ(endings(failed)[0].state(), static_cast<std::uint32_t>(JobState::kNeverLaunched));
  EXPECT_THAT(rig.names(), ElementsAre("v1"));
  ASSERT_EQ(all_of<EndDaemon>(failed).size(), 1U);
  EXPECT_EQ(all_of<EndDaemon>(failed)[0].rank, Rank(first));
  EXPECT_THAT(outcomes(rig.seen), IsEmpty()) << "its daemon has not ended yet";
  rig.on(DaemonExited{Rank(first), "ended"});
  EXPECT_THAT(outcomes(rig.seen), IsEmpty()) << "the resource manager has not taken them back";
  rig.give_back();
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_FALSE(outcomes(rig.seen)[0].done());
  EXPECT_EQ(outcomes(rig.seen)[0].cause(), "cannot-start");
  EXPECT_THAT(outcomes(rig.seen)[0].text(), HasSubstr("no such file"));
  EXPECT_TRUE(rig.head.elastic().idle());
}

// row:S9 row:S10
TEST(ElasticDesk, RanksOfARolledBackGrowStayHolesAndItsNodesMayComeAgain) {
  ElasticRig rig(1);
  const auto first = rig.begin_grow(1);
  rig.on(DaemonLaunchFailed{Rank(first), "no"});
  rig.give_back();
  const auto late = rig.link_up_of(first, 2);
  ASSERT_EQ(all_of<CloseLink>(late).size(), 1U) << "a slow starter is turned away";
  rig.grow_wholly(1, 3);
  EXPECT_TRUE(outcomes(rig.seen).back().done());
  EXPECT_THAT(all_of<LaunchDaemons>(rig.seen).back().targets[0].rank, Rank(first + 1));
}

// row:E5 died after it reported, when it was a member already
TEST(ElasticDesk, ADaemonThatDiesBeforeAllAreWiredTakesTheGrowWithIt) {
  ElasticRig rig(1);
  const auto first = rig.begin_grow(2);
  rig.report_of(first, 2);
  rig.report_of(first + 1, 2);
  rig.attach_at(first);
  EXPECT_EQ(rig.state_of(first), NodeState::kWiring);
  rig.on(DaemonExited{Rank(first + 1), "killed"});
  EXPECT_THAT(rig.names(), ElementsAre("v1"));
  EXPECT_FALSE(rig.head.overlay().membership().has(Rank(first)));
  rig.on(DaemonExited{Rank(first), "ended"});
  rig.give_back();
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_EQ(outcomes(rig.seen)[0].cause(), "lost");
}

// row:E5 never reported
TEST(ElasticDesk, AGrowHasATimeLimit) {
  ElasticRig rig(1);
  const auto first = rig.begin_grow(1);
  rig.fire(TimerKind::kStart, 2);
  EXPECT_THAT(rig.names(), ElementsAre("v1"));
  rig.fire(TimerKind::kRollback, 2);
  rig.give_back();
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_EQ(outcomes(rig.seen)[0].cause(), "time-limit");
  EXPECT_EQ(first, 2U);
}

// row:E7 row:E6
TEST(ElasticDesk, AFailedGrowTouchesNoOther) {
  ElasticRig rig(1);
  const auto good = rig.begin_grow(1);
  rig.submit(kUser, job_spec(1));
  const auto bad = rig.begin_grow(1, 8);
  rig.submit(kUser, job_spec(1));
  rig.on(DaemonLaunchFailed{Rank(bad), "no"});
  ASSERT_EQ(endings(rig.seen).size(), 1U) << "only the one that came while it was under way";
  EXPECT_EQ(endings(rig.seen)[0].job(), 2U);
  rig.report_of(good, 2);
  rig.attach_at(good);
  rig.acknowledge(1);
  EXPECT_THAT(launched_on(rig.seen), Contains(1U)) << "job 1 is mapped";
  EXPECT_THAT(rig.names(), ElementsAre("v1", "v2"));
}

// row:E8
TEST(ElasticDesk, TheLossOfAnotherDaemonReleasesNobodyAndStopsNothing) {
  ElasticRig rig(2);
  const auto first = rig.begin_grow(1);
  rig.submit(kUser, job_spec(1));
  rig.on(DaemonExited{Rank(2), "killed"});
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(), "WAITING_FOR_DAEMONS");
  rig.report_of(first, 2);
  rig.attach_at(first);
  rig.acknowledge(1);
  ASSERT_EQ(outcomes(rig.seen).size(), 1U);
  EXPECT_TRUE(outcomes(rig.seen)[0].done());
  EXPECT_FALSE(launched_on(rig.seen).empty());
}

// row:E1
TEST(ElasticDesk, ADvmThatIsNotElasticRefuses) {
  ElasticRig rig(1, false);
  EXPECT_THAT(refusal(rig.ask(1)), HasSubstr("not elastic"));
  EXPECT_THAT(refusal(rig.release({"v1"})), HasSubstr("not elastic"));
  EXPECT_THAT(all_of<AskForNodes>(rig.seen), IsEmpty());
}

TEST(ElasticDesk, WhatAResourceManagerRefusesIsRefused) {
  ElasticRig rig(1);
  rig.ask(3);
  const auto actions = rig.on(NodesRefused{1, {ErrorCode::kOutOfResources, "only 2 are left"}});
  EXPECT_EQ(refusal(actions), "only 2 are left");
  EXPECT_THAT(begun(rig.seen), IsEmpty());
  EXPECT_TRUE(rig.head.elastic().idle());
}

TEST(ElasticDesk, AResourceManagerThatDoesNotAnswerIsNotWaitedFor) {
  ElasticRig rig(1);
  rig.ask(1);
  EXPECT_THAT(refusal(rig.fire(TimerKind::kGrant, 1)), HasSubstr("no resource manager answered"));
  const auto late = rig.grant(1, 1);
  ASSERT_EQ(all_of<ReturnNodes>(late).size(), 1U) << "what comes now goes back";
  EXPECT_THAT(all_of<LaunchDaemons>(late), IsEmpty());
}

TEST(ElasticDesk, NodesThatAreThereAlreadyAreCompleteAtOnce) {
  ElasticRig rig(2);
  wire::ClientRequest message;
  message.mutable_grow()->add_hosts()->set_node("v2");
  const auto actions = rig.request(kAsker, std::move(message));
  ASSERT_EQ(begun(actions).size(), 1U);
  EXPECT_TRUE(begun(actions)[0].complete());
  EXPECT_EQ(begun(actions)[0].allocation(), "") << "nothing came that it could stand for";
  EXPECT_EQ(begun(actions)[0].number(), 0U);
  EXPECT_TRUE(rig.head.elastic().idle());
  rig.begin_grow(1);
  EXPECT_EQ(begun(rig.seen).back().allocation(), "a1");
  EXPECT_EQ(begun(rig.seen).back().number(), 2U);
}

// row:E14
TEST(ElasticDesk, JobsThatAreReleasedTogetherDoNotTakeEachOthersPlaces) {
  ElasticRig rig(2);  // with two slots each
  const auto first = rig.begin_grow(1);
  for (int i = 0; i < 3; ++i) rig.submit(kUser, job_spec(2));
  rig.report_of(first, 2);
  rig.attach_at(first);
  rig.acknowledge(1);
  rig.acknowledge(2);
  EXPECT_EQ(launched_on(rig.seen), (std::set<std::uint32_t>{1, 2, 3}));
  EXPECT_THAT(endings(rig.seen), IsEmpty());
}

class GrowOfTheSameNode : public ::testing::Test {
 public:
  // v2 is on its way when somebody else asks for it, and v3 as well if there are `more`.
  void ask_again(bool more) {
    first = rig.begin_grow(1);
    wire::ClientRequest message;
    message.mutable_grow()->add_hosts()->set_node("v2");
    if (more) message.mutable_grow()->add_hosts()->set_node("v3");
    rig.request(8, std::move(message));
    if (more) rig.grant(2, 1);
    rig.seen.clear();
  }
  void v2_comes() {
    rig.report_of(first, 2);
    rig.attach_at(first);
    rig.acknowledge(1);
  }
  ElasticRig rig{1};
  std::uint32_t first = 0;
};

// row:E14 row:C2
TEST_F(GrowOfTheSameNode, IsDoneWhenTheOtherIs) {
  ask_again(false);
  EXPECT_THAT(outcomes(rig.seen), IsEmpty());
  v2_comes();
  ASSERT_EQ(outcomes(rig.seen).size(), 2U);
  EXPECT_TRUE(outcomes(rig.seen)[0].done() && outcomes(rig.seen)[1].done());
  EXPECT_EQ(outcomes(rig.seen)[0].text(), "grown by 1 node: v2; the DVM has 2 now");
  EXPECT_EQ(outcomes(rig.seen)[1].text(), "v2 has come with another grow; the DVM has 2 now");
  EXPECT_TRUE(rig.head.elastic().idle());
}

TEST_F(GrowOfTheSameNode, CountsANodeThatIsNamedTwiceOnce) {
  wire::ClientRequest message;
  for (const char* node : {"v1", "v1"}) message.mutable_grow()->add_hosts()->set_node(node);
  rig.request(10, std::move(message));
  ASSERT_EQ(begun(rig.seen).size(), 1U);
  EXPECT_TRUE(begun(rig.seen)[0].complete());
  EXPECT_THAT(begun(rig.seen)[0].nodes(), ElementsAre("v1"));
}

TEST_F(GrowOfTheSameNode, SaysWhatComesAlreadyAndThatItBroughtNothing) {
  ask_again(false);
  const auto report = rig.head.elastic().explain_allocation("a2");
  ASSERT_TRUE(report);
  EXPECT_THAT(report->there(), ElementsAre("v2"));
  EXPECT_EQ(report->changes_size(), 1);
  wire::ClientRequest message;
  for (const char* node : {"v1", "v2", "v3"}) message.mutable_grow()->add_hosts()->set_node(node);
  rig.request(10, std::move(message));
  rig.grant(2, 1);
  ASSERT_EQ(begun(rig.seen).size(), 1U);
  EXPECT_THAT(begun(rig.seen)[0].nodes(), ElementsAre("v3"));
  EXPECT_THAT(begun(rig.seen)[0].already(), ElementsAre("v1", "v2"));
  EXPECT_THAT(rig.head.elastic().explain_allocation("a3")->there(), IsEmpty());
}

// row:E14 row:C3
TEST_F(GrowOfTheSameNode, FailsWithTheOther) {
  ask_again(false);
  rig.submit(kUser, job_spec(1));
  rig.on(DaemonLaunchFailed{Rank(first), "no"});
  for (const auto& offer : all_of<ReturnNodes>(rig.seen)) rig.answer(offer);
  ASSERT_EQ(outcomes(rig.seen).size(), 2U);
  for (const auto& outcome : outcomes(rig.seen)) EXPECT_EQ(outcome.cause(), "cannot-start");
  EXPECT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_TRUE(rig.head.elastic().idle());
}

TEST_F(GrowOfTheSameNode, StartsWhatIsItsOwnWhenTheOtherIsDone) {
  ask_again(true);
  EXPECT_THAT(all_of<LaunchDaemons>(rig.seen), IsEmpty());
  v2_comes();
  ASSERT_EQ(all_of<LaunchDaemons>(rig.seen).size(), 1U);
  EXPECT_EQ(all_of<LaunchDaemons>(rig.seen)[0].targets[0].node, "v3");
  rig.report_of(first + 1, 3);
  rig.attach_at(first + 1);
  rig.acknowledge(1);
  rig.acknowledge(first);
  EXPECT_EQ(outcomes(rig.seen).size(), 2U);
  EXPECT_THAT(rig.names(), ElementsAre("v1", "v2", "v3"));
}

TEST_F(GrowOfTheSameNode, GivesBackWhatIsItsOwnIfTheOtherFails) {
  ask_again(true);
  rig.on(DaemonLaunchFailed{Rank(first), "no"});
  std::set<std::string> returned;
  for (const auto& back : all_of<ReturnNodes>(rig.seen)) {
    returned.insert(back.nodes.begin(), back.nodes.end());
    rig.on(ReturnAnswered{back.number, back.manager});
  }
  EXPECT_EQ(returned, (std::set<std::string>{"v2", "v3"}));
  EXPECT_EQ(outcomes(rig.seen).size(), 2U);
  EXPECT_TRUE(rig.head.elastic().idle());
}

// row:E15
TEST_F(GrowOfTheSameNode, EndsWithTheDvm) {
  ask_again(true);
  rig.on(EndRequested{"enough"});
  ASSERT_EQ(outcomes(rig.seen).size(), 2U);
  for (const auto& outcome : outcomes(rig.seen)) EXPECT_EQ(outcome.cause(), "dvm-ends");
}

TEST(ElasticDesk, PushedNodesGrowTheDvmWithoutAnAsker) {
  ElasticRig rig(1);
  rig.on(NodesPushed{{{"v2", 2, HeadRig::incarnation(2)}}});
  rig.submit(kUser, job_spec(1));
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(), "WAITING_FOR_DAEMONS");
  rig.report_of(2, 2);
  rig.attach_at(2);
  rig.acknowledge(1);
  EXPECT_THAT(rig.names(), ElementsAre("v1", "v2"));
  EXPECT_THAT(outcomes(rig.seen), IsEmpty());
}

// row:E15
TEST(ElasticDesk, TheEndOfTheDvmEndsEveryChange) {
  ElasticRig rig(3);
  rig.begin_grow(1);
  rig.ask(1, 7);
  rig.release({"v3"}, 8);
  rig.submit(kUser, job_spec(1));
  rig.down(4);
  EXPECT_EQ(endings(rig.seen).size(), 1U) << "the parked job";
  EXPECT_THAT(refusal(rig.seen), HasSubstr("ending"));
  ASSERT_EQ(outcomes(rig.seen).size(), 1U) << "the grow; of the shrink the order is out";
  EXPECT_EQ(outcomes(rig.seen)[0].cause(), "dvm-ends");
  for (const std::uint32_t rank : {1U, 2U, 3U, 4U}) rig.on(DaemonExited{Rank(rank), "ended"});
  ASSERT_EQ(outcomes(rig.seen).size(), 2U);
  EXPECT_TRUE(outcomes(rig.seen)[1].done());
  EXPECT_EQ(all_of<Exit>(rig.seen).size(), 1U);
}

TEST(ElasticDesk, AnAskerThatIsGoneIsToldNothing) {
  ElasticRig rig(2);
  rig.release({"v2"});
  rig.on(ClientGone{ClientId(kAsker)});
  rig.on(DaemonExited{Rank(2), "ended"});
  rig.give_back();
  EXPECT_THAT(outcomes(rig.seen), IsEmpty());
  EXPECT_TRUE(rig.head.elastic().idle());
}

// row:E16
TEST(ElasticDesk, WhoWaitsIsToldForWhat) {
  ElasticRig rig(1);
  rig.begin_grow(1);
  rig.submit(kUser, job_spec(1));
  wire::JobRef job;
  job.set_number(1);
  const auto explained = rig.head.explain(job);
  ASSERT_TRUE(explained);
  std::string text;
  for (const auto& point : explained->waits()) text += point.text() + "\n";
  EXPECT_THAT(text, HasSubstr("held until the DVM has its new size"));
  EXPECT_THAT(text, HasSubstr("no report yet from v2"));
  const auto status = rig.head.status(0, rig.now_ms + 5);
  ASSERT_EQ(status.campaigns_size(), 1);
  EXPECT_EQ(status.campaigns(0).phase(), "starting");
  EXPECT_EQ(status.campaigns(0).parked_jobs(), 1U);
  EXPECT_EQ(status.campaigns(0).age_ms(), 5U);
}

// ---- daemons that no launcher watches ----

class UnwatchedGrow : public ::testing::Test {
 public:
  UnwatchedGrow() {
    NodesGranted granted{all_of<AskForNodes>(rig.ask(2)).at(0).ask, {}};
    for (const std::uint32_t rank : {2U, 3U}) {
      granted.nodes.push_back({.name = "v" + std::to_string(rank),
                               .slots = HeadRig::kSlots,
                               .incarnation = HeadRig::incarnation(rank),
                               .watched = false});
    }
    rig.on(granted);
  }
  void report(std::uint32_t rank) {
    rig.link_up_of(rank, 2);
    say_report(rank);
  }
  Actions say_report(std::uint32_t rank) {
    wire::LinkMessage message;
    message.mutable_report()->set_pid(2000 + rank);
    message.mutable_report()->add_endpoints()->set_port(rank);
    return rig.say(rank, message);
  }
  // Rank 3 has failed, and the others have had their time.
  Actions gives_up() {
    rig.on(DaemonLaunchFailed{Rank(3), "no such file"});
    return rig.fire(TimerKind::kStart, 2);
  }
  // It is sent home and asked, and told when its port is closed.
  void expect_sent_home_and_asked(const Actions& actions) {
    ASSERT_EQ(all_of<CloseLink>(actions).size(), 1U);
    EXPECT_EQ(all_of<CloseLink>(actions)[0].reason, wire::GOODBYE_MOVED);
    ASSERT_EQ(all_of<Probe>(actions).size(), 1U);
    EXPECT_EQ(told(), "");
    rig.on(ProbeAnswered{Rank(2), true});
    EXPECT_EQ(told(), "cannot-start");
    EXPECT_TRUE(rig.head.elastic().idle());
  }
  // Who asked has been told of the failure, and why.
  std::string told() {
    const auto offers = all_of<ReturnNodes>(rig.seen);
    if (offers.empty()) return "";
    rig.answer(offers.back());
    return outcomes(rig.seen).empty() ? "" : outcomes(rig.seen).back().cause();
  }

  ElasticRig rig{1};
};

TEST_F(UnwatchedGrow, WhoHasLeftWithTheDvmIsNotFoundByItsName) {
  for (const std::uint32_t rank : {2U, 3U}) report(rank);
  for (const std::uint32_t rank : {2U, 3U}) rig.attach_at(rank);
  rig.acknowledge(1);
  rig.down(kUser);
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "bye"});
  EXPECT_EQ(rig.head.roster().find("v2"), nullptr);
  EXPECT_NE(rig.head.roster().find("v3"), nullptr);
}

// An order to who does not hear it may harm others: srun ends a step that it can't bring it to.
TEST_F(UnwatchedGrow, WhoDoesNotLeaveInTimeIsEndedIfItAnswers) {
  for (const std::uint32_t rank : {2U, 3U}) report(rank);
  for (const std::uint32_t rank : {2U, 3U}) rig.attach_at(rank);
  rig.acknowledge(1);
  rig.release({"v2"});
  ASSERT_EQ(rig.state_of(2), NodeState::kDeparting);
  EXPECT_EQ(all_of<Probe>(rig.fire(TimerKind::kChange, 3)).size(), 1U);
  EXPECT_THAT(all_of<EndDaemon>(rig.seen), IsEmpty());
  EXPECT_EQ(all_of<EndDaemon>(rig.on(ProbeAnswered{Rank(2), false})).size(), 1U);
  EXPECT_THAT(all_of<EndDaemon>(rig.on(ProbeAnswered{Rank(2), false})), IsEmpty()) << "once";
  rig.fire(TimerKind::kChange, 3);
  EXPECT_EQ(rig.head.roster().find("v2"), nullptr) << "it is given up";
}

// row:C3 row:E5
TEST_F(UnwatchedGrow, FailsWhenThePortsOfItsDaemonsAreClosed) {
  report(2);
  const auto failed = rig.on(DaemonLaunchFailed{Rank(3), "no such file"});
  ASSERT_EQ(all_of<Probe>(failed).size(), 1U);
  EXPECT_EQ(all_of<Probe>(failed)[0].rank, Rank(2));
  rig.on(DaemonExited{Rank(2), "its session is over"});
  EXPECT_EQ(told(), "") << "a session is not a daemon";
  rig.on(ProbeAnswered{Rank(2), false});
  EXPECT_EQ(told(), "");
  EXPECT_EQ(all_of<Probe>(rig.fire(TimerKind::kProbeAgain)).size(), 1U);
  EXPECT_EQ(told(), "");
  rig.on(ProbeAnswered{Rank(2), true});
  EXPECT_EQ(told(), "cannot-start");
  EXPECT_TRUE(rig.head.elastic().idle());
}

// row:C3
TEST_F(UnwatchedGrow, WhoHasNotReportedEndsWithItsSession) {
  gives_up();
  EXPECT_EQ(all_of<EndDaemon>(rig.seen).back().rank, Rank(2));
  EXPECT_THAT(all_of<Probe>(rig.seen), IsEmpty());
  EXPECT_EQ(told(), "");
  rig.on(DaemonExited{Rank(2), "its session is over"});
  EXPECT_EQ(told(), "cannot-start");
}

// row:C3 it went on alone when it found the head: the end of its session is not its own
TEST_F(UnwatchedGrow, WhoHasFoundTheHeadReportsBeforeItIsSentHome) {
  rig.link_up_of(2, 2);
  EXPECT_THAT(all_of<CloseLink>(gives_up()), IsEmpty());
  rig.on(DaemonExited{Rank(2), "its session is over"});
  EXPECT_EQ(told(), "");
  expect_sent_home_and_asked(say_report(2));
}

// row:C3 row:S8
TEST_F(UnwatchedGrow, WhoFindsTheHeadWhileItIsUndoneReportsBeforeItIsSentHome) {
  gives_up();
  EXPECT_THAT(all_of<CloseLink>(rig.link_up_of(2, 2)), IsEmpty());
  rig.on(DaemonExited{Rank(2), "its session is over"});
  EXPECT_EQ(told(), "");
  expect_sent_home_and_asked(say_report(2));
}

TEST_F(UnwatchedGrow, WhoFindsTheHeadTwiceOrInAnotherLifeIsTurnedAway) {
  gives_up();
  rig.link_up_of(2, 2);
  EXPECT_EQ(all_of<CloseLink>(rig.on(LinkUp{.link = LinkId(77),
                                            .peer = Rank(2),
                                            .incarnation = HeadRig::incarnation(2),
                                            .campaign = 2}))
                .size(),
            1U);
  rig.on(DaemonExited{Rank(2), "its session is over"});
  expect_sent_home_and_asked(say_report(2));
  EXPECT_EQ(all_of<CloseLink>(rig.link_up_of(2, 2)).size(), 1U) << "it is over";
}

TEST_F(UnwatchedGrow, WhoIsLostBeforeItsReportIsNotWaitedFor) {
  rig.link_up_of(2, 2);
  gives_up();
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "reset"});
  EXPECT_EQ(told(), "") << "its session is still there";
  rig.on(DaemonExited{Rank(2), "its session is over"});
  EXPECT_EQ(told(), "cannot-start");
}

TEST_F(UnwatchedGrow, WhoNeverReportsIsSentHomeWhenItsTimeIsOver) {
  rig.link_up_of(2, 2);
  gives_up();
  rig.on(DaemonExited{Rank(2), "its session is over"});
  EXPECT_EQ(all_of<CloseLink>(rig.fire(TimerKind::kRollback, 2)).size(), 1U);
  EXPECT_EQ(told(), "cannot-start");
}

TEST_F(UnwatchedGrow, WhoIsSilentIsNotWaitedFor) {
  report(2);
  report(3);
  const auto lost = rig.on(LinkDown{LinkId(3), LinkEnd::kSilent, "nothing heard"});
  ASSERT_EQ(all_of<Probe>(lost).size(), 1U);
  EXPECT_EQ(all_of<Probe>(lost)[0].rank, Rank(2));
  rig.on(ProbeAnswered{Rank(2), true});
  EXPECT_EQ(told(), "lost");
}

TEST_F(UnwatchedGrow, WhoDoesNotEndIsWaitedForSoLongOnly) {
  report(2);
  rig.on(DaemonLaunchFailed{Rank(3), "no such file"});
  rig.on(ProbeAnswered{Rank(2), false});
  rig.fire(TimerKind::kRollback, 2);
  EXPECT_EQ(told(), "cannot-start");
}

}  // namespace
}  // namespace tide::core
