// A place for run directories of its own, gone after the test.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/dvm_directory.hpp"

namespace tide {

inline unsigned mode_of(const std::filesystem::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0U;
}

// The number of a process that has ended and was reaped.
inline std::uint32_t dead_pid() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return static_cast<std::uint32_t>(pid);
}

class RunDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tide-run-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    base_ = run_base_path(folder_.string());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A DVM whose head is the test; it is held as long as `held` lives.
  Result<DvmInfo> create(const std::string& name, DvmDirectory* held = nullptr) const {
    DvmInfo info;
    info.name = name;
    info.dvm_id = "tide-h-1-x";
    info.uri = "tide-h-1-x.0;tcp4://127.0.0.1:5";
    info.nodes = 8;
    info.slots = 16;
    info.started_unix_ms = 1'700'000'000'000;
    Result<NewDvm> made = create_dvm_directory(base_, info);
    if (!made) return made.error();
    if (held) *held = std::move(made->directory);
    return made->info;
  }
  // As if its head had died.
  static void kill(DvmInfo info) {
    info.pid = dead_pid();
    ASSERT_TRUE(rewrite(info));
  }
  static Status rewrite(const DvmInfo& info) {
    return DvmDirectory::open(info.directory)->write_info(info);
  }

  std::filesystem::path folder_;
  std::string base_;
};

}  // namespace tide
