// The head's book of daemons, seen through the head.
#include "core/roster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/head_rig.hpp"

namespace tide::core {
namespace {

using ::testing::HasSubstr;

NodeState state_of(const HeadRig& rig, std::uint32_t rank) {
  return rig.head.roster().nodes().at(Rank(rank)).state;
}

// The failed start as the user sees it: one line, then the end with status 1 once all are gone.
std::string failure(HeadRig& rig) {
  for (const auto& exit : all_of<Exit>(rig.seen)) {
    EXPECT_EQ(exit.status, 1);
    return exit.reason;
  }
  return {};
}

bool refused(const Actions& actions, wire::GoodbyeReason reason) {
  const auto closed = all_of<CloseLink>(actions);
  return closed.size() == 1 && closed[0].reason == reason;
}

TEST(Roster, StartLaunchesEveryNodeWithItsOwnTicket) {
  HeadRig rig(3);
  const auto actions = rig.start();
  const auto launches = all_of<LaunchDaemons>(actions);
  ASSERT_EQ(launches.size(), 1U);
  ASSERT_EQ(launches[0].targets.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(launches[0].targets[i].rank, Rank(i + 1));
    EXPECT_EQ(launches[0].targets[i].node, "v" + std::to_string(i + 1));
    EXPECT_EQ(launches[0].targets[i].incarnation, HeadRig::incarnation(i + 1));
    EXPECT_EQ(launches[0].targets[i].campaign, 1U);
  }
}

// row:L6 reported is reached once, after the last; row:L8 and ready only when all are wired
TEST(Roster, ReadyWhenAllHaveReportedAndEverybodyKnowsEverybody) {
  HeadRig rig(2);
  rig.start();
  for (const std::uint32_t rank : {1U, 2U}) {
    EXPECT_FALSE(says(rig.seen, "DAEMONS_LAUNCHED -> PRTE_JOB_STATE_DAEMONS_REPORTED"));
    rig.link_up(rank);
    rig.report(rank);
  }
  EXPECT_TRUE(says(rig.seen, "DAEMONS_LAUNCHED -> PRTE_JOB_STATE_DAEMONS_REPORTED"));
  EXPECT_TRUE(says(rig.seen, "node v2 is up (2 of 2)"));
  EXPECT_TRUE(all_of<AnnounceReady>(rig.seen).empty());
  rig.attach(1);
  EXPECT_TRUE(all_of<AnnounceReady>(rig.seen).empty()) << "rank 2 does not know yet";
  rig.attach(2);
  const auto ready = all_of<AnnounceReady>(rig.seen);
  ASSERT_EQ(ready.size(), 1U);
  EXPECT_EQ(ready[0].nodes, 2U);
  EXPECT_EQ(ready[0].slots, 2 * HeadRig::kSlots);
  EXPECT_TRUE(rig.fire(TimerKind::kStart, 1).empty()) << "the deadline is off";
}

TEST(Roster, AFailedLaunchEndsTheStartAndNamesTheNode) {
  HeadRig rig(2);
  rig.start();
  rig.on(DaemonLaunchFailed{Rank(2), "exec format error"});
  rig.link_up(1);
  rig.report(1);
  EXPECT_TRUE(says(rig.seen, "node v2 could not be started: exec format error"));
  ASSERT_EQ(all_of<EndDaemon>(rig.seen).back().rank, Rank(1)) << "the good one ends too";
  rig.on(DaemonExited{Rank(1), "killed"});
  EXPECT_THAT(failure(rig), HasSubstr("v2"));
}

TEST(Roster, ADaemonThatExitsDuringTheStartEndsIt) {
  HeadRig rig(2);
  rig.start();
  rig.on(DaemonExited{Rank(1), "exit status 3: bad blob"});
  rig.on(DaemonExited{Rank(2), "killed"});
  EXPECT_TRUE(says(rig.seen, "2 of 2 nodes failed"));
  EXPECT_TRUE(says(rig.seen, "the daemon on node v1 ended: exit status 3: bad blob"));
  EXPECT_THAT(failure(rig), HasSubstr("v1"));
}

TEST(Roster, ADaemonLostAfterConnectingEndsTheStart) {
  HeadRig rig(2);
  rig.start();
  rig.link_up(1);
  rig.on(LinkDown{LinkId(1), LinkEnd::kClosed, "reset"});
  rig.fire(TimerKind::kStart, 1);
  EXPECT_TRUE(says(rig.seen, "the daemon on node v1 was lost while the DVM started: reset"));
  EXPECT_TRUE(says(rig.seen, "not heard of by then: v2"));
}

TEST(Roster, ADaemonLostWhileWiringEndsTheStart) {
  HeadRig rig(2);
  rig.start();
  for (const std::uint32_t rank : {1U, 2U}) {
    rig.link_up(rank);
    rig.report(rank);
  }
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "reset"});
  EXPECT_TRUE(says(rig.seen, "node v2 was lost while the DVM started"));
  EXPECT_TRUE(all_of<AnnounceReady>(rig.seen).empty());
}

TEST(Roster, TheDeadlineNamesThoseWhoDidNotReport) {
  HeadRig rig(3);
  rig.start();
  rig.link_up(2);
  rig.report(2);
  const auto actions = rig.fire(TimerKind::kStart, 1);
  EXPECT_TRUE(says(actions, "no report within 1 min from: v1, v3"));
}

// ---- starting one another ----

HeadConfig tree_config() {
  auto config = HeadRig::verbose_config();
  config.roster.tree_launch = true;
  config.overlay.radix = 2;
  return config;
}

TEST(Roster, InATreeEachIsStartedByItsParent) {
  HeadRig rig(7, tree_config());
  const auto launches = all_of<LaunchDaemons>(rig.start());
  ASSERT_EQ(launches.size(), 1U);
  ASSERT_EQ(launches[0].targets.size(), 2U);
  const auto& first = launches[0].targets[0];
  EXPECT_EQ(first.rank, Rank(1));
  ASSERT_EQ(first.below.size(), 2U);
  EXPECT_EQ(first.below[0].rank, Rank(3));
  EXPECT_EQ(first.below[0].node, "v3");
  EXPECT_EQ(first.below[0].incarnation, HeadRig::incarnation(3)) << "the ticket is its own";
  ASSERT_EQ(first.below[0].below.size(), 1U);
  EXPECT_EQ(first.below[0].below[0].rank, Rank(7));
  EXPECT_EQ(launches[0].targets[1].below.size(), 2U);
}

Actions tell_failed(HeadRig& rig, std::uint32_t by, std::uint32_t rank) {
  wire::LinkMessage message;
  message.mutable_launch_failed()->set_rank(rank);
  message.mutable_launch_failed()->set_text("no route");
  return rig.say(by, message);
}

TEST(Roster, WhoCannotStartAnotherTellsTheHead) {
  HeadRig rig(4, tree_config());
  rig.start();
  for (const std::uint32_t rank : {1U, 2U, 4U}) {
    rig.link_up(rank);
    rig.report(rank);
  }
  tell_failed(rig, 2, 3);
  EXPECT_FALSE(says(rig.seen, "no route")) << "3 is not for 2 to start";
  tell_failed(rig, 1, 3);
  EXPECT_TRUE(says(rig.seen, "node v3 could not be started: no route"));
}

TEST(Roster, BelowOneThatFailedNobodyIsWaitedFor) {
  HeadRig rig(4, tree_config());
  rig.start();
  rig.on(DaemonLaunchFailed{Rank(1), "refused"});
  EXPECT_FALSE(says(rig.seen, "refused")) << "2 may have something to say";
  rig.link_up(2);
  rig.report(2);
  EXPECT_TRUE(says(rig.seen, "node v1 could not be started: refused"));
}

// ---- one machine with two names ----

void report_from(HeadRig& rig, std::uint32_t rank, const std::string& machine) {
  rig.link_up(rank);
  wire::LinkMessage message;
  message.mutable_report()->set_machine(machine);
  message.mutable_report()->mutable_topology()->set_cores(3);
  rig.say(rank, message);
}

TEST(Roster, OneMachineWithTwoNamesIsOneNode) {
  HeadRig rig(3);
  rig.start();
  report_from(rig, 1, "m1");
  report_from(rig, 2, "m2");
  report_from(rig, 3, "m1");
  EXPECT_TRUE(says(rig.seen, "node v3 is the machine of node v1"));
  EXPECT_TRUE(all_of<CloseLink>(rig.seen).empty()) << "it may still be starting others";
  rig.attach(1);
  const auto ready = rig.attach(2);
  ASSERT_EQ(all_of<AnnounceReady>(ready).size(), 1U);
  EXPECT_EQ(all_of<AnnounceReady>(ready)[0].nodes, 2U);
  ASSERT_TRUE(refused(ready, wire::GOODBYE_MOVED)) << "sent home";
  EXPECT_EQ(all_of<CloseLink>(ready)[0].link, LinkId(3));
  const auto& node = rig.head.roster().nodes().at(Rank(1));
  EXPECT_THAT(node.aliases, ::testing::ElementsAre("v3"));
  EXPECT_EQ(node.slots, 2 * HeadRig::kSlots) << "those of both lines";
  rig.on(DaemonExited{Rank(3), "exit status 0"});
  EXPECT_EQ(rig.head.roster().nodes().size(), 2U);
}

TEST(Roster, ANodeIsKnownByWhatItsMachineIsCalledToo) {
  HeadRig rig(1);
  StartDvm request;
  request.nodes.push_back(
      {.name = "10.0.0.7", .incarnation = HeadRig::incarnation(1), .aliases = {"localhost"}});
  rig.on(request);
  rig.link_up(1);
  wire::LinkMessage message;
  message.mutable_report()->set_host_name("node7");
  for (const char* address : {"127.0.0.1", "10.1.0.7", "::1"}) {
    message.mutable_report()->add_endpoints()->set_address(address);
  }
  rig.say(1, message);
  EXPECT_THAT(rig.head.roster().nodes().at(Rank(1)).aliases,
              ::testing::ElementsAre("localhost", "node7", "10.1.0.7"));
}

TEST(Roster, TheNameThatWasGivenFirstIsTheNodesWhoeverComesFirst) {
  HeadRig rig(3);
  rig.start();
  for (const std::uint32_t rank : {3U, 2U, 1U}) report_from(rig, rank, "m1");
  const auto ready = rig.attach(1);
  ASSERT_EQ(all_of<AnnounceReady>(ready).size(), 1U);
  ASSERT_EQ(rig.head.roster().nodes().size(), 1U);
  const auto& node = rig.head.roster().nodes().at(Rank(1));
  EXPECT_EQ(node.name, "v1");
  EXPECT_THAT(node.aliases, ::testing::UnorderedElementsAre("v2", "v3"));
  EXPECT_EQ(node.slots, 3 * HeadRig::kSlots);
  EXPECT_EQ(all_of<CloseLink>(ready).size(), 2U);
}

TEST(Roster, AStartThatFailsSendsSecondNamesHomeToo) {
  HeadRig rig(3);
  rig.start();
  report_from(rig, 1, "m1");
  report_from(rig, 3, "m1");
  const auto actions = rig.on(DaemonLaunchFailed{Rank(2), "refused"});
  EXPECT_TRUE(refused(actions, wire::GOODBYE_MOVED));
}

TEST(Roster, MachinesThatAreNotKnownAreNotTheSame) {
  HeadRig rig(2);
  rig.start();
  report_from(rig, 1, "");
  report_from(rig, 2, "");
  EXPECT_EQ(rig.head.roster().nodes().size(), 2U);
}

// ---- the end ----

TEST(Roster, WhoIsNotWatchedIsGoneWithTheLinkItHangsOn) {
  HeadRig rig(2, tree_config());
  StartDvm request;
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    request.nodes.push_back({.name = "n" + std::to_string(rank),
                             .slots = 1,
                             .incarnation = HeadRig::incarnation(rank),
                             .watched = rank == 2});
  }
  rig.on(request);
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    rig.link_up(rank);
    rig.report(rank);
  }
  rig.attach(1);
  rig.attach(2);
  ASSERT_EQ(all_of<AnnounceReady>(rig.seen).size(), 1U);
  rig.on(EndRequested{"over"});
  rig.on(LinkDown{LinkId(1), LinkEnd::kClosed, "goodbye"});
  EXPECT_TRUE(all_of<Exit>(rig.seen).empty()) << "2 is watched and was not seen to end";
  EXPECT_EQ(rig.head.roster().nodes().size(), 1U) << "3 hangs on 1";
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "goodbye"});
  EXPECT_TRUE(all_of<Exit>(rig.seen).empty());
  rig.on(DaemonExited{Rank(2), "exit status 0"});
  EXPECT_EQ(all_of<Exit>(rig.seen).size(), 1U);
}

TEST(Roster, OnlyAValidTicketIsLetIn) {
  HeadRig rig(2);
  rig.start();
  const auto knock = [&](std::uint32_t rank, Incarnation incarnation, std::uint32_t campaign) {
    return rig.on(LinkUp{LinkId(50), Rank(rank), incarnation, campaign, false});
  };
  EXPECT_TRUE(refused(knock(1, Incarnation(1), 1), wire::GOODBYE_REFUSED)) << "wrong incarnation";
  EXPECT_TRUE(refused(knock(1, HeadRig::incarnation(1), 2), wire::GOODBYE_REFUSED))
      << "wrong campaign";
  EXPECT_TRUE(refused(knock(9, HeadRig::incarnation(1), 1), wire::GOODBYE_REFUSED))
      << "a rank that was never given out";
  EXPECT_TRUE(all_of<CloseLink>(rig.link_up(1)).empty());
  EXPECT_TRUE(refused(knock(1, HeadRig::incarnation(1), 1), wire::GOODBYE_REFUSED)) << "used twice";
  EXPECT_EQ(state_of(rig, 1), NodeState::kLaunching);
  rig.report(1);
  EXPECT_EQ(state_of(rig, 1), NodeState::kReported) << "the rightful one is not harmed";
  rig.report(1);
  EXPECT_FALSE(says(rig.seen, "(2 of 2)")) << "one report per daemon";
}

// row:L7 slots from the choice, unless they were given
TEST(Roster, SlotsComeFromTheTopology) {
  using say::SlotSource;
  const std::vector<std::tuple<std::string, std::uint32_t, SlotSource>> choices = {
      {"cores", 3, SlotSource::kCores},
      {"sockets", 1, SlotSource::kSockets},
      {"hwthreads", 6, SlotSource::kHwthreads},
      {"11", 11, SlotSource::kParameter}};
  for (const auto& [choice, slots, source] : choices) {
    auto config = HeadRig::verbose_config();
    config.roster.default_slots = choice;
    HeadRig rig(1, config);
    rig.start(0);
    rig.link_up(1);
    rig.report(1);
    EXPECT_EQ(rig.head.roster().nodes().at(Rank(1)).slots, slots) << choice;
    EXPECT_EQ(rig.head.roster().nodes().at(Rank(1)).slot_source, source) << choice;
    HeadRig given(1, config);
    given.make_ready();
    EXPECT_EQ(given.head.roster().nodes().at(Rank(1)).slots, HeadRig::kSlots) << choice;
    EXPECT_EQ(given.head.roster().nodes().at(Rank(1)).slot_source, SlotSource::kGiven) << choice;
  }
}

TEST(Roster, AMaximumBoundsTheSlotsOfANode) {
  HeadRig rig(1);
  StartDvm start;
  start.nodes.push_back({.name = "v1", .incarnation = HeadRig::incarnation(1), .max_slots = 2});
  rig.on(start);
  rig.link_up(1);
  rig.report(1);
  const Node& node = rig.head.roster().nodes().at(Rank(1));
  EXPECT_EQ(node.max_slots, 2U);
  EXPECT_EQ(node.slots, 2U) << "of three cores";
}

TEST(Roster, ARefusedProbeMeansDead) {
  HeadRig rig(2);
  rig.make_ready();
  auto actions = rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "reset"});
  EXPECT_EQ(state_of(rig, 2), NodeState::kSuspect);
  ASSERT_EQ(all_of<Probe>(actions).size(), 1U);
  EXPECT_EQ(all_of<Probe>(actions)[0].rank, Rank(2));
  rig.on(ProbeAnswered{Rank(2), false});
  rig.now_ms += 5000;
  rig.fire(TimerKind::kSuspects);
  EXPECT_EQ(state_of(rig, 2), NodeState::kSuspect)
      << "somebody answers, who may need the time in which silence is noticed";
  actions = rig.on(ProbeAnswered{Rank(2), true});
  EXPECT_EQ(rig.head.roster().nodes().size(), 1U);
  EXPECT_TRUE(rig.head.overlay().membership().departed(Rank(2)));
  EXPECT_TRUE(says(actions, "node v2 is lost: reset"));
  ASSERT_EQ(all_of<EndDaemon>(actions).size(), 1U);
  EXPECT_FALSE(all_of<EndDaemon>(actions)[0].answers);
  EXPECT_TRUE(refused(rig.link_up(2), wire::GOODBYE_DECLARED_DEAD)) << "it does not come back";
}

TEST(Roster, AProbeOfSomebodyUnsuspectedMeansNothing) {
  HeadRig rig(1);
  rig.make_ready();
  rig.on(ProbeAnswered{Rank(1), true});
  EXPECT_EQ(state_of(rig, 1), NodeState::kUp);
}

TEST(Roster, TheGracePeriodEnds) {
  HeadRig rig(2);
  rig.make_ready();
  rig.on(LinkDown{LinkId(1), LinkEnd::kSilent, "silent"});
  rig.now_ms += 3000;
  rig.on(LinkDown{LinkId(2), LinkEnd::kSilent, "silent"});
  rig.now_ms += 2000;
  auto actions = rig.fire(TimerKind::kSuspects);
  EXPECT_TRUE(says(actions, "node v1 is lost: silent; not heard of for 5000 ms"));
  ASSERT_EQ(all_of<EndDaemon>(actions).size(), 1U);
  EXPECT_FALSE(all_of<EndDaemon>(actions)[0].answers) << "an order would not arrive";
  EXPECT_EQ(state_of(rig, 2), NodeState::kSuspect) << "its own grace period runs on";
  rig.now_ms += 3000;
  actions = rig.fire(TimerKind::kSuspects);
  EXPECT_TRUE(rig.head.roster().nodes().empty());
}

TEST(Roster, WhoAnswersAProbeHasTheTimeToNoticeThatItsWayIsDead) {
  HeadRig rig(2);
  rig.make_ready();
  rig.on(LinkDown{LinkId(1), LinkEnd::kSilent, "silent"});
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "reset"});
  rig.on(ProbeAnswered{Rank(1), false});
  rig.on(ProbeAnswered{Rank(2), false});
  rig.on(ProbeAnswered{Rank(2), false});
  rig.now_ms += 5000;
  const auto actions = rig.fire(TimerKind::kSuspects);
  EXPECT_TRUE(says(actions, "node v1 is lost")) << "that time is over for one that was silent";
  ASSERT_EQ(all_of<EndDaemon>(actions).size(), 1U);
  EXPECT_TRUE(all_of<EndDaemon>(actions)[0].answers) << "it hangs, and hears an order";
  rig.now_ms += 10000;
  EXPECT_TRUE(
      says(rig.fire(TimerKind::kSuspects), "node v2 is lost: reset; not heard of for 15000 ms"));
}

// Radix 2: ranks 3 and 4 hang below 1, which is silent.
class SilentParent : public ::testing::Test {
 public:
  SilentParent() {
    rig.make_ready();
    rig.on(LinkDown{LinkId(1), LinkEnd::kSilent, "silent"});
  }
  static HeadConfig narrow_config() {
    HeadConfig out = HeadRig::verbose_config();
    out.overlay.radix = 2;
    return out;
  }

  HeadRig rig{4, narrow_config()};
};

TEST_F(SilentParent, ThoseBelowAreAskedAtTheSameTime) {
  EXPECT_EQ(state_of(rig, 2), NodeState::kUp);
  for (const std::uint32_t rank : {1U, 3U, 4U}) {
    EXPECT_EQ(state_of(rig, rank), NodeState::kSuspect) << rank;
  }
  EXPECT_EQ(all_of<Probe>(rig.seen).size(), 3U);
}

TEST_F(SilentParent, ThoseBelowHaveTheTimeToNoticeIt) {
  rig.now_ms += 5000;
  EXPECT_TRUE(says(rig.fire(TimerKind::kSuspects), "node v1 is lost"));
  rig.answer_ping(3);
  EXPECT_EQ(state_of(rig, 3), NodeState::kUp);
  EXPECT_EQ(state_of(rig, 4), NodeState::kSuspect);
}

TEST_F(SilentParent, WithoutAWordTheyAreLostTogether) {
  rig.now_ms += 5000;
  rig.fire(TimerKind::kSuspects);
  const Serial before = rig.head.roster().serial();
  rig.now_ms += 5000;
  const auto actions = rig.fire(TimerKind::kSuspects);
  EXPECT_TRUE(
      says(actions, "node v3 is lost: it is below v1, which is not heard of; not heard of"));
  EXPECT_TRUE(says(actions, "node v4 is lost"));
  EXPECT_EQ(rig.head.roster().serial().value(), before.value() + 1) << "one repair";
}

TEST(Roster, WithOneThatDidNotComeThoseBelowAreAsked) {
  HeadRig rig(4, SilentParent::narrow_config());
  rig.make_ready();
  wire::UpBody body;
  body.mutable_suspect()->set_rank(1);
  body.mutable_suspect()->set_reason("it did not come to its new parent");
  rig.up(2, body);
  EXPECT_EQ(state_of(rig, 3), NodeState::kUp) << "only who asks says nothing of the others";
  rig.on(ProbeAnswered{Rank(1), false});
  rig.answer_ping(1);
  body.mutable_suspect()->set_missing(true);
  rig.up(2, body);
  EXPECT_EQ(state_of(rig, 3), NodeState::kSuspect);
}

TEST(Roster, AnOpenPortIsTriedAgainBecauseItMayBeThatOfOneThatDies) {
  HeadRig rig(2);
  rig.make_ready();
  rig.on(LinkDown{LinkId(1), LinkEnd::kClosed, "the peer closed the connection"});
  rig.on(ProbeAnswered{Rank(1), false});
  EXPECT_EQ(all_of<Probe>(rig.fire(TimerKind::kProbeAgain)).size(), 1U);
  rig.on(ProbeAnswered{Rank(1), false});
  EXPECT_EQ(all_of<Probe>(rig.fire(TimerKind::kProbeAgain)).size(), 1U);
  EXPECT_TRUE(says(rig.on(ProbeAnswered{Rank(1), true}), "node v1 is lost"));
  EXPECT_TRUE(all_of<Probe>(rig.fire(TimerKind::kProbeAgain)).empty());
}

TEST(Roster, WhoIsHeardFromIsNotSuspectAnyMore) {
  HeadRig rig(2);
  rig.make_ready();
  wire::UpBody body;
  body.mutable_suspect()->set_rank(2);
  body.mutable_suspect()->set_reason("a child lost it");
  rig.up(1, body);
  EXPECT_EQ(state_of(rig, 2), NodeState::kSuspect);
  wire::LinkMessage late;
  late.mutable_up()->set_origin(2);
  rig.say(2, late);
  EXPECT_EQ(state_of(rig, 2), NodeState::kSuspect) << "said before it was asked";
  rig.answer_ping(2);
  EXPECT_EQ(state_of(rig, 2), NodeState::kUp);
  rig.now_ms += 5000;
  rig.fire(TimerKind::kSuspects);
  rig.on(ProbeAnswered{Rank(2), true});
  EXPECT_EQ(rig.head.roster().nodes().size(), 2U);
}

TEST(Roster, TheLaunchersWordIsFinal) {
  HeadRig rig(2);
  rig.make_ready();
  const auto actions = rig.on(DaemonExited{Rank(1), "killed by signal 9"});
  EXPECT_TRUE(says(actions, "node v1 is lost: its daemon ended: killed by signal 9"));
  EXPECT_EQ(rig.head.roster().nodes().size(), 1U);
  EXPECT_TRUE(all_of<Exit>(rig.seen).empty()) << "the DVM goes on";
}

}  // namespace
}  // namespace tide::core
