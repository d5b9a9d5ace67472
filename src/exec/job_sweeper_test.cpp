// What jobs leave behind, seen through the process table that started them.
#include "exec/job_sweeper.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "exec/process_table_fixture.hpp"
#include "exec/test_support.hpp"

namespace tide::exec {
namespace {

using testing::is_alive;
using testing::pid_in;
using testing::ProcessTableFixture;
using testing::TemporaryDirectory;

class JobSweeperTest : public ProcessTableFixture {
 protected:
  void TearDown() override {
    ProcessTableFixture::TearDown();
    EXPECT_TRUE(run_until([this] { return table_->kill_orphans() == 0; }));
  }
  static core::ProcKey proc(std::uint32_t job, std::uint32_t rank = 0) {
    return {JobId(job), ProcRank(rank)};
  }
  void start(core::ProcKey proc, const std::string& script) {
    core::SpawnProc request;
    request.proc = proc;
    request.program = std::make_shared<core::Program>(
        core::Program{{"/bin/sh", "-c", script}, {}, directory_.path()});
    request.output_window_bytes = kWindowBytes;
    wire::EnvDirective directive;
    directive.set_kind(wire::EnvDirective::SET);
    directive.set_name("TIDE_NAMESPACE");
    directive.set_value("dvm@" + std::to_string(proc.job.value()));
    request.environment.push_back(directive);
    spawn(request);
  }
  // The end of a job as the core orders it.
  void finish(core::ProcKey proc) {
    ASSERT_TRUE(run_until([&] { return reports_[proc].exit.has_value(); }));
    call([&] { table_->forget(proc); });
    call([&] { table_->sweep(proc.job); });
    ASSERT_TRUE(run_until([&] { return swept_.contains(proc.job); }));
  }
  pid_t pid_from(const std::string& name) { return pid_in(directory_.file(name)); }
  // A process that got away from job 9, which runs until the test ends it.
  void keep_job_nine_running() {
    start(proc(9), "setsid sh -c 'echo $$ > nine; exec sleep 1000' & exec sleep 1000");
    nine_ = pid_from_running("nine");
  }
  pid_t pid_from_running(const std::string& name) {
    EXPECT_TRUE(
        run_until([&] { return testing::read_text(directory_.file(name)).ends_with('\n'); }));
    return pid_from(name);
  }

  TemporaryDirectory directory_;
  pid_t nine_ = 0;
};

TEST_F(JobSweeperTest, AJobThatLeavesNothingIsSweptAtOnce) {
  start(proc(1), "exit 0");
  finish(proc(1));
  EXPECT_EQ(swept_[JobId(1)], 0U);
}

// row:L17
TEST_F(JobSweeperTest, RunawaysAreGoneWhenTheSweepIsReported) {
  start(proc(1),
        "setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > one; "
        "setsid sh -c \"echo \\$\\$ > two; sleep 1000\" & sleep 1000' & "
        "while [ ! -s two ]; do sleep 0.01; done");
  finish(proc(1));
  EXPECT_EQ(swept_[JobId(1)], 0U);
  EXPECT_NE(::kill(pid_from("one"), 0), 0);
  EXPECT_NE(::kill(pid_from("two"), 0), 0);
  EXPECT_FALSE(has_children());
}

TEST_F(JobSweeperTest, ABoundedForkLoopIsBeaten) {
  start(
      proc(1),
      "setsid sh -c 'echo $$ > pid; n=0; while [ $n -lt 2000 ]; do setsid sleep 1000 & n=$((n+1)); "
      "done' & while [ ! -s pid ]; do :; done");
  finish(proc(1));
  EXPECT_EQ(swept_[JobId(1)], 0U);
  EXPECT_FALSE(has_children());
}

TEST_F(JobSweeperTest, OrphansLiveWhileTheirJobRunsHere) {
  start(proc(1, 0), "exec sleep 1000");
  start(proc(1, 1),
        "setsid sh -c 'echo $$ > one; exec sleep 1000' & while [ ! -s one ]; do :; done");
  ASSERT_TRUE(run_until([&] { return reports_[proc(1, 1)].exit.has_value(); }));
  const pid_t one = pid_from("one");
  start(proc(2), "exit 0");
  finish(proc(2));
  EXPECT_TRUE(is_alive(one)) << "another rank of its job still runs";
  call([&] { table_->signal(proc(1, 0), SIGKILL); });
  call([&] { table_->forget(proc(1, 1)); });
  finish(proc(1, 0));
  EXPECT_FALSE(is_alive(one));
}

TEST_F(JobSweeperTest, AnotherJobsProcessesAreNotTouched) {
  keep_job_nine_running();
  start(proc(1), "setsid sh -c 'echo $$ > one; exec sleep 1000' & while [ ! -s one ]; do :; done");
  finish(proc(1));
  EXPECT_FALSE(is_alive(pid_from("one")));
  EXPECT_TRUE(is_alive(nine_));
  EXPECT_TRUE(is_alive(reports_[proc(9)].pid));
}

// Nothing tells whose it is: it goes with the last job that it can have come from.
TEST_F(JobSweeperTest, AChildOfNoJobIsLeftAloneAndItsEndIsTold) {
  ProcessSpawner spawner("", std::nullopt);
  const std::vector<std::string> argv = {"/bin/sleep", "1000"};
  const Environment environment = current_environment();
  const EnvironmentBlock block(environment);
  const auto child = spawner.spawn(
      {.argv = argv, .environment = block, .working_directory = "", .stdio = {0, 1, 2}});
  ASSERT_TRUE(child);
  std::optional<int> ended;
  table_->watch_child(child->pid, [&](int status) { ended = status; });
  start(proc(1), "exit 0");
  finish(proc(1));
  EXPECT_EQ(table_->kill_orphans(), 0U);
  EXPECT_TRUE(is_alive(child->pid));
  ::kill(child->pid, SIGTERM);
  ASSERT_TRUE(run_until([&] { return ended.has_value(); }));
  EXPECT_EQ(*ended, SIGTERM);
}

TEST_F(JobSweeperTest, AnOrphanWithoutAMarkGoesWithTheLastThatCanOwnIt) {
  keep_job_nine_running();
  start(proc(1),
        "setsid env -i sh -c 'echo $$ > one; exec sleep 1000' & while [ ! -s one ]; do :; done");
  finish(proc(1));
  EXPECT_EQ(swept_[JobId(1)], 0U) << "job 1 does not wait for what may be job 9's";
  EXPECT_TRUE(is_alive(pid_from("one")));
  start(proc(2), "exec sleep 1000");
  call([&] { table_->signal(proc(9), SIGKILL); });
  finish(proc(9));
  EXPECT_FALSE(is_alive(pid_from("one"))) << "job 2 began later and can't own it";
  EXPECT_FALSE(is_alive(nine_));
}

TEST_F(JobSweeperTest, AnOrphanWithAMarkOfSomebodyElseIsOneWithoutAMark) {
  start(proc(1),
        "TIDE_NAMESPACE=other@1 setsid sh -c 'echo $$ > one; exec sleep 1000' & "
        "while [ ! -s one ]; do :; done");
  finish(proc(1));
  EXPECT_FALSE(is_alive(pid_from("one")));
}

TEST_F(JobSweeperTest, ProcessesEndWithTheProgramThatStartedThem) {
  const pid_t daemon = ::fork();
  if (daemon == 0) {
    start(proc(1), "echo $$ > one; exec sleep 1000");
    run_until([] { return false; });
  }
  const pid_t one = pid_from("one");
  ASSERT_NE(one, 0);
  ::kill(daemon, SIGKILL);
  EXPECT_TRUE(testing::eventually([&] { return !is_alive(one); }));
}

}  // namespace
}  // namespace tide::exec
