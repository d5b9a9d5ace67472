// One direction of the reliable traffic between the head and a daemon. Links are FIFO but break;
// whoever gets a new path sends again what was not acknowledged, and the receiver takes only the
// next number: nothing is lost, doubled or reordered.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

namespace tide::core {

template <class Item>
class SendChannel {
 public:
  struct Entry {
    std::uint64_t seq;
    Item item;
  };

  // Numbers the item and keeps it until acknowledged.
  const Entry& push(Item item) {
    unacknowledged_.push_back(Entry{++last_, std::move(item)});
    return unacknowledged_.back();
  }
  void acknowledge(std::uint64_t seq) {
    while (!unacknowledged_.empty() && unacknowledged_.front().seq <= seq) {
      unacknowledged_.pop_front();
    }
  }
  [[nodiscard]] std::uint64_t last() const { return last_; }
  [[nodiscard]] const std::deque<Entry>& unacknowledged() const { return unacknowledged_; }

 private:
  std::uint64_t last_ = 0;
  std::deque<Entry> unacknowledged_;
};

class ReceiveChannel {
 public:
  // True if this is the next one: deliver it. Duplicates, and what overtook a loss, are dropped.
  bool accept(std::uint64_t seq) {
    if (seq != received_ + 1) return false;
    ++received_;
    return true;
  }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  // True if something arrived that was not acknowledged yet.
  [[nodiscard]] bool owes_ack() const { return received_ != acknowledged_; }
  [[nodiscard]] std::uint64_t debt() const { return received_ - acknowledged_; }
  std::uint64_t take_ack() { return acknowledged_ = received_; }

 private:
  std::uint64_t received_ = 0;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace tide::core
