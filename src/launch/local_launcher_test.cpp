#include "launch/local_launcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <asio/io_context.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exec/process_scan.hpp"
#include "exec/test_support.hpp"

namespace tide::launch {
namespace {

using exec::testing::is_alive;
using exec::testing::open_descriptors;
using exec::testing::pid_in;
using exec::testing::read_text;
using exec::testing::TemporaryDirectory;
using exec::testing::write_text;
using ::testing::HasSubstr;

struct Seen {
  pid_t pid = 0;
  std::optional<std::string> failed;
  std::optional<std::string> exited;
};

class LocalLauncherTest : public ::testing::Test, public LaunchHandler {
 protected:
  void on_daemon_started(Rank rank, pid_t pid) override { seen_[rank].pid = pid; }
  void on_daemon_launch_failed(Rank rank, std::string text) override {
    EXPECT_FALSE(inside_call_);
    seen_[rank].failed = std::move(text);
  }
  void on_daemon_exited(Rank rank, std::string text) override {
    EXPECT_FALSE(inside_call_);
    EXPECT_FALSE(seen_[rank].exited);
    seen_[rank].exited = std::move(text);
  }
  void on_daemon_leaves(Rank) override { FAIL(); }
  void on_step_lost(const std::string&) override { FAIL(); }
  void on_daemon_output(Rank, std::string_view) override { FAIL(); }
  void on_warden_lost(std::string text) override { lost_ = std::move(text); }
  void on_shutdown_done() override { down_ = true; }

  void TearDown() override {
    if (!launcher_) return;
    launcher_->shutdown();
    EXPECT_TRUE(run_until([this] { return down_; }));
    for (const auto& [rank, seen] : seen_) EXPECT_FALSE(seen.pid != 0 && is_alive(seen.pid));
  }

  void start(LocalLauncherConfig config) {
    config.log_directory = directory_.path();
    launcher_ = std::make_unique<LocalLauncher>(io_, std::move(config), *this);
    const Status started = launcher_->start();
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  void start() { start({.prted_path = TIDE_FAKE_PRTED}); }
  void launch(std::uint32_t rank, const std::string& node, std::string script) {
    inside_call_ = true;
    launcher_->launch({LaunchItem{Rank(rank), node, std::move(script)}});
    inside_call_ = false;
  }
  bool run_until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      io_.run_one_for(std::chrono::milliseconds(20));
      io_.restart();
    }
    return true;
  }
  bool run_until_started(std::uint32_t rank) {
    return run_until([&] { return seen(rank).pid != 0; });
  }
  bool run_until_exited(std::uint32_t rank) {
    return run_until([&] { return seen(rank).exited.has_value(); });
  }
  Seen& seen(std::uint32_t rank) { return seen_[Rank(rank)]; }
  pid_t warden_of(pid_t daemon) {
    const auto stat =
        exec::parse_process_stat(read_text("/proc/" + std::to_string(daemon) + "/stat"));
    return stat ? stat->parent : 0;
  }

  TemporaryDirectory directory_;
  asio::io_context io_;
  std::unique_ptr<LocalLauncher> launcher_;
  std::map<Rank, Seen> seen_;
  std::optional<std::string> lost_;
  bool down_ = false;
  bool inside_call_ = false;
};

TEST_F(LocalLauncherTest, DaemonsAreStartedAndEndedOneByOne) {
  start();
  for (std::uint32_t rank = 1; rank <= 8; ++rank) {
    launch(rank, "v" + std::to_string(rank), "exec sleep 1000");
  }
  for (std::uint32_t rank = 1; rank <= 8; ++rank) ASSERT_TRUE(run_until_started(rank));
  launcher_->end(Rank(3));
  ASSERT_TRUE(run_until_exited(3));
  EXPECT_EQ(seen(3).exited, "signal 15 (SIGTERM)");
  EXPECT_FALSE(seen(4).exited);
  for (std::uint32_t rank = 1; rank <= 8; ++rank) launcher_->end(Rank(rank));
  for (std::uint32_t rank = 1; rank <= 8; ++rank) ASSERT_TRUE(run_until_exited(rank));
}

// row:L17
TEST_F(LocalLauncherTest, ADaemonThatEndsIsReportedWithItsLastWords) {
  write_text(directory_.file("v1.log"), "an earlier life\n");
  start();
  launch(1, "v1", "echo first; echo 'prted: cannot do it' >&2; exit 3");
  launch(2, "v2", "exit 0");
  ASSERT_TRUE(run_until_exited(1));
  EXPECT_EQ(seen(1).exited, "exit status 3, its last words:\n    first\n    prted: cannot do it");
  ASSERT_TRUE(run_until_exited(2));
  EXPECT_EQ(seen(2).exited, "exit status 0");
}

TEST_F(LocalLauncherTest, ExtraArgumentsAndLongBlobsReachTheDaemon) {
  start({.prted_path = TIDE_FAKE_PRTED, .extra_args = {"--debug", "two words"}});
  launch(1, "v1", std::string(exec::kMaxBlobBytes, 'x'));
  ASSERT_TRUE(run_until_exited(1));
  EXPECT_EQ(read_text(directory_.file("v1.log")),
            "extra --debug\nextra two words\na blob of 1048576 bytes\n");
}

TEST_F(LocalLauncherTest, WhatCannotBeLaunchedIsReported) {
  start();
  launch(1, "../escape", "exit 0");
  launch(2, "v2", std::string(exec::kMaxBlobBytes + 1, 'x'));
  ASSERT_TRUE(run_until([this] { return seen(1).failed && seen(2).failed; }));
  EXPECT_THAT(*seen(1).failed, HasSubstr("'../escape' cannot be the name of a node"));
  std::filesystem::create_directory(directory_.file("v3.log"));
  launch(3, "v3", "exit 0");
  ASSERT_TRUE(run_until([this] { return seen(3).failed.has_value(); }));
  EXPECT_THAT(*seen(3).failed, HasSubstr("cannot open its log"));
}

TEST_F(LocalLauncherTest, ADeafDaemonDoesNotDelayTheOthers) {
  start();
  launch(1, "deaf", std::string(exec::kMaxBlobBytes, 'x'));
  launch(2, "v2", "exit 5");
  ASSERT_TRUE(run_until_exited(2));
  EXPECT_FALSE(seen(1).exited);
}

TEST_F(LocalLauncherTest, AMissingProgramIsTheStartsError) {
  LocalLauncher launcher(io_, {.prted_path = "/no/such/prted", .log_directory = directory_.path()},
                         *this);
  const Status status = launcher.start();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              ::testing::HasSubstr("cannot start '/no/such/prted': No such file or directory"));
}

TEST_F(LocalLauncherTest, ALostWardenIsReportedOnceAndItsDaemonsEnd) {
  start();
  launch(1, "v1", "exec sleep 1000");
  ASSERT_TRUE(run_until_started(1));
  ::kill(warden_of(seen(1).pid), SIGKILL);
  ASSERT_TRUE(run_until([this] { return lost_.has_value(); }));
  EXPECT_EQ(lost_, "the warden ended with signal 9 (SIGKILL)");
  EXPECT_TRUE(run_until([this] { return !is_alive(seen(1).pid); }));
  launch(2, "v2", "exit 0");
  ASSERT_TRUE(run_until([this] { return seen(2).failed.has_value(); }));
  EXPECT_EQ(seen(2).failed, "the warden is gone");
}

TEST_F(LocalLauncherTest, OneThatIsEndedBeforeItsLaunchIsReportedAndNeverLaunched) {
  start();
  inside_call_ = true;
  launcher_->end(Rank(1));
  launcher_->end(Rank(1));
  inside_call_ = false;
  ASSERT_TRUE(run_until_exited(1));
  EXPECT_EQ(seen(1).exited, "it does not run");
  launch(1, "v1", "exit 0");
  ASSERT_TRUE(run_until([this] { return seen(1).failed.has_value(); }));
  EXPECT_EQ(seen(1).failed, "it was ended before its start");
  EXPECT_EQ(seen(1).pid, 0);
}

// row:L17
TEST_F(LocalLauncherTest, WhatALostWardenLeavesIsEndedByUs) {
  start({.prted_path = TIDE_FAKE_PRTED, .end_grace_ms = 300});
  launch(
      1, "v1",
      "trap '' TERM; echo $$ > " + directory_.file("stubborn") + "; while :; do sleep 0.01; done");
  launch(2, "v2",
         "setsid sh -c 'echo $$ > " + directory_.file("runaway") +
             "; exec sleep 1000' & exec sleep 1000");
  launch(3, "v3", "exec sleep 1000");
  for (std::uint32_t rank = 1; rank <= 3; ++rank) ASSERT_TRUE(run_until_started(rank));
  ASSERT_NE(pid_in(directory_.file("stubborn")), 0);
  const pid_t runaway = pid_in(directory_.file("runaway"));
  ASSERT_NE(runaway, 0);
  ASSERT_EQ(::kill(seen(3).pid, SIGSTOP), 0);
  ::kill(warden_of(seen(1).pid), SIGKILL);
  ASSERT_TRUE(run_until([this] { return lost_.has_value(); }));
  launcher_->shutdown();
  ASSERT_TRUE(run_until([this] { return down_; }));
  for (const pid_t pid : {seen(1).pid, seen(2).pid, seen(3).pid, runaway}) {
    EXPECT_NE(::kill(pid, 0), 0) << pid;
  }
}

// row:L17
TEST_F(LocalLauncherTest, WithoutTheLauncherNothingIsLeft) {
  start();
  launch(
      1, "v1",
      "setsid sh -c 'echo $$ > " + directory_.file("pid") + "; exec sleep 1000' & exec sleep 1000");
  ASSERT_TRUE(run_until_started(1));
  const pid_t runaway = pid_in(directory_.file("pid"));
  ASSERT_NE(runaway, 0);
  const pid_t warden = warden_of(seen(1).pid);
  launcher_.reset();  // as if the head had died
  EXPECT_TRUE(exec::testing::eventually(
      [&] { return !is_alive(seen(1).pid) && !is_alive(runaway) && !is_alive(warden); }));
  ::waitpid(warden, nullptr, 0);
}

TEST_F(LocalLauncherTest, DescriptorsStayFlat) {
  start();
  launch(1, "v1", "exit 0");
  ASSERT_TRUE(run_until_exited(1));
  const std::size_t before = open_descriptors();
  for (std::uint32_t rank = 2; rank < 30; ++rank) {
    launch(rank, "v1", "exit 0");
    ASSERT_TRUE(run_until_exited(rank));
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(LocalLauncherTest, TheBlobIsInNoArgumentListAndNoLog) {
  start();
  launch(1, "deaf", "a-very-secret-word");
  ASSERT_TRUE(run_until_started(1));
  const std::string command = read_text("/proc/" + std::to_string(seen(1).pid) + "/cmdline");
  const std::string environment = read_text("/proc/" + std::to_string(seen(1).pid) + "/environ");
  EXPECT_EQ(command.find("secret"), std::string::npos);
  EXPECT_EQ(environment.find("a-very-secret-word"), std::string::npos);
  EXPECT_EQ(read_text(directory_.file("deaf.log")), "");
  EXPECT_EQ(read_text(directory_.file("warden.log")), "");
}

}  // namespace
}  // namespace tide::launch
