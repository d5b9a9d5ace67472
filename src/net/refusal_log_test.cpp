#include "net/refusal_log.hpp"

#include <gtest/gtest.h>

namespace tide::net {
namespace {

using std::chrono::milliseconds;

TEST(RefusalLog, OneLineASecondWithTheOthersCounted) {
  RefusalLog log;
  const RefusalLog::Clock::time_point start{};
  EXPECT_EQ(log.note("tls", "a", start), "a");
  EXPECT_EQ(log.note("tls", "b", start + milliseconds(1)), std::nullopt);
  EXPECT_EQ(log.note("tls", "c", start + milliseconds(999)), std::nullopt);
  EXPECT_EQ(log.note("tls", "d", start + milliseconds(1000)), "d (and 2 more like this before)");
  EXPECT_EQ(log.note("tls", "e", start + milliseconds(2000)), "e");
  EXPECT_EQ(log.total(), 5U);
}

TEST(RefusalLog, AFloodOfOneCauseDoesNotHideAnother) {
  RefusalLog log;
  const RefusalLog::Clock::time_point start{};
  for (int i = 0; i < 1000; ++i) static_cast<void>(log.note("silent", "s", start));
  EXPECT_EQ(log.note("wrong key", "k", start), "k");
  EXPECT_EQ(log.note("silent", "s", start + milliseconds(1500)),
            "s (and 999 more like this before)");
}

TEST(RefusalLog, ManyCausesAtOnceAreBoundedToo) {
  RefusalLog log;
  const RefusalLog::Clock::time_point start{};
  int lines = 0;
  for (int i = 0; i < 100; ++i) lines += log.note(std::to_string(i), "x", start) ? 1 : 0;
  EXPECT_EQ(lines, 10);
  EXPECT_EQ(log.note("99", "y", start + milliseconds(1000)), "y (and 1 more like this before)");
}

}  // namespace
}  // namespace tide::net
