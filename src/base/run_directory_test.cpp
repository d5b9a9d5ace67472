#include "base/run_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace tide {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class RunDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tide-run-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    base_ = run_base_path(folder_.string());
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result<DvmInfo> create(const std::string& name) const {
    DvmInfo info;
    info.name = name;
    info.dvm_id = "tide-h-1-x";
    info.uri = "tide-h-1-x.0;tcp4://127.0.0.1:5";
    info.nodes = 8;
    info.slots = 16;
    info.started_unix_ms = 1'700'000'000'000;
    return create_dvm_directory(base_, info);
  }

  fs::path folder_;
  std::string base_;
};

unsigned mode_of(const fs::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0U;
}

// The number of a process that has ended and was reaped.
std::uint32_t dead_pid() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return static_cast<std::uint32_t>(pid);
}

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
  ASSERT_TRUE(write_dvm_info(*info));
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
  ASSERT_TRUE(write_dvm_info(*ended));
  Result<DvmInfo> recycled = create("pid-reused");
  ASSERT_TRUE(recycled);
  recycled->pid_start_ticks -= 1;
  ASSERT_TRUE(write_dvm_info(*recycled));
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

TEST_F(RunDirectoryTest, LivingDvmIsNotReplacedADeadOneIs) {
  Result<DvmInfo> info = create("one");
  ASSERT_TRUE(info);
  const Result<DvmInfo> again = create("one");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
  info->pid = dead_pid();
  ASSERT_TRUE(write_dvm_info(*info));
  std::ofstream(info->directory + "/logs/v1.log") << "old";
  ASSERT_TRUE(create("one"));
  EXPECT_FALSE(fs::exists(info->directory + "/logs/v1.log"));
}

TEST_F(RunDirectoryTest, OfManyMakersOneWins) {
  std::atomic<int> made = 0;
  {
    std::vector<std::jthread> makers;
    for (int i = 0; i < 8; ++i) {
      makers.emplace_back([&] {
        if (create("one").ok()) ++made;
      });
    }
  }
  EXPECT_EQ(made, 1);
}

TEST_F(RunDirectoryTest, MakersAndRemoversDoNotLoseEachOther) {
  std::atomic<int> failed = 0;
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 4; ++i) {
      workers.emplace_back([&, name = "dvm-" + std::to_string(i)] {
        for (int round = 0; round < 20; ++round) {
          if (!create(name) || !remove_dvm_directory(base_, name)) ++failed;
        }
      });
    }
  }
  EXPECT_EQ(failed, 0);
  EXPECT_FALSE(fs::exists(base_));
}

TEST_F(RunDirectoryTest, UnsafeBasesAreRefused) {
  fs::create_directory(folder_ / "elsewhere");
  ::chmod((folder_ / "elsewhere").c_str(), 0700);
  fs::create_directory_symlink(folder_ / "elsewhere", base_);
  EXPECT_THAT(create("one").error().message, HasSubstr("symbolic link"));
  EXPECT_EQ(list_dvms(base_).error().code, ErrorCode::kPermissionDenied);
  EXPECT_TRUE(fs::is_empty(folder_ / "elsewhere"));

  fs::remove(base_);
  fs::create_directory(base_);
  ::chmod(base_.c_str(), 0755);
  EXPECT_THAT(create("one").error().message, HasSubstr("has mode 0755"));
}

TEST_F(RunDirectoryTest, AnotherUsersBaseIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  fs::create_directory(base_);
  ::chmod(base_.c_str(), 0700);
  ASSERT_EQ(::chown(base_.c_str(), 65534, 65534), 0);
  EXPECT_THAT(create("one").error().message, HasSubstr("belongs to user 65534"));
  EXPECT_EQ(list_dvms(base_).error().code, ErrorCode::kPermissionDenied);
  EXPECT_FALSE(remove_dvm_directory(base_, "one"));
}

TEST_F(RunDirectoryTest, MissingParentIsAnErrorAtOnce) {
  DvmInfo info;
  info.name = "one";
  const Result<DvmInfo> made = create_dvm_directory((folder_ / "no" / "base").string(), info);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("cannot make directory"));
}

TEST_F(RunDirectoryTest, RemovalFollowsNoLinks) {
  const Result<DvmInfo> info = create("one");
  ASSERT_TRUE(info);
  fs::create_directory(folder_ / "precious");
  std::ofstream(folder_ / "precious" / "file") << "keep";
  fs::create_directory_symlink(folder_ / "precious", info->directory + "/logs/link");
  fs::create_directories(info->directory + "/a/b/c");
  ASSERT_TRUE(create("two"));
  ASSERT_TRUE(remove_dvm_directory(base_, "one"));
  EXPECT_FALSE(fs::exists(info->directory));
  EXPECT_TRUE(fs::exists(folder_ / "precious" / "file"));
  EXPECT_TRUE(fs::exists(base_ + "/two"));
  EXPECT_TRUE(remove_dvm_directory(base_, "one"));
  EXPECT_FALSE(remove_dvm_directory(base_, ".."));
  EXPECT_TRUE(remove_dvm_directory(base_, "two"));
  EXPECT_FALSE(fs::exists(base_));
  EXPECT_TRUE(remove_dvm_directory(base_, "two"));
}

TEST_F(RunDirectoryTest, ALinkInPlaceOfADvmIsNotRemoved) {
  ASSERT_TRUE(create("one"));
  fs::create_directory(folder_ / "precious");
  fs::create_directory_symlink(folder_ / "precious", base_ + "/two");
  EXPECT_FALSE(remove_dvm_directory(base_, "two"));
  EXPECT_FALSE(create("two"));
  EXPECT_TRUE(fs::exists(folder_ / "precious"));
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

}  // namespace
}  // namespace tide
