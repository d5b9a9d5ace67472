#include "core/timers.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <optional>
#include <vector>

namespace tide::core {
namespace {

TimerFired fired(const StartTimer& timer) {
  return {timer.timer, timer.generation};
}

TEST(TimerBook, FiresOnce) {
  TimerBook book;
  const auto timer = book.arm(TimerKind::kJobTimeout, 250, 7);
  EXPECT_EQ(timer.after_ms, 250U);
  EXPECT_EQ(TimerBook::kind(fired(timer)), TimerKind::kJobTimeout);
  EXPECT_EQ(TimerBook::subject(fired(timer)), 7U);
  EXPECT_TRUE(book.armed(TimerKind::kJobTimeout, 7));
  EXPECT_FALSE(book.armed(TimerKind::kJobTimeout, 8));
  EXPECT_FALSE(book.armed(TimerKind::kEscalate, 7));
  EXPECT_TRUE(book.take(fired(timer)));
  EXPECT_FALSE(book.armed(TimerKind::kJobTimeout, 7));
  EXPECT_FALSE(book.take(fired(timer)));
}

TEST(TimerBook, AnOlderGenerationIsStale) {
  TimerBook book;
  const auto older = book.arm(TimerKind::kStart, 10);
  const auto newer = book.arm(TimerKind::kStart, 10);
  EXPECT_FALSE(book.take(fired(older)));
  EXPECT_TRUE(book.armed(TimerKind::kStart));
  EXPECT_TRUE(book.take(fired(newer)));
}

TEST(TimerBook, CancelledAndArmedAgainTheOldFiringStaysStale) {
  TimerBook book;
  const auto older = book.arm(TimerKind::kDrain, 10, 3);
  book.cancel(TimerKind::kDrain, 3);
  EXPECT_FALSE(book.take(fired(older)));
  const auto newer = book.arm(TimerKind::kDrain, 10, 3);
  EXPECT_FALSE(book.take(fired(older)));
  EXPECT_TRUE(book.take(fired(newer)));
}

RC_GTEST_PROP(TimerBook, OnlyTheLastOneAskedForCounts, ()) {
  TimerBook book;
  std::vector<std::pair<StartTimer, std::uint32_t>> started;
  std::map<std::uint32_t, std::optional<std::uint64_t>> valid;  // subject → generation
  const auto steps = *rc::gen::container<std::vector<std::pair<int, std::uint32_t>>>(
      rc::gen::pair(rc::gen::inRange(0, 10), rc::gen::inRange<std::uint32_t>(0, 1000)));
  for (const auto& [step, draw] : steps) {
    const auto subject = draw % 4;
    if (step < 4) {
      started.emplace_back(book.arm(TimerKind::kEscalate, 1, subject), subject);
      valid[subject] = started.back().first.generation;
    } else if (step < 5) {
      book.cancel(TimerKind::kEscalate, subject);
      valid[subject].reset();
    } else if (!started.empty()) {
      const auto& [timer, of] = started[draw % started.size()];
      const bool expected = valid[of] == timer.generation;
      RC_ASSERT(book.take(fired(timer)) == expected);
      if (expected) valid[of].reset();
    }
    RC_ASSERT(book.armed(TimerKind::kEscalate, subject) == valid[subject].has_value());
  }
}

}  // namespace
}  // namespace tide::core
