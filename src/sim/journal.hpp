// What is written down about a world: counts always, a readable log and a trace on request.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/network.hpp"
#include "sim/scenario.hpp"

namespace tide::sim {

// A promise of the system that did not hold in a world.
class BrokenPromise : public std::runtime_error {
 public:
  BrokenPromise(std::string_view promise, const std::string& what)
      : std::runtime_error(std::string(promise) + ": " + what), promise_(promise) {}
  [[nodiscard]] const std::string& promise() const { return promise_; }

 private:
  std::string promise_;
};

struct Counts {
  std::uint64_t worlds = 0;
  std::uint64_t steps = 0;
  std::uint64_t messages = 0;
  std::uint64_t virtual_ms = 0;
  std::uint64_t jobs = 0;
  std::uint64_t jobs_succeeded = 0;
  std::uint64_t failed_starts = 0;
  std::uint64_t nodes_lost = 0;
  std::uint64_t lives = 0;  // of DVMs: more than one in a world that ended before its faults
  std::array<std::uint64_t, kFaultKinds> faults{};
  std::array<std::uint64_t, kTroubles> troubles{};  // of processes, by Trouble
  std::array<std::uint64_t, 5> habits{};            // of clients, by ClientHabit
  std::array<std::uint64_t, kAsks> asked{};         // of the services, by Ask
  std::array<std::uint64_t, kAsks> served{};        // of these, with success
  std::uint64_t tools = 0;
  std::uint64_t changes = 0;  // of the DVM's size
  std::uint64_t changes_done = 0;
  std::uint64_t changes_failed = 0;
  std::uint64_t queued = 0;      // requests that a scheduler lets wait
  std::uint64_t taken_back = 0;  // requests of any kind
  std::uint64_t asked_anew = 0;
  std::uint64_t leases_moved = 0;
  std::uint64_t wishes = 0;  // about allocations
  std::uint64_t wishes_granted = 0;

  void add(const Counts& other);
  [[nodiscard]] std::uint64_t faults_in_all() const;
  [[nodiscard]] std::uint64_t faults_of(FaultClass fault_class) const;
};

struct TraceLine {
  std::uint64_t at_us = 0;
  HostId host = 0;
  enum class Kind : std::uint8_t { kEvent, kAction, kNote, kWorld } kind = Kind::kWorld;
  std::string text;
};

class Journal {
 public:
  explicit Journal(bool keep_lines = false) : keep_lines_(keep_lines) {}

  Counts counts;

  [[nodiscard]] bool keeps_lines() const { return keep_lines_; }
  void line(std::uint64_t at_us, HostId host, TraceLine::Kind kind, std::string text) {
    if (keep_lines_) lines_.push_back(TraceLine{past_us_ + at_us, host, kind, std::move(text)});
  }
  // The clock of the world starts again at nothing; here it goes on.
  void next_life(std::uint64_t lasted_us) { past_us_ += lasted_us; }
  [[nodiscard]] const std::vector<TraceLine>& lines() const { return lines_; }

 private:
  bool keep_lines_;
  std::uint64_t past_us_ = 0;
  std::vector<TraceLine> lines_;
};

// "12.345 ms  v3  event  link_up 4 to rank 1"
std::string readable(const TraceLine& line);
// A document for chrome://tracing and Perfetto: one track for each host.
std::string chrome_trace(const std::vector<TraceLine>& lines);

}  // namespace tide::sim
