// Each promise about requests to resource managers, kept and broken.
#include "sim/ask_checks.hpp"

#include <gtest/gtest.h>

#include "sim/journal.hpp"

namespace tide::sim {
namespace {

using Numbers = std::set<std::uint32_t>;

// "" if all of them are kept.
std::string broken_by(const std::vector<AskSight>& sights, bool quiet = false) {
  AskChecks checks;
  try {
    for (const auto& sight : sights) checks.take(sight);
    if (quiet) checks.when_quiet();
  } catch (const BrokenPromise& broken) {
    return broken.promise();
  }
  return "";
}

AskSight asked(std::uint32_t number, const std::string& asker = "client 5") {
  AskSight out;
  out.asked = {{number, asker}};
  out.shown = Numbers{number};
  out.waiting_jobs = asker.empty() ? 1 : 0;
  return out;
}

AskSight answered(std::uint32_t number, const std::set<std::string>& nodes = {}) {
  AskSight out;
  out.answered = number;
  out.granted = nodes;
  return out;
}

AskSight cancelled(std::uint32_t number) {
  AskSight out;
  out.cancelled = {number};
  return out;
}

TEST(AskChecks, ARequestIsAnsweredOrTakenBack) {
  EXPECT_EQ(broken_by({asked(1), answered(1, {"p1"}), asked(2), cancelled(2)}, true), "");
  EXPECT_EQ(broken_by({asked(1)}, true), "every request comes to its end");
}

TEST(AskChecks, WhatIsAnsweredIsNotTakenBack) {
  constexpr const char* kPromise = "only what waits for an answer is taken back";
  EXPECT_EQ(broken_by({asked(1), answered(1), cancelled(1)}), kPromise);
  EXPECT_EQ(broken_by({asked(1), cancelled(1), cancelled(1)}), kPromise);
  auto both = answered(1);
  both.cancelled = {1};
  EXPECT_EQ(broken_by({asked(1), both}), kPromise);
}

TEST(AskChecks, WhatComesTooLateGoesBack) {
  auto late = answered(1, {"p1", "p2"});
  EXPECT_EQ(broken_by({asked(1), cancelled(1), late}), "what comes too late goes back");
  late.returned = {"p1", "p2"};
  EXPECT_EQ(broken_by({asked(1), cancelled(1), late}), "");
}

TEST(AskChecks, NumbersAreGivenOnce) {
  EXPECT_EQ(broken_by({asked(1), answered(1), asked(1)}), "each request has a number of its own");
}

TEST(AskChecks, NobodyIsAskedForThoseWhoHaveGone) {
  constexpr const char* kPromise = "what nobody waits for is taken back";
  AskSight gone;
  gone.gone = {"client 5"};
  gone.shown = Numbers{1};
  EXPECT_EQ(broken_by({asked(1), gone}), kPromise);
  gone.cancelled = {1};
  gone.shown.emplace();
  EXPECT_EQ(broken_by({asked(1), gone}), "");
  AskSight job_ends;
  job_ends.shown = Numbers{1};
  EXPECT_EQ(broken_by({asked(1, ""), job_ends}), kPromise);
}

TEST(AskChecks, WhatIsAskedAnewHasTheSameAsker) {
  AskSight anew = cancelled(1);
  anew.asked = {{2, "", 1}};
  anew.shown = Numbers{2};
  AskSight gone;
  gone.gone = {"client 5"};
  gone.shown = Numbers{2};
  EXPECT_EQ(broken_by({asked(1), anew}), "");
  EXPECT_EQ(broken_by({asked(1), anew, gone}), "what nobody waits for is taken back");
  anew.asked[0].before = 7;
  EXPECT_EQ(broken_by({asked(1), anew}), "what is asked for is wanted by somebody");
}

TEST(AskChecks, WhatWaitsIsShown) {
  AskSight hidden = asked(1);
  hidden.shown.emplace();
  EXPECT_EQ(broken_by({hidden}), "what is asked for is shown");
}

// row:E15
TEST(AskChecks, NothingIsAskedForAfterTheEnd) {
  AskSight end;
  end.ended = true;
  end.shown = Numbers{1};
  EXPECT_EQ(broken_by({asked(1), end}), "nobody asks for nodes when the DVM has ended");
}

}  // namespace
}  // namespace tide::sim
