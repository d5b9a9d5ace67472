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
  EXPECT_TRUE(rig.fire(TimerKind::kStart).empty()) << "the deadline is off";
}

TEST(Roster, AFailedLaunchEndsTheStartAndNamesTheNode) {
  HeadRig rig(2);
  rig.start();
  rig.on(DaemonLaunchFailed{Rank(2), "exec format error"});
  EXPECT_TRUE(says(rig.seen, "node v2 could not be started: exec format error"));
  ASSERT_EQ(all_of<EndDaemon>(rig.seen).back().rank, Rank(1)) << "the good one ends too";
  rig.on(DaemonExited{Rank(1), "killed"});
  EXPECT_THAT(failure(rig), HasSubstr("v2"));
}

TEST(Roster, ADaemonThatExitsDuringTheStartEndsIt) {
  HeadRig rig(2);
  rig.start();
  rig.on(DaemonExited{Rank(1), "exit status 3: bad blob"});
  EXPECT_TRUE(says(rig.seen, "the daemon on node v1 ended: exit status 3: bad blob"));
  rig.on(DaemonExited{Rank(2), "killed"});
  EXPECT_THAT(failure(rig), HasSubstr("v1"));
}

TEST(Roster, ADaemonLostAfterConnectingEndsTheStart) {
  HeadRig rig(2);
  rig.start();
  rig.link_up(1);
  rig.on(LinkDown{LinkId(1), LinkEnd::kClosed, "reset"});
  EXPECT_TRUE(says(rig.seen, "the daemon on node v1 was lost while the DVM started: reset"));
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
  const auto actions = rig.fire(TimerKind::kStart);
  EXPECT_TRUE(says(actions, "no report within 1 min from: v1, v3"));
}

bool refused(const Actions& actions, wire::GoodbyeReason reason) {
  const auto closed = all_of<CloseLink>(actions);
  return closed.size() == 1 && closed[0].reason == reason;
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

TEST(Roster, ARefusedProbeMeansDead) {
  HeadRig rig(2);
  rig.make_ready();
  auto actions = rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "reset"});
  EXPECT_EQ(state_of(rig, 2), NodeState::kSuspect);
  ASSERT_EQ(all_of<Probe>(actions).size(), 1U);
  EXPECT_EQ(all_of<Probe>(actions)[0].rank, Rank(2));
  rig.on(ProbeAnswered{Rank(2), false});
  EXPECT_EQ(state_of(rig, 2), NodeState::kSuspect) << "somebody answers: the grace period runs";
  actions = rig.on(ProbeAnswered{Rank(2), true});
  EXPECT_EQ(rig.head.roster().nodes().size(), 1U);
  EXPECT_TRUE(rig.head.overlay().membership().departed(Rank(2)));
  EXPECT_TRUE(says(actions, "node v2 is lost: reset"));
  ASSERT_EQ(all_of<EndDaemon>(actions).size(), 1U);
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
  EXPECT_EQ(state_of(rig, 2), NodeState::kSuspect) << "its own grace period runs on";
  rig.now_ms += 3000;
  actions = rig.fire(TimerKind::kSuspects);
  EXPECT_TRUE(rig.head.roster().nodes().empty());
}

TEST(Roster, WhoIsHeardFromIsNotSuspectAnyMore) {
  HeadRig rig(2);
  rig.make_ready();
  wire::UpBody body;
  body.mutable_suspect()->set_rank(2);
  body.mutable_suspect()->set_reason("a child lost it");
  rig.up(1, body);
  EXPECT_EQ(state_of(rig, 2), NodeState::kSuspect);
  wire::LinkMessage alive;
  alive.mutable_up()->set_origin(2);
  rig.say(2, alive);
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
