#include "cli/job_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/test_files.hpp"
#include "cli/job_request.hpp"
#include "wire/limits.hpp"

namespace tide::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JobFilesTest : public ::testing::Test {
 protected:
  JobFilesTest() {
    std::filesystem::create_directory(folder_.file("bin"));
    for (const char* name : {"a.dat", "bin/solver", "in.tar.gz"}) {
      std::ofstream(folder_.file(name)) << name;
    }
    ::chmod(folder_.file("bin/solver").c_str(), 0755);
    path_ = "PATH=/nowhere:" + folder_.file("bin");
  }
  // The message of a refusal, or "".
  std::string take(std::vector<std::string> words) {
    const char* const entries[] = {path_.c_str(), nullptr};
    const Environment environment(entries);
    auto line = parse_command_line({"prun", Command::kRun, std::move(words)});
    EXPECT_TRUE(line.ok());
    auto request = make_job_request(*line, environment, "/here");
    EXPECT_TRUE(request.ok());
    job_ = request->job;
    auto paths = take_preloads(*line, environment, job_);
    if (!paths) return paths.error().message;
    paths_ = *paths;
    return "";
  }

  tide::testing::TemporaryDirectory folder_;
  std::string path_;
  wire::JobSpec job_;
  std::vector<std::string> paths_;
};

TEST(StagedName, StaysBelow) {
  EXPECT_EQ(*staged_name("a/b.dat"), "a/b.dat");
  EXPECT_EQ(*staged_name("./a.dat"), "a.dat");
  EXPECT_EQ(*staged_name("/home/me/a.dat"), "a.dat");
  for (const char* name : {"../a", "a/../b", "a/..", "/", "/home/..", "."}) {
    EXPECT_FALSE(staged_name(name).ok()) << name;
  }
}

TEST(IsArchive, ByItsName) {
  for (const char* name : {"a.tar", "a.tar.gz", "b/a.tgz", "a.tar.bz2", "a.tar.xz", "a.zip"}) {
    EXPECT_TRUE(is_archive(name)) << name;
  }
  for (const char* name : {"tar", "a.gz", "a.targz", "zip.dat"}) EXPECT_FALSE(is_archive(name));
}

TEST_F(JobFilesTest, FilesAndTheProgram) {
  const std::string data = folder_.file("a.dat");
  const std::string packed = folder_.file("in.tar.gz");
  EXPECT_EQ(take({"-s", "--preload-files", data + "," + packed + "," + data, "solver", "-v", ":",
                  "--set-cwd-to-session-dir", "ls"}),
            "");
  EXPECT_THAT(paths_, ElementsAre(data, packed, folder_.file("bin") + "/solver"));
  ASSERT_EQ(job_.files_size(), 3);
  EXPECT_EQ(job_.files(0).name(), "a.dat");
  EXPECT_FALSE(job_.files(0).archive());
  EXPECT_TRUE(job_.files(1).archive());
  EXPECT_EQ(job_.files(2).mode(), 0755U);
  EXPECT_EQ(job_.apps(0).preloaded(), "solver");
  EXPECT_TRUE(job_.apps(0).in_job_directory());
  EXPECT_EQ(job_.apps(1).preloaded(), "");
  EXPECT_TRUE(job_.apps(1).in_job_directory());
}

TEST_F(JobFilesTest, AWorkingDirectoryOfItsOwnStays) {
  EXPECT_EQ(take({"-s", "--wdir", "/tmp", "solver"}), "");
  EXPECT_FALSE(job_.apps(0).in_job_directory());
  EXPECT_EQ(job_.apps(0).preloaded(), "solver");
}

TEST_F(JobFilesTest, WhatCannotBeSentIsRefused) {
  EXPECT_THAT(take({"--preload-files", "../x", "p"}), HasSubstr("leads out"));
  EXPECT_THAT(take({"--preload-files", folder_.file("gone"), "p"}), HasSubstr("No such file"));
  EXPECT_THAT(take({"--preload-files", folder_.file("bin"), "p"}), HasSubstr("a directory"));
  EXPECT_THAT(take({"--preload-files", ".", "p"}), HasSubstr("a directory"));
  EXPECT_THAT(take({"--preload-files", "/dev/null", "p"}), HasSubstr("neither a file"));
  EXPECT_THAT(take({"--preload-files", "a,,b", "p"}), HasSubstr("cannot read"));
  EXPECT_THAT(take({"-s", "unknown"}), HasSubstr("cannot find"));
  EXPECT_THAT(take({"-s", folder_.file("a.dat")}), HasSubstr("not executable"));
}

TEST_F(JobFilesTest, NamesAreTheSameHoweverTheyAreWritten) {
  EXPECT_EQ(*staged_name(".//data/./a.dat"), "data/a.dat");
  EXPECT_EQ(*staged_name("/home/me/a.dat"), "a.dat");
  EXPECT_FALSE(staged_name("data/../../a.dat"));
}

TEST_F(JobFilesTest, AFileThatChangesWhileItIsSentIsAFailure) {
  const std::string path = folder_.file("shrinks");
  std::ofstream(path) << std::string(3000, 'x');
  FileSender sender({path});
  sender.grant(4, 1000);
  EXPECT_EQ(sender.next().bytes.size(), 1000U);
  std::filesystem::resize_file(path, 1500);
  auto piece = sender.next();
  EXPECT_EQ(piece.bytes.size(), 500U);
  EXPECT_EQ(piece.failure, "it was changed while it was sent");
  EXPECT_FALSE(sender.wants_to_send());
}

TEST_F(JobFilesTest, APipeInPlaceOfAFileHoldsUpNobody) {
  const std::string path = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), S_IRUSR | S_IWUSR), 0);
  FileSender sender({path});
  sender.grant(1, 1000);
  EXPECT_TRUE(sender.next().last);
}

TEST_F(JobFilesTest, PiecesWithinTheCredit) {
  constexpr std::uint32_t kPieceBytes = 1000;
  const std::string large(kPieceBytes + 5, 'l');
  std::ofstream(folder_.file("large")) << large;
  FileSender sender({folder_.file("large"), folder_.file("a.dat"), folder_.file("gone")});
  EXPECT_FALSE(sender.wants_to_send());
  sender.grant(4, kPieceBytes);
  EXPECT_TRUE(sender.wants_to_send());
  auto piece = sender.next();
  EXPECT_EQ(piece.bytes.size(), kPieceBytes);
  EXPECT_FALSE(piece.last);
  piece = sender.next();
  EXPECT_EQ(piece.bytes, "lllll");
  EXPECT_TRUE(piece.last);
  piece = sender.next();
  EXPECT_EQ(piece.file, 1U);
  EXPECT_EQ(piece.bytes, "a.dat");
  piece = sender.next();
  EXPECT_EQ(piece.file, 2U);
  EXPECT_EQ(piece.failure, "No such file or directory");
  sender.grant(1, kPieceBytes);
  EXPECT_FALSE(sender.wants_to_send()) << "after a failure nothing follows";
}

}  // namespace
}  // namespace tide::cli
