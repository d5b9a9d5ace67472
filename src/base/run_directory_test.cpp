#include "base/run_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/run_directory_fixture.hpp"

namespace tide {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(DvmName, Pattern) {
  for (const char* good : {"a", "default", "x-1_y"}) EXPECT_TRUE(validate_dvm_name(good)) << good;
  EXPECT_TRUE(validate_dvm_name(std::string(32, 'a')));
  EXPECT_FALSE(validate_dvm_name(std::string(33, 'a')));
  for (const char* bad : {"", "1", "A", "-a", "a/b", "..", "a.b", "a b", "ä"}) {
    EXPECT_FALSE(validate_dvm_name(bad)) << bad;
  }
  for (const char* word : {"search", "system", "system-first"}) {
    EXPECT_FALSE(validate_dvm_name(word)) << "with --dvm it means something else";
  }
}

TEST_F(RunDirectoryTest, BaseNamesHostAndUser) {
  EXPECT_THAT(base_, HasSubstr((folder_ / "prte.").string()));
  EXPECT_TRUE(base_.ends_with("." + std::to_string(::geteuid())));
  EXPECT_EQ(run_base_path(folder_.string() + "//"), base_);
}

TEST_F(RunDirectoryTest, CreateMakesPrivateTree) {
  const Result<DvmInfo> made = create("one");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->directory, base_ + "/one");
  EXPECT_EQ(made->pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_TRUE(made->alive);
  EXPECT_EQ(mode_of(base_), 0700U);
  EXPECT_EQ(mode_of(made->directory), 0700U);
  EXPECT_EQ(mode_of(made->directory + "/logs"), 0700U);
  EXPECT_EQ(mode_of(made->directory + "/dvm.json"), 0600U);
  EXPECT_EQ(dvm_log_path(made->directory, "v1"), base_ + "/one/logs/v1.log");
  EXPECT_EQ(dvm_log_path(made->directory, "../x"), base_ + "/one/logs/.._x.log");
}

TEST_F(RunDirectoryTest, InfoSurvivesARoundTrip) {
  Result<DvmInfo> info = create("one");
  ASSERT_TRUE(info) << info.error().message;
  info->ready = true;
  info->nodes = 9;
  ASSERT_TRUE(rewrite(*info));
  const Result<DvmInfo> read = read_dvm_info(info->directory);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, *info);
}

TEST_F(RunDirectoryTest, ListIsSortedAndKnowsTheDead) {
  EXPECT_TRUE(list_dvms(base_)->empty());
  ASSERT_TRUE(create("zwei"));
  Result<DvmInfo> ended = create("eins");
  ASSERT_TRUE(ended);
  ended->pid = dead_pid();
  ASSERT_TRUE(rewrite(*ended));
  Result<DvmInfo> recycled = create("pid-reused");
  ASSERT_TRUE(recycled);
  recycled->pid_start_ticks -= 1;
  ASSERT_TRUE(rewrite(*recycled));
  fs::create_directory(fs::path(base_) / "nothing-in-it");

  const Result<std::vector<DvmInfo>> dvms = list_dvms(base_);
  ASSERT_TRUE(dvms) << dvms.error().message;
  ASSERT_EQ(dvms->size(), 3U);
  EXPECT_EQ((*dvms)[0].name, "eins");
  EXPECT_FALSE((*dvms)[0].alive);
  EXPECT_EQ((*dvms)[1].name, "pid-reused");
  EXPECT_FALSE((*dvms)[1].alive);
  EXPECT_EQ((*dvms)[2].name, "zwei");
  EXPECT_TRUE((*dvms)[2].alive);
}

TEST_F(RunDirectoryTest, BrokenInfoIsNotListed) {
  const Result<DvmInfo> info = create("one");
  ASSERT_TRUE(info);
  for (const char* text : {"", "{", "[]", "{\"name\":\"one\"}", "{\"name\":3}"}) {
    std::ofstream(info->directory + "/dvm.json") << text;
    EXPECT_FALSE(read_dvm_info(info->directory)) << text;
    EXPECT_TRUE(list_dvms(base_)->empty()) << text;
  }
}

TEST_F(RunDirectoryTest, SocketPathsAreLimited) {
  EXPECT_EQ(*dvm_socket_path("/tmp/x"), "/tmp/x/sock");
  EXPECT_TRUE(dvm_socket_path(std::string(102, 'x')));
  const Result<std::string> long_path = dvm_socket_path(std::string(103, 'x'));
  ASSERT_FALSE(long_path);
  EXPECT_THAT(long_path.error().message, HasSubstr("at most 107"));
  DvmInfo info;
  info.name = "one";
  const std::string deep = folder_.string() + "/" + std::string(100, 'x');
  EXPECT_FALSE(create_dvm_directory(deep, info));
  EXPECT_FALSE(fs::exists(deep));
}

TEST(ProcessStart, OfLivingAndDead) {
  const Result<std::uint64_t> mine = process_start_ticks(static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(mine);
  EXPECT_GT(*mine, 0U);
  EXPECT_FALSE(process_start_ticks(dead_pid()));
}

TEST_F(RunDirectoryTest, NodesOfOtherHeadsAreNotListed) {
  ASSERT_TRUE(create("one"));
  Result<DvmInfo> node = create("node-1");
  ASSERT_TRUE(node);
  node->node = "n1";
  ASSERT_TRUE(rewrite(*node));
  EXPECT_EQ(read_dvm_info(node->directory)->node, "n1");
  const Result<std::vector<DvmInfo>> dvms = list_dvms(base_);
  ASSERT_TRUE(dvms);
  ASSERT_EQ(dvms->size(), 1U);
  EXPECT_EQ(dvms->front().name, "one");
}

}  // namespace
}  // namespace tide
