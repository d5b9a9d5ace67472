// Each scheduler's command is played by a script that behaves as its documentation says, and starts
// what it is given on this machine.
#include "launch/scheduler_templates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
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

#include "exec/test_support.hpp"
#include "launch/step_launcher.hpp"
#include "wire/link.pb.h"

namespace tide::launch {
namespace {

using exec::testing::read_text;
using exec::testing::TemporaryDirectory;
using exec::testing::write_text;
using ::testing::HasSubstr;

// Options until the first word that is none; those with a value apart are in `$valued`.
constexpr const char* kSkipOptions = R"(
while :; do
  case " $valued " in *" $1 "*) shift 2; continue;; esac
  case $1 in -*) shift;; *) break;; esac
done
)";

// All of standard input to each, as it comes; lines are labelled.
constexpr const char* kBroadcast = R"(
to_all() {
  n=0; pipes=
  for machine in $machines; do
    mkfifo "in.$n"; pipes="$pipes in.$n"
    (FAKE_MACHINE=$machine "$@" < "in.$n" 2>&1 | sed -u "s/^/$n: /") &
    n=$((n + 1))
  done
  tee -p $pipes > /dev/null
  wait
}
)";

struct Seen {
  pid_t pid = 0;
  std::optional<std::string> failed;
  std::optional<std::string> exited;
};

class SchedulerTemplatesTest : public ::testing::Test, public LaunchHandler {
 protected:
  void on_daemon_started(Rank rank, pid_t pid) override { seen_[rank].pid = pid; }
  void on_daemon_launch_failed(Rank rank, std::string text) override {
    seen_[rank].failed = std::move(text);
  }
  void on_daemon_exited(Rank rank, std::string text) override {
    seen_[rank].exited = std::move(text);
  }
  void on_daemon_leaves(Rank) override { FAIL(); }
  void on_step_lost(const std::string&) override { FAIL(); }
  void on_daemon_output(Rank, std::string_view) override { FAIL(); }
  void on_warden_lost(std::string) override { FAIL(); }
  void on_shutdown_done() override { down_ = true; }

  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    config_.command.program = {TIDE_FAKE_PRTED, "--step"};
  }
  void TearDown() override {
    if (!launcher_) return;
    launcher_->shutdown();
    EXPECT_TRUE(run_until([this] { return down_; }));
  }
  void install(const std::string& name, const std::string& script) {
    const std::string path = folder_.file(name);
    write_text(path, "#!/bin/bash\ncd " + folder_.path() + "\necho \"$@\" >> calls\n" + script);
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  }
  // The command of the table, but at our place.
  void start_launcher(const std::string& manager, std::size_t concurrent = 128) {
    config_.command.pattern = *template_of(manager);
    config_.command.pattern.line = folder_.path() + "/" + config_.command.pattern.line;
    config_.concurrent = concurrent;
    launcher_ = std::make_unique<StepLauncher>(io_, config_, *this);
    const Status started = launcher_->start();
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  void launch(const std::vector<std::string>& hosts, const std::string& job) {
    std::vector<LaunchItem> items;
    for (const auto& host : hosts) {
      const auto rank = static_cast<std::uint32_t>(items.size() + 1);
      wire::DaemonBlob blob;
      blob.set_key("SECRET");
      blob.set_rank(rank);
      blob.set_node("n" + std::to_string(rank));
      items.push_back(LaunchItem{.rank = Rank(rank),
                                 .node = blob.node(),
                                 .blob = blob.SerializeAsString(),
                                 .host = host,
                                 .user = "",
                                 .in_step = true,
                                 .job = job});
    }
    count_ = items.size();
    launcher_->launch(std::move(items));
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
  bool run_until_all_joined() {
    return run_until([this] {
      std::size_t joined = 0;
      for (const auto& [rank, seen] : seen_) joined += seen.pid != 0 ? 1 : 0;
      return joined == count_;
    });
  }
  // One is ended alone, then all others.
  void expect_ends() {
    launcher_->end(Rank(2));
    ASSERT_TRUE(run_until([this] { return seen_[Rank(2)].exited.has_value(); }));
    for (const auto& [rank, seen] : seen_) EXPECT_EQ(rank == Rank(2), seen.exited.has_value());
    for (std::size_t i = 1; i <= count_; ++i) launcher_->end(Rank(static_cast<std::uint32_t>(i)));
    ASSERT_TRUE(run_until([this] {
      return std::ranges::all_of(seen_,
                                 [](const auto& one) { return one.second.exited.has_value(); });
    }));
  }
  std::string calls() { return read_text(folder_.file("calls")); }
  std::string told(const std::string& machine) { return read_text(folder_.file(machine)); }

  TemporaryDirectory folder_;
  asio::io_context io_;
  StepLauncherConfig config_;
  std::unique_ptr<StepLauncher> launcher_;
  std::map<Rank, Seen> seen_;
  std::size_t count_ = 0;
  bool down_ = false;
};

TEST_F(SchedulerTemplatesTest, SlurmStartsOneTaskOnEachNodeOfTheList) {
  install("srun", std::string(kBroadcast) + R"(
for word; do case $word in --nodelist=*) list=${word#*=};; esac; done
machines=$(eval echo $(echo "$list" | sed 's/\[\([0-9]*\)-\([0-9]*\)\]/{\1..\2}/'))
while [ "${1#--}" != "$1" ]; do shift; done
to_all "$@"
)");
  start_launcher("slurm");
  launch({"m1", "m2", "m3"}, "17");
  ASSERT_TRUE(run_until_all_joined());
  EXPECT_THAT(calls(), HasSubstr("--jobid=17 --nodes=3 --ntasks=3 "));
  expect_ends();
  EXPECT_EQ(told("m2"), "n2 SECRET ordered\n");
}

// flux-exec(1): one copy for each broker, standard input to all, labels with --label-io.
TEST_F(SchedulerTemplatesTest, FluxStartsOneOnEachBrokerAndThoseThatAreNotMeantLeave) {
  install("flux", "shift\nvalued=\n" + std::string(kSkipOptions) + kBroadcast +
                      "machines='m1 m2 m3 other'\nto_all \"$@\"\n");
  start_launcher("flux");
  launch({"m1", "m2", "m3"}, "");
  ASSERT_TRUE(run_until_all_joined());
  EXPECT_THAT(calls(), HasSubstr("exec --label-io " + std::string(TIDE_FAKE_PRTED) + " --step\n"));
  expect_ends();
  EXPECT_EQ(told("m3").substr(0, 10), "n3 SECRET ");
  EXPECT_EQ(told("other"), "");
}

TEST_F(SchedulerTemplatesTest, FluxIsToldOfItsJob) {
  install("flux", "cat > /dev/null");
  start_launcher("flux");
  launch({"m1"}, "ƒ2Hd3");
  ASSERT_TRUE(run_until([this] { return !calls().empty(); }));
  EXPECT_THAT(calls(), HasSubstr("exec --jobid=ƒ2Hd3 --label-io "));
}

// blaunch(1): as rsh, with the streams of the task.
TEST_F(SchedulerTemplatesTest, LsfHasACommandForEachHost) {
  install("blaunch", "valued=\n" + std::string(kSkipOptions) +
                         "export FAKE_MACHINE=task.$1\nshift\nexec \"$@\"\n");
  start_launcher("lsf");
  launch({"m1", "m2", "m3"}, "4711");
  ASSERT_TRUE(run_until_all_joined());
  for (const char* host : {"m1 ", "m2 ", "m3 "}) EXPECT_THAT(calls(), HasSubstr(host));
  expect_ends();
  EXPECT_EQ(told("task.m3").substr(0, 10), "n3 SECRET ") << "whatever its machine is called";
}

// qrsh(1): with -inherit the next word is the host; input is passed on but with -nostdin.
TEST_F(SchedulerTemplatesTest, GridEngineHasACommandForEachHost) {
  install("qrsh",
          "[ \"$1 $2\" = '-inherit -V' ] || exit 3\nFAKE_MACHINE=$3\nexport FAKE_MACHINE\n"
          "shift 3\nexec \"$@\"\n");
  start_launcher("gridengine");
  launch({"m1", "m2"}, "4711");
  ASSERT_TRUE(run_until_all_joined());
  expect_ends();
  EXPECT_EQ(told("m1").substr(0, 10), "n1 SECRET ");
}

TEST_F(SchedulerTemplatesTest, PalsHasACommandForEachHost) {
  install("mpiexec",
          "[ \"$*\" = \"-n 1 --ppn 1 --hosts $6 $7 $8\" ] || exit 3\n"
          "FAKE_MACHINE=$6\nexport FAKE_MACHINE\nshift 6\nexec \"$@\"\n");
  start_launcher("pals");
  launch({"m1", "m2"}, "4711");
  ASSERT_TRUE(run_until_all_joined());
  expect_ends();
  EXPECT_EQ(told("m2"), "n2 SECRET ordered\n");
}

TEST_F(SchedulerTemplatesTest, OnlySoManyCommandsForOneHostAreUnderWayAtOnce) {
  install("blaunch",
          "echo > running.$1; ls running.* | wc -l >> counts; sleep 0.05\n"
          "rm running.$1\nshift\nexec \"$@\"\n");
  start_launcher("lsf", 2);
  launch({"m1", "m2", "m3", "m4", "m5"}, "");
  launcher_->end(Rank(5));
  ASSERT_TRUE(run_until([this] { return seen_[Rank(5)].exited.has_value(); }));
  count_ = 4;
  ASSERT_TRUE(run_until_all_joined());
  EXPECT_EQ(seen_[Rank(5)].pid, 0);
  EXPECT_THAT(read_text(folder_.file("counts")), HasSubstr("2\n"));
  for (const char* more : {"3", "4", "5"}) {
    EXPECT_THAT(read_text(folder_.file("counts")), ::testing::Not(HasSubstr(more)));
  }
}

TEST_F(SchedulerTemplatesTest, OneHostThatIsNotReachedIsNamedWithTheWordsOfItsCommand) {
  install("blaunch",
          "[ $1 = m2 ] && { echo 'm2: host is not in the job' >&2; exit 255; }\n"
          "shift\nexec \"$@\"\n");
  start_launcher("lsf");
  launch({"m1", "m2"}, "4711");
  ASSERT_TRUE(run_until([this] { return seen_[Rank(2)].failed && seen_[Rank(1)].pid != 0; }));
  EXPECT_EQ(*seen_[Rank(2)].failed,
            "blaunch of job 4711 ended with exit status 255 before m2 was up\n"
            "    m2: host is not in the job\n"
            "  try: by hand: blaunch m2 hostname");
}

}  // namespace
}  // namespace tide::launch
