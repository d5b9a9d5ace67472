// Stacks of processes whose job has no time left, seen through the head.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/elastic_rig.hpp"
#include "core/proc_names.hpp"
#include "wire/exit_status.hpp"
#include "wire/limits.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// (daemon, processes at most) of the orders to look at processes.
std::vector<std::pair<std::uint32_t, std::uint32_t>> looks(const Actions& actions) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  for (const auto& [rank, body] : downs(actions)) {
    if (body.has_trace_job()) out.emplace_back(rank, body.trace_job().most());
  }
  return out;
}

std::vector<std::string> told(const Actions& actions) {
  std::vector<std::string> out;
  for (const auto& reply : all_of<Reply>(actions)) {
    if (reply.reply.has_trace()) out.push_back(reply.reply.trace().text());
  }
  return out;
}

// Two nodes of two slots; job 1 of client 5 has processes 0 and 1 on v1, process 2 on v2.
class JobTracesTest : public ::testing::Test {
 public:
  void SetUp() override {
    spec.set_timeout_ms(1000);
    spec.mutable_runtime()->set_get_stack_traces(true);
  }
  void run() {
    rig.submit(5, spec);
    rig.launched(1, 1, {0, 1});
    rig.launched(2, 1, {2});
  }
  Actions time_is_over() {
    run();
    return rig.fire(TimerKind::kJobTimeout, 1);
  }
  Actions stacks(std::uint32_t daemon, std::uint32_t rank, const std::string& text = "#0 main ()") {
    wire::UpBody body;
    body.mutable_stack_trace()->set_job(1);
    body.mutable_stack_trace()->set_rank(rank);
    body.mutable_stack_trace()->set_pid(500 + rank);
    return rig.up(daemon, std::move(body), text);
  }
  Actions complete(std::uint32_t daemon, std::uint32_t left_out = 0, std::uint32_t failed = 0) {
    wire::UpBody body;
    body.mutable_traces_complete()->set_job(1);
    body.mutable_traces_complete()->set_left_out(left_out);
    body.mutable_traces_complete()->set_failed(failed);
    body.mutable_traces_complete()->set_reason("gdb says: no");
    return rig.up(daemon, std::move(body));
  }
  Actions spawn_job() {
    wire::UpBody body;
    body.mutable_service_request()->set_token(1);
    *body.mutable_service_request()->mutable_who() = proc_name("dvm@1", 0);
    *body.mutable_service_request()->mutable_spawn()->mutable_job() = job_spec(1);
    return rig.up(1, std::move(body));
  }
  std::string waits() {
    wire::ClientRequest about;
    about.mutable_explain()->mutable_job()->set_number(1);
    const auto replies = all_of<Reply>(rig.request(99, about));
    if (replies.empty() || replies[0].reply.explain().waits_size() != 1) return "?";
    const auto& point = replies[0].reply.explain().waits(0);
    return point.kind() + ":" + (point.nodes_size() == 1 ? point.nodes(0) : "several");
  }
  void expect_timed_out() {
    rig.ended(1, 1, {0, 1});
    rig.ended(2, 1, {2});
    const auto ends = endings(rig.seen);
    ASSERT_THAT(ends, SizeIs(1));
    EXPECT_EQ(ends[0].exit_status(), kExitTimedOut);
    EXPECT_EQ(ends[0].state(), static_cast<std::uint32_t>(JobState::kForcedExit));
    EXPECT_THAT(ends[0].messages(0), HasSubstr("ran longer than 1 s"));
    EXPECT_THAT(told(rig.fire(TimerKind::kTraces, 1)), IsEmpty());
  }

  ElasticRig rig{2};
  wire::JobSpec spec = job_spec(3);
};

TEST_F(JobTracesTest, TheEndIsOrderedWhenAllNodesHaveToldTheirStacks) {
  const auto first = time_is_over();
  EXPECT_THAT(looks(first), ElementsAre(std::pair(1U, 2U), std::pair(2U, 1U)));
  EXPECT_THAT(orders(first), IsEmpty());
  EXPECT_EQ(waits(), "stacks:several");
  const auto shown = told(stacks(2, 2));
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_THAT(shown[0], HasSubstr("process 2 on node v2, pid 502"));
  EXPECT_THAT(shown[0], HasSubstr("\n    #0 main ()"));
  EXPECT_THAT(orders(complete(2)), IsEmpty());
  EXPECT_EQ(waits(), "stacks:v1");
  stacks(1, 0);
  stacks(1, 1);
  EXPECT_THAT(orders(complete(1)),
              ElementsAre(std::tuple(1U, SIGTERM, true), std::tuple(2U, SIGTERM, true)));
  EXPECT_EQ(waits(), "end:several");
  EXPECT_THAT(told(rig.seen), SizeIs(3));
  expect_timed_out();
}

TEST_F(JobTracesTest, ALaunchThatTakesTooLongIsLookedAtToo) {
  spec.clear_timeout_ms();
  spec.mutable_runtime()->set_spawn_timeout_ms(1000);
  rig.submit(5, spec);
  rig.launched(1, 1, {0, 1});
  EXPECT_THAT(looks(rig.fire(TimerKind::kSpawnTimeout, 1)), SizeIs(2));
  rig.launched(2, 1, {2});
  complete(1);
  EXPECT_THAT(orders(complete(2)), SizeIs(2));
  rig.ended(1, 1, {0, 1});
  const auto ends = endings(rig.ended(2, 1, {2}));
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].state(), static_cast<std::uint32_t>(JobState::kNeverLaunched));
  EXPECT_EQ(ends[0].exit_status(), kExitTimedOut);
}

TEST_F(JobTracesTest, OnceIsEnoughForTwoLimits) {
  spec.mutable_runtime()->set_spawn_timeout_ms(1000);
  rig.submit(5, spec);
  EXPECT_THAT(looks(rig.fire(TimerKind::kSpawnTimeout, 1)), SizeIs(2));
  const auto second = rig.fire(TimerKind::kJobTimeout, 1);
  EXPECT_THAT(looks(second), IsEmpty());
  EXPECT_THAT(orders(second), IsEmpty());
}

TEST_F(JobTracesTest, ItIsSaidOnceByNodeWhyThereAreNoneAndHowManyAreLeftOut) {
  time_is_over();
  const auto failed = told(complete(1, 0, 2));
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_THAT(failed[0], HasSubstr("no stacks of 2 processes on node v1: gdb says: no"));
  const auto left_out = told(complete(2, 5));
  ASSERT_THAT(left_out, SizeIs(1));
  EXPECT_THAT(left_out[0], HasSubstr("5 more processes"));
  expect_timed_out();
}

TEST_F(JobTracesTest, AJobIsLookedAtInPart) {
  spec = job_spec(20 * 20);
  spec.set_oversubscribe(true);
  spec.set_timeout_ms(1000);
  spec.mutable_runtime()->set_get_stack_traces(true);
  HeadRig many(20);
  many.make_ready();
  many.submit(5, spec);
  const auto asked = looks(many.fire(TimerKind::kJobTimeout, 1));
  ASSERT_THAT(asked, SizeIs(16)) << "256 of a job";
  for (const auto& [daemon, most] : asked) EXPECT_EQ(most, 16U) << daemon;
}

TEST_F(JobTracesTest, NodesThatSayNothingAreNotWaitedForForever) {
  time_is_over();
  complete(1);
  const auto late = rig.fire(TimerKind::kTraces, 1);
  ASSERT_THAT(told(late), SizeIs(1));
  EXPECT_THAT(told(late)[0], HasSubstr("any longer than 30 s; not all came from v2"));
  EXPECT_THAT(orders(late), SizeIs(2));
  EXPECT_THAT(told(stacks(2, 2)), IsEmpty()) << "too late";
  EXPECT_THAT(orders(complete(2)), IsEmpty());
  expect_timed_out();
}

// row:E16
TEST_F(JobTracesTest, AJobThatItSpawnedAndThatIsHeldEndsWithTheLastStack) {
  run();
  rig.begin_grow(1);
  spawn_job();
  rig.fire(TimerKind::kJobTimeout, 1);
  complete(1);
  EXPECT_EQ(states_of(rig.seen, "dvm@2").back(), "WAITING_FOR_DAEMONS");
  const auto last = complete(2);
  EXPECT_THAT(states_of(last, "dvm@2"),
              ElementsAre("KILLED_BY_CMD", "NOTIFY_COMPLETED", "NOTIFIED"));
  EXPECT_THAT(endings(last), SizeIs(1));
}

TEST_F(JobTracesTest, WhoeverWantsTheEndGetsItAtOnce) {
  time_is_over();
  EXPECT_THAT(orders(rig.kill(6, 1, SIGUSR1, false)), SizeIs(2)) << "no end, so";
  EXPECT_EQ(waits(), "stacks:several");
  EXPECT_THAT(orders(rig.kill(6, 1, SIGINT)),
              ElementsAre(std::tuple(1U, SIGINT, true), std::tuple(2U, SIGINT, true)));
  EXPECT_THAT(told(stacks(1, 0)), IsEmpty());
  expect_timed_out();
}

TEST_F(JobTracesTest, TheEndOfTheDvmWaitsForNoStacks) {
  time_is_over();
  EXPECT_THAT(orders(rig.down(6)),
              ElementsAre(std::tuple(1U, SIGTERM, true), std::tuple(2U, SIGTERM, true)));
}

TEST_F(JobTracesTest, WithoutAClientNobodyWantsToSeeThem) {
  time_is_over();
  EXPECT_THAT(orders(rig.on(ClientGone{ClientId(5)})), SizeIs(2));
  EXPECT_THAT(told(complete(1, 0, 1)), IsEmpty());
}

TEST_F(JobTracesTest, ADetachedJobIsEndedAsEver) {
  spec.mutable_runtime()->set_detached(true);
  const auto actions = time_is_over();
  EXPECT_THAT(looks(actions), IsEmpty());
  EXPECT_THAT(orders(actions), SizeIs(2));
}

TEST_F(JobTracesTest, TheLossOfANodeEndsTheWaiting) {
  time_is_over();
  EXPECT_THAT(orders(rig.on(DaemonExited{Rank(2), "signal 9"})),
              ElementsAre(std::tuple(1U, SIGTERM, true)));
  const auto ends = endings(rig.ended(1, 1, {0, 1}));
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].exit_status(), kExitTimedOut);
}

TEST_F(JobTracesTest, ANodeWhoseProcessesHaveEndedIsNotWaitedFor) {
  time_is_over();
  complete(1);
  const auto actions = rig.ended(2, 1, {2}, ProcState::kAborted, 3);
  EXPECT_THAT(orders(actions), ElementsAre(std::tuple(1U, SIGTERM, true)));
  const auto ends = endings(rig.ended(1, 1, {0, 1}));
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].exit_status(), kExitTimedOut) << "its time was over before";
}

TEST_F(JobTracesTest, WhatADaemonMayNotSayIsIgnored) {
  EXPECT_THAT(told(stacks(1, 0)), IsEmpty()) << "no such job";
  time_is_over();
  EXPECT_THAT(told(stacks(1, 2)), IsEmpty()) << "the process of another";
  EXPECT_THAT(told(stacks(1, 77)), IsEmpty());
  const auto shown = told(stacks(1, 0, std::string(2 * kMaxStackTraceBytes, 'x')));
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_LT(shown[0].size(), kMaxStackTraceBytes + 200U);
  EXPECT_THAT(told(stacks(1, 0)), IsEmpty()) << "a second time";
  complete(1);
  EXPECT_THAT(told(stacks(1, 1)), IsEmpty()) << "after its last word";
  EXPECT_THAT(orders(complete(1)), IsEmpty());
}

}  // namespace
}  // namespace tide::core
