// What is going to happen, in order of virtual time; things of the same moment in the order in
// which they were announced.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace tide::sim {

class Schedule {
 public:
  using Action = std::function<void()>;

  [[nodiscard]] std::uint64_t now_us() const { return now_us_; }
  [[nodiscard]] std::uint64_t now_ms() const { return now_us_ / 1000; }
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

  void after(std::uint64_t delay_us, Action action) {
    queue_.push(Entry{now_us_ + delay_us, order_++, std::move(action)});
  }
  void at_ms(std::uint64_t when_ms, Action action) {
    const auto when_us = when_ms * 1000;
    after(when_us > now_us_ ? when_us - now_us_ : 0, std::move(action));
  }

  // Until nothing is left or the time is over; false: the time was over, or too much happened.
  bool run(std::uint64_t until_ms, std::uint64_t max_steps) {
    while (!queue_.empty()) {
      if (queue_.top().when_us > until_ms * 1000 || steps_ >= max_steps) return false;
      // The queue's own element is about to go: nobody sees that it was emptied.
      Action action = std::move(const_cast<Entry&>(queue_.top()).action);
      now_us_ = queue_.top().when_us;
      queue_.pop();
      ++steps_;
      action();
    }
    return true;
  }

 private:
  struct Entry {
    std::uint64_t when_us;
    std::uint64_t order;
    Action action;
    bool operator<(const Entry& other) const {
      return when_us != other.when_us ? when_us > other.when_us : order > other.order;
    }
  };
  std::priority_queue<Entry> queue_;
  std::uint64_t now_us_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace tide::sim
