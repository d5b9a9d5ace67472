#include "base/counters.hpp"

#include <gtest/gtest.h>

namespace tide {
namespace {

TEST(Counters, SnapshotIsSortedAndHandlesShareCells) {
  Counters counters;
  Counter frames = counters.counter("net.frames");
  Gauge jobs = counters.gauge("jobs.running");
  frames.add();
  counters.counter("net.frames").add(4);
  jobs.set(7);
  jobs.add(-2);
  const std::vector<CounterValue> expected = {{"jobs.running", true, 5}, {"net.frames", false, 5}};
  EXPECT_EQ(counters.snapshot(), expected);
}

TEST(Counters, DefaultHandlesCountNothing) {
  Counter counter;
  Gauge gauge;
  counter.add();
  gauge.set(1);
  gauge.add(1);
  EXPECT_TRUE(Counters().snapshot().empty());
}

TEST(CountersDeathTest, ANameIsCounterOrGauge) {
  Counters counters;
  counters.counter("x");
  EXPECT_DEATH(counters.gauge("x"), "internal error");
}

}  // namespace
}  // namespace tide
