// A process table on an event loop, and what it reported.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exec/process_table.hpp"

namespace tide::exec::testing {

inline std::size_t index_of(wire::Stream stream) {
  return static_cast<std::size_t>(stream);
}

inline core::ProcKey key(std::uint32_t rank) {
  return {JobId(1), ProcRank(rank)};
}

struct Report {
  pid_t pid = 0;
  std::optional<Error> error;
  std::optional<std::pair<int, int>> exit;  // code, signal
  std::array<std::string, 2> output;
  std::array<bool, 2> closed{};
  std::uint64_t input_taken = 0;

  [[nodiscard]] bool ended() const { return exit && closed[0] && closed[1]; }
};

class ProcessTableFixture : public ::testing::Test, public ProcessHandler {
 protected:
  static constexpr std::uint32_t kWindowBytes = 64 * 1024;

  void on_spawned(core::ProcKey proc, pid_t pid) override {
    EXPECT_FALSE(inside_call_);
    reports_[proc].pid = pid;
  }
  void on_spawn_failed(core::ProcKey proc, Error error) override {
    EXPECT_FALSE(inside_call_);
    reports_[proc].error = std::move(error);
  }
  void on_exited(core::ProcKey proc, int exit_code, int signal) override {
    EXPECT_NE(reports_[proc].pid, 0);
    EXPECT_FALSE(reports_[proc].exit);
    reports_[proc].exit = {exit_code, signal};
  }
  void on_output(core::ProcKey proc, wire::Stream stream, Bytes data) override {
    EXPECT_FALSE(inside_call_);
    EXPECT_NE(reports_[proc].pid, 0);
    EXPECT_FALSE(reports_[proc].closed.at(index_of(stream)));
    reports_[proc].output.at(index_of(stream)) += data.view();
    if (grant_back_) table_->grant_output(proc, stream, static_cast<std::uint32_t>(data.size()));
  }
  void on_output_closed(core::ProcKey proc, wire::Stream stream) override {
    EXPECT_FALSE(inside_call_);
    EXPECT_FALSE(reports_[proc].closed.at(index_of(stream)));
    reports_[proc].closed.at(index_of(stream)) = true;
  }
  void on_input_taken(core::ProcKey proc, std::uint32_t bytes) override {
    EXPECT_FALSE(inside_call_);
    reports_[proc].input_taken += bytes;
  }

  void on_swept(JobId job, std::uint32_t left_over) override {
    EXPECT_FALSE(inside_call_);
    EXPECT_FALSE(swept_.contains(job));
    swept_[job] = left_over;
  }

  void TearDown() override {
    table_->kill_all();
    EXPECT_TRUE(run_until([this] { return table_->live() == 0; }));
  }

  void spawn(std::uint32_t rank, std::vector<std::string> argv, bool wants_input = false,
             std::uint32_t window_bytes = kWindowBytes) {
    core::SpawnProc request;
    request.proc = key(rank);
    request.program = std::make_shared<core::Program>(core::Program{std::move(argv), {}, {}});
    request.output_window_bytes = window_bytes;
    request.wants_input = wants_input;
    spawn(request);
  }
  void spawn(const core::SpawnProc& request) {
    call([&] { table_->spawn(request); });
  }
  void call(const std::function<void()>& operation) {
    inside_call_ = true;
    operation();
    inside_call_ = false;
  }

  // Runs the loop until it is so; false when it takes too long.
  bool run_until(const std::function<bool()>& condition,
                 std::chrono::milliseconds limit = std::chrono::seconds(30)) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      io_.run_one_for(std::chrono::milliseconds(20));
      io_.restart();
    }
    return true;
  }
  Report& report(std::uint32_t rank) { return reports_[key(rank)]; }
  bool run_until_ended(std::uint32_t rank) {
    return run_until([this, rank] { return report(rank).ended(); });
  }

  asio::io_context io_;
  std::map<core::ProcKey, Report> reports_;
  std::map<JobId, std::uint32_t> swept_;
  std::unique_ptr<ProcessTable> table_ =
      std::make_unique<ProcessTable>(io_, *this, ProcessTableConfig{.node = "v3", .dvm_id = "dvm"});
  bool grant_back_ = true;
  bool inside_call_ = false;
};

}  // namespace tide::exec::testing
