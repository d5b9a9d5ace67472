// What people decide about jobs, seen through the head.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/head_rig.hpp"
#include "core/pmix_words.hpp"
#include "wire/exit_status.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

wire::ProcReport failed(std::uint32_t rank, int exit_code, int signal = 0) {
  return proc_report(1, rank, ProcState::kWaitpidFired, exit_code, signal);
}

// Two nodes of two slots; job 1 of client 5 has processes 0 and 1 on v1, process 2 on v2.
class JobRuntimeTest : public ::testing::Test {
 public:
  void SetUp() override { rig.make_ready(); }
  Actions submit() { return rig.submit(5, spec); }
  void run() {
    submit();
    rig.launched(1, 1, {0, 1});
    rig.launched(2, 1, {2});
  }
  wire::RuntimeOptions& runtime() { return *spec.mutable_runtime(); }
  wire::JobEnded only_end() {
    const auto ends = endings(rig.seen);
    EXPECT_THAT(ends, SizeIs(1));
    return ends.empty() ? wire::JobEnded() : ends[0];
  }

  HeadRig rig{2};
  wire::JobSpec spec = job_spec(3);
};

std::vector<wire::JobMap> maps(const Actions& actions) {
  std::vector<wire::JobMap> out;
  for (const auto& reply : all_of<Reply>(actions)) {
    if (reply.reply.has_map()) out.push_back(reply.reply.map());
  }
  return out;
}

std::size_t signals(const Actions& actions) {
  return static_cast<std::size_t>(std::ranges::count_if(
      downs(actions), [](const auto& sent) { return sent.second.has_signal(); }));
}

// row:L4 nothing is started, and the way is the one of the text
TEST_F(JobRuntimeTest, AJobThatIsOnlyToBeShownIsMappedAndEnds) {
  runtime().set_do_not_launch(true);
  const auto actions = submit();
  EXPECT_THAT(downs(actions), IsEmpty());
  EXPECT_THAT(
      states_of(rig.seen, "dvm@1"),
      ElementsAre("INIT_COMPLETE", "ALLOCATE", "ALLOCATION_COMPLETE", "DAEMONS_REPORTED",
                  "VM_READY", "MAP", "MAP_COMPLETE", "TERMINATED", "NOTIFY_COMPLETED", "NOTIFIED"));
  const auto shown = maps(actions);
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_EQ(shown[0].processes(), 3U);
  ASSERT_EQ(shown[0].nodes_size(), 2);
  EXPECT_EQ(shown[0].nodes(0).node(), "v1");
  EXPECT_EQ(shown[0].nodes(0).ranks(0).last(), 1U);
  EXPECT_EQ(shown[0].nodes(1).ranks(0).first(), 2U);
  EXPECT_EQ(only_end().exit_status(), 0);
  EXPECT_EQ(rig.head.roster().nodes().at(Rank(1)).used, 0U);
}

TEST_F(JobRuntimeTest, AMapIsShownBeforeTheLaunch) {
  runtime().set_show_map(true);
  EXPECT_THAT(maps(submit()), SizeIs(1));
  EXPECT_THAT(downs(rig.seen), SizeIs(2));
}

// row:L17 ALLOC_FAILED
TEST_F(JobRuntimeTest, ANodeThatTheDvmDoesNotHaveCannotBeAllocated) {
  spec.mutable_apps(0)->add_hosts()->set_node("v77");
  submit();
  EXPECT_EQ(only_end().state(), static_cast<std::uint32_t>(JobState::kAllocFailed));
  EXPECT_EQ(only_end().exit_status(), kExitMapFailed);
  EXPECT_THAT(states_of(rig.seen, "dvm@1"), ElementsAre("INIT_COMPLETE", "ALLOCATE", "ALLOC_FAILED",
                                                        "NOTIFY_COMPLETED", "NOTIFIED"));
}

// row:L17 NEVER_LAUNCHED
TEST_F(JobRuntimeTest, ALaunchThatTakesTooLongIsEnded) {
  runtime().set_spawn_timeout_ms(1000);
  runtime().set_report_state_on_timeout(true);
  submit();
  rig.launched(1, 1, {0, 1});
  const auto actions = rig.fire(TimerKind::kSpawnTimeout, 1);
  EXPECT_EQ(signals(actions), 2U);
  rig.ended(1, 1, {0, 1});
  rig.ended(2, 1, {2});
  EXPECT_EQ(only_end().state(), static_cast<std::uint32_t>(JobState::kNeverLaunched));
  EXPECT_EQ(only_end().exit_status(), kExitTimedOut);
  ASSERT_EQ(only_end().messages_size(), 2);
  EXPECT_THAT(only_end().messages(1), HasSubstr("was PRTE_JOB_STATE_STARTED"));
  EXPECT_THAT(only_end().messages(1), HasSubstr("process 2 on node v2: PRTE_PROC_STATE_INIT"));
}

TEST_F(JobRuntimeTest, AJobThatRunsHasNoTimeForItsLaunchAnyMore) {
  runtime().set_spawn_timeout_ms(1000);
  run();
  EXPECT_EQ(signals(rig.fire(TimerKind::kSpawnTimeout, 1)), 0U);
}

TEST_F(JobRuntimeTest, AnExitStatusMayBeNoErrorAndIsStillTheJobs) {
  runtime().set_nonzero_is_no_error(true);
  run();
  EXPECT_EQ(signals(rig.proc_failed(1, failed(1, 7))), 0U);
  rig.proc_failed(1, failed(0, 9));
  rig.ended(1, 1, {0, 1});
  rig.ended(2, 1, {2});
  EXPECT_EQ(only_end().state(), static_cast<std::uint32_t>(JobState::kTerminated));
  EXPECT_EQ(only_end().exit_status(), 7);
  ASSERT_EQ(only_end().messages_size(), 2);
  EXPECT_THAT(only_end().messages(0), HasSubstr("exited with status 7"));
  EXPECT_THAT(only_end().messages(1), HasSubstr("1 more of its processes failed"));
}

TEST_F(JobRuntimeTest, ASignalIsAnErrorAlsoWhereAStatusIsNot) {
  runtime().set_nonzero_is_no_error(true);
  run();
  EXPECT_EQ(signals(rig.proc_failed(1, failed(1, 0, SIGSEGV))), 2U);
}

TEST_F(JobRuntimeTest, ARecoverableJobOutlivesAProcessAndANode) {
  runtime().set_recoverable(true);
  run();
  EXPECT_EQ(signals(rig.proc_failed(1, failed(1, 0, SIGKILL))), 0U);
  EXPECT_EQ(signals(rig.on(DaemonExited{Rank(2), "signal 9"})), 0U);
  EXPECT_THAT(endings(rig.seen), IsEmpty());
  rig.ended(1, 1, {0, 1});
  EXPECT_EQ(only_end().state(), static_cast<std::uint32_t>(JobState::kTerminated));
  EXPECT_EQ(only_end().exit_status(), exit_status_of_signal(SIGKILL));
}

TEST_F(JobRuntimeTest, ANodeLostDuringTheLaunchEndsAlsoARecoverableJob) {
  runtime().set_recoverable(true);
  submit();
  rig.launched(1, 1, {0, 1});
  EXPECT_EQ(signals(rig.on(DaemonExited{Rank(2), "signal 9"})), 1U);
}

TEST_F(JobRuntimeTest, AProgramThatCannotBeStartedEndsAlsoARecoverableJob) {
  runtime().set_recoverable(true);
  submit();
  auto report = proc_report(1, 1, ProcState::kFailedToStart);
  report.set_exit_code(kExitNotFound);
  report.set_error("no such program");
  EXPECT_EQ(signals(rig.proc_failed(1, report)), 2U);
}

TEST_F(JobRuntimeTest, TheOthersAreToldOfAFailureIfTheyWantToKnow) {
  runtime().set_recoverable(true);
  runtime().set_notify_errors(true);
  run();
  std::vector<std::uint32_t> told;
  for (const auto& [rank, body] : downs(rig.proc_failed(1, failed(1, 7)))) {
    ASSERT_TRUE(body.has_event());
    EXPECT_EQ(body.event().code(), kEventProcExitedNonzero);
    EXPECT_EQ(body.event().source().rank(), 1U);
    told.push_back(rank);
  }
  EXPECT_THAT(told, ElementsAre(1, 2));
}

TEST_F(JobRuntimeTest, AKillEndsARecoverableJob) {
  runtime().set_recoverable(true);
  run();
  rig.kill(7, 1, SIGTERM);
  rig.proc_failed(1, failed(1, 0, SIGTERM));
  rig.ended(1, 1, {0, 1});
  rig.ended(2, 1, {2});
  EXPECT_EQ(only_end().state(), static_cast<std::uint32_t>(JobState::kKilledByCmd));
}

TEST_F(JobRuntimeTest, ADetachedJobGoesOnWithoutItsClient) {
  runtime().set_detached(true);
  const auto replies = all_of<Reply>(submit());
  ASSERT_THAT(replies, SizeIs(2));
  EXPECT_TRUE(replies[0].reply.has_accepted());
  EXPECT_TRUE(replies[1].reply.has_done());
  rig.launched(1, 1, {0, 1});
  rig.launched(2, 1, {2});
  EXPECT_EQ(signals(rig.on(ClientGone{ClientId(5)})), 0U);
  rig.ended(1, 1, {0, 1});
  rig.ended(2, 1, {2});
  EXPECT_TRUE(rig.head.jobs().idle());
}

TEST_F(JobRuntimeTest, WhatIsWrongWithADetachedJobIsToldAtOnce) {
  runtime().set_detached(true);
  spec.mutable_apps(0)->set_processes(99);
  const auto actions = submit();
  EXPECT_THAT(endings(actions), SizeIs(1));
  EXPECT_TRUE(std::ranges::none_of(all_of<Reply>(actions),
                                   [](const Reply& reply) { return reply.reply.has_done(); }));
}

}  // namespace
}  // namespace tide::core
