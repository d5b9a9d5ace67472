#include "exec/staging_area.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/test_files.hpp"

namespace tide::exec {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class StagingAreaTest : public ::testing::Test {
 protected:
  // What became of the piece; "" if all is well.
  std::string take(std::uint32_t job, const std::string& name, const std::string& data,
                   bool first = true, bool last = true, unsigned mode = 0644,
                   bool archive = false) {
    core::StageFile order{JobId(job), {}, Bytes(data)};
    order.chunk.set_number(++number_);
    order.chunk.set_last(last);
    if (first) {
      order.chunk.mutable_begins()->set_name(name);
      order.chunk.mutable_begins()->set_mode(mode);
      order.chunk.mutable_begins()->set_archive(archive);
    }
    area_.take(std::move(order));
    if (staged_.empty()) return "nothing was said";
    const auto& event = staged_.back();
    EXPECT_EQ(event.number, number_);
    EXPECT_TRUE(event.status.ok() || event.file == name);
    return event.status ? "" : event.status.error().message;
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(root_ + "/" + name).rdbuf();
    return out.str();
  }
  void reap() {
    int status = 0;
    ASSERT_EQ(::waitpid(child_, &status, 0), child_);
    ended_(status);
  }

  tide::testing::TemporaryDirectory folder_;
  std::string root_ = folder_.file("files");
  asio::io_context io_;
  std::vector<core::FileStaged> staged_;
  std::vector<JobId> removed_;
  pid_t child_ = 0;
  std::function<void(int)> ended_;
  std::uint32_t number_ = 0;
  StagingArea area_{io_,
                    root_,
                    "/bin/false",
                    {[this](core::FileStaged event) { staged_.push_back(std::move(event)); },
                     [this](JobId job) { removed_.push_back(job); },
                     [this](pid_t pid, std::function<void(int)> ended) {
                       child_ = pid;
                       ended_ = std::move(ended);
                     }}};
};

TEST_F(StagingAreaTest, PiecesBecomeFilesWithTheirModes) {
  EXPECT_EQ(take(7, "a/b/run", "one ", true, false, 0755), "");
  EXPECT_EQ(take(7, "", "two", false, true), "");
  EXPECT_EQ(take(7, "empty", ""), "");
  EXPECT_EQ(text("7/a/b/run"), "one two");
  struct stat found{};
  ASSERT_EQ(::stat((root_ + "/7/a/b/run").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777U, 0755U);
  ASSERT_EQ(::stat((root_ + "/7/empty").c_str(), &found), 0);
  EXPECT_EQ(found.st_size, 0);
  ASSERT_EQ(::stat(root_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0700U);
}

TEST_F(StagingAreaTest, TheSameAgainIsFineAndAnotherIsRefused) {
  EXPECT_EQ(take(7, "x", "same"), "");
  EXPECT_EQ(take(7, "x", "same", true, true, 0755), "");
  struct stat found{};
  ASSERT_EQ(::stat((root_ + "/7/x").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0755U) << "one of the two is a program";
  EXPECT_THAT(take(7, "x", "sam"), HasSubstr("another file"));
  EXPECT_THAT(take(7, "x", "same and more"), HasSubstr("another file"));
  EXPECT_THAT(take(7, "x", "SAME"), HasSubstr("another file"));
  EXPECT_EQ(text("7/x"), "same");
  EXPECT_THAT(take(7, "x/y", "below a file"), HasSubstr("no file"));
}

TEST_F(StagingAreaTest, NothingLeavesTheDirectory) {
  for (const std::string name : {"../x", "a/../../x", "/tmp/x", "", "a//b", "."}) {
    EXPECT_THAT(take(7, name, "x"), HasSubstr("leads out")) << name;
  }
  fs::create_directory_symlink("/tmp", root_ + "/7/link");
  EXPECT_THAT(take(7, "link/x", "x"), HasSubstr("no file"));
}

TEST_F(StagingAreaTest, WhatFollowsAnArchiveWaitsForIt) {
  EXPECT_EQ(take(7, "in.tar", "packed", true, true, 0644, true), "nothing was said");
  EXPECT_EQ(take(7, "next", "x"), "nothing was said");
  reap();
  ASSERT_EQ(staged_.size(), 2U);
  EXPECT_FALSE(staged_[0].status.ok()) << "/bin/false says so";
  EXPECT_EQ(staged_[0].file, "in.tar");
  EXPECT_TRUE(staged_[1].status.ok());
}

TEST_F(StagingAreaTest, StoppedAndRemovedNothingIsLeft) {
  EXPECT_EQ(take(7, "in.tar", "packed", true, true, 0644, true), "nothing was said");
  EXPECT_EQ(take(8, "other", "stays"), "");
  area_.stop(JobId(7));
  reap();
  EXPECT_FALSE(staged_.back().status.ok());
  area_.remove(JobId(7));
  io_.run();
  EXPECT_EQ(removed_, std::vector{JobId(7)});
  EXPECT_FALSE(fs::exists(root_ + "/7"));
  EXPECT_TRUE(fs::exists(root_ + "/8/other"));
  area_.remove_all();
  EXPECT_FALSE(fs::exists(root_));
}

TEST_F(StagingAreaTest, ADirectoryAloneIsMade) {
  area_.take(core::StageFile{JobId(9), {}, {}});
  EXPECT_TRUE(staged_.back().status.ok());
  EXPECT_TRUE(fs::is_directory(root_ + "/9"));
}

}  // namespace
}  // namespace tide::exec
