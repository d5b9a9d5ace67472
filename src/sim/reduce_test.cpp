#include "sim/reduce.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tide::sim {
namespace {

bool has_kind(const Scenario& scenario, FaultKind kind) {
  return std::ranges::any_of(scenario.faults,
                             [kind](const Fault& fault) { return fault.kind == kind; });
}

// Of a large scenario exactly what the failure needs is left.
TEST(Reduce, LeavesWhatTheFailureNeeds) {
  Scenario scenario;
  scenario.nodes = 20;
  for (std::uint64_t i = 0; i < 25; ++i) {
    const auto kind = i == 7 ? FaultKind::kCrash : i == 19 ? FaultKind::kFreeze : FaultKind::kCut;
    scenario.faults.push_back(Fault{.kind = kind, .at_ms = i});
    scenario.jobs.push_back(JobPlan{.at_ms = i, .processes = 9});
  }
  scenario.jobs[11].trouble = Trouble::kCrash;
  const auto fails = [](const Scenario& candidate) {
    return candidate.nodes >= 3 && has_kind(candidate, FaultKind::kCrash) &&
           has_kind(candidate, FaultKind::kFreeze) &&
           std::ranges::any_of(candidate.jobs,
                               [](const JobPlan& job) { return job.trouble == Trouble::kCrash; });
  };
  const auto reduced = reduce(scenario, fails);
  EXPECT_TRUE(fails(reduced.scenario));
  EXPECT_EQ(reduced.scenario.faults.size(), 2U);
  ASSERT_EQ(reduced.scenario.jobs.size(), 1U);
  EXPECT_EQ(reduced.scenario.jobs[0].processes, 1U);
  EXPECT_EQ(reduced.scenario.nodes, 3U);
  EXPECT_LT(reduced.runs, 300U);
}

TEST(Reduce, StopsAtItsLimit) {
  const auto reduced = reduce(draw_scenario(5), [](const Scenario&) { return true; }, 3);
  EXPECT_EQ(reduced.runs, 3U);
}

}  // namespace
}  // namespace tide::sim
