#include "cli/log_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "cli/fake_head.hpp"

namespace tide::cli {
namespace {

class LogFile : public testing::Test {
 protected:
  std::string last(const std::string& content, std::optional<std::uint32_t> lines) {
    const std::string path = scratch_.path() + "/log";
    std::ofstream(path) << content;
    std::string text;
    const Status status =
        read_last_lines(path, lines, [&text](std::string_view piece) { text += piece; });
    EXPECT_TRUE(status.ok());
    return text;
  }
  ScratchDirectory scratch_;
};

TEST_F(LogFile, LastLines) {
  EXPECT_EQ(last("a\nb\nc\n", 2), "b\nc\n");
  EXPECT_EQ(last("a\nb\nc", 2), "b\nc");
  EXPECT_EQ(last("a\nb\nc\n", 3), "a\nb\nc\n");
  EXPECT_EQ(last("a\nb\nc\n", 99), "a\nb\nc\n");
  EXPECT_EQ(last("a\nb\nc\n", std::nullopt), "a\nb\nc\n");
  EXPECT_EQ(last("\n\n\n", 2), "\n\n");
  EXPECT_EQ(last("", 2), "");
}

TEST_F(LogFile, LongerThanOnePiece) {
  std::string content;
  for (int i = 0; i < 50'000; ++i) content += "line " + std::to_string(i) + "\n";
  EXPECT_EQ(last(content, std::nullopt), content);
  const std::string tail = last(content, 20'000);
  EXPECT_EQ(tail.substr(0, 11), "line 30000\n");
  EXPECT_TRUE(content.ends_with(tail));
}

TEST_F(LogFile, Missing) {
  const Status status = read_last_lines(scratch_.path() + "/none", 1, [](std::string_view) {});
  EXPECT_EQ(status.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace tide::cli
