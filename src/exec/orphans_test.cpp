#include "exec/orphans.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "exec/environment.hpp"
#include "exec/process_spawner.hpp"
#include "exec/test_support.hpp"

namespace tide::exec {
namespace {

using ::testing::Contains;
using testing::eventually;
using testing::is_alive;
using ::testing::Not;
using testing::pid_in;
using testing::TemporaryDirectory;

class OrphansTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
  void TearDown() override {
    EXPECT_TRUE(eventually([] { return end_children_unless([](pid_t) { return false; }) == 0; }));
    EXPECT_FALSE(has_children());
  }
  pid_t start(const std::string& script, const Environment& environment) {
    const std::array<std::string, 3> argv = {"/bin/sh", "-c", script};
    const EnvironmentBlock block(environment);
    auto spawned = spawner_.spawn(SpawnRequest{.argv = argv,
                                               .environment = block,
                                               .working_directory = directory_.path(),
                                               .stdio = {0, 1, 2}});
    EXPECT_TRUE(spawned.ok());
    return spawned.ok() ? spawned->pid : 0;
  }
  pid_t start(const std::string& script) { return start(script, current_environment()); }
  pid_t pid_from(const std::string& name) { return pid_in(directory_.file(name)); }

  TemporaryDirectory directory_;
  ProcessSpawner spawner_{"", std::nullopt};
};

TEST_F(OrphansTest, ChildrenAreOurOwnAndThoseThatComeToUs) {
  EXPECT_FALSE(has_children());
  EXPECT_TRUE(child_pids().empty());
  const pid_t child = start("setsid sh -c 'echo $$ > orphan; exec sleep 1000' & wait");
  const pid_t grandchild = pid_from("orphan");
  EXPECT_TRUE(has_children());
  EXPECT_THAT(child_pids(), Contains(child));
  EXPECT_THAT(child_pids(), Not(Contains(grandchild)));
  ::kill(child, SIGKILL);
  EXPECT_TRUE(eventually([&] { return ::waitpid(child, nullptr, WNOHANG) == child; }));
  EXPECT_EQ(child_pids(), std::vector<pid_t>{grandchild});
}

TEST_F(OrphansTest, AllButTheKeptAreEndedHoweverDeepTheyHide) {
  const pid_t kept = start("exec sleep 1000");
  start(
      "setsid sh -c 'echo $$ > one; setsid sh -c \"echo \\$\\$ > two; exec sleep 1000\" & "
      "exec sleep 1000' & exec sleep 1000");
  const pid_t one = pid_from("one");
  const pid_t two = pid_from("two");
  EXPECT_TRUE(
      eventually([&] { return end_children_unless([&](pid_t pid) { return pid == kept; }) == 0; }));
  EXPECT_FALSE(is_alive(one));
  EXPECT_FALSE(is_alive(two));
  EXPECT_TRUE(is_alive(kept));
}

TEST_F(OrphansTest, TheEnvironmentShowsWhoseAProcessIs) {
  std::string long_text = "LONG=" + std::string(100'000, 'x');
  const pid_t child = start("echo > ready; exec sleep 1000",
                            {"PATH=/bin:/usr/bin", "NOT_TIDE_NAMESPACE=no", std::move(long_text),
                             "TIDE_NAMESPACE=dvm@4", "TIDE_NAMESPACE_OLD=no"});
  ASSERT_TRUE(eventually([&] { return !testing::read_text(directory_.file("ready")).empty(); }));
  std::optional<std::string> mark;
  EXPECT_TRUE(eventually([&] {
    return (mark = environment_value(child, "TIDE_NAMESPACE")).has_value();
  })) << "it stays between two programs";
  EXPECT_EQ(mark, "dvm@4");
  ASSERT_TRUE(eventually([&] { return environment_value(child, "NAMESPACE").has_value(); }));
  EXPECT_EQ(environment_value(child, "NAMESPACE"), "");
  EXPECT_EQ(environment_value(0, "TIDE_NAMESPACE"), "");
}

// A process that executes one program after the other is never taken for one without a mark.
TEST_F(OrphansTest, BetweenTwoProgramsNothingIsKnownOfAProcess) {
  testing::write_text(directory_.file("chain"), "exec sh chain\n");
  const pid_t child = start("exec sh chain", {"PATH=/bin:/usr/bin", "TIDE_NAMESPACE=dvm@4"});
  for (int look = 0; look < 20'000; ++look) {
    const auto mark = environment_value(child, "TIDE_NAMESPACE");
    ASSERT_TRUE(!mark || mark == "dvm@4") << look;
  }
}

TEST_F(OrphansTest, AnEmptyEnvironmentIsKnownToBeEmpty) {
  const pid_t child = start("exec env -i sh -c 'echo > ready; exec sleep 1000'");
  ASSERT_TRUE(eventually([&] { return !testing::read_text(directory_.file("ready")).empty(); }));
  EXPECT_TRUE(eventually([&] { return environment_value(child, "PATH") == ""; }));
}

TEST_F(OrphansTest, ProcessesOfADeadDvmAreFoundByTheirMark) {
  const std::string dvm = "tide-dead-" + std::to_string(::getpid());  // nobody else's
  const Environment of_dvm = {"PATH=/bin:/usr/bin", "TIDE_NAMESPACE=" + dvm + "@3"};
  const Environment of_other = {"PATH=/bin:/usr/bin", "TIDE_NAMESPACE=" + dvm + "1@3"};
  const pid_t one =
      start("trap '' TERM; setsid sh -c 'echo $$ > one; exec sleep 1000' & wait", of_dvm);
  const pid_t hidden = pid_from("one");
  const pid_t other = start("echo $$ > other; exec sleep 1000", of_other);
  ASSERT_EQ(pid_from("other"), other);
  kill_processes_of_dvm("");
  EXPECT_TRUE(is_alive(one));
  kill_processes_of_dvm(dvm);
  EXPECT_FALSE(is_alive(one));
  EXPECT_FALSE(is_alive(hidden));
  EXPECT_TRUE(is_alive(other));
}

TEST(SweepPace, LooksAtOnceAndThenLessAndLessOften) {
  SweepPace pace;
  auto now = SweepPace::Clock::now();
  EXPECT_FALSE(pace.running());
  pace.start(now);
  EXPECT_TRUE(pace.running());
  EXPECT_EQ(pace.next(), now);
  auto last = std::chrono::steady_clock::duration::zero();
  for (int i = 0; i < 20; ++i) {
    pace.looked(now, true);
    EXPECT_GE(pace.next() - now, last);
    last = pace.next() - now;
    now = pace.next();
  }
  EXPECT_EQ(last, std::chrono::seconds(1));
  pace.looked(now, false);
  EXPECT_FALSE(pace.running());
}

}  // namespace
}  // namespace tide::exec
