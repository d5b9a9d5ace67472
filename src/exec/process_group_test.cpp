#include "exec/process_group.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <string>
#include <vector>

#include "exec/process_spawner.hpp"
#include "exec/test_support.hpp"

namespace tide::exec {
namespace {

using testing::eventually;
using testing::is_alive;
using testing::pid_in;
using testing::TemporaryDirectory;

class ProcessGroupTest : public ::testing::Test {
 protected:
  // We must be the parent of orphans to be sure of them, as the daemon is.
  void SetUp() override { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  void TearDown() override {
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }

  // A shell that leaves a `sleep` in its group; `then` is what the shell does after that.
  SpawnedProcess start(const std::string& then) {
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const Environment environment = current_environment();
    const EnvironmentBlock block(environment);
    const std::vector<std::string> argv = {
        "sh", "-c", "sleep 1000 & echo $! > " + directory_.file("pid") + "; " + then};
    auto process = spawner_.spawn(SpawnRequest{.argv = argv,
                                               .environment = block,
                                               .working_directory = "",
                                               .stdio = {null.get(), null.get(), null.get()}});
    TIDE_CHECK(process.ok());
    sleeper_ = pid_in(directory_.file("pid"));
    EXPECT_NE(sleeper_, 0);
    return std::move(*process);
  }

  TemporaryDirectory directory_;
  ProcessSpawner spawner_{"", std::nullopt};
  pid_t sleeper_ = 0;
};

TEST_F(ProcessGroupTest, ASignalReachesLeaderAndMembers) {
  SpawnedProcess process = start("sleep 1000");
  const pid_t leader = process.pid;
  const ProcessGroup group(leader, std::move(process.pidfd));
  group.signal(SIGTERM);
  int status = 0;
  ASSERT_EQ(::waitpid(leader, &status, 0), leader);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_TRUE(eventually([&] { return !is_alive(sleeper_); }));
}

TEST_F(ProcessGroupTest, MembersAreReachedAfterTheLeaderWasReaped) {
  SpawnedProcess process = start("exit 0");
  ProcessGroup group(process.pid, std::move(process.pidfd));
  ASSERT_EQ(::waitpid(group.leader(), nullptr, 0), group.leader());
  group.leader_reaped();
  EXPECT_NE(group.leader(), 0);
  group.signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return !is_alive(sleeper_); }));
}

TEST_F(ProcessGroupTest, AnEmptyGroupIsNobody) {
  SpawnedProcess process = start("kill -9 $!; wait; exit 0");
  ProcessGroup group(process.pid, std::move(process.pidfd));
  ASSERT_EQ(::waitpid(group.leader(), nullptr, 0), group.leader());
  group.leader_reaped();
  EXPECT_EQ(group.leader(), 0);
  group.signal(SIGKILL);
}

TEST_F(ProcessGroupTest, ALeaderThatLeftItsGroupIsStillEnded) {
  // Joins the group of this test program.
  SpawnedProcess process =
      start("exec perl -e 'setpgrp(0, " + std::to_string(::getpgrp()) + "); open(F, \">" +
            directory_.file("moved") + "\"); print F \"1\\n\"; close F; sleep 1000'");
  ASSERT_EQ(pid_in(directory_.file("moved")), 1);
  const pid_t leader = process.pid;
  const ProcessGroup group(leader, std::move(process.pidfd));
  group.signal(SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(leader, &status, 0), leader);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(eventually([&] { return !is_alive(sleeper_); }));
}

// The path for kernels that can't signal a group through a pidfd.
TEST_F(ProcessGroupTest, ByNumberOnlyOurDescendantsAreSignalled) {
  const SpawnedProcess process = start("exit 0");
  ASSERT_EQ(::waitpid(process.pid, nullptr, 0), process.pid);
  // A group that is not ours: that of our parent's, asked with a harmless signal.
  signal_group_by_number(::getpgid(::getppid()), true, 0);
  signal_group_by_number(process.pid, true, SIGKILL);
  EXPECT_TRUE(eventually([&] { return !is_alive(sleeper_); }));
}

}  // namespace
}  // namespace tide::exec
