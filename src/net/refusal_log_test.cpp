#include "net/refusal_log.hpp"

#include <gtest/gtest.h>

namespace tide::net {
namespace {

using std::chrono::milliseconds;

TEST(RefusalLog, OneLineASecondWithTheOthersCounted) {
  RefusalLog log;
  const RefusalLog::Clock::time_point start{};
  EXPECT_EQ(log.note("a", start), "a");
  EXPECT_EQ(log.note("b", start + milliseconds(1)), std::nullopt);
  EXPECT_EQ(log.note("c", start + milliseconds(999)), std::nullopt);
  EXPECT_EQ(log.note("d", start + milliseconds(1000)), "d (and 2 more before)");
  EXPECT_EQ(log.note("e", start + milliseconds(2000)), "e");
}

}  // namespace
}  // namespace tide::net
