// Changes of size in worlds that are made for them.
#include <gtest/gtest.h>

#include "sim/explore.hpp"
#include "sim/run.hpp"

namespace tide::sim {
namespace {

// row:E20 every way in which two changes can meet, in the usual order of all else; those with a job
// between them are a hundred times as many, and a case of their own of ./test sim
TEST(Elastic, TwoChangesMayMeetInAnyState) {
  ExploreOptions options{.nodes = 2, .jobs = 0, .changes = 2, .departures = 0};
  const auto explored = explore(options);
  EXPECT_TRUE(explored.complete);
  EXPECT_FALSE(explored.failure) << explored.failure->text << "\n" << to_text(*explored.broken);
  EXPECT_EQ(explored.worlds, small_worlds(options).size());
  EXPECT_GT(explored.runs, 1'000U);
}

// row:E14 row:E19 what comes when nothing else goes on is one run; what may come at any time is
// many.
TEST(Elastic, WhoComesInAnotherStateIsNoDeparture) {
  ExploreOptions options{.nodes = 1, .jobs = 1, .changes = 1, .departures = 0};
  const auto explored = explore(options);
  EXPECT_TRUE(explored.complete);
  EXPECT_GT(explored.runs, 10 * explored.worlds);
  options.departures = 1;
  options.classes = {FaultClass::kCut};
  const auto more = explore(options);
  EXPECT_TRUE(more.complete);
  EXPECT_FALSE(more.failure) << more.failure->text << "\n" << to_text(*more.broken);
  EXPECT_GT(more.runs, 10 * explored.runs);
}

// row:S12
TEST(Elastic, FortyJobsAcrossAShrinkAllSucceed) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Scenario scenario;
    scenario.seed = 16 * seed;  // in which orders can be sent
    scenario.nodes = 4;
    for (std::uint64_t i = 0; i < 40; ++i) {
      scenario.jobs.push_back({.at_ms = 1'000 + 2 * i, .max_run_ms = 5, .max_output_bytes = 50});
    }
    scenario.changes.push_back({.at_ms = 1'030, .what = ChangeKind::kShrink, .nodes = {"v4"}});
    Journal journal;
    const auto failure = run_scenario(scenario, journal);
    EXPECT_FALSE(failure) << seed << ": " << failure->text;
    EXPECT_EQ(journal.counts.jobs_succeeded, 40U) << seed;
    EXPECT_EQ(journal.counts.changes_done, 1U) << seed;
  }
}

// A child on a node that stands still and is ordered away is not there for its parent any more,
// though nobody has seen it end.
TEST(Elastic, WhatAProcessHasPutIsNotHadFromANodeThatIsOrderedAway) {
  Counts counts;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Scenario scenario;
    scenario.seed = 16 * seed;  // in which orders can be sent
    scenario.nodes = 2;
    scenario.slots = 1;
    scenario.jobs.push_back({.at_ms = 1'000, .max_run_ms = 5});
    scenario.jobs.back().asks_for(Ask::kSpawn) = 1;
    scenario.faults.push_back(
        {.kind = FaultKind::kFreeze, .at_ms = 1'010, .target = 1, .for_ms = 40'000});
    scenario.changes.push_back({.at_ms = 1'020, .what = ChangeKind::kShrink, .nodes = {"v2"}});
    Journal journal;
    const auto failure = run_scenario(scenario, journal);
    EXPECT_FALSE(failure) << seed << ": " << failure->text;
    counts.add(journal.counts);
  }
  const auto spawning = static_cast<std::size_t>(Ask::kSpawn);
  EXPECT_LT(counts.served.at(spawning), counts.asked.at(spawning)) << "some waited for the child";
  EXPECT_EQ(counts.changes_done, 50U);
}

// row:E17 the time of nodes that came for a job is over, and another job names them while they
// leave
TEST(Elastic, AJobMayNameANodeThatIsAboutToLeave) {
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 2; seed <= 200; seed += 2) {  // elastic, and nobody wants another size
    Scenario scenario;
    scenario.seed = seed;
    scenario.nodes = 2;
    scenario.spares = 2;
    scenario.jobs.push_back({.at_ms = 1'000, .processes = 8, .by_node = true, .adds = 2});
    for (std::uint64_t i = 0; i < 40; ++i) {
      scenario.jobs.push_back({.at_ms = 1'200 + 100 * i, .adds = 2, .adds_by_name = true});
    }
    Journal journal;
    const auto failure = run_scenario(scenario, journal);
    EXPECT_FALSE(failure) << seed << ": " << failure->text;
    refused += journal.counts.jobs - journal.counts.jobs_succeeded;
  }
  EXPECT_GT(refused, 0U);
}

TEST(Elastic, AScenarioWithNamedNodesComesBackAsItWas) {
  Scenario scenario;
  scenario.spares = 1;
  scenario.changes.push_back({.what = ChangeKind::kShrink, .nodes = {"v1", "v3"}});
  const auto read = read_scenario(to_text(scenario));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, scenario);
}

}  // namespace
}  // namespace tide::sim
