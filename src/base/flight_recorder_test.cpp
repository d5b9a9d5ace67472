#include "base/flight_recorder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tide {
namespace {

class FlightRecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tide-recorder-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = (folder_ / "crash").string();
  }
  void TearDown() override {
    remove_crash_dump();
    std::filesystem::remove_all(folder_);
  }
  std::string dumped() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path folder_;
  std::string path_;
};

using FlightRecorderDeathTest = FlightRecorderTest;

TEST_F(FlightRecorderTest, KeepsTheLastLinesInOrder) {
  FlightRecorder recorder(3);
  EXPECT_TRUE(recorder.lines().empty());
  for (std::uint64_t i = 1; i <= 5; ++i) recorder.note(i * 10, "event " + std::to_string(i));
  const std::vector<FlightRecorder::Line> expected = {
      {30, "event 3"}, {40, "event 4"}, {50, "event 5"}};
  EXPECT_EQ(recorder.lines(), expected);
  EXPECT_EQ(recorder.noted(), 5U);
}

TEST_F(FlightRecorderTest, LinesAreBoundedAndStayLines) {
  FlightRecorder recorder(2);
  recorder.note(1, "two\nlines");
  recorder.note(2, std::string(5000, 'x'));
  EXPECT_EQ(recorder.lines()[0].text, "two lines");
  EXPECT_EQ(recorder.lines()[1].text.size(), FlightRecorder::kMaxLineBytes);
  EXPECT_TRUE(recorder.lines()[1].text.ends_with("xxx..."));
}

TEST_F(FlightRecorderDeathTest, CrashWritesTheRingAndStillKills) {
  FlightRecorder recorder(8);
  recorder.note(0, "first");
  recorder.note(1234567890123, "last");
  std::ofstream(path_) << "what an earlier crash left";
  const auto crash = [&] {
    const Status installed = install_crash_dump(&recorder, path_);
    if (!installed) ::_exit(1);
    std::abort();
  };
  EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGABRT), "");
  EXPECT_EQ(dumped(), "0 first\n1234567890123 last\n");
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(FlightRecorderDeathTest, FailedCheckWritesTheRingToo) {
  FlightRecorder recorder(8);
  recorder.note(1, "before");
  const auto crash = [&] {
    const Status installed = install_crash_dump(&recorder, path_);
    TIDE_CHECK(installed.ok());
    TIDE_CHECK(recorder.noted() == 2);
  };
  EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGABRT), "recorder.noted\\(\\) == 2");
  EXPECT_EQ(dumped(), "1 before\n");
}

TEST_F(FlightRecorderDeathTest, RemovedHandlerWritesNothing) {
  FlightRecorder recorder(8);
  recorder.note(1, "before");
  const auto crash = [&] {
    const Status installed = install_crash_dump(&recorder, path_);
    TIDE_CHECK(installed.ok());
    remove_crash_dump();
    std::abort();
  };
  EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGABRT), "");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(FlightRecorderTest, PathTooLongIsAnError) {
  const FlightRecorder recorder(1);
  EXPECT_FALSE(install_crash_dump(&recorder, std::string(5000, 'x')));
  EXPECT_FALSE(install_crash_dump(&recorder, ""));
}

}  // namespace
}  // namespace tide
