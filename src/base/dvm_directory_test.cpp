#include "base/dvm_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/run_directory_fixture.hpp"

namespace tide {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DvmDirectoryTest : public RunDirectoryTest {
 protected:
  // The ids of the DVMs that were swept.
  [[nodiscard]] std::vector<std::string> sweep() const {
    std::vector<std::string> ids;
    const auto complaints =
        sweep_dead_dvms(base_, [&ids](const std::string& id) { ids.push_back(id); });
    EXPECT_TRUE(complaints.empty()) << complaints.front();
    return ids;
  }
};

TEST_F(DvmDirectoryTest, LivingDvmIsNotReplacedADeadOneIs) {
  Result<DvmInfo> info = create("one");
  ASSERT_TRUE(info);
  const Result<DvmInfo> again = create("one");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
  kill(*info);
  std::ofstream(info->directory + "/logs/v1.log") << "old";
  ASSERT_TRUE(create("one"));
  EXPECT_FALSE(fs::exists(info->directory + "/logs/v1.log"));
}

TEST_F(DvmDirectoryTest, OfManyMakersOneWins) {
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

TEST_F(DvmDirectoryTest, MakersAndRemoversDoNotLoseEachOther) {
  std::atomic<int> failed = 0;
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 4; ++i) {
      workers.emplace_back([&, name = "dvm-" + std::to_string(i)] {
        for (int round = 0; round < 20; ++round) {
          DvmDirectory held;
          if (!create(name, &held) || !held.remove()) ++failed;
        }
      });
    }
  }
  EXPECT_EQ(failed, 0);
  EXPECT_FALSE(fs::exists(base_));
}

TEST_F(DvmDirectoryTest, UnsafeBasesAreRefused) {
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

TEST_F(DvmDirectoryTest, AnotherUsersBaseIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  fs::create_directory(base_);
  ::chmod(base_.c_str(), 0700);
  ASSERT_EQ(::chown(base_.c_str(), 65534, 65534), 0);
  EXPECT_THAT(create("one").error().message, HasSubstr("belongs to user 65534"));
  EXPECT_EQ(list_dvms(base_).error().code, ErrorCode::kPermissionDenied);
  EXPECT_FALSE(remove_dead_dvm(base_, "one"));
}

TEST_F(DvmDirectoryTest, MissingParentIsAnErrorAtOnce) {
  DvmInfo info;
  info.name = "one";
  const Result<NewDvm> made = create_dvm_directory((folder_ / "no" / "base").string(), info);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("cannot make directory"));
}

TEST_F(DvmDirectoryTest, RemovalFollowsNoLinks) {
  DvmDirectory one;
  DvmDirectory two;
  const Result<DvmInfo> info = create("one", &one);
  ASSERT_TRUE(info);
  fs::create_directory(folder_ / "precious");
  std::ofstream(folder_ / "precious" / "file") << "keep";
  fs::create_directory_symlink(folder_ / "precious", info->directory + "/logs/link");
  fs::create_directories(info->directory + "/a/b/c");
  ASSERT_TRUE(create("two", &two));
  ASSERT_TRUE(one.remove());
  EXPECT_FALSE(fs::exists(info->directory));
  EXPECT_TRUE(fs::exists(folder_ / "precious" / "file"));
  EXPECT_TRUE(fs::exists(base_ + "/two"));
  EXPECT_TRUE(one.remove());
  EXPECT_TRUE(two.remove());
  EXPECT_FALSE(fs::exists(base_));
  EXPECT_TRUE(two.remove());
  EXPECT_TRUE(DvmDirectory().remove());
}

TEST_F(DvmDirectoryTest, ALinkInPlaceOfADvmIsNotRemoved) {
  ASSERT_TRUE(create("one"));
  fs::create_directory(folder_ / "precious");
  fs::create_directory_symlink(folder_ / "precious", base_ + "/two");
  EXPECT_FALSE(remove_dead_dvm(base_, "two"));
  EXPECT_FALSE(create("two"));
  EXPECT_TRUE(fs::exists(folder_ / "precious"));
}

// ---- the lock of a living head ----

TEST_F(DvmDirectoryTest, AHeldDirectoryIsALivingDvmWhateverBecameOfItsFiles) {
  DvmDirectory held;
  const Result<DvmInfo> info = create("one", &held);
  ASSERT_TRUE(info);
  fs::remove(info->directory + "/dvm.json");
  EXPECT_FALSE(held.has_info());
  const Result<DvmInfo> again = create("one");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(again.error().message, HasSubstr("is running already: its head holds"));
  EXPECT_EQ(remove_dead_dvm(base_, "one").error().code, ErrorCode::kAlreadyExists);
  EXPECT_TRUE(sweep().empty());
  ASSERT_TRUE(fs::exists(info->directory + "/logs"));
  ASSERT_TRUE(held.write_info(*info));
  EXPECT_TRUE(held.has_info());
  held = DvmDirectory();
  fs::remove(info->directory + "/dvm.json");
  EXPECT_TRUE(create("one")) << "the lock is gone with its holder";
}

TEST_F(DvmDirectoryTest, AHolderRemovesOnlyItsOwnDirectory) {
  DvmDirectory old;
  DvmDirectory fresh;
  ASSERT_TRUE(create("one", &old));
  fs::rename(base_ + "/one", folder_ / "moved");
  const Result<DvmInfo> info = create("one", &fresh);
  ASSERT_TRUE(info);
  EXPECT_TRUE(old.remove());
  EXPECT_TRUE(fresh.has_info()) << "it is another's by now";
  EXPECT_TRUE(fs::exists(info->directory));
}

TEST_F(DvmDirectoryTest, WhoOutlivesTheHeadRemovesItsDirectory) {
  DvmDirectory held;
  const Result<DvmInfo> info = create("one", &held);
  ASSERT_TRUE(info);
  Result<DvmDirectory> warden = DvmDirectory::open(info->directory);
  Result<DvmDirectory> daemon = DvmDirectory::open(info->directory);
  ASSERT_TRUE(warden && daemon);
  int calls = 0;
  const auto count = [&] {
    EXPECT_TRUE(fs::exists(base_)) << "nothing is removed yet";
    ++calls;
  };
  EXPECT_TRUE(warden->remove_if_abandoned({}, count));
  EXPECT_TRUE(held.has_info()) << "the head lives";
  EXPECT_EQ(calls, 0);
  held = DvmDirectory();
  EXPECT_TRUE(warden->remove_if_abandoned({}, count));
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(fs::exists(base_));
  EXPECT_TRUE(daemon->remove_if_abandoned());
  ASSERT_TRUE(create("one"));
  EXPECT_TRUE(daemon->remove_if_abandoned());
  EXPECT_TRUE(fs::exists(info->directory)) << "a newer one of the same name";
}

TEST_F(DvmDirectoryTest, ACrashDumpIsKeptForTheNextStart) {
  const Result<DvmInfo> info = create("one");
  ASSERT_TRUE(info);
  std::ofstream(info->directory + "/logs/head.crash") << "why";
  Result<DvmDirectory> warden = DvmDirectory::open(info->directory);
  EXPECT_TRUE(warden->remove_if_abandoned());
  EXPECT_TRUE(fs::exists(info->directory + "/logs/head.crash"));
  warden = DvmDirectory();
  kill(*info);
  EXPECT_THAT(sweep(), ElementsAre("tide-h-1-x"));
  EXPECT_FALSE(fs::exists(info->directory));
}

// ---- what the dead left, and only that ----

TEST_F(DvmDirectoryTest, TheDeadAreSweptAndTheLivingAreNot) {
  DvmDirectory held;
  ASSERT_TRUE(create("held", &held));
  ASSERT_TRUE(create("alive"));  // by its process alone
  Result<DvmInfo> dead = create("dead");
  ASSERT_TRUE(dead);
  dead->dvm_id = "tide-h-2-y";
  kill(*dead);
  EXPECT_THAT(sweep(), ElementsAre("tide-h-2-y"));
  EXPECT_FALSE(fs::exists(base_ + "/dead"));
  EXPECT_TRUE(fs::exists(base_ + "/held/dvm.json"));
  EXPECT_TRUE(fs::exists(base_ + "/alive/dvm.json"));
}

TEST_F(DvmDirectoryTest, ADeadNodeIsSweptWithoutItsDvmWhereAnotherNodeOfItLives) {
  DvmDirectory held;
  ASSERT_TRUE(create("node-1", &held));
  const Result<DvmInfo> dead = create("node-2");
  ASSERT_TRUE(dead);
  kill(*dead);
  EXPECT_THAT(sweep(), ElementsAre());
  EXPECT_FALSE(fs::exists(base_ + "/node-2"));
  EXPECT_TRUE(fs::exists(base_ + "/node-1"));
}

TEST_F(DvmDirectoryTest, AStartThatDiedHalfWayIsSwept) {
  ASSERT_TRUE(create("alive"));
  for (const char* name : {"empty", "logs-only", "not-renamed", "not-written"}) {
    fs::create_directories(base_ + "/" + name);
    ::chmod((base_ + "/" + name).c_str(), 0700);
  }
  for (const char* name : {"logs-only", "not-renamed"}) {
    fs::create_directory(base_ + "/" + name + "/logs");
    ::chmod((base_ + "/" + name + "/logs").c_str(), 0700);
  }
  std::ofstream(base_ + "/not-renamed/.dvm.json.4711") << "{";
  {
    const std::ofstream made(base_ + "/not-written/dvm.json");
  }
  EXPECT_TRUE(sweep().empty()) << "none had an id yet";
  for (const char* name : {"empty", "logs-only", "not-renamed", "not-written"}) {
    EXPECT_FALSE(fs::exists(base_ + "/" + name)) << name;
  }
}

TEST_F(DvmDirectoryTest, WhatIsNotProvablyOursStays) {
  ASSERT_TRUE(create("alive"));
  const auto make = [&](const std::string& name, const std::string& file, const std::string& text) {
    fs::create_directories(fs::path(base_ + "/" + name + "/" + file).parent_path());
    ::chmod((base_ + "/" + name).c_str(), 0700);
    std::ofstream(base_ + "/" + name + "/" + file) << text;
    return base_ + "/" + name + "/" + file;
  };
  std::vector<std::string> foreign = {make("foreign", "thesis.tex", "x"),
                                      make("broken", "dvm.json", "{"),
                                      make("no-name!", "dvm.json", "{}")};
  const Result<DvmInfo> other = create("other");
  ASSERT_TRUE(other);
  kill(*other);
  fs::rename(base_ + "/other", base_ + "/renamed");  // its dvm.json names another
  foreign.push_back(base_ + "/renamed/dvm.json");
  const Result<DvmInfo> open_to_all = create("open");
  ASSERT_TRUE(open_to_all);
  kill(*open_to_all);
  ::chmod(open_to_all->directory.c_str(), 0755);
  foreign.push_back(base_ + "/open/dvm.json");
  fs::create_directory(folder_ / "precious");
  ::chmod((folder_ / "precious").c_str(), 0700);
  fs::create_directory_symlink(folder_ / "precious", base_ + "/link");
  foreign.push_back(base_ + "/link");
  EXPECT_TRUE(sweep().empty());
  for (const std::string& path : foreign) EXPECT_TRUE(fs::exists(path)) << path;
  const Result<DvmInfo> refused = create("foreign");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  EXPECT_THAT(refused.error().message, HasSubstr("remove it yourself"));
}

TEST_F(DvmDirectoryTest, AnotherUsersDirectoryIsNotSwept) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  ASSERT_TRUE(create("alive"));
  const Result<DvmInfo> info = create("theirs");
  ASSERT_TRUE(info);
  kill(*info);
  ASSERT_EQ(::chown(info->directory.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(sweep().empty());
  EXPECT_TRUE(fs::exists(info->directory + "/dvm.json"));
}

}  // namespace
}  // namespace tide
