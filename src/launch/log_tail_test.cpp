#include "launch/log_tail.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "exec/test_support.hpp"

namespace tide::launch {
namespace {

using exec::testing::TemporaryDirectory;
using exec::testing::write_text;

class LogTailTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::string path_ = directory_.file("v1.log");
};

TEST_F(LogTailTest, GivesTheLastLinesOnly) {
  write_text(path_, "one\ntwo\n\nthree\nfour\n");
  EXPECT_EQ(log_tail(path_, 0, 2, "|"), "|three|four");
  EXPECT_EQ(log_tail(path_, 0, 100, "|"), "|one|two|three|four");
}

TEST_F(LogTailTest, LeavesOutWhatWasThereBefore) {
  write_text(path_, "an earlier life\n");
  const auto begin = log_size(path_);
  EXPECT_EQ(log_tail(path_, begin, 8, "|"), "");
  write_text(path_, "an earlier life\nthis one\n");
  EXPECT_EQ(log_tail(path_, begin, 8, "|"), "|this one");
}

TEST_F(LogTailTest, IsBoundedAndMakesControlCharactersVisible) {
  write_text(path_, std::string(100'000, 'x') + "\nlast \x1b[31m\n");
  EXPECT_EQ(log_tail(path_, 0, 8, "|").find('\x1b'), std::string::npos);
  EXPECT_LT(log_tail(path_, 0, 8, "|").size(), 100U);  // the line that was cut is left out
  write_text(path_, std::string(100'000, 'x'));
  EXPECT_LE(log_tail(path_, 0, 8, "|").size(), 4097U);
}

TEST_F(LogTailTest, SaysNothingOfWhatIsNoLog) {
  EXPECT_EQ(log_size(path_), 0U);
  EXPECT_EQ(log_tail(path_, 0, 8, "|"), "");
  write_text(directory_.file("other"), "secret\n");
  std::filesystem::create_symlink(directory_.file("other"), path_);
  EXPECT_EQ(log_tail(path_, 0, 8, "|"), "");
}

}  // namespace
}  // namespace tide::launch
