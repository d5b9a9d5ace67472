#include "exec/warden.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/run_directory.hpp"
#include "exec/test_support.hpp"
#include "exec/unique_fd.hpp"
#include "exec/warden_protocol.hpp"

namespace tide::exec {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::is_alive;
using testing::pid_in;
using testing::read_text;
using testing::TemporaryDirectory;
using testing::write_text;

constexpr int kReportTimeoutMs = 10'000;
constexpr std::uint32_t kNoGraceMs = 0;
constexpr std::uint32_t kLongGraceMs = 60'000;

class WardenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    control_.reset(ends[0]);
    warden_ = ::fork();
    if (warden_ == 0) {
      control_.reset();
      ::_exit(run_warden(ends[1], run_directory_));
    }
    ::close(ends[1]);
  }
  void TearDown() override {
    control_.reset();
    if (warden_ > 0) {
      EXPECT_EQ(wait_for_warden(), 0);
    }
  }

  int wait_for_warden() {
    int status = -1;
    EXPECT_TRUE(eventually([&] { return ::waitpid(warden_, &status, WNOHANG) == warden_; }));
    warden_ = 0;
    return status;
  }
  void send(const WardenCommand& command) {
    const Secret frame = encode(command);
    std::string_view rest = frame.text();
    while (!rest.empty()) {
      const ssize_t sent = ::send(control_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0);
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  template <class Report>
  Report expect() {
    const auto report = next();
    EXPECT_TRUE(report && std::holds_alternative<Report>(*report));
    return report && std::holds_alternative<Report>(*report) ? std::get<Report>(*report) : Report{};
  }
  std::optional<WardenReport> next() {
    for (;;) {
      pollfd readable{control_.get(), POLLIN, 0};
      if (::poll(&readable, 1, kReportTimeoutMs) != 1) return std::nullopt;
      const auto space = reader_.free_space();
      const ssize_t got = ::recv(control_.get(), space.data(), space.size(), 0);
      if (got <= 0 || !reader_.filled(static_cast<std::size_t>(got))) return std::nullopt;
      if (const auto frame = reader_.take_frame()) {
        auto report = decode_report(frame->text());
        return report ? std::optional(std::move(*report)) : std::nullopt;
      }
    }
  }
  // A shell plays the daemon. Returns its pid.
  pid_t start_daemon(std::uint32_t id, const std::string& script, std::string blob = "") {
    StartDaemon start;
    start.id = id;
    start.argv = {"/bin/sh", "-c", script};
    start.log_path = directory_.file("log");
    start.working_directory = directory_.path();
    start.blob = Secret(std::move(blob));
    send(std::move(start));
    const auto started = expect<Started>();
    EXPECT_EQ(started.id, id);
    return static_cast<pid_t>(started.pid);
  }
  pid_t pid_from(const std::string& name) { return pid_in(directory_.file(name)); }

  TemporaryDirectory directory_;
  UniqueFd control_;
  pid_t warden_ = 0;
  std::string run_directory_;  // set before SetUp()
  WardenFrameReader reader_;
};

TEST_F(WardenTest, ADaemonGetsItsBlobAndItsEndIsReported) {
  start_daemon(1, "cat; echo words >&2; pwd; exit 3", "secret ");
  const auto ended = expect<DaemonEnded>();
  EXPECT_EQ(ended.id, 1U);
  EXPECT_EQ(ended.text, "exit status 3");
  EXPECT_EQ(WEXITSTATUS(ended.wait_status), 3);
  EXPECT_EQ(read_text(directory_.file("log")), "secret words\n" + directory_.path() + "\n");
}

TEST_F(WardenTest, ADaemonThatCannotBeStartedIsReported) {
  StartDaemon start;
  start.id = 5;
  start.argv = {"/no/such/prted"};
  start.log_path = directory_.file("log");
  send(std::move(start));
  const auto failed = expect<StartFailed>();
  EXPECT_EQ(failed.id, 5U);
  EXPECT_THAT(failed.text, HasSubstr("cannot start '/no/such/prted': No such file or directory"));

  StartDaemon no_log;
  no_log.id = 6;
  no_log.argv = {"/bin/true"};
  no_log.log_path = directory_.file("missing/log");
  send(std::move(no_log));
  EXPECT_THAT(expect<StartFailed>().text, HasSubstr("cannot open its log"));
}

TEST_F(WardenTest, OneNumberIsOneDaemon) {
  const pid_t daemon = start_daemon(1, "sleep 1000");
  StartDaemon again;
  again.id = 1;
  again.argv = {"/bin/true"};
  again.log_path = directory_.file("log");
  send(std::move(again));
  EXPECT_EQ(expect<StartFailed>().id, 1U);
  EXPECT_TRUE(is_alive(daemon));
}

TEST_F(WardenTest, ADaemonThatDoesNotReadHoldsUpNobody) {
  const pid_t deaf = start_daemon(1, "exec sleep 1000", std::string(kMaxBlobBytes, 'x'));
  start_daemon(2, "wc -c; exit 0", std::string(kMaxBlobBytes, 'y'));
  EXPECT_EQ(expect<DaemonEnded>().id, 2U);
  EXPECT_EQ(read_text(directory_.file("log")), std::to_string(kMaxBlobBytes) + "\n");
  EXPECT_TRUE(is_alive(deaf));
}

TEST_F(WardenTest, StopIsPoliteFirst) {
  start_daemon(1, "trap 'echo goodbye; exit 4' TERM; echo > ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(eventually([&] { return !read_text(directory_.file("ready")).empty(); }));
  send(StopDaemon{1, kLongGraceMs});
  EXPECT_EQ(expect<DaemonEnded>().text, "exit status 4");
  EXPECT_EQ(read_text(directory_.file("log")), "goodbye\n");
}

TEST_F(WardenTest, StopIsFirmAfterTheGracePeriod) {
  start_daemon(1, "trap '' TERM; echo > ready; while :; do sleep 0.01; done");
  start_daemon(2, "exec sleep 1000");
  ASSERT_TRUE(eventually([&] { return !read_text(directory_.file("ready")).empty(); }));
  send(StopDaemon{1, kNoGraceMs});
  const auto ended = expect<DaemonEnded>();
  EXPECT_EQ(ended.id, 1U);
  EXPECT_EQ(ended.text, "signal 9 (SIGKILL)");
  send(StopDaemon{77, kNoGraceMs});  // nobody
  send(StopDaemon{2, kLongGraceMs});
  EXPECT_EQ(expect<DaemonEnded>().text, "signal 15 (SIGTERM)");
}

// A tree that does everything to get away: own sessions, several generations.
constexpr const char* kRunawayTree =
    "setsid sh -c 'echo $$ > one; setsid sh -c \"echo \\$\\$ > two; exec sleep 1000\" & "
    "exec sleep 1000' & "
    "(setsid sh -c 'echo $$ > three; exec sleep 1000' &) ; "
    "exec sleep 1000";

TEST_F(WardenTest, NothingIsLeftOfAKilledDaemon) {
  const pid_t daemon = start_daemon(1, kRunawayTree);
  const pid_t other = start_daemon(2, "exec sleep 1000");
  const std::vector<pid_t> tree = {pid_from("one"), pid_from("two"), pid_from("three")};
  for (const pid_t pid : tree) ASSERT_NE(pid, 0);
  ::kill(daemon, SIGKILL);
  EXPECT_EQ(expect<DaemonEnded>().text, "signal 9 (SIGKILL)");
  for (const pid_t pid : tree) EXPECT_TRUE(eventually([&] { return ::kill(pid, 0) != 0; }));
  EXPECT_TRUE(is_alive(other));
}

TEST_F(WardenTest, EverythingEndsWhenTheLauncherIsGone) {
  const pid_t daemon = start_daemon(1, kRunawayTree);
  const pid_t stubborn = start_daemon(2, "trap '' TERM HUP; while :; do sleep 0.01; done");
  const std::vector<pid_t> all = {daemon, stubborn, pid_from("one"), pid_from("two"),
                                  pid_from("three")};
  control_.reset();
  EXPECT_EQ(wait_for_warden(), 0);
  for (const pid_t pid : all) EXPECT_FALSE(is_alive(pid)) << pid;
}

TEST_F(WardenTest, ATermSignalEndsEverythingToo) {
  const pid_t daemon = start_daemon(1, "exec sleep 1000");
  ::kill(warden_, SIGTERM);
  EXPECT_EQ(wait_for_warden(), 0);
  EXPECT_FALSE(is_alive(daemon));
}

std::size_t sockets_in(const std::string& descriptors) {
  std::size_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(descriptors, error)) {
    if (std::filesystem::read_symlink(entry, error).string().starts_with("socket:")) ++count;
  }
  return count;
}

TEST_F(WardenTest, ALetGoWardenEndsWithItsDaemonAndNotWithItsSocket) {
  const pid_t daemon = start_daemon(1, kRunawayTree);
  const std::vector<pid_t> tree = {pid_from("one"), pid_from("two"), pid_from("three")};
  send(LetGo{});
  control_.reset();
  // Whoever would take the end of the socket as an order closes it on its side, too.
  const std::string control = "/proc/" + std::to_string(warden_) + "/fd";
  ASSERT_TRUE(eventually([&] { return sockets_in(control) == 0; }));
  EXPECT_TRUE(is_alive(daemon));
  for (const pid_t pid : tree) EXPECT_TRUE(is_alive(pid)) << pid;
  ::kill(daemon, SIGKILL);
  EXPECT_EQ(wait_for_warden(), 0);
  for (const pid_t pid : tree) EXPECT_FALSE(is_alive(pid)) << pid;
}

TEST_F(WardenTest, ALetGoWardenWithoutADaemonEnds) {
  send(LetGo{});
  control_.reset();
  EXPECT_EQ(wait_for_warden(), 0);
}

TEST_F(WardenTest, ALetGoWardenStillObeysASignal) {
  const pid_t daemon = start_daemon(1, "exec sleep 1000");
  send(LetGo{});
  control_.reset();
  ::kill(warden_, SIGTERM);
  EXPECT_EQ(wait_for_warden(), 0);
  EXPECT_FALSE(is_alive(daemon));
}

TEST_F(WardenTest, NonsenseOnTheSocketEndsEverything) {
  const pid_t daemon = start_daemon(1, "exec sleep 1000");
  ASSERT_EQ(::send(control_.get(), "\xff\xff\xff\xff", 4, MSG_NOSIGNAL), 4);
  EXPECT_EQ(wait_for_warden(), 0);
  EXPECT_FALSE(is_alive(daemon));
}

TEST_F(WardenTest, AKilledWardenTakesItsDaemonsWithIt) {
  const pid_t daemon = start_daemon(1, "exec sleep 1000");
  ::kill(warden_, SIGKILL);
  wait_for_warden();
  EXPECT_TRUE(eventually([&] { return !is_alive(daemon); }));
}

// ---- of a node with a directory of its own ----

class NodeWardenTest : public WardenTest {
 protected:
  void SetUp() override {
    std::array<int, 2> sockets{};
    std::array<int, 2> pipe{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    control_.reset(sockets[0]);
    told_.reset(pipe[0]);
    daemon_fd_ = pipe[1];
    warden_ = ::fork();
    if (warden_ == 0) {
      control_.reset();
      DvmInfo info;
      info.name = "node-1";
      info.node = "n1";
      auto made = create_dvm_directory(base(), info);
      ::_exit(!made ? 9
                    : run_warden_of_node({.control_fd = sockets[1],
                                          .directory = std::move(made->directory),
                                          .daemon_fd = UniqueFd(daemon_fd_)}));
    }
    ::close(sockets[1]);
    ::close(pipe[1]);
  }
  std::string base() const { return directory_.file("base"); }

  UniqueFd told_;
  int daemon_fd_ = -1;
};

TEST_F(NodeWardenTest, TheDaemonHasTheDescriptorAloneAndTheDirectoryGoesWithIt) {
  start_daemon(1, "echo hello >&" + std::to_string(daemon_fd_) + "; exec sleep 1000");
  std::array<char, 16> text{};
  ASSERT_EQ(::read(told_.get(), text.data(), text.size()), 6);
  EXPECT_TRUE(std::filesystem::exists(base() + "/node-1/dvm.json"));
  EXPECT_TRUE(list_dvms(base())->empty());  // it is no DVM that somebody could talk to
  send(StopDaemon{1, kLongGraceMs});
  expect<DaemonEnded>();
  EXPECT_EQ(::read(told_.get(), text.data(), text.size()), 0);  // nobody else holds it
  send(LetGo{});
  control_.reset();
  EXPECT_EQ(wait_for_warden(), 0);
  EXPECT_FALSE(std::filesystem::exists(base()));
}

// row:E12
TEST_F(NodeWardenTest, ADaemonThatSaysSoEndsLastAndTheDirectoryBeforeIt) {
  const pid_t daemon =
      start_daemon(1,
                   "(setsid sh -c 'echo $$ > stray; exec sleep 1000' &); trap '' HUP; "
                   "while [ ! -e go ]; do sleep 0.02; done; "
                   "kill -USR1 $PPID; exec sleep 1000");
  const pid_t stray = pid_from("stray");
  send(LetGo{});
  control_.reset();
  ::kill(warden_, kLastOneSignal);  // this is the daemon's word alone
  write_text(directory_.file("go"), "");
  EXPECT_EQ(wait_for_warden(), 0);
  EXPECT_TRUE(is_alive(daemon));
  EXPECT_FALSE(is_alive(stray));
  EXPECT_FALSE(std::filesystem::exists(base()));
  ::kill(daemon, SIGKILL);
  EXPECT_TRUE(eventually([&] { return !is_alive(daemon); }));
}

}  // namespace
}  // namespace tide::exec
