// Jobs that are held for a debugger, seen through the head.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/head_rig.hpp"
#include "core/pmix_words.hpp"
#include "wire/exit_status.hpp"

namespace tide::core {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Three nodes of two slots. A tool is on v3, and its job has process 0 on v1 and 1 on v2.
class HeldJobTest : public ::testing::Test {
 public:
  void SetUp() override {
    rig.make_ready();
    wire::UpBody body;
    *body.mutable_tool_joined()->mutable_tool() = tool;
    rig.up(3, body);
    spec.set_map_by(wire::JobSpec::NODE);
    spec.mutable_runtime()->set_stop_at(wire::STOP_IN_INIT);
  }
  void spawn() {
    wire::UpBody body;
    auto& request = *body.mutable_service_request();
    request.set_token(1);
    *request.mutable_who() = tool;
    *request.mutable_spawn()->mutable_job() = spec;
    rig.up(3, body);
  }
  void run() {
    rig.launched(1, 1, {0});
    rig.launched(2, 1, {1});
  }
  Actions held(std::uint32_t daemon, std::uint32_t rank) {
    return rig.reduce(daemon, wire::ReductionId::READY_FOR_DEBUG, 1,
                      {proc_report(1, rank, ProcState::kReadyForDebug)});
  }
  void end() {
    rig.ended(1, 1, {0});
    rig.ended(2, 1, {1});
  }
  // (daemon, event)
  std::vector<std::pair<std::uint32_t, wire::EventNotice>> events() const {
    std::vector<std::pair<std::uint32_t, wire::EventNotice>> out;
    for (const auto& [rank, body] : downs(rig.seen)) {
      if (body.has_event() && body.event().code() == kEventReadyForDebug) {
        out.emplace_back(rank, body.event());
      }
    }
    return out;
  }
  std::vector<std::string> told_to_clients() const {
    std::vector<std::string> out;
    for (const auto& reply : all_of<Reply>(rig.seen)) {
      if (reply.reply.has_held()) out.push_back(reply.reply.held().text());
    }
    return out;
  }

  HeadRig rig{3};
  wire::ProcName tool = proc_name("a tool", 0);
  wire::JobSpec spec = job_spec(2);
};

// row:L14 one event, to the tool that spawned it, when all daemons that host it have spoken
TEST_F(HeldJobTest, TheToolIsToldOnceWhenAllProcessesWait) {
  spawn();
  run();
  held(1, 0);
  EXPECT_THAT(events(), IsEmpty());
  held(2, 1);
  held(2, 1);
  held(1, 0);
  ASSERT_THAT(events(), SizeIs(1));
  EXPECT_EQ(events()[0].first, 3U);
  const auto event = events()[0].second;
  EXPECT_EQ(event.range(), wire::RANGE_CUSTOM);
  ASSERT_EQ(event.targets().names_size(), 1);
  EXPECT_EQ(event.targets().names(0).nspace(), "a tool");
  const auto& fact = event.facts(event.facts_size() - 1);
  EXPECT_EQ(fact.key(), kFactBreakpoint);
  EXPECT_EQ(fact.text(), "pmix-init");
  EXPECT_THAT(told_to_clients(), IsEmpty());
  end();
  EXPECT_THAT(states_of(rig.seen, "dvm@1"),
              ElementsAre("INIT_COMPLETE", "ALLOCATE", "ALLOCATION_COMPLETE", "LAUNCH_DAEMONS",
                          "DAEMONS_REPORTED", "VM_READY", "MAP", "MAP_COMPLETE", "SYSTEM_PREP",
                          "LAUNCH_APPS", "SEND_LAUNCH_MSG", "STARTED", "RUNNING", "READY_FOR_DEBUG",
                          "TERMINATED", "NOTIFY_COMPLETED", "NOTIFIED"));
}

TEST_F(HeldJobTest, WhatIsHeardBeforeAllRunCounts) {
  spawn();
  held(1, 0);
  held(2, 1);
  EXPECT_THAT(events(), IsEmpty());
  run();
  EXPECT_THAT(events(), SizeIs(1));
}

TEST_F(HeldJobTest, ItMayBeRegisteredBeforeAndAfterAndOnce) {
  spawn();
  run();
  held(1, 0);
  held(2, 1);
  rig.reduce(1, wire::ReductionId::REGISTERED, 1, {});
  rig.reduce(2, wire::ReductionId::REGISTERED, 1, {});
  held(2, 1);
  end();
  const auto states = states_of(rig.seen, "dvm@1");
  EXPECT_EQ(std::ranges::count(states, "REGISTERED"), 1);
  EXPECT_EQ(std::ranges::count(states, "READY_FOR_DEBUG"), 1);
  EXPECT_EQ(states[states.size() - 4], "REGISTERED");
}

TEST_F(HeldJobTest, AClientIsShownWhereTheProcessesAre) {
  spec.mutable_runtime()->set_stop_at(wire::STOP_ON_EXEC);
  rig.submit(5, spec);
  run();
  held(1, 0);
  held(2, 1);
  EXPECT_THAT(events(), IsEmpty());
  ASSERT_THAT(told_to_clients(), SizeIs(1));
  EXPECT_THAT(told_to_clients()[0], HasSubstr("wait for a debugger (exec)"));
  EXPECT_THAT(told_to_clients()[0], HasSubstr("process 1 on node v2, pid 501"));
}

TEST_F(HeldJobTest, NobodyIsToldOfAJobThatIsNotToBeHeld) {
  spec.clear_runtime();
  spawn();
  run();
  held(1, 0);
  held(2, 1);
  EXPECT_THAT(states_of(rig.seen, "dvm@1"), Not(Contains("READY_FOR_DEBUG")));
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(HeldJobTest, ANodeThatIsLostWhileTheyWaitEndsTheJob) {
  spawn();
  run();
  held(1, 0);
  EXPECT_THAT(orders(rig.on(DaemonExited{Rank(2), "signal 9"})),
              ElementsAre(std::tuple(1U, SIGTERM, true)));
  rig.ended(1, 1, {0});
  EXPECT_THAT(events(), IsEmpty());
  EXPECT_TRUE(rig.head.jobs().idle());
}

TEST_F(HeldJobTest, ANodeThatIsLostIsNotWaitedForWhereTheJobGoesOn) {
  spec.mutable_runtime()->set_recoverable(true);
  spawn();
  run();
  held(1, 0);
  rig.on(DaemonExited{Rank(2), "signal 9"});
  EXPECT_THAT(events(), SizeIs(1));
}

// ---- what runs beside it ----

TEST_F(HeldJobTest, DaemonsOfADebuggerRunOnTheNodesOfTheJobAndTakeNoSlots) {
  spawn();
  run();
  wire::JobSpec daemons = job_spec(1);
  daemons.set_beside("dvm@1");
  daemons.set_per_node(3);  // more than there are slots
  const auto actions = rig.submit(5, daemons);
  std::map<std::uint32_t, int> placed;
  for (const auto& [rank, body] : downs(actions)) {
    if (body.has_launch()) placed[rank] = body.launch().procs_size();
  }
  EXPECT_THAT(placed, ElementsAre(std::pair(1U, 3), std::pair(2U, 3)));
  EXPECT_EQ(rig.head.roster().nodes().at(Rank(1)).used, 1U);
  rig.ended(1, 2, {0, 1, 2});
  rig.ended(2, 2, {3, 4, 5});
  EXPECT_EQ(rig.head.roster().nodes().at(Rank(1)).used, 1U);
}

TEST_F(HeldJobTest, NothingRunsBesideAJobThatIsNotThere) {
  wire::JobSpec daemons = job_spec(1);
  daemons.set_beside("dvm@9");
  daemons.set_per_node(1);
  EXPECT_EQ(endings(rig.submit(5, daemons)).at(0).exit_status(), kExitMapFailed);
  daemons.set_per_node(0);
  const auto refused = all_of<Reply>(rig.submit(6, daemons));
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_TRUE(refused[0].reply.has_error());
}

TEST_F(HeldJobTest, AHeldJobCanBeKilled) {
  spawn();
  run();
  held(1, 0);
  held(2, 1);
  EXPECT_THAT(orders(rig.kill(7, 1, SIGTERM)),
              ElementsAre(std::tuple(1U, SIGTERM, true), std::tuple(2U, SIGTERM, true)));
  end();
  EXPECT_TRUE(rig.head.jobs().idle());
  EXPECT_THAT(events(), SizeIs(1));
}

TEST_F(HeldJobTest, AHeldJobEndsByItsTimeLimit) {
  spec.set_timeout_ms(1000);
  rig.submit(5, spec);
  run();
  held(1, 0);
  held(2, 1);
  EXPECT_THAT(orders(rig.fire(TimerKind::kJobTimeout, 1)), SizeIs(2));
  end();
  ASSERT_THAT(endings(rig.seen), SizeIs(1));
  EXPECT_EQ(endings(rig.seen)[0].exit_status(), kExitTimedOut);
}

TEST_F(HeldJobTest, AToolThatIsGoneIsNotTold) {
  spawn();
  run();
  held(1, 0);
  wire::UpBody body;
  *body.mutable_tool_left()->mutable_tool() = tool;
  rig.up(3, body);
  held(2, 1);
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(HeldJobTest, WhatIsStartedAgainCannotBeHeld) {
  spec.mutable_runtime()->set_max_restarts(1);
  const auto replies = all_of<Reply>(rig.submit(5, spec));
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_TRUE(replies[0].reply.has_error());
}

}  // namespace
}  // namespace tide::core
