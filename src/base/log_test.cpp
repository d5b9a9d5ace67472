#include "base/log.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tide {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tide-log-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    config_.path = (folder_ / "log").string();
    config_.program = "prted";
    config_.node = "v1";
  }
  void TearDown() override {
    log_shutdown();
    std::filesystem::remove_all(folder_);
  }
  std::string written() const {
    std::ifstream file(config_.path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path folder_;
  LogConfig config_;
};

void read_available(int fd, std::string* text) {
  std::array<char, 65536> buffer{};
  for (ssize_t got = 0; (got = ::read(fd, buffer.data(), buffer.size())) > 0;) {
    text->append(buffer.data(), static_cast<std::size_t>(got));
  }
}

TEST_F(LogTest, NothingHappensBeforeInit) {
  log_note("plm", 0, "x");
  log_warning("x");
  log_error("x");
  EXPECT_FALSE(log_enabled("plm", 0));
  EXPECT_TRUE(log_flush());
  EXPECT_EQ(log_dropped_lines(), 0U);
}

TEST_F(LogTest, LinesHaveTimeProgramNodeAndSubsystem) {
  config_.program = "100%d";
  ASSERT_TRUE(log_init(config_));
  log_note("plm", 0, "two\nlines");
  ASSERT_TRUE(log_flush());
  EXPECT_THAT(written(),
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3} "
                           "100%d v1 \\[plm\\] two\\\\nlines\n"));
  struct stat status{};
  ASSERT_EQ(::stat(config_.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(LogTest, VerbosityIsPerSubsystem) {
  const Result<Params> params = Params::from_map({{"plm_base_verbose", "2"}});
  ASSERT_TRUE(params);
  config_.verbosity = log_verbosity(*params);
  EXPECT_EQ(config_.verbosity.at("plm"), 2);
  EXPECT_EQ(config_.verbosity.at("iof"), 0);
  ASSERT_TRUE(log_init(config_));
  log_note("plm", 2, "shown-1");
  log_note("plm", 3, "hidden-1");
  log_note("iof", 0, "shown-2");
  log_note("iof", 1, "hidden-2");
  log_note("other", 1, "hidden-3");
  log_warning("shown-3");
  log_error("shown-4");
  log_shutdown();
  const std::string text = written();
  for (const char* shown :
       {"[plm] shown-1", "[iof] shown-2", "[warning] shown-3", "[error] shown-4"}) {
    EXPECT_THAT(text, HasSubstr(shown));
  }
  EXPECT_THAT(text, Not(HasSubstr("hidden")));
}

TEST_F(LogTest, ShutdownWritesEverythingAndInitAppends) {
  constexpr int kLines = 1000;
  ASSERT_TRUE(log_init(config_));
  for (int i = 0; i < kLines; ++i) log_note("plm", 0, "line");
  ASSERT_TRUE(log_init(config_));
  log_note("plm", 0, std::string(100'000, 'x'));
  log_shutdown();
  const std::string text = written();
  EXPECT_EQ(std::ranges::count(text, '\n'), kLines + 1);
  EXPECT_LT(text.size(), 1000U * 100 + 4096);
  EXPECT_TRUE(text.ends_with("xxx...\n"));
}

// A reader of standard error that does not read: callers go on, the loss is counted and reported.
TEST_F(LogTest, StalledReaderNeverBlocksCallers) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const int saved_stderr = ::dup(STDERR_FILENO);
  ASSERT_EQ(::dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  ::close(ends[1]);
  config_.path.clear();
  config_.queue_lines = 64;
  ASSERT_TRUE(log_init(config_));
  constexpr int kLines = 5000;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kLines; ++i) log_note("plm", 0, std::string(200, 'x'));
  const auto took = std::chrono::steady_clock::now() - begin;
  const std::uint64_t dropped = log_dropped_lines();

  // Now the reader reads: what waits is written, and the loss is told.
  ASSERT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
  std::string seen;
  read_available(ends[0], &seen);
  log_shutdown();
  read_available(ends[0], &seen);
  ::dup2(saved_stderr, STDERR_FILENO);
  ::close(saved_stderr);
  ::close(ends[0]);
  EXPECT_LT(took, std::chrono::milliseconds(900));  // less than one stall of the writer
  EXPECT_GT(dropped, 1000U);
  EXPECT_THAT(seen, HasSubstr("lines were dropped"));
}

TEST_F(LogTest, UnusablePathIsAnError) {
  config_.path = (folder_ / "no" / "log").string();
  const Status status = log_init(config_);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr(config_.path));
}

}  // namespace
}  // namespace tide
