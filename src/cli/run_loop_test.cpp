#include "cli/run_loop.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <future>
#include <optional>

#include "cli/fake_head.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

using testing::HasSubstr;

struct Ends {
  Ends() {
    std::array<int, 2> ends{};
    TIDE_CHECK(pipe2(ends.data(), O_CLOEXEC) == 0);
    reader = ends[0];
    writer = ends[1];
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  ~Ends() {
    close_reader();
    close_writer();
  }
  void close_reader() { close_one(reader); }
  void close_writer() { close_one(writer); }
  static void close_one(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
  // All that is written until the last writer closes it.
  [[nodiscard]] std::string read_all() const {
    std::string all;
    std::array<char, 65536> buffer{};
    ssize_t got = 0;
    while ((got = read(reader, buffer.data(), buffer.size())) > 0) {
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return all;
  }
  int reader = -1;
  int writer = -1;
};

// The client runs in a thread of its own, the test plays the head.
class RunLoopTest : public testing::Test {
 protected:
  RunLoopTest() { std::signal(SIGPIPE, SIG_IGN); }

  void start(int stdin_rank = -1, OutputStyle style = {}, SignalSource* signals = nullptr) {
    wire::JobSpec job;
    job.add_apps()->add_argv("prog");
    job.set_stdin_rank(stdin_rank);
    client_ = std::async(std::launch::async, [this, job, style, signals] {
      Result<net::LocalChannel> channel = net::LocalChannel::connect(path_, 10'000, "prun");
      TIDE_CHECK(channel.ok());
      RunOptions options{"prun", style, {}, in_.reader, out_.writer, err_.writer, false};
      const int status = RunLoop(*channel, signals, options, job).run();
      out_.close_writer();
      err_.close_writer();
      return status;
    });
    head_.accept();
    const FakeHead::Request submit = head_.receive();
    TIDE_CHECK(submit.message.has_submit());
    submit_request_ = submit.message.request();
  }
  void start_running(int stdin_rank = -1, OutputStyle style = {}, SignalSource* signals = nullptr) {
    start(stdin_rank, style, signals);
    head_.accepted(submit_request_, 5);
  }
  int status() { return client_.get(); }

  ScratchDirectory scratch_;
  std::string path_ = scratch_.path() + "/sock";
  FakeHead head_{path_};
  Ends in_;
  Ends out_;
  Ends err_;
  std::uint32_t submit_request_ = 0;
  std::future<int> client_;
};

TEST_F(RunLoopTest, ShowsOutputAndExitsWithTheStatusOfTheJob) {
  start_running();
  head_.output(0, wire::STDOUT, "hello\n");
  head_.output(1, wire::STDERR, "oops");
  head_.output(1, wire::STDOUT, "world", true);
  head_.ended(3, "rank 1 failed");
  EXPECT_EQ(status(), 3);
  EXPECT_EQ(out_.read_all(), "hello\nworld");
  EXPECT_EQ(err_.read_all(), "oopsprun: rank 1 failed\n");
}

TEST_F(RunLoopTest, WhatTheJobSpawnedBelongsToTheRun) {
  start_running();
  head_.spawned(6, 5);
  head_.speak_of(5);
  head_.ended(0);
  head_.speak_of(6);
  head_.output(0, wire::STDOUT, std::string(3000, 'x'));
  const auto credit = head_.receive();
  EXPECT_EQ(credit.message.credit().job(), 6U);
  EXPECT_EQ(credit.message.credit().bytes(), 3000U);
  head_.ended(4, "a child failed");
  EXPECT_EQ(status(), 4) << "nothing else went wrong";
  EXPECT_EQ(out_.read_all().size(), 3000U);
}

TEST_F(RunLoopTest, TheStatusOfTheJobItselfCountsMost) {
  start_running();
  head_.spawned(6, 5);
  head_.ended(4);
  head_.speak_of(5);
  head_.ended(3);
  EXPECT_EQ(status(), 3);
}

TEST_F(RunLoopTest, TagsLines) {
  start_running(-1, {true, false});
  head_.output(1, wire::STDOUT, "a\nb");
  head_.output(1, wire::STDOUT, "", true);
  head_.ended(0);
  EXPECT_EQ(status(), 0);
  EXPECT_EQ(out_.read_all(), "[5,1]<stdout>: a\n[5,1]<stdout>: b\n");
}

// row:L15
TEST_F(RunLoopTest, ManyBytesArriveCompleteAndCreditIsReturned) {
  start_running();
  std::string all;
  std::future<std::string> reader =
      std::async(std::launch::async, [this] { return out_.read_all(); });
  constexpr std::uint32_t kWindow = 65536;
  constexpr std::size_t kTotal = 8UL << 20U;
  std::uint32_t credit = kWindow;
  while (all.size() < kTotal) {
    while (credit < 10'000) {
      const FakeHead::Request request = head_.receive();
      ASSERT_TRUE(request.message.has_credit());
      EXPECT_EQ(request.message.credit().job(), 5U);
      EXPECT_EQ(request.message.credit().rank(), 2U);
      credit += request.message.credit().bytes();
      ASSERT_LE(credit, kWindow);
    }
    const std::string piece(10'000, static_cast<char>('a' + (all.size() / 7) % 26));
    credit -= 10'000;
    all += piece;
    head_.output(2, wire::STDOUT, piece);
  }
  head_.ended(0);
  EXPECT_EQ(status(), 0);
  EXPECT_TRUE(reader.get() == all);
}

TEST_F(RunLoopTest, EvenTheSmallestWindowNeverRunsDry) {
  start_running();
  std::future<std::string> reader =
      std::async(std::launch::async, [this] { return out_.read_all(); });
  std::uint32_t credit = 4096;
  std::size_t sent = 0;
  for (int i = 0; i < 200; ++i) {
    while (credit == 0) credit += head_.receive().message.credit().bytes();
    const std::uint32_t size = std::min<std::uint32_t>(credit, 700);
    head_.output(0, wire::STDOUT, std::string(size, 'x'));
    credit -= size;
    sent += size;
  }
  head_.ended(0);
  EXPECT_EQ(status(), 0);
  EXPECT_EQ(reader.get().size(), sent);
}

TEST_F(RunLoopTest, InputIsSentAsFarAsTheHeadHasRoom) {
  start_running(0);
  ASSERT_EQ(write(in_.writer, "abcdefgh", 8), 8);
  in_.close_writer();
  head_.input_credit(3);
  FakeHead::Request request = head_.receive();
  EXPECT_EQ(request.payload, "abc");
  EXPECT_EQ(request.message.input().job(), 5U);
  EXPECT_FALSE(request.message.input().eof());
  head_.input_credit(100);
  EXPECT_EQ(head_.receive().payload, "defgh");
  request = head_.receive();
  EXPECT_EQ(request.payload, "");
  EXPECT_TRUE(request.message.input().eof());
  head_.ended(0);
  EXPECT_EQ(status(), 0);
}

TEST_F(RunLoopTest, RefusedJobsSayWhyAndExitNonZero) {
  start();
  wire::ClientReply refusal;
  refusal.set_request(submit_request_);
  refusal.mutable_error()->set_code(static_cast<std::uint32_t>(ErrorCode::kOutOfResources));
  refusal.mutable_error()->set_message("4 slots are too few");
  head_.reply(refusal);
  EXPECT_EQ(status(), kExitMapFailed);
  EXPECT_EQ(err_.read_all(), "prun: 4 slots are too few\n");
}

TEST_F(RunLoopTest, AHeadThatGoesAwayIsNoSuccess) {
  start_running();
  head_.output(0, wire::STDOUT, "half");
  head_.close_client();
  EXPECT_EQ(status(), kExitNoDvm);
  EXPECT_EQ(out_.read_all(), "half");
  EXPECT_THAT(err_.read_all(), HasSubstr("the connection to the DVM is lost"));
}

TEST_F(RunLoopTest, AReaderThatGoesAwayEndsTheJob) {
  start_running();
  out_.close_reader();
  head_.output(0, wire::STDOUT, "nobody reads this\n");
  const FakeHead::Request request = head_.receive();
  ASSERT_TRUE(request.message.has_kill());
  EXPECT_EQ(request.message.kill().job().number(), 5U);
  EXPECT_EQ(request.message.kill().signal(), SIGTERM);
  EXPECT_TRUE(request.message.kill().terminate());
  head_.ended(0);
  EXPECT_EQ(status(), kExitFailure);
}

class RunLoopSignals : public RunLoopTest {
 protected:
  SignalSource* signals() { return &signals_.source(); }

  void expect_kill(int signal, bool terminate) {
    const FakeHead::Request request = head_.receive();
    ASSERT_TRUE(request.message.has_kill());
    EXPECT_EQ(request.message.kill().job().number(), 5U);
    EXPECT_EQ(request.message.kill().signal(), signal);
    EXPECT_EQ(request.message.kill().terminate(), terminate);
  }

  TestSignals signals_;
};

TEST_F(RunLoopSignals, FirstEndsSecondKillsThirdLeaves) {
  start_running(-1, {}, signals());
  kill(getpid(), SIGINT);
  expect_kill(SIGINT, true);
  kill(getpid(), SIGTERM);
  expect_kill(SIGKILL, true);
  kill(getpid(), SIGINT);
  EXPECT_EQ(status(), exit_status_of_signal(SIGINT));
  EXPECT_THAT(err_.read_all(), HasSubstr("once more ends it at once"));
}

TEST_F(RunLoopSignals, SignalBeforeTheJobHasANumberIsKept) {
  start(-1, {}, signals());
  kill(getpid(), SIGTERM);
  // Only the words on standard error show that it was taken.
  std::array<char, 256> buffer{};
  ASSERT_GT(read(err_.reader, buffer.data(), buffer.size()), 0);
  head_.accepted(submit_request_, 5);
  expect_kill(SIGTERM, true);
  head_.ended(143);
  EXPECT_EQ(status(), 143);
}

TEST_F(RunLoopSignals, UserSignalsAreForwarded) {
  start_running(-1, {}, signals());
  kill(getpid(), SIGUSR1);
  expect_kill(SIGUSR1, false);
  kill(getpid(), SIGUSR2);
  expect_kill(SIGUSR2, false);
  kill(getpid(), SIGCONT);
  expect_kill(SIGCONT, false);
  head_.ended(0);
  EXPECT_EQ(status(), 0);
}

TEST_F(RunLoopSignals, ASlowReaderDoesNotHoldUpSignals) {
  start_running(-1, {}, signals());
  // More than the pipe takes, and nobody reads it.
  for (int i = 0; i < 20; ++i) head_.output(0, wire::STDOUT, std::string(50'000, 'x'));
  kill(getpid(), SIGINT);
  while (!head_.receive().message.has_kill()) {
  }
  std::future<std::string> reader =
      std::async(std::launch::async, [this] { return out_.read_all(); });
  head_.ended(130);
  EXPECT_EQ(status(), 130);
  EXPECT_EQ(reader.get().size(), 1'000'000U);
}

}  // namespace
}  // namespace tide::cli
