// A shell script plays the agent and everything behind it: it runs the script that is called like
// the host.
#include "launch/ssh_launcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exec/test_support.hpp"

namespace tide::launch {
namespace {

using exec::testing::eventually;
using exec::testing::is_alive;
using exec::testing::open_descriptors;
using exec::testing::pid_in;
using exec::testing::read_text;
using exec::testing::TemporaryDirectory;
using exec::testing::write_text;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Seen {
  pid_t pid = 0;
  std::optional<std::string> failed;
  std::optional<std::string> exited;
  std::string output;
};

class SshLauncherTest : public ::testing::Test, public LaunchHandler {
 protected:
  void on_daemon_started(Rank rank, pid_t pid) override { seen_[rank].pid = pid; }
  void on_daemon_launch_failed(Rank rank, std::string text) override {
    EXPECT_FALSE(inside_call_);
    EXPECT_FALSE(seen_[rank].failed);
    seen_[rank].failed = std::move(text);
  }
  void on_daemon_exited(Rank rank, std::string text) override {
    EXPECT_FALSE(inside_call_);
    EXPECT_FALSE(seen_[rank].exited);
    seen_[rank].exited = std::move(text);
  }
  void on_daemon_output(Rank rank, std::string_view text) override { seen_[rank].output += text; }
  void on_daemon_leaves(Rank) override { FAIL(); }
  void on_step_lost(const std::string&) override { FAIL(); }
  void on_warden_lost(std::string) override { FAIL(); }
  void on_shutdown_done() override { down_ = true; }

  void SetUp() override {
    write_text(folder_.file("agent"), "#!/bin/sh\ncd " + folder_.path() +
                                          "\nwhile [ $# -gt 2 ]; do shift; done\n"
                                          "host=$1 command=$2\n"
                                          "greet() { printf '" +
                                          greeting_line() +
                                          "'; }\n"
                                          "join() { greet; head -c 9 >$host.blob; "
                                          "echo tide-daemon-joined 4711; }\n"
                                          ". ./$host\n");
    ASSERT_EQ(::chmod(folder_.file("agent").c_str(), 0755), 0);
  }
  void TearDown() override {
    if (!launcher_) return;
    launcher_->shutdown();
    EXPECT_TRUE(run_until([this] { return down_; }));
  }

  static std::string greeting_line() {
    return "\\ntide-daemon-at-your-service " + std::to_string(kRemoteProtocol) + " 0.1\\n";
  }
  void start(SshLauncherConfig config) {
    config.agent.agents = folder_.file("agent");
    config.command = "exec prted --remote";
    config.version = "0.2";
    launcher_ = std::make_unique<SshLauncher>(io_, std::move(config), *this);
    const Status started = launcher_->start();
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  void start() { start({}); }
  void launch(std::uint32_t rank, const std::string& host, const std::string& script,
              std::string user = "") {
    write_text(folder_.file(host), script + "\n");
    inside_call_ = true;
    launcher_->launch({LaunchItem{Rank(rank), host, "BLOB5", host, std::move(user)}});
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
  bool run_until_failed(std::uint32_t rank) {
    return run_until([&] { return seen(rank).failed.has_value(); });
  }
  bool run_until_joined(std::uint32_t rank) {
    return run_until([&] { return seen(rank).pid != 0; });
  }
  bool run_until_gone(pid_t pid) {
    return run_until([&] { return !is_alive(pid); });
  }
  pid_t running_pid(const std::string& file) {
    EXPECT_TRUE(run_until([&] { return read_text(folder_.file(file)).ends_with('\n'); }));
    return pid_in(folder_.file(file));
  }
  Seen& seen(std::uint32_t rank) { return seen_[Rank(rank)]; }

  TemporaryDirectory folder_;
  asio::io_context io_;
  std::unique_ptr<SshLauncher> launcher_;
  std::map<Rank, Seen> seen_;
  bool down_ = false;
  bool inside_call_ = false;
};

TEST_F(SshLauncherTest, ADaemonGetsItsBlobJoinsAndGoesOnAlone) {
  start();
  launch(1, "n1", "echo noise; join; echo $$ > pid");
  ASSERT_TRUE(run_until_joined(1));
  EXPECT_EQ(seen(1).pid, 4711);
  EXPECT_EQ(read_text(folder_.file("n1.blob")), std::string("\0\0\0\5BLOB5", 9));
  ASSERT_TRUE(run_until_gone(running_pid("pid")));
  EXPECT_FALSE(seen(1).exited || seen(1).failed);
  inside_call_ = true;
  launcher_->end(Rank(1));
  inside_call_ = false;
  EXPECT_TRUE(run_until([this] { return seen(1).exited.has_value(); }));
}

TEST_F(SshLauncherTest, TheAgentIsToldHostUserAndCommandAndNoSecret) {
  start({.agent = {.args = "-v"}});
  write_text(folder_.file("agent"), "#!/bin/sh\necho \"$@\" >&2; env >&2; exit 9\n");
  launch(1, "n1", "", "ann");
  ASSERT_TRUE(run_until_failed(1));
  EXPECT_THAT(*seen(1).failed, ::testing::Not(HasSubstr("BLOB5")));
  write_text(folder_.file("agent"), "#!/bin/sh\necho \"$@\" >&2; exit 9\n");
  launch(2, "n2", "", "ann");
  ASSERT_TRUE(run_until_failed(2));
  EXPECT_EQ(*seen(2).failed,
            "agent ann@n2 ended with exit status 9 and without a word from prted\n"
            "    -v -l ann n2 exec prted --remote\n"
            "  try: by hand: " +
                folder_.file("agent") + " -v ann@n2 'exec prted --remote'");
}

TEST_F(SshLauncherTest, EachFailureHasItsNameAndItsWords) {
  start();
  launch(1, "n1",
         "echo \"ssh: Could not resolve hostname $host: Name or service not known\" >&2\nexit 255");
  launch(2, "n2", "exec /no/such/prted");
  launch(3, "n3", "greet; head -c 9 >/dev/null; echo 'prted: no memory' >&2; exit 71");
  launch(4, "n4", "printf '\\ntide-daemon-at-your-service 99 7.0\\n'; exec sleep 1000");
  for (std::uint32_t rank = 1; rank <= 4; ++rank) ASSERT_TRUE(run_until_failed(rank));
  EXPECT_THAT(*seen(1).failed, StartsWith("no machine of the name n1 is known\n    ssh: Could"));
  EXPECT_THAT(*seen(2).failed, StartsWith("n2 has no prted, or can't run it"));
  EXPECT_THAT(*seen(2).failed, HasSubstr("/no/such/prted"));
  EXPECT_THAT(*seen(3).failed, StartsWith("the daemon was started on n3 and did not come up (exit "
                                          "status 71)\n    prted: no memory\n  try: "));
  EXPECT_THAT(*seen(4).failed, StartsWith("prted on n4 is of version 7.0, this is version 0.2"));
}

TEST_F(SshLauncherTest, AnAgentMayBeMissingWhereNobodyNeedsItYet) {
  SshLauncherConfig config;
  config.agent.agents = "/no/such/agent";
  launcher_ = std::make_unique<SshLauncher>(io_, config, *this);
  EXPECT_FALSE(launcher_->start());
  config.may_lack_agent = true;
  launcher_ = std::make_unique<SshLauncher>(io_, config, *this);
  EXPECT_TRUE(launcher_->start());
  launch(1, "n1", "exit 0");
  ASSERT_TRUE(run_until_failed(1));
  EXPECT_THAT(*seen(1).failed, HasSubstr("/no/such/agent"));
}

TEST_F(SshLauncherTest, TheLastWordsAreKnownAlsoIfTheEndIsNoticedWhileTheyAreRead) {
  start();
  launch(1, "n1",
         "echo $$ > pid; head -c 5000 /dev/zero | tr '\\0' . >&2; echo >&2; echo woe >&2; exit 9");
  ASSERT_TRUE(eventually([&] { return read_text(folder_.file("pid")).ends_with('\n'); }));
  const pid_t agent = pid_in(folder_.file("pid"));
  ASSERT_TRUE(eventually([&] { return !is_alive(agent); }));
  ASSERT_TRUE(run_until_failed(1));
  EXPECT_THAT(*seen(1).failed, HasSubstr("\n    woe\n"));
}

TEST_F(SshLauncherTest, AnAgentThatDoesNotAnswerIsEndedWithAllThatItStarted) {
  start({.agent = {.timeout_ms = 300}});
  launch(1, "n1", "trap '' TERM; sleep 1000 & echo $! > child; echo $$ > pid; wait; sleep 1000");
  launch(2, "n2", "greet; exec sleep 1000");
  const pid_t agent = running_pid("pid");
  const pid_t child = running_pid("child");
  ASSERT_TRUE(run_until_failed(1));
  ASSERT_TRUE(run_until_failed(2));
  EXPECT_THAT(*seen(1).failed, StartsWith("no answer from n1 within 300 ms"));
  EXPECT_THAT(*seen(2).failed, StartsWith("no answer from n2 within 600 ms"))
      << "the other side is to keep the limit itself, and to say why";
  EXPECT_FALSE(is_alive(agent));
  EXPECT_TRUE(run_until_gone(child));
}

TEST_F(SshLauncherTest, AnAgentThatGivesUpByItselfIsToldWithTheTimeItTook) {
  start();
  launch(1, "n1", "echo 'ssh: connect to host n1 port 22: Connection timed out' >&2; exit 255");
  ASSERT_TRUE(run_until_failed(1));
  EXPECT_THAT(*seen(1).failed, StartsWith("no answer from n1 within 1 s\n"));
  EXPECT_THAT(*seen(1).failed, HasSubstr("plm_ssh_timeout 61s"));
}

TEST_F(SshLauncherTest, AnAgentThatStaysWhenTheDaemonHasJoinedIsEnded) {
  start({.agent = {.timeout_ms = 300}});
  launch(1, "n1", "join; echo $$ > pid; exec sleep 1000");
  ASSERT_TRUE(run_until_joined(1));
  ASSERT_TRUE(run_until_gone(running_pid("pid")));
  EXPECT_FALSE(seen(1).exited || seen(1).failed);
}

TEST_F(SshLauncherTest, OnlySoManyAreUnderWayAtOnce) {
  start({.concurrent = 3});
  for (std::uint32_t rank = 1; rank <= 12; ++rank) {
    launch(
        rank, "n" + std::to_string(rank),
        "echo > running.$host; ls running.* | wc -l >> counts; sleep 0.05; rm running.$host; join");
  }
  for (std::uint32_t rank = 1; rank <= 12; ++rank) ASSERT_TRUE(run_until_joined(rank));
  const std::string counts = read_text(folder_.file("counts"));
  EXPECT_THAT(counts, HasSubstr("3\n"));
  for (const char* more : {"4", "5", "6", "7", "8", "9", "10", "11"}) {
    EXPECT_THAT(counts, ::testing::Not(HasSubstr(more)));
  }
}

TEST_F(SshLauncherTest, WhoIsEndedIsReportedOnce) {
  start({.concurrent = 1});
  launch(1, "n1", "echo $$ > pid; exec sleep 1000");
  launch(2, "n2", "join");
  const pid_t agent = running_pid("pid");
  inside_call_ = true;
  for (const std::uint32_t rank : {1U, 1U, 2U, 2U, 3U}) launcher_->end(Rank(rank));
  inside_call_ = false;
  ASSERT_TRUE(run_until([this] { return seen(1).exited && seen(2).exited && seen(3).exited; }));
  EXPECT_FALSE(is_alive(agent));
  launch(3, "n3", "join");
  ASSERT_TRUE(run_until_failed(3));
  EXPECT_EQ(seen(2).pid, 0);
}

// row:C3
TEST_F(SshLauncherTest, ItsEndIsToldWhenTheOtherSideHasEndedWhatItStarted) {
  start();
  launch(1, "n1",
         "trap 'echo killed > how; exit 9' TERM; greet; head -c 9 > blob; echo $$ > pid; "
         "cat > /dev/null; sleep 0.3; echo ended > how; exit 71");
  running_pid("pid");
  launcher_->end(Rank(1));
  ASSERT_TRUE(run_until([this] { return seen(1).exited.has_value(); }));
  EXPECT_EQ(read_text(folder_.file("how")), "ended\n");
}

TEST_F(SshLauncherTest, ASessionThatStaysHasTheOutputAndTellsTheEnd) {
  start({.concurrent = 1, .attached = true});
  launch(1, "n1", "echo early >&2; join; echo late >&2; read line; exit 3");
  launch(2, "n2", "join; read line");
  ASSERT_TRUE(run_until_joined(1));
  ASSERT_TRUE(run_until_joined(2));  // a session that stays holds up nobody
  ASSERT_TRUE(run_until([this] { return seen(1).output == "early\nlate\n"; }));
  launcher_->end(Rank(1));
  ASSERT_TRUE(run_until([this] { return seen(1).exited.has_value(); }));
  EXPECT_FALSE(seen(2).exited);
}

TEST_F(SshLauncherTest, NothingIsLeftOfTheLauncher) {
  start();
  launch(1, "n1", "echo $$ > one; exec sleep 1000");
  launch(2, "n2", "greet; echo $$ > two; cat > /dev/null; echo end > lifeline; exec sleep 1000");
  const pid_t one = running_pid("one");
  const pid_t two = running_pid("two");
  launcher_.reset();  // as if its program had died
  EXPECT_TRUE(run_until_gone(one));
  EXPECT_TRUE(run_until_gone(two));
}

TEST_F(SshLauncherTest, WhatCannotBeAHostIsNotGivenToTheAgent) {
  start();
  launcher_->launch({LaunchItem{Rank(1), "x", "BLOB5", "-oProxyCommand=x"}});
  ASSERT_TRUE(run_until_failed(1));
  EXPECT_THAT(*seen(1).failed, HasSubstr("can't be the name of a host"));
}

TEST_F(SshLauncherTest, AMissingAgentIsTheStartsError) {
  SshLauncher launcher(io_, {.agent = {.agents = "/no/such/ssh"}}, *this);
  const Status status = launcher.start();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("'/no/such/ssh'"));
}

TEST_F(SshLauncherTest, AnotherOneMayReapTheAgents) {
  std::map<pid_t, std::function<void(int)>> watched;
  start({.watch_child = [&](pid_t pid, std::function<void(int)> ended) {
    watched.emplace(pid, std::move(ended));
  }});
  launch(1, "n1", "exit 4");
  ASSERT_EQ(watched.size(), 1U);
  int status = 0;
  ASSERT_EQ(::waitpid(watched.begin()->first, &status, 0), watched.begin()->first);
  EXPECT_FALSE(seen(1).failed);
  watched.begin()->second(status);
  ASSERT_TRUE(run_until_failed(1));
  EXPECT_THAT(*seen(1).failed, HasSubstr("exit status 4"));
}

TEST_F(SshLauncherTest, DescriptorsStayFlat) {
  start();
  launch(1, "n1", "join");
  ASSERT_TRUE(run_until_joined(1));
  launch(2, "n2", "exit 1");
  ASSERT_TRUE(run_until_failed(2));
  const std::size_t before = open_descriptors();
  for (std::uint32_t rank = 3; rank < 30; ++rank) {
    launch(rank, "n" + std::to_string(rank), "exit 1");
    ASSERT_TRUE(run_until_failed(rank));
  }
  EXPECT_LE(open_descriptors(), before);
}

}  // namespace
}  // namespace tide::launch
