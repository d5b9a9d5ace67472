#include "head/surroundings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/test_files.hpp"

namespace tide::head {
namespace {

using ::testing::HasSubstr;

TEST(Surroundings, ShowVariablesAndCommands) {
  ASSERT_EQ(::setenv("TIDE_TEST_OF_SURROUNDINGS", "17", 1), 0);
  const auto around = surroundings();
  EXPECT_EQ(around.variable("TIDE_TEST_OF_SURROUNDINGS"), "17");
  ::unsetenv("TIDE_TEST_OF_SURROUNDINGS");
  EXPECT_EQ(around.variable("TIDE_TEST_OF_SURROUNDINGS"), std::nullopt);
  EXPECT_EQ(*around.command(std::vector<std::string>{"echo", "a b"}), "a b\n");
}

TEST(Surroundings, ReadFilesThatEnd) {
  const tide::testing::TemporaryDirectory directory;
  const auto around = surroundings();
  const std::string file = directory.file("nodes");
  EXPECT_THAT(around.file(file).error().message, HasSubstr("can't be read: No such file"));
  tide::testing::write_text(file, "n1\nn2\n");
  EXPECT_EQ(*around.file(file), "n1\nn2\n");
  std::filesystem::resize_file(file, std::size_t{17} << 20U);
  EXPECT_THAT(around.file(file).error().message, HasSubstr("more than 16777216 bytes"));
  const std::string pipe = directory.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(around.file(pipe).error().message, HasSubstr("can't be read"));
  EXPECT_FALSE(around.file("/dev/zero").ok());
  EXPECT_FALSE(around.file("/").ok());
}

}  // namespace
}  // namespace tide::head
