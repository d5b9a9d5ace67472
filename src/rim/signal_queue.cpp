#include "rim/signal_queue.hpp"

#include <algorithm>
#include <chrono>

namespace tide::rim {

namespace {
// Most end at once. One that takes longer is alone when it does, in all likelihood.
constexpr auto kPatience = std::chrono::milliseconds(20);
}  // namespace

void SignalQueue::push(core::ProcKey proc, int signal) {
  const auto same = [&](const auto& entry) { return entry.first == proc; };
  if (const auto waiting = std::ranges::find_if(waiting_, same); waiting != waiting_.end()) {
    waiting->second = signal;
    return;
  }
  waiting_.emplace_back(proc, signal);
  if (!current_) next();
}

void SignalQueue::next() {
  current_.reset();
  if (waiting_.empty()) return;
  const auto [proc, signal] = waiting_.front();
  waiting_.pop_front();
  current_ = proc;
  go_on_at_last();
  deliver_(proc, signal);
}

void SignalQueue::go_on_at_last() {
  patience_.expires_after(kPatience);
  patience_.async_wait([this, turn = ++turn_](std::error_code error) {
    if (!error && turn == turn_) next();
  });
}

void SignalQueue::ended(core::ProcKey proc) {
  std::erase_if(waiting_, [&](const auto& entry) { return entry.first == proc; });
  if (current_ != proc) return;
  go_on_at_last();
  settle_([this, turn = turn_, alive = std::weak_ptr(lifetime_)] {
    if (!alive.expired() && turn == turn_) next();
  });
}

void SignalQueue::stop() {
  waiting_.clear();
  current_.reset();
  ++turn_;
  patience_.cancel();
}

}  // namespace tide::rim
