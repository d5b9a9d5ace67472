// What is going to happen. Usually in order of virtual time, things of the same moment in the order
// in which they were announced; or, where interleavings are explored, as somebody chooses.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "sim/what.hpp"

namespace tide::sim {

class Schedule {
 public:
  using Action = std::function<void()>;
  struct Entry {
    std::uint64_t when_us = 0;
    std::uint64_t order = 0;  // of announcement
    std::uint64_t round = 0;  // how many steps led to it, one after the other
    What what;
    Action action;
  };
  // Chooses one of what is pending; nullptr: it did something itself.
  using Chooser = std::function<const Entry*(const std::vector<Entry>& pending)>;

  [[nodiscard]] std::uint64_t now_us() const { return now_us_; }
  [[nodiscard]] std::uint64_t now_ms() const { return now_us_ / 1000; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  // Something happens without that a timer or another moment has to come first.
  [[nodiscard]] bool under_way() const { return under_way_ > 0; }

  void after(std::uint64_t delay_us, const What& what, Action action);
  void at_ms(std::uint64_t when_ms, const What& what, Action action);

  // Until nothing is left or the time is over; false: the time was over, or too much happened.
  bool run(std::uint64_t until_ms, std::uint64_t max_steps);

  // ---- where interleavings are explored ----
  // From now on messages and answers take no time, and the order is that of the chooser.
  void explore(Chooser chooser) { chooser_ = std::move(chooser); }
  [[nodiscard]] bool explores() const { return chooser_ != nullptr; }
  // Another timer of the same host and number replaces it.
  void drop_timer(HostId host, std::uint64_t timer);
  // Something that is part of the host's history and was not scheduled.
  void note(HostId host, std::uint64_t fact);
  void note_everywhere(std::uint64_t fact);
  // Of the histories of all hosts, of what is pending, and of the time.
  [[nodiscard]] std::uint64_t hash() const;

 private:
  bool run_chosen(std::uint64_t until_ms, std::uint64_t max_steps);
  [[nodiscard]] std::uint64_t round_of(const What& what) const;
  void perform(const Entry& entry);

  struct Host {
    std::uint64_t history = 0;
    std::uint64_t round = 0;
  };
  std::vector<Entry> pending_;  // a heap, unless somebody chooses
  Chooser chooser_;
  std::map<HostId, Host> hosts_;
  std::uint64_t pending_hash_ = 0;
  std::uint64_t round_ = 0;  // of the step under way
  std::uint64_t now_us_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t under_way_ = 0;
};

}  // namespace tide::sim
