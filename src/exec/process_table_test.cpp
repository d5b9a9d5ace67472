#include "exec/process_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <asio/post.hpp>

#include <chrono>
#include <csignal>
#include <iostream>
#include <string>

#include "exec/process_table_fixture.hpp"
#include "exec/test_support.hpp"

namespace tide::exec {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::is_alive;
using testing::key;
using testing::open_descriptors;
using testing::pid_in;
using ::testing::StartsWith;
using testing::TemporaryDirectory;

class ProcessTableTest : public testing::ProcessTableFixture {};

TEST_F(ProcessTableTest, ExitCodeAndBothStreamsAreReported) {
  spawn(0, {"sh", "-c", "echo out; echo err >&2; exit 7"});
  ASSERT_TRUE(run_until_ended(0));
  EXPECT_EQ(report(0).exit, std::pair(7, 0));
  EXPECT_EQ(report(0).output[wire::STDOUT], "out\n");
  EXPECT_EQ(report(0).output[wire::STDERR], "err\n");
  EXPECT_EQ(table_->live(), 0U);
}

TEST_F(ProcessTableTest, MergedOutputIsOnePipe) {
  core::SpawnProc request;
  request.proc = key(0);
  request.program = std::make_shared<core::Program>(
      core::Program{{"sh", "-c", "echo 1; echo 2 >&2; echo 3; echo 4 >&2"}, {}, {}});
  request.output_window_bytes = kWindowBytes;
  request.merge_output = true;
  spawn(request);
  ASSERT_TRUE(run_until([this] { return report(0).exit && report(0).closed[wire::STDOUT]; }));
  EXPECT_EQ(report(0).output[wire::STDOUT], "1\n2\n3\n4\n");
  EXPECT_EQ(report(0).output[wire::STDERR], "");
}

TEST_F(ProcessTableTest, TheSignalThatEndedAProcessIsReported) {
  spawn(0, {"sh", "-c", "kill -SEGV $$"});
  spawn(1, {"sleep", "1000"});
  ASSERT_TRUE(run_until([this] { return report(1).pid != 0; }));
  call([this] { table_->signal(key(1), SIGINT); });
  ASSERT_TRUE(run_until_ended(0));
  ASSERT_TRUE(run_until_ended(1));
  EXPECT_EQ(report(0).exit, std::pair(0, SIGSEGV));
  EXPECT_EQ(report(1).exit, std::pair(0, SIGINT));
}

// row:L17
TEST_F(ProcessTableTest, AProcessThatCannotBeStartedIsReportedWithItsReason) {
  core::SpawnProc bad_directory;
  bad_directory.proc = key(1);
  bad_directory.program =
      std::make_shared<core::Program>(core::Program{{"true"}, {}, "/no/such/directory"});
  spawn(0, {"no-such-program"});
  spawn(bad_directory);
  ASSERT_TRUE(run_until([this] { return report(0).error && report(1).error; }));
  EXPECT_EQ(report(0).error->code, ErrorCode::kNotFound);
  EXPECT_THAT(report(0).error->message,
              StartsWith("cannot start 'no-such-program' on node v3: not found in PATH ("));
  EXPECT_THAT(report(1).error->message, HasSubstr("cannot change to working directory"));
  EXPECT_EQ(table_->live(), 0U);
  spawn(0, {"true"});  // it is not in the table any more
  EXPECT_TRUE(run_until_ended(0));
}

TEST_F(ProcessTableTest, EnvironmentAndWorkingDirectoryAreThoseOfTheRequest) {
  core::SpawnProc request;
  request.proc = key(0);
  request.program = std::make_shared<core::Program>(
      core::Program{{"sh", "-c", "pwd; echo $TIDE_TEST"}, {}, "/usr"});
  request.output_window_bytes = kWindowBytes;
  auto& directive = request.environment.emplace_back();
  directive.set_name("TIDE_TEST");
  directive.set_value("yes");
  spawn(request);
  ASSERT_TRUE(run_until_ended(0));
  EXPECT_EQ(report(0).output[wire::STDOUT], "/usr\nyes\n");
}

TEST_F(ProcessTableTest, SigpipeHasItsDefaultActionInProcesses) {
  spawn(0, {"bash", "-c", "yes | head -n 1; echo ${PIPESTATUS[0]}"});
  ASSERT_TRUE(run_until_ended(0));
  EXPECT_EQ(report(0).output[wire::STDOUT], "y\n141\n");
}

TEST_F(ProcessTableTest, InputReachesTheProcessAndItsEndToo) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i) + " ";  // far more than a pipe holds
  spawn(0, {"cat"}, true);
  call([&] {  // before it is started
    table_->write_input(key(0), Bytes(text.substr(0, 300000)));
    table_->write_input(key(0), Bytes(text.substr(300000)));
    table_->close_input(key(0));
  });
  ASSERT_TRUE(run_until_ended(0));
  EXPECT_EQ(report(0).exit, std::pair(0, 0));
  EXPECT_EQ(report(0).output[wire::STDOUT], text);
  EXPECT_EQ(report(0).input_taken, text.size());
}

TEST_F(ProcessTableTest, InputIsTakenOnlyAsFastAsTheProcessReads) {
  spawn(0, {"sleep", "1000"}, true);
  call([this] { table_->write_input(key(0), Bytes(std::string(200000, 'x'))); });
  ASSERT_TRUE(run_until([this] { return report(0).input_taken > 0; }));
  io_.run_for(std::chrono::milliseconds(20));
  io_.restart();
  EXPECT_LE(report(0).input_taken, 65536U);
  call([this] { table_->signal(key(0), SIGKILL); });
  // Nobody will read the rest: it counts as taken.
  EXPECT_TRUE(run_until([this] { return report(0).input_taken == 200000; }));
}

TEST_F(ProcessTableTest, InputForAProcessThatClosedItsEndCountsAsTaken) {
  spawn(0, {"sh", "-c", "exec <&-; echo closed; exec sleep 1000"}, true);
  ASSERT_TRUE(run_until([this] { return report(0).output[wire::STDOUT] == "closed\n"; }));
  call([this] { table_->write_input(key(0), Bytes(std::string(100000, 'x'))); });
  ASSERT_TRUE(run_until([this] { return report(0).input_taken == 100000; }));
  call([this] { table_->write_input(key(0), Bytes("more")); });
  EXPECT_TRUE(run_until([this] { return report(0).input_taken == 100004; }));
}

TEST_F(ProcessTableTest, WithoutInputStandardInputIsEmpty) {
  spawn(0, {"cat"});
  call([this] { table_->write_input(key(0), Bytes("unwanted")); });
  ASSERT_TRUE(run_until_ended(0));
  EXPECT_EQ(report(0).output[wire::STDOUT], "");
  EXPECT_TRUE(run_until([this] { return report(0).input_taken == 8; }));
}

TEST_F(ProcessTableTest, NoMoreIsReadThanWasGranted) {
  grant_back_ = false;
  spawn(0, {"sh", "-c", "head -c 5000 /dev/zero; head -c 10 /dev/zero >&2"}, false, 1000);
  // The exit does not wait for the reader: all fits into the pipe.
  ASSERT_TRUE(run_until([this] { return report(0).exit && report(0).closed[wire::STDERR]; }));
  EXPECT_EQ(report(0).output[wire::STDOUT].size(), 1000U);
  EXPECT_EQ(report(0).output[wire::STDERR].size(), 10U);
  call([this] { table_->grant_output(key(0), wire::STDOUT, 3500); });
  ASSERT_TRUE(run_until([this] { return report(0).output[wire::STDOUT].size() == 4500; }));
  EXPECT_FALSE(report(0).closed[wire::STDOUT]);
  // Exactly the rest: the end of the stream is seen without further credit.
  call([this] { table_->grant_output(key(0), wire::STDOUT, 500); });
  ASSERT_TRUE(run_until_ended(0));
  EXPECT_EQ(report(0).output[wire::STDOUT].size(), 5000U);
}

// row:L15
TEST_F(ProcessTableTest, OutputThatComesAfterTheExitIsNotLost) {
  spawn(0, {"sh", "-c", "exec 3<&0; (read line <&3; echo late $line) & exit 5"}, true);
  ASSERT_TRUE(run_until([this] { return report(0).exit.has_value(); }));
  EXPECT_FALSE(report(0).closed[wire::STDOUT]);
  call([this] { table_->write_input(key(0), Bytes("word\n")); });
  ASSERT_TRUE(run_until_ended(0));
  EXPECT_EQ(report(0).output[wire::STDOUT], "late word\n");
}

TEST_F(ProcessTableTest, ASignalReachesTheWholeGroup) {
  spawn(0, {"sh", "-c", "sleep 1000 & echo $!; sleep 1000"});
  ASSERT_TRUE(run_until([this] { return report(0).output[wire::STDOUT].ends_with('\n'); }));
  const auto background = static_cast<pid_t>(std::stol(report(0).output[wire::STDOUT]));
  call([this] { table_->signal(key(0), SIGTERM); });
  ASSERT_TRUE(run_until_ended(0));
  EXPECT_EQ(report(0).exit, std::pair(0, SIGTERM));
  EXPECT_TRUE(run_until([&] { return !is_alive(background); }));
}

TEST_F(ProcessTableTest, ASignalBeforeTheStartIsKept) {
  spawn(0, {"sleep", "1000"});
  call([this] { table_->signal(key(0), SIGTERM); });
  ASSERT_TRUE(run_until_ended(0));
  EXPECT_EQ(report(0).exit, std::pair(0, SIGTERM));
}

// row:L17
TEST_F(ProcessTableTest, ForgetKillsWhatIsLeftOfTheGroup) {
  spawn(0, {"sh", "-c", "sleep 1000 & echo $!"});
  ASSERT_TRUE(run_until([this] { return report(0).exit.has_value(); }));
  ASSERT_TRUE(run_until([this] { return report(0).output[wire::STDOUT].ends_with('\n'); }));
  const auto left = static_cast<pid_t>(std::stol(report(0).output[wire::STDOUT]));
  EXPECT_TRUE(is_alive(left));
  call([this] { table_->forget(key(0)); });
  EXPECT_TRUE(run_until([&] { return ::kill(left, 0) != 0; }));  // the orphan was reaped too
  EXPECT_FALSE(report(0).closed[wire::STDOUT]);                  // nothing is reported any more
}

TEST_F(ProcessTableTest, ForgetEndsARunningProcessAndAQueuedOne) {
  spawn(0, {"sleep", "1000"});
  ASSERT_TRUE(run_until([this] { return report(0).pid != 0; }));
  spawn(1, {"sleep", "1000"});
  EXPECT_EQ(table_->live(), 2U);
  call([this] {
    table_->forget(key(0));
    table_->forget(key(1));
    table_->forget(key(2));
  });
  ASSERT_TRUE(run_until([this] { return table_->live() == 0; }));
  EXPECT_FALSE(report(0).exit);
  EXPECT_EQ(report(1).pid, 0);
}

TEST_F(ProcessTableTest, AStrangerThatHoldsThePipesDoesNotKeepAKilledProcessOpen) {
  TemporaryDirectory directory;
  const std::string stranger_file = directory.file("pid");
  spawn(0, {"sh", "-c",
            "echo before; setsid sh -c 'echo $$ > " + stranger_file +
                "; exec sleep 1000' & exec sleep 1000"});
  ASSERT_TRUE(run_until([this] { return report(0).output[wire::STDOUT] == "before\n"; }));
  const pid_t left = pid_in(stranger_file);
  ASSERT_NE(left, 0);
  call([this] { table_->signal(key(0), SIGKILL); });
  ASSERT_TRUE(run_until_ended(0));
  EXPECT_EQ(report(0).output[wire::STDOUT], "before\n");
  EXPECT_TRUE(is_alive(left));
  ::kill(left, SIGKILL);
}

TEST_F(ProcessTableTest, KillAllEndsTheStartedAndCancelsTheQueued) {
  spawn(0, {"sleep", "1000"});
  ASSERT_TRUE(run_until([this] { return report(0).pid != 0; }));
  spawn(1, {"sleep", "1000"});
  call([this] { table_->kill_all(); });
  ASSERT_TRUE(run_until([this] { return table_->live() == 0 && report(0).ended(); }));
  EXPECT_EQ(report(0).exit, std::pair(0, SIGKILL));
  ASSERT_TRUE(report(1).error);
  EXPECT_EQ(report(1).error->code, ErrorCode::kUnavailable);
}

TEST_F(ProcessTableTest, ThreeHundredProcessesAtOnce) {
  constexpr std::uint32_t kCount = 300;
  for (std::uint32_t rank = 0; rank < kCount; ++rank) {
    spawn(
        rank,
        {"sh", "-c",
         "read line; echo $line " + std::to_string(rank) + "; exit " + std::to_string(rank % 100)},
        true);
  }
  for (std::uint32_t rank = 0; rank < kCount; ++rank) {
    call([&] { table_->write_input(key(rank), Bytes("go\n")); });
  }
  for (std::uint32_t rank = 0; rank < kCount; ++rank) {
    ASSERT_TRUE(run_until_ended(rank)) << rank;
    EXPECT_EQ(report(rank).exit, std::pair(static_cast<int>(rank % 100), 0));
    EXPECT_EQ(report(rank).output[wire::STDOUT], "go " + std::to_string(rank) + "\n");
  }
  EXPECT_EQ(table_->live(), 0U);
}

TEST_F(ProcessTableTest, DescriptorsStayFlatOverManySpawns) {
  const auto one = [this](std::uint32_t rank) {
    spawn(rank, {rank % 3 == 0 ? "/no/such/program" : "true"}, rank % 2 == 0);
    ASSERT_TRUE(run_until([&] { return report(rank).ended() || report(rank).error; }));
    table_->forget(key(rank));
  };
  one(0);
  one(1);
  const std::size_t before = open_descriptors();
  for (std::uint32_t rank = 2; rank < 202; ++rank) one(rank);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ProcessTableTest, WithoutDescriptorsTheStartFailsWithTheReason) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit tight{open_descriptors() + 1, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &tight);
  spawn(0, {"true"});
  const bool failed = run_until([this] { return report(0).error.has_value(); });
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(failed);
  EXPECT_EQ(report(0).error->code, ErrorCode::kOutOfResources);
  EXPECT_THAT(report(0).error->message, HasSubstr("Too many open files"));
  spawn(0, {"true"});
  EXPECT_TRUE(run_until_ended(0));
}

TEST_F(ProcessTableTest, OthersGetTheirTurnWhileManyAreStarted) {
  for (std::uint32_t rank = 0; rank < 100; ++rank) spawn(rank, {"true"});
  bool had_a_turn = false;
  bool all_started_before = false;
  asio::post(io_, [this, &had_a_turn, &all_started_before] {
    had_a_turn = true;
    all_started_before = report(99).pid != 0;
  });
  for (std::uint32_t rank = 0; rank < 100; ++rank) ASSERT_TRUE(run_until_ended(rank));
  EXPECT_TRUE(had_a_turn);
  EXPECT_FALSE(all_started_before) << "a hundred starts take many slices";
}

TEST_F(ProcessTableTest, TheTableMayGoWhileProcessesRun) {
  spawn(0, {"sleep", "1000"}, true);
  ASSERT_TRUE(run_until([this] { return report(0).pid != 0; }));
  spawn(1, {"sleep", "1000"});
  table_->write_input(key(0), Bytes("x"));
  table_ = std::make_unique<ProcessTable>(io_, *this, ProcessTableConfig{.node = "v3"});
  const pid_t pid = report(0).pid;
  EXPECT_TRUE(run_until([pid] { return ::kill(pid, 0) != 0; }));
  EXPECT_FALSE(report(0).exit);
  EXPECT_EQ(report(1).pid, 0);
}

TEST_F(ProcessTableTest, SpeedOfTheWholeWay) {
  constexpr std::uint32_t kCount = 256;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t rank = 0; rank < kCount; ++rank) spawn(rank, {"/bin/true"});
  for (std::uint32_t rank = 0; rank < kCount; ++rank) ASSERT_TRUE(run_until_ended(rank));
  const auto took = std::chrono::steady_clock::now() - begin;
  std::cout << kCount << " x /bin/true with pipes, output and exit: "
            << std::chrono::duration<double, std::milli>(took).count() << " ms\n";
}

}  // namespace
}  // namespace tide::exec
