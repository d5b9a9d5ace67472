#include "exec/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "exec/test_support.hpp"

namespace tide::exec {
namespace {

using ::testing::EndsWith;
using testing::eventually;
using ::testing::HasSubstr;
using testing::is_alive;
using ::testing::IsEmpty;
using testing::pid_in;
using testing::read_text;
using ::testing::SizeIs;
using testing::TemporaryDirectory;

constexpr std::size_t kKept = 1U << 20U;
constexpr auto kLimit = std::chrono::seconds(20);

class CommandTest : public ::testing::Test {
 protected:
  static CommandRequest script(const std::string& text, std::vector<std::string> arguments = {}) {
    CommandRequest request{.argv = {"sh", "-c", text, "script"},
                           .environment = current_environment()};
    request.argv.insert(request.argv.end(), arguments.begin(), arguments.end());
    return request;
  }
  Command::Callbacks callbacks() {
    return {.ended = [this](const CommandEnd& end) { ends_.push_back(end); }};
  }
  // What comes first from it is told once it is all there.
  Command::Callbacks once_heard(std::string words, std::function<void()> then) {
    auto out = callbacks();
    out.output = [words = std::move(words), then = std::move(then)](const std::string& heard) {
      if (heard == words) then();
    };
    return out;
  }
  CommandEnd end_of(const CommandRequest& request) {
    const auto command = std::make_shared<Command>(io_);
    const auto started = command->start(request, callbacks());
    EXPECT_TRUE(started) << started.error().message;
    return end();
  }
  CommandEnd end() {
    io_.run_for(kLimit);
    io_.restart();
    EXPECT_THAT(ends_, SizeIs(1));
    return ends_.empty() ? CommandEnd{} : ends_.front();
  }

  TemporaryDirectory directory_;
  std::string pid_file_ = directory_.file("pid");
  std::string file_ = directory_.file("file");
  asio::io_context io_;
  std::vector<CommandEnd> ends_;
};

// ---- what it says ----

TEST_F(CommandTest, KeepsOutputAndErrorsApart) {
  const auto end = end_of(script("echo one; echo two >&2; echo three; exit 5"));
  EXPECT_EQ(end.output, "one\nthree\n");
  EXPECT_EQ(end.errors, "two\n");
  EXPECT_EQ(WEXITSTATUS(end.wait_status), 5);
  EXPECT_FALSE(end.succeeded());
  EXPECT_FALSE(end.timed_out);
}

TEST_F(CommandTest, TellsWhatComesAsItComes) {
  const auto command = std::make_shared<Command>(io_);
  auto told = once_heard("up\n", [&command] { command->close_input(); });
  std::string errors;
  told.errors = [&errors](const std::string& heard) { errors = heard; };
  auto request = script("echo why >&2; echo up; cat; echo down");
  request.holds_input = true;
  ASSERT_TRUE(command->start(request, told));
  const auto ended = end();
  EXPECT_TRUE(ended.succeeded());
  EXPECT_EQ(ended.output, "up\ndown\n");
  EXPECT_EQ(errors, "why\n");
}

TEST_F(CommandTest, BytesOfAnyKindCome) {
  const auto end = end_of(script(R"(printf 'A=1\0B=2\0')"));
  EXPECT_EQ(end.output, std::string("A=1\0B=2\0", 8));
}

TEST_F(CommandTest, WhatSaysTooMuchIsKeptFromItsLastWordsOn) {
  for (const auto* bytes : {"1048576", "1048570", "3000000", "20000000"}) {
    ends_.clear();
    const auto end =
        end_of(script("yes 0123456789 | head -c $1; echo; echo the last word", {bytes}));
    EXPECT_TRUE(end.succeeded());
    EXPECT_EQ(end.output.size(), kKept) << bytes;
    EXPECT_THAT(end.output, EndsWith("\nthe last word\n")) << bytes;
  }
}

TEST_F(CommandTest, WhatItLeftInItsPipesIsRead) {
  // As much as a pipe holds, in one piece, right before its end, so that it is there unread.
  const auto end = end_of(script("head -c 65536 /dev/zero; head -c 65536 /dev/zero >&2"));
  EXPECT_THAT(end.output, SizeIs(65536));
  EXPECT_THAT(end.errors, SizeIs(65536));
}

TEST_F(CommandTest, NoShellReadsItsArguments) {
  CommandRequest request{.argv = {"printf", "%s|", "$(touch " + file_ + ")", "; exit 3", "a  b"},
                         .environment = current_environment()};
  const auto end = end_of(request);
  EXPECT_EQ(end.output, "$(touch " + file_ + ")|; exit 3|a  b|");
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(CommandTest, HasTheEnvironmentThatIsGivenAndNoOther) {
  ::setenv("TIDE_COMMAND_TEST", "ours", 1);
  CommandRequest request{.argv = {"env"}, .environment = {"PATH=/usr/bin:/bin", "ONLY=this"}};
  EXPECT_EQ(end_of(request).output, "PATH=/usr/bin:/bin\nONLY=this\n");
  ::unsetenv("TIDE_COMMAND_TEST");
}

TEST_F(CommandTest, OneThatCannotBeStartedIsAnError) {
  const auto command = std::make_shared<Command>(io_);
  const auto started =
      command->start({.argv = {"no-such-program"}, .environment = {"PATH=/nowhere"}}, callbacks());
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(started.error().message, HasSubstr("no-such-program"));
  io_.run_for(kLimit);
  EXPECT_THAT(ends_, IsEmpty());
}

// ---- its input ----

TEST_F(CommandTest, InputThatIsNotHeldIsEmpty) {
  EXPECT_EQ(end_of(script("cat; echo done")).output, "done\n");
}

TEST_F(CommandTest, OneThatIsHeldGoesOnAloneWhenItIsDropped) {
  auto request = script("echo $$ > $1; cat; echo gone > $2", {pid_file_, file_});
  request.holds_input = true;
  pid_t pid = 0;
  {
    asio::io_context io;
    const auto command = std::make_shared<Command>(io);
    ASSERT_TRUE(command->start(request, {}));
    pid = pid_in(pid_file_);
    ASSERT_GT(pid, 0);
    EXPECT_FALSE(std::filesystem::exists(file_));
  }
  EXPECT_TRUE(eventually([&] { return read_text(file_) == "gone\n"; }));
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
}

TEST_F(CommandTest, OneThatIsNotHeldEndsWhenItIsDropped) {
  pid_t pid = 0;
  {
    asio::io_context io;
    const auto command = std::make_shared<Command>(io);
    ASSERT_TRUE(command->start(script("echo $$ > $1; exec sleep 1000", {pid_file_}), {}));
    pid = pid_in(pid_file_);
    ASSERT_GT(pid, 0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(CommandTest, HoldsItselfUntilItHasEnded) {
  std::weak_ptr<Command> weak;
  {
    const auto command = std::make_shared<Command>(io_);
    weak = command;
    ASSERT_TRUE(command->start(script("echo kept"), callbacks()));
  }
  EXPECT_EQ(end().output, "kept\n");
  EXPECT_TRUE(weak.expired());
}

// ---- how it ends ----

TEST_F(CommandTest, OneThatTakesTooLongIsToldToEnd) {
  auto request = script("exec sleep 1000");
  request.timeout_ms = 20;
  const auto end = end_of(request);
  EXPECT_TRUE(end.timed_out);
  EXPECT_FALSE(end.succeeded());
  EXPECT_EQ(WTERMSIG(end.wait_status), SIGTERM);
}

TEST_F(CommandTest, OneThatDoesNotListenIsKilled) {
  const auto command = std::make_shared<Command>(io_);
  auto request = script("trap '' TERM; echo deaf; while :; do sleep 1000; done");
  request.grace_ms = 20;
  ASSERT_TRUE(command->start(request, once_heard("deaf\n", [&command] { command->terminate(); })));
  const auto ended = end();
  EXPECT_EQ(WTERMSIG(ended.wait_status), SIGKILL);
  EXPECT_FALSE(ended.timed_out);  // it was we who wanted it
}

TEST_F(CommandTest, HasAWhileForItsLastWords) {
  const auto command = std::make_shared<Command>(io_);
  const auto request =
      script("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done");
  ASSERT_TRUE(command->start(request, once_heard("up\n", [&command] {
                               command->terminate();
                               command->terminate();  // once is enough
                             })));
  const auto ended = end();
  EXPECT_EQ(WEXITSTATUS(ended.wait_status), 7);
  EXPECT_EQ(ended.output, "up\nbye\n");
}

TEST_F(CommandTest, InTimeIsInTime) {
  auto request = script("echo in time");
  request.timeout_ms = 19'000;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(end_of(request).succeeded());
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
}

TEST_F(CommandTest, HelpersThatItLeavesAreEnded) {
  const auto end = end_of(script("sleep 1000 & echo $! > $1; echo done", {pid_file_}));
  EXPECT_TRUE(end.succeeded());
  EXPECT_EQ(end.output, "done\n");
  const auto helper = pid_in(pid_file_);
  ASSERT_GT(helper, 0);
  EXPECT_TRUE(eventually([helper] { return !is_alive(helper); }));
}

// Nobody reads its words to their end: there is none.
TEST_F(CommandTest, AHelperThatLeftTheGroupHoldsNothingUp) {
  const auto end = end_of(
      script("setsid sh -c 'echo $$ > $0; exec yes' $1 & until test -s $1; do :; done; exit 4",
             {pid_file_}));
  EXPECT_EQ(WEXITSTATUS(end.wait_status), 4);
  EXPECT_LE(end.output.size(), kKept);
  const auto helper = pid_in(pid_file_);
  ASSERT_GT(helper, 0);
  EXPECT_TRUE(eventually([helper] { return !is_alive(helper); }));  // its pipe is closed
}

TEST_F(CommandTest, OneThatIsForgottenTellsItsEndToAnother) {
  const auto command = std::make_shared<Command>(io_);
  auto request = script("echo up; cat; echo down");
  request.holds_input = true;
  std::optional<CommandEnd> told;
  std::string heard_last;
  auto first = callbacks();
  first.output = [&](const std::string& heard) {
    heard_last = heard;
    command->forget([&told](const CommandEnd& end) { told = end; });
    command->close_input();
  };
  ASSERT_TRUE(command->start(request, first));
  io_.run_for(kLimit);
  EXPECT_EQ(heard_last, "up\n");
  EXPECT_THAT(ends_, IsEmpty());
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->succeeded());
}

// As with SIGCHLD ignored, which a program can inherit: the kernel forgets our children.
TEST_F(CommandTest, AnEndThatSomebodyElseHeardIsNoSuccess) {
  auto* const before = std::signal(SIGCHLD, SIG_IGN);
  const auto end = end_of(script("echo words"));
  std::signal(SIGCHLD, before);
  EXPECT_EQ(end.output, "words\n");
  EXPECT_FALSE(end.succeeded());
}

TEST_F(CommandTest, TheEndOfWhoStartedItCanBeTold) {
  auto request =
      script("trap 'echo told > $2; exit 0' TERM; echo $$ > $1; while :; do sleep 0.01; done",
             {pid_file_, file_});
  request.parent_death_signal = SIGTERM;
  const auto command = std::make_shared<Command>(io_);
  std::thread starter([&] {
    EXPECT_TRUE(command->start(request, callbacks()));
    EXPECT_GT(pid_in(pid_file_), 0);
  });
  starter.join();
  EXPECT_TRUE(eventually([&] { return read_text(file_) == "told\n"; }));
  EXPECT_TRUE(end().succeeded());
}

}  // namespace
}  // namespace tide::exec
