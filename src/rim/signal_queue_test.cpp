#include "rim/signal_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <vector>

namespace tide::rim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

core::ProcKey proc(std::uint32_t rank) {
  return {JobId(1), ProcRank(rank)};
}

class SignalQueueTest : public testing::Test {
 public:
  SignalQueueTest()
      : queue(
            io,
            [this](core::ProcKey who, int signal) {
              delivered.emplace_back(who.rank.value(), signal);
            },
            [this](std::function<void()> then) { settling.push_back(std::move(then)); }) {}

  asio::io_context io;
  std::vector<std::pair<std::uint32_t, int>> delivered;
  std::vector<std::function<void()>> settling;
  SignalQueue queue;
};

TEST_F(SignalQueueTest, TheNextOneComesWhenTheFirstIsGoneAndLibpmixKnows) {
  queue.push(proc(0), SIGTERM);
  queue.push(proc(1), SIGTERM);
  EXPECT_THAT(delivered, ElementsAre(Pair(0, SIGTERM)));
  queue.ended(proc(0));
  EXPECT_THAT(delivered, ElementsAre(Pair(0, SIGTERM))) << "libpmix has not seen it";
  ASSERT_EQ(settling.size(), 1U);
  settling[0]();
  EXPECT_THAT(delivered, ElementsAre(Pair(0, SIGTERM), Pair(1, SIGTERM)));
  settling[0]();
  queue.ended(proc(1));
  settling[1]();
  EXPECT_EQ(delivered.size(), 2U);
  queue.push(proc(2), SIGKILL);
  EXPECT_EQ(delivered.size(), 3U);
}

TEST_F(SignalQueueTest, ALaterSignalTakesThePlaceOfOneThatWaits) {
  queue.push(proc(0), SIGTERM);
  queue.push(proc(1), SIGTERM);
  queue.push(proc(1), SIGKILL);
  queue.ended(proc(0));
  settling[0]();
  EXPECT_THAT(delivered, ElementsAre(Pair(0, SIGTERM), Pair(1, SIGKILL)));
}

TEST_F(SignalQueueTest, WhoEndedMeanwhileGetsNone) {
  queue.push(proc(0), SIGTERM);
  queue.push(proc(1), SIGTERM);
  queue.ended(proc(1));
  queue.ended(proc(0));
  settling[0]();
  EXPECT_THAT(delivered, ElementsAre(Pair(0, SIGTERM)));
}

TEST_F(SignalQueueTest, NeitherAStubbornOneNorAMuteLibpmixHoldsUpTheOthers) {
  for (const std::uint32_t rank : {0U, 1U, 2U}) queue.push(proc(rank), SIGTERM);
  io.run_one_for(std::chrono::seconds(10));
  EXPECT_THAT(delivered, ElementsAre(Pair(0, SIGTERM), Pair(1, SIGTERM)));
  queue.ended(proc(1));  // and nothing settles
  for (int i = 0; i < 10 && delivered.size() < 3; ++i) io.run_one_for(std::chrono::seconds(1));
  EXPECT_EQ(delivered.size(), 3U);
}

TEST_F(SignalQueueTest, AfterTheEndNothingIsDelivered) {
  queue.push(proc(0), SIGTERM);
  queue.push(proc(1), SIGTERM);
  queue.ended(proc(0));
  queue.stop();
  settling[0]();
  io.run_for(std::chrono::milliseconds(100));
  EXPECT_THAT(delivered, ElementsAre(Pair(0, SIGTERM)));
}

}  // namespace
}  // namespace tide::rim
