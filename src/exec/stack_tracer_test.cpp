// With a script in the place of gdb, but for one test.
#include "exec/stack_tracer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <vector>

#include "exec/process_table_fixture.hpp"
#include "exec/test_support.hpp"
#include "wire/limits.hpp"

namespace tide::exec {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::is_alive;
using ::testing::IsEmpty;
using testing::key;
using testing::pid_in;
using testing::TemporaryDirectory;
using testing::write_text;

constexpr auto kSoon = std::chrono::milliseconds(300);

class StackTracerTest : public testing::ProcessTableFixture {
 protected:
  void TearDown() override {
    tracer_.reset();
    ProcessTableFixture::TearDown();
  }
  // `script`: what gdb does, with the pid of the process in $4; empty: there is none.
  void use(const std::string& script, std::chrono::milliseconds for_process = std::chrono::hours(1),
           std::chrono::milliseconds for_job = std::chrono::hours(1)) {
    StackTracerConfig config;
    config.dvm_id = "dvm";
    config.for_process = for_process;
    config.for_job = for_job;
    config.environment = {"PATH=" + folder_.path() + ":/usr/bin:/bin", "HERE=" + folder_.path()};
    if (script.empty()) config.environment = {"PATH=" + folder_.path()};
    if (!script.empty()) write_text(folder_.file("gdb"), "#!/bin/sh\n" + script + "\n", true);
    tracer_ = std::make_unique<StackTracer>(
        io_, std::move(config),
        StackTracerCallbacks{
            [this](core::ProcKey proc) { return table_->pid_of(proc); },
            [this](core::ProcTraced event) { traced_.push_back(std::move(event)); },
            [this](pid_t pid, std::function<void(int)> ended) {
              table_->watch_child(pid, std::move(ended));
            }});
  }
  void run_sleepers(std::uint32_t count) {
    for (std::uint32_t rank = 0; rank < count; ++rank) spawn(rank, {"sleep", "1000"});
    ASSERT_TRUE(run_until([&] {
      for (std::uint32_t rank = 0; rank < count; ++rank) {
        if (report(rank).pid == 0) return false;
      }
      return true;
    }));
  }
  void trace(std::uint32_t count) {
    core::TraceProcs order{JobId(1), {}};
    for (std::uint32_t rank = 0; rank < count; ++rank) order.ranks.emplace_back(rank);
    tracer_->trace(order);
  }
  bool run_until_traced(std::size_t count) {
    return run_until([&] { return traced_.size() >= count; });
  }

  TemporaryDirectory folder_;
  std::vector<core::ProcTraced> traced_;
  std::unique_ptr<StackTracer> tracer_;
};

TEST_F(StackTracerTest, EachProcessIsAnsweredWithItsStacks) {
  use("echo '[New LWP 1]'; echo \"Thread 1 of $4\"; echo '#0 main ()'; echo 'warning: x' >&2");
  run_sleepers(7);
  trace(7);
  ASSERT_TRUE(run_until_traced(7));
  std::set<std::uint32_t> ranks;
  for (const auto& one : traced_) {
    const auto rank = one.proc.rank.value();
    ranks.insert(rank);
    EXPECT_EQ(one.pid, static_cast<std::uint32_t>(report(rank).pid));
    EXPECT_TRUE(one.status.ok());
    EXPECT_EQ(one.text, "Thread 1 of " + std::to_string(report(rank).pid) + "\n#0 main ()");
    EXPECT_FALSE(one.cut);
  }
  EXPECT_EQ(ranks.size(), 7U);
}

TEST_F(StackTracerTest, GdbReadsNothingFetchesNothingAndIsMarked) {
  use("read line && exit 1; echo \"Thread $DEBUGINFOD_URLS $LC_ALL $TIDE_NAMESPACE $*\"");
  run_sleepers(1);
  trace(1);
  ASSERT_TRUE(run_until_traced(1));
  EXPECT_EQ(traced_[0].text, "Thread  C.UTF-8 dvm@1 -nx -batch -p " +
                                 std::to_string(report(0).pid) +
                                 " -ex thread apply all -ascending bt");
}

TEST_F(StackTracerTest, NotMoreThanFourWorkSideBySide) {
  use("mkdir \"$HERE/$$\"; ls -d \"$HERE\"/[0-9]* | wc -l >\"$HERE/count.$$\"; sleep 0.05;"
      "rmdir \"$HERE/$$\"; echo Thread $(cat \"$HERE/count.$$\")");
  run_sleepers(12);
  trace(12);
  ASSERT_TRUE(run_until_traced(12));
  for (const auto& one : traced_) EXPECT_LE(std::stoi(one.text.substr(7)), 4) << one.text;
}

TEST_F(StackTracerTest, WhatGdbSaysIsTheReason) {
  use("echo 'ptrace: Operation not permitted.' >&2; echo >&2; echo 'No threads.' >&2");
  run_sleepers(1);
  trace(1);
  ASSERT_TRUE(run_until_traced(1));
  ASSERT_FALSE(traced_[0].status.ok());
  EXPECT_EQ(traced_[0].status.error().message,
            "gdb says: ptrace: Operation not permitted.; No threads");
}

TEST_F(StackTracerTest, AGdbThatEndsWithoutAWordIsDescribed) {
  use("exit 3");
  run_sleepers(1);
  trace(1);
  ASSERT_TRUE(run_until_traced(1));
  ASSERT_FALSE(traced_[0].status.ok());
  EXPECT_THAT(traced_[0].status.error().message, HasSubstr("3"));
}

TEST_F(StackTracerTest, WithoutGdbThatIsTheReason) {
  use("");
  run_sleepers(2);
  trace(2);
  ASSERT_TRUE(run_until_traced(2));
  EXPECT_THAT(traced_[0].status.error().message, HasSubstr("cannot start 'gdb'"));
}

TEST_F(StackTracerTest, OneThatHangsIsKilledWithWhatItStarted) {
  use("sleep 1000 & echo $! >\"$HERE/pid\"; wait", kSoon);
  run_sleepers(1);
  trace(1);
  ASSERT_TRUE(run_until_traced(1));
  ASSERT_FALSE(traced_[0].status.ok());
  EXPECT_THAT(traced_[0].status.error().message, HasSubstr("within 300 ms and was killed"));
  EXPECT_TRUE(eventually([&] { return !is_alive(pid_in(folder_.file("pid"))); }));
  EXPECT_TRUE(is_alive(report(0).pid));
}

TEST_F(StackTracerTest, WhatCameBeforeItHungIsShown) {
  use("echo 'Thread 1'; exec sleep 1000", kSoon);
  run_sleepers(1);
  trace(1);
  ASSERT_TRUE(run_until_traced(1));
  EXPECT_EQ(traced_[0].text, "Thread 1");
  EXPECT_TRUE(traced_[0].cut);
}

TEST_F(StackTracerTest, AllProcessesOfAJobTogetherHaveTheirTime) {
  use("exec sleep 1000", std::chrono::hours(1), kSoon);
  run_sleepers(6);
  trace(6);
  ASSERT_TRUE(run_until_traced(6));
  for (const auto& one : traced_) EXPECT_FALSE(one.status.ok());
}

TEST_F(StackTracerTest, AStackWithoutEndIsCut) {
  use("echo 'Thread 1'; exec yes '#1 again ()'");
  run_sleepers(1);
  trace(1);
  ASSERT_TRUE(run_until_traced(1));
  EXPECT_TRUE(traced_[0].cut);
  EXPECT_LE(traced_[0].text.size(), kMaxStackTraceBytes);
  EXPECT_GT(traced_[0].text.size(), kMaxStackTraceBytes / 2);
}

TEST_F(StackTracerTest, AProcessThatHasEndedIsNotLookedAt) {
  use("echo Thread 1");
  spawn(0, {"true"});
  ASSERT_TRUE(run_until_ended(0));
  trace(1);
  ASSERT_TRUE(run_until_traced(1));
  EXPECT_EQ(traced_[0].pid, 0U);
}

TEST_F(StackTracerTest, TheEndOfTheProcessIsReportedBeforeThatGdbFailed) {
  use("kill -9 $4; while grep -q '^State:.[^Z]' /proc/$4/status; do :; done 2>/dev/null");
  run_sleepers(1);
  trace(1);
  ASSERT_TRUE(run_until_traced(1));
  EXPECT_TRUE(report(0).exit.has_value());
}

TEST_F(StackTracerTest, WhatIsStoppedIsKilledAndNotAnswered) {
  use("echo $$ >\"$HERE/pid.$4\"; exec sleep 1000");
  run_sleepers(6);
  trace(6);
  const pid_t first = pid_in(folder_.file("pid." + std::to_string(report(0).pid)));
  ASSERT_TRUE(is_alive(first));
  tracer_->stop(JobId(1));
  EXPECT_TRUE(eventually([&] { return !is_alive(first); }));
  EXPECT_THAT(traced_, IsEmpty());
  use("echo Thread 1");
  trace(1);
  ASSERT_TRUE(run_until_traced(1));
  EXPECT_TRUE(traced_[0].status.ok());
}

// Where it may: see what it says otherwise.
TEST_F(StackTracerTest, TheRealOneShowsARealStack) {
  if (std::system("command -v gdb >/dev/null") != 0) GTEST_SKIP() << "there is no gdb";
  use("true");
  std::filesystem::remove(folder_.file("gdb"));
  run_sleepers(1);
  trace(1);
  ASSERT_TRUE(run_until_traced(1));
  if (!traced_[0].status) GTEST_SKIP() << traced_[0].status.error().message;
  EXPECT_THAT(traced_[0].text, HasSubstr("#0 "));
  EXPECT_TRUE(is_alive(report(0).pid));
}

}  // namespace
}  // namespace tide::exec
