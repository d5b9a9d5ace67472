// Slurm's commands are scripts here, which say what those of Slurm 22.05 were seen to say.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "base/test_files.hpp"
#include "base/text.hpp"
#include "rm/slurm_commands.hpp"

namespace tide::rm::testing {

using tide::testing::read_text;
using tide::testing::TemporaryDirectory;
using tide::testing::write_text;

inline constexpr auto kLimit = std::chrono::seconds(20);

// A variable of ours that is as it was after the test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = ::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// Has a job that ends when its input does, runs the command that it is given, and gives the job
// back afterwards.
inline constexpr std::string_view kGrants = R"(
while [ "$1" != cat ]; do shift; done
export SLURM_JOB_ID=18 'SLURM_JOB_NODELIST=node[3-4],node7' 'SLURM_JOB_CPUS_PER_NODE=4(x2),2'
echo 'salloc: Granted job allocation 18' >&2
"$@"
echo 'salloc: Relinquishing job allocation 18' >&2
)";
// Waits in the queue, and takes its request back when it is told to end.
inline constexpr std::string_view kWaits = R"(
trap 'echo "salloc: Job allocation 17 has been revoked." >&2; touch $here/told; exit 1' TERM HUP
echo 'salloc: Pending job allocation 17' >&2
echo 'salloc: job 17 queued and waiting for resources' >&2
touch $here/waits
until [ -e $here/go ]; do sleep 0.01; done
echo 'salloc: job 17 has been allocated resources' >&2
)";

class SlurmCommandsTest : public ::testing::Test {
 protected:
  // A command of Slurm's that notes how it was called, and lives on, as Slurm's do, when nobody
  // reads its words; in `script` `here` is the folder.
  void stand_in(const std::string& name, std::string_view script) {
    write_text(
        file(name),
        fmt::format("#!/bin/sh\nhere={}\ntrap '' PIPE\nprintf '%s\\n' \"$@\" > $here/{}.argv\n"
                    "env > $here/{}.env\n{}\n",
                    folder_.path(), name, name, script),
        true);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }
  [[nodiscard]] bool exists(const std::string& name) const {
    return std::filesystem::exists(file(name));
  }
  [[nodiscard]] std::vector<std::string> lines_of(const std::string& name) const {
    auto text = read_text(file(name));
    if (text.ends_with('\n')) text.pop_back();
    return split(text, '\n');
  }
  SlurmCommands& commands() {
    if (!commands_) commands_.emplace(io_, config_);
    return *commands_;
  }
  // Runs what is to be done until it is so.
  template <class Condition>
  void until(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + kLimit;
    while (!condition() && std::chrono::steady_clock::now() < deadline) {
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(condition());
  }
  template <class T>
  SlurmControl::Then<T> into(std::optional<T>& out) {
    return [&out](T value) {
      EXPECT_FALSE(out) << "told once";
      out.emplace(std::move(value));
    };
  }
  Result<SlurmJob> shown(const std::string& job) {
    std::optional<Result<SlurmJob>> out;
    commands().show(job, into(out));
    EXPECT_FALSE(out) << "not from inside of who asks";
    until([&out] { return out.has_value(); });
    return out ? *out : Result<SlurmJob>(Error{});
  }
  Result<std::vector<SlurmRow>> listed() {
    std::optional<Result<std::vector<SlurmRow>>> out;
    commands().list(into(out));
    EXPECT_FALSE(out);
    until([&out] { return out.has_value(); });
    return out ? *out : Result<std::vector<SlurmRow>>(Error{});
  }
  template <class Order>
  Status done(Order order) {
    std::optional<Status> out;
    order(into(out));
    EXPECT_FALSE(out);
    until([&out] { return out.has_value(); });
    return out ? *out : Status(Error{});
  }
  // One request; what comes of it is noted.
  void allocate(const SlurmWish& wish = {.count = 3, .job_name = "tide-x"}) {
    hold_ = commands().allocate(
        wish, {.waits = [this](const auto& job) { notes_.push_back("waits " + job); },
               .granted =
                   [this](SlurmJob job) {
                     notes_.push_back("granted " + job.id);
                     granted_ = std::move(job);
                   },
               .refused =
                   [this](Error why) {
                     notes_.push_back("refused: " + why.message);
                     refused_ = std::move(why);
                   },
               .left = [this](const auto& job) { notes_.push_back("left " + job); }});
    hold_->on_over([this] { notes_.emplace_back("over"); });
    EXPECT_THAT(notes_, ::testing::IsEmpty()) << "not from inside of who asks";
  }
  void until_noted(std::string_view words) {
    until([&] { return !notes_.empty() && notes_.back().starts_with(words); });
  }
  bool settled(std::uint32_t limit_ms = 20'000) {
    std::optional<bool> out;
    commands().settle(limit_ms, into(out));
    EXPECT_FALSE(out);
    until([&out] { return out.has_value(); });
    return out.value_or(false);
  }
  // A head that allocates and is killed once its salloc has made that file.
  void kill_a_head_when(const std::string& name) {
    const auto head = ::fork();
    if (head == 0) {
      asio::io_context io;
      SlurmCommands of_head(io, config_);
      const auto ignore = [](const auto&) {};
      const auto hold =
          of_head.allocate({.count = 3, .job_name = "tide-x"},
                           {.waits = ignore, .granted = ignore, .refused = ignore, .left = ignore});
      io.run_for(kLimit);
      ::_exit(0);
    }
    until([&] { return exists(name); });
    ::kill(head, SIGKILL);
    EXPECT_EQ(::waitpid(head, nullptr, 0), head);
  }

  TemporaryDirectory folder_;
  Variable path_{"PATH", folder_.path() + ":/usr/bin:/bin"};
  asio::io_context io_;
  SlurmCommandsConfig config_{};
  std::optional<SlurmCommands> commands_;
  std::unique_ptr<SlurmHold> hold_;
  std::vector<std::string> notes_;
  std::optional<SlurmJob> granted_;
  std::optional<Error> refused_;
};

}  // namespace tide::rm::testing
