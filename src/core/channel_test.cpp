#include "core/channel.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <utility>
#include <vector>

namespace tide::core {
namespace {

TEST(SendChannel, KeepsUntilAcknowledged) {
  SendChannel<int> channel;
  EXPECT_EQ(channel.push(10).seq, 1U);
  EXPECT_EQ(channel.push(20).seq, 2U);
  EXPECT_EQ(channel.push(30).seq, 3U);
  channel.acknowledge(2);
  ASSERT_EQ(channel.unacknowledged().size(), 1U);
  EXPECT_EQ(channel.unacknowledged().front().item, 30);
  channel.acknowledge(1);
  EXPECT_EQ(channel.unacknowledged().size(), 1U) << "an old acknowledgement says nothing new";
  channel.acknowledge(3);
  EXPECT_TRUE(channel.unacknowledged().empty());
  EXPECT_EQ(channel.push(40).seq, 4U);
}

TEST(ReceiveChannel, TakesOnlyTheNext) {
  ReceiveChannel channel;
  EXPECT_FALSE(channel.owes_ack());
  EXPECT_FALSE(channel.accept(2)) << "overtook a loss";
  EXPECT_TRUE(channel.accept(1));
  EXPECT_FALSE(channel.accept(1)) << "a duplicate";
  EXPECT_FALSE(channel.accept(0));
  EXPECT_TRUE(channel.accept(2));
  EXPECT_EQ(channel.received(), 2U);
  EXPECT_EQ(channel.debt(), 2U);
  EXPECT_EQ(channel.take_ack(), 2U);
  EXPECT_FALSE(channel.owes_ack());
  EXPECT_EQ(channel.debt(), 0U);
  EXPECT_EQ(channel.take_ack(), 2U);
}

// A sender, a receiver and the path between them, which loses all that is on it when it breaks.
class Path {
 public:
  void push(int item) { transmit(sender_.push(item)); }
  void deliver_one() {
    if (there_.empty()) return;
    const auto [seq, item] = there_.front();
    there_.pop_front();
    if (receiver_.accept(seq)) delivered_.push_back(item);
  }
  void send_ack() { back_.push_back(receiver_.take_ack()); }
  void take_ack() {
    if (back_.empty()) return;
    sender_.acknowledge(back_.front());
    back_.pop_front();
  }
  // Everything under way is lost, and whatever was sent on the dead path before anybody noticed.
  void break_and_repair(bool new_path_carries_ack) {
    there_.clear();
    back_.clear();
    if (new_path_carries_ack) sender_.acknowledge(receiver_.take_ack());
    for (const auto& entry : sender_.unacknowledged()) transmit(entry);
  }
  // One message vanishes as if it had gone to a link that was already dead.
  void lose_one() {
    if (!there_.empty()) there_.pop_front();
  }
  void drain() {
    while (!there_.empty()) deliver_one();
    send_ack();
    while (!back_.empty()) take_ack();
  }
  [[nodiscard]] const std::vector<int>& delivered() const { return delivered_; }
  [[nodiscard]] bool all_acknowledged() const { return sender_.unacknowledged().empty(); }

 private:
  void transmit(const SendChannel<int>::Entry& entry) {
    there_.emplace_back(entry.seq, entry.item);
  }

  SendChannel<int> sender_;
  ReceiveChannel receiver_;
  std::deque<std::pair<std::uint64_t, int>> there_;
  std::deque<std::uint64_t> back_;
  std::vector<int> delivered_;
};

RC_GTEST_PROP(Channel, EverythingArrivesOnceAndInOrder, ()) {
  Path path;
  std::vector<int> pushed;
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 20));
  for (const int step : steps) {
    if (step < 8) {
      pushed.push_back(static_cast<int>(pushed.size()));
      path.push(pushed.back());
    } else if (step < 13) {
      path.deliver_one();
    } else if (step < 15) {
      path.send_ack();
    } else if (step < 17) {
      path.take_ack();
    } else if (step < 18) {
      path.lose_one();
    } else {
      path.break_and_repair(step == 19);
    }
    RC_ASSERT(path.delivered().size() <= pushed.size());
    RC_ASSERT(std::equal(path.delivered().begin(), path.delivered().end(), pushed.begin()));
  }
  path.break_and_repair(true);
  path.drain();
  RC_ASSERT(path.delivered() == pushed);
  RC_ASSERT(path.all_acknowledged());
}

}  // namespace
}  // namespace tide::core
