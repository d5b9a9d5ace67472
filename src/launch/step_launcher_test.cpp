// A shell script plays the scheduler's command and all daemons behind it.
#include "launch/step_launcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <asio/io_context.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exec/test_support.hpp"
#include "launch/remote_session.hpp"
#include "wire/link.pb.h"

namespace tide::launch {
namespace {

using exec::testing::is_alive;
using exec::testing::open_descriptors;
using exec::testing::pid_in;
using exec::testing::read_text;
using exec::testing::TemporaryDirectory;
using exec::testing::write_text;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Seen {
  std::string greeted;
  pid_t pid = 0;
  std::optional<std::string> failed;
  std::optional<std::string> exited;
  bool leaves = false;
};

class StepLauncherTest : public ::testing::Test, public LaunchHandler {
 protected:
  void on_daemon_greeted(Rank rank, const std::string& version) override {
    seen_[rank].greeted = version;
  }
  void on_daemon_started(Rank rank, pid_t pid) override { seen_[rank].pid = pid; }
  void on_daemon_leaves(Rank rank) override { seen_[rank].leaves = true; }
  void on_step_lost(const std::string& text) override { lost_.push_back(text); }
  void on_daemon_launch_failed(Rank rank, std::string text) override {
    EXPECT_FALSE(inside_call_);
    EXPECT_FALSE(seen_[rank].failed || seen_[rank].exited) << rank.value();
    seen_[rank].failed = std::move(text);
  }
  void on_daemon_exited(Rank rank, std::string text) override {
    EXPECT_FALSE(inside_call_);
    EXPECT_FALSE(seen_[rank].failed || seen_[rank].exited) << rank.value();
    seen_[rank].exited = std::move(text);
  }
  void on_daemon_output(Rank, std::string_view) override { FAIL(); }
  void on_warden_lost(std::string) override { FAIL(); }
  void on_shutdown_done() override { down_ = true; }

  // As all programs that start daemons.
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }
  void TearDown() override {
    if (!launcher_) return;
    launcher_->shutdown();
    EXPECT_TRUE(run_until([this] { return down_; }));
  }

  // `up RANK...` is said by daemons that find the head, `blob` takes what they are told.
  void write_command(const std::string& script) {
    write_text(folder_.file("srun"),
               "#!/bin/sh\ncd " + folder_.path() +
                   "\njob=$1 count=$2 hosts=$3\n"
                   "greet() { for r; do echo \"$r: tide-step-greets $r 1 0.1\"; done; }\n"
                   "up() { greet $@; for r; do echo \"$r: tide-step-joined $r 471$r\"; done; }\n" +
                   script + "\n");
    ASSERT_EQ(::chmod(folder_.file("srun").c_str(), 0755), 0);
  }
  StepLauncherConfig config() {
    StepLauncherConfig config;
    config.command = {.pattern = {.line = folder_.file("srun") + " {job} {count} {ranges}",
                                  .try_by_hand = "srun {hosts}"},
                      .args = "",
                      .program = {"/opt/prted", "--step"}};
    config.version = "0.2";
    config.orderly_end_ms = 50;
    return config;
  }
  void start(StepLauncherConfig config) {
    launcher_ = std::make_unique<StepLauncher>(io_, std::move(config), *this);
    const Status started = launcher_->start();
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  void start(const std::string& script) {
    write_command(script);
    start(config());
  }
  LaunchItem item(std::uint32_t rank, const std::string& job = "17") {
    wire::DaemonBlob blob;
    blob.set_dvm_id("dvm");
    blob.set_key("SECRET");
    blob.set_rank(rank);
    blob.set_incarnation(rank + 100);
    blob.set_node("n" + std::to_string(rank));
    return LaunchItem{.rank = Rank(rank),
                      .node = blob.node(),
                      .blob = blob.SerializeAsString(),
                      .host = "node" + std::to_string(rank),
                      .user = "",
                      .in_step = true,
                      .job = job};
  }
  void launch(std::vector<LaunchItem> items) {
    inside_call_ = true;
    launcher_->launch(std::move(items));
    inside_call_ = false;
  }
  void launch(std::uint32_t last_rank) {
    std::vector<LaunchItem> items;
    for (std::uint32_t rank = 1; rank <= last_rank; ++rank) items.push_back(item(rank));
    launch(std::move(items));
  }
  void end(std::uint32_t rank) {
    inside_call_ = true;
    launcher_->end(Rank(rank));
    inside_call_ = false;
  }
  void give_up(std::uint32_t rank) {
    inside_call_ = true;
    launcher_->give_up(Rank(rank));
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
  bool run_until_joined(std::uint32_t rank) {
    return run_until([&] { return seen(rank).pid != 0; });
  }
  bool run_until_failed(std::uint32_t rank) {
    return run_until([&] { return seen(rank).failed.has_value(); });
  }
  bool run_until_exited(std::uint32_t rank) {
    return run_until([&] { return seen(rank).exited.has_value(); });
  }
  bool run_until_written(const std::string& file, const std::string& text) {
    return run_until([&] { return read_text(folder_.file(file)) == text; });
  }
  Seen& seen(std::uint32_t rank) { return seen_[Rank(rank)]; }

  TemporaryDirectory folder_;
  asio::io_context io_;
  std::unique_ptr<StepLauncher> launcher_;
  std::map<Rank, Seen> seen_;
  std::vector<std::string> lost_;  // steps
  bool down_ = false;
  bool inside_call_ = false;
};

TEST_F(StepLauncherTest, OneCommandStartsAllAndStays) {
  start("echo $@ > call; up 1 2 3; echo $$ > pid; cat > input");
  launch(3);
  for (const std::uint32_t rank : {1U, 2U, 3U}) ASSERT_TRUE(run_until_joined(rank));
  EXPECT_EQ(read_text(folder_.file("call")), "17 3 node[1-3] /opt/prted --step\n");
  EXPECT_EQ(seen(2).greeted, "0.1");
  EXPECT_EQ(seen(2).pid, 4712);
  const pid_t command = pid_in(folder_.file("pid"));
  EXPECT_TRUE(is_alive(command));
  launcher_->shutdown();
  ASSERT_TRUE(run_until([this] { return down_; }));
  EXPECT_FALSE(is_alive(command));
  EXPECT_FALSE(seen(1).exited || seen(1).failed) << "nothing is told after the order to end";
}

TEST_F(StepLauncherTest, TheDaemonsAreToldTheSameByStandardInputAlone) {
  start("env > environment; echo $@ >> environment; echo $$ > pid; cat > input");
  auto last = item(3);
  last.host = "node7";
  launch({item(1), item(2), std::move(last)});
  ASSERT_TRUE(run_until([&] { return read_text(folder_.file("input")).size() > 4; }));
  const std::string input = read_text(folder_.file("input"));
  ASSERT_EQ(blob_bytes(input), input.size() - kBlobHeaderBytes);
  wire::StepBlob step;
  ASSERT_TRUE(step.ParseFromString(input.substr(kBlobHeaderBytes)));
  EXPECT_EQ(step.common().key(), "SECRET");
  EXPECT_TRUE(step.common().in_step());
  ASSERT_EQ(step.daemons_size(), 3);
  EXPECT_EQ(step.daemons(2).rank(), 3U);
  EXPECT_EQ(step.daemons(2).incarnation(), 103U);
  EXPECT_EQ(step.daemons(2).node(), "n3");
  EXPECT_EQ(step.daemons(2).host(), "node7");
  EXPECT_THAT(read_text(folder_.file("environment")), Not(HasSubstr("SECRET")));
}

TEST_F(StepLauncherTest, EachJobHasACommandOfItsOwn) {
  start("echo $@ > call.$job; up $((job - 16)); cat > input.$job");
  launch({item(1, "17"), item(2, "18")});
  ASSERT_TRUE(run_until_joined(1));
  ASSERT_TRUE(run_until_joined(2));
  EXPECT_EQ(read_text(folder_.file("call.17")), "17 1 node1 /opt/prted --step\n");
  EXPECT_EQ(read_text(folder_.file("call.18")), "18 1 node2 /opt/prted --step\n");
}

TEST_F(StepLauncherTest, TheJobThatWeRunInDoesNotSteerTheCommand) {
  ::setenv("SLURM_NTASKS", "8", 1);                // NOLINT(concurrency-mt-unsafe)
  ::setenv("SLURM_CONF", "/etc/slurm/x.conf", 1);  // NOLINT(concurrency-mt-unsafe)
  write_command("env > environment.$job; up $((job - 16)); cat > input.$job");
  auto named = config();
  named.names_its_job = true;
  start(named);
  launch({item(1, "17")});
  ASSERT_TRUE(run_until_joined(1));
  EXPECT_THAT(read_text(folder_.file("environment.17")), Not(HasSubstr("SLURM_NTASKS")));
  EXPECT_THAT(read_text(folder_.file("environment.17")), HasSubstr("SLURM_CONF=/etc/slurm/x.conf"));
  start(config());
  ::unsetenv("SLURM_NTASKS");  // NOLINT(concurrency-mt-unsafe)
  ::unsetenv("SLURM_CONF");    // NOLINT(concurrency-mt-unsafe)
  launch({item(2, "18")});
  ASSERT_TRUE(run_until_joined(2));
  EXPECT_THAT(read_text(folder_.file("environment.18")), HasSubstr("SLURM_NTASKS=8\n"))
      << "a command of the user's may want to know its job";
}

// Without the number of one srun would ask for a job of its own, of which nobody knows.
TEST_F(StepLauncherTest, ANodeWhoseJobIsOverFails) {
  write_command("touch called; cat");
  auto named = config();
  named.names_its_job = true;
  start(named);
  launch({item(1, "")});
  ASSERT_TRUE(run_until_failed(1));
  EXPECT_EQ(*seen(1).failed, "the job that node1 was of is over");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("called")));
}

TEST_F(StepLauncherTest, AMissingCommandIsTheStartsErrorUnlessNobodyNeedsIt) {
  auto missing = config();
  missing.command.pattern.line = "/no/such/srun {command}";
  launcher_ = std::make_unique<StepLauncher>(io_, missing, *this);
  const Status status = launcher_->start();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("'/no/such/srun'"));
  missing.may_lack_command = true;
  start(missing);
  launch(1);
  ASSERT_TRUE(run_until_failed(1));
  EXPECT_THAT(*seen(1).failed, HasSubstr("'/no/such/srun'"));
}

TEST_F(StepLauncherTest, WhenTheCommandRefusesAllFailWithItsWords) {
  start(
      "echo 'srun: cluster configuration lacks support for cpu binding' >&2\n"
      "echo 'srun: error: Unable to confirm allocation for job 17: Invalid job id' >&2; exit 1");
  launch(2);
  ASSERT_TRUE(run_until_failed(1));
  ASSERT_TRUE(run_until_failed(2));
  EXPECT_EQ(*seen(2).failed,
            "srun of job 17 ended with exit status 1 before node2 was up\n"
            "    srun: error: Unable to confirm allocation for job 17: Invalid job id\n"
            "  try: by hand: srun node2");
}

TEST_F(StepLauncherTest, WhoIsToldToGoIsHeardOfOnceItIsThere) {
  start(
      "greet 2; echo '2: tide-step-leaves 2'; up 1; echo '1: tide-step-leaves 1'; up 2; cat > "
      "input");
  launch(2);
  ASSERT_TRUE(run_until_joined(2));
  EXPECT_TRUE(seen(1).leaves);
  EXPECT_FALSE(seen(2).leaves || seen(1).exited);
}

TEST_F(StepLauncherTest, OneThatFailsIsNamedWithItsWordsAndTheOthersGoOn) {
  start(
      "up 1 3; echo '1: /opt/prted: error while loading shared libraries: libx.so' >&2\n"
      "echo 'srun: error: node2: task 1: Exited with exit code 127' >&2; cat > input");
  launch(3);
  ASSERT_TRUE(run_until_failed(2));
  EXPECT_THAT(*seen(2).failed, StartsWith("a library that prted needs is missing on node2\n"
                                          "    /opt/prted: error while loading"));
  ASSERT_TRUE(run_until_joined(3));
  EXPECT_FALSE(seen(1).exited || seen(3).exited);
}

TEST_F(StepLauncherTest, WhatADaemonSaysItselfIsToldAtOnce) {
  start(
      "greet 1 2; echo '1: tide-step-says 1 no space left on device'\n"
      "echo '1: tide-step-ended 1 18176'; echo '2: tide-step-joined 2 4712'; cat > input");
  launch(2);
  ASSERT_TRUE(run_until_failed(1));
  EXPECT_THAT(*seen(1).failed,
              StartsWith("the daemon was started on node1 and did not come up (exit status 71)\n"
                         "    no space left on device\n"));
  ASSERT_TRUE(run_until_joined(2));
}

TEST_F(StepLauncherTest, AnotherProtocolIsAnotherVersion) {
  start("echo '1: tide-step-greets 1 99 7.0'; cat > input");
  launch(1);
  ASSERT_TRUE(run_until_failed(1));
  EXPECT_THAT(*seen(1).failed, StartsWith("prted on node1 is of version 7.0, this is version 0.2"));
}

TEST_F(StepLauncherTest, WhoIsNotHeardOfInTimeIsNamedAndToldToEnd) {
  write_command(
      "up 1; head -c $(($(head -c 4 | od -An -tu1 | awk '{print $3*256+$4}'))) > blob;"
      "cat > orders");
  auto quick = config();
  quick.timeout_ms = 300;
  start(quick);
  launch(2);
  ASSERT_TRUE(run_until_failed(2));
  EXPECT_THAT(*seen(2).failed, StartsWith("nothing was heard from node2 within 300 ms\n  try: by "
                                          "hand: srun node2; or more time"));
  EXPECT_TRUE(run_until_written("orders", "end 2\n"));
  EXPECT_TRUE(seen(1).pid != 0 && !seen(1).exited);
}

TEST_F(StepLauncherTest, WhoDoesNotFindTheHeadInTimeIsNamed) {
  write_command("greet 1; cat > input");
  auto quick = config();
  quick.timeout_ms = 300;
  start(quick);
  launch(1);
  ASSERT_TRUE(run_until_failed(1));
  EXPECT_THAT(*seen(1).failed, StartsWith("nothing was heard from node1 within 600 ms"));
}

TEST_F(StepLauncherTest, WhoEndsSaysSoAndTheOthersGoOn) {
  start("up 1 2; echo '1: tide-step-ended 1 9'; cat > input");
  launch(2);
  ASSERT_TRUE(run_until_exited(1));
  EXPECT_EQ(*seen(1).exited, "signal 9 (SIGKILL)");
  EXPECT_FALSE(seen(2).exited);
}

TEST_F(StepLauncherTest, TheEndOfTheCommandIsTheEndOfAll) {
  start("up 1 2; echo 'srun: Force Terminated StepId=17.8' >&2; exit 137");
  launch(3);
  for (const std::uint32_t rank : {1U, 2U}) {
    ASSERT_TRUE(run_until_exited(rank));
    EXPECT_EQ(*seen(rank).exited,
              "srun ended (exit status 137), and all that it had started\n"
              "    srun: Force Terminated StepId=17.8");
  }
  EXPECT_TRUE(run_until_failed(3));
  EXPECT_THAT(lost_, ::testing::SizeIs(1)) << "once for all of them";
}

TEST_F(StepLauncherTest, ACommandThatIsKilledIsNoticed) {
  start("up 1; echo $$ > pid; exec sleep 1000");
  launch(1);
  ASSERT_TRUE(run_until_joined(1));
  ::kill(pid_in(folder_.file("pid")), SIGKILL);
  ASSERT_TRUE(run_until_exited(1));
  EXPECT_THAT(*seen(1).exited, StartsWith("srun ended (signal 9 (SIGKILL))"));
}

TEST_F(StepLauncherTest, OneOfThemIsEndedByAnOrderThatNamesIt) {
  start(
      "greet 1 2; head -c $(($(head -c 4 | od -An -tu1 | awk '{print $3*256+$4}'))) > blob\n"
      "read order; echo $order > order; echo '1: tide-step-ended 1 0'; cat > more");
  launch(2);
  ASSERT_TRUE(run_until([this] { return !seen(2).greeted.empty(); }));
  end(1);
  end(1);
  ASSERT_TRUE(run_until_exited(1));
  EXPECT_EQ(read_text(folder_.file("order")), "end 1\n");
  EXPECT_FALSE(seen(2).exited || seen(2).failed);
  end(1);
  end(7);
  EXPECT_TRUE(run_until_exited(7)) << "one that was never launched";
  launch({item(7)});
  EXPECT_TRUE(run_until([this] { return seen(7).exited.has_value(); }));
}

// srun kills all tasks of the step when it can't bring to one of them what it is to read.
TEST_F(StepLauncherTest, WhoHasEndedIsSentNoOrder) {
  start(
      "up 1 2 3; head -c $(($(head -c 4 | od -An -tu1 | awk '{print $3*256+$4}'))) > blob\n"
      "echo '1: tide-step-ended 1 0'; cat > orders");
  launch(3);
  for (const std::uint32_t rank : {2U, 3U}) ASSERT_TRUE(run_until_joined(rank));
  ASSERT_TRUE(run_until_exited(1));
  end(1);
  end(2);
  EXPECT_TRUE(run_until_written("orders", "end 2\n"));
  EXPECT_FALSE(seen(3).exited);
}

TEST_F(StepLauncherTest, WhileOneDoesNotAnswerNobodyIsSentAnOrder) {
  start(
      "up 1; greet 2 3 4 5\n"
      "head -c $(($(head -c 4 | od -An -tu1 | awk '{print $3*256+$4}'))) > blob\n"
      "read order; echo $order > order; until [ -e given_up ]; do sleep 0.05; done\n"
      "echo '1: tide-step-ended 1 9'; cat > more");
  launch(5);
  ASSERT_TRUE(run_until_joined(1) && run_until([this] { return !seen(5).greeted.empty(); }));
  end(4);
  ASSERT_TRUE(run_until_written("order", "end 4\n"));
  give_up(1);
  end(1);
  end(2);
  write_text(folder_.file("given_up"), "");
  ASSERT_TRUE(run_until_exited(1));
  end(3);
  EXPECT_TRUE(run_until_written("more", "end 3\n"));
}

TEST_F(StepLauncherTest, WhenNobodyIsLeftButWhoDoesNotAnswerTheLifeLineIsCut) {
  start("up 1 2; cat > input; echo cut > how");
  launch(2);
  ASSERT_TRUE(run_until_joined(1) && run_until_joined(2));
  give_up(1);
  give_up(7);
  EXPECT_TRUE(run_until_exited(7)) << "one that was never launched";
  EXPECT_FALSE(seen(1).exited);
  give_up(2);
  EXPECT_TRUE(run_until_exited(1) && run_until_exited(2));
  EXPECT_EQ(read_text(folder_.file("how")), "cut\n");
  EXPECT_TRUE(lost_.empty()) << "nobody is left who could be lost";
}

// row:C3
TEST_F(StepLauncherTest, WhenAllAreToEndTheLifeLineIsCutAndTheirEndsAreTold) {
  start(
      "greet 1 2; cat > input; echo cut > how; echo '1: tide-step-ended 1 0'\n"
      "echo '2: tide-step-ended 2 0'");
  launch(2);
  ASSERT_TRUE(run_until([this] { return !seen(2).greeted.empty(); }));
  end(1);
  EXPECT_EQ(read_text(folder_.file("how")), "");
  end(2);
  ASSERT_TRUE(run_until_exited(1));
  ASSERT_TRUE(run_until_exited(2));
  EXPECT_EQ(read_text(folder_.file("how")), "cut\n");
}

TEST_F(StepLauncherTest, OneThatIsUpIsGivenTimeToEndByItself) {
  write_command("up 1; sleep 0.2; echo '1: tide-step-ended 1 0'; cat > input");
  auto slow = config();
  slow.orderly_end_ms = 600'000;
  start(slow);
  launch(1);
  ASSERT_TRUE(run_until_joined(1));
  end(1);
  ASSERT_TRUE(run_until_exited(1));
  EXPECT_EQ(*seen(1).exited, "exit status 0");
}

TEST_F(StepLauncherTest, ACommandThatDoesNotLeaveIsEnded) {
  start(
      "up 1; echo '1: tide-step-ended 1 0'; echo $$ > pid; trap '' TERM\n"
      "while :; do sleep 0.1; done");
  launch(1);
  ASSERT_TRUE(run_until_exited(1));
  const pid_t command = pid_in(folder_.file("pid"));
  EXPECT_TRUE(run_until([command] { return !is_alive(command); }));
}

// The end of its input would reach those who are just ending, too, and make srun kill the others.
TEST_F(StepLauncherTest, AtTheEndTheLifeLineIsCutOnlyForWhoDoesNotEndByItself) {
  write_command(
      "up 1; (until [ -e go ]; do sleep 0.05; done; kill $$) > /dev/null 2>&1 &\n"
      "cat > input; echo cut > how");
  auto slow = config();
  slow.orderly_end_ms = 60'000;
  start(slow);
  launch(1);
  ASSERT_TRUE(run_until_joined(1));
  launcher_->shutdown();
  write_text(folder_.file("go"), "");
  ASSERT_TRUE(run_until([this] { return down_; }));
  EXPECT_EQ(read_text(folder_.file("how")), "");
}

TEST_F(StepLauncherTest, NothingIsLeftOfTheLauncher) {
  start("up 1; echo $$ > pid; exec sleep 1000");
  launch(1);
  ASSERT_TRUE(run_until_joined(1));
  const pid_t command = pid_in(folder_.file("pid"));
  launcher_.reset();  // as if its program had died
  EXPECT_TRUE(run_until([command] { return !is_alive(command); }));
}

TEST_F(StepLauncherTest, WhatCannotBeAHostComesIntoNoCommand) {
  start("echo > called; cat > input");
  auto bad = item(1);
  bad.host = "--comment=x";
  launch({std::move(bad)});
  ASSERT_TRUE(run_until_failed(1));
  EXPECT_THAT(*seen(1).failed, HasSubstr("can't be the name of a host"));
  launch({item(2, "-v")});
  ASSERT_TRUE(run_until_failed(2));
  EXPECT_THAT(*seen(2).failed, HasSubstr("can't be the id"));
  EXPECT_EQ(read_text(folder_.file("called")), "");
}

TEST_F(StepLauncherTest, AnotherOneMayReapTheCommand) {
  write_command("exit 4");
  std::map<pid_t, std::function<void(int)>> watched;
  auto with_watch = config();
  with_watch.watch_child = [&](pid_t pid, std::function<void(int)> ended) {
    watched.emplace(pid, std::move(ended));
  };
  start(with_watch);
  launch(1);
  ASSERT_EQ(watched.size(), 1U);
  int status = 0;
  ASSERT_EQ(::waitpid(watched.begin()->first, &status, 0), watched.begin()->first);
  EXPECT_FALSE(seen(1).failed);
  watched.begin()->second(status);
  ASSERT_TRUE(run_until_failed(1));
  EXPECT_THAT(*seen(1).failed, HasSubstr("exit status 4"));
}

TEST_F(StepLauncherTest, DescriptorsStayFlat) {
  start("exit 1");
  launch({item(1)});
  ASSERT_TRUE(run_until_failed(1));
  const std::size_t before = open_descriptors();
  for (std::uint32_t rank = 2; rank < 30; ++rank) {
    launch({item(rank)});
    ASSERT_TRUE(run_until_failed(rank));
  }
  EXPECT_LE(open_descriptors(), before);
}

}  // namespace
}  // namespace tide::launch
