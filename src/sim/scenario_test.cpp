#include "sim/scenario.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tide::sim {
namespace {

TEST(Scenario, TheSeedDeterminesIt) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    EXPECT_EQ(draw_scenario(seed), draw_scenario(seed));
  }
  EXPECT_NE(to_text(draw_scenario(1)), to_text(draw_scenario(2)));
}

TEST(Scenario, HasFiveToThirtyFaultsAndComesToAnEnd) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const auto scenario = draw_scenario(seed);
    EXPECT_GE(scenario.fault_count(), kFewestFaults) << seed;
    EXPECT_LE(scenario.fault_count(), kMostFaults) << seed;
    EXPECT_FALSE(scenario.jobs.empty());
    EXPECT_LT(scenario.calm_ms(), 600'000U);
    for (const auto& fault : scenario.faults)
      EXPECT_LE(fault.at_ms + fault.for_ms, scenario.calm_ms());
  }
}

TEST(Scenario, TextComesBackAsItWas) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const auto scenario = draw_scenario(seed);
    const auto again = read_scenario(to_text(scenario));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(*again, scenario);
  }
}

TEST(Scenario, BadTextNamesItsLine) {
  for (const auto& [text, wanted] :
       {std::pair{"world nodes=3\nfault at=x", "line 2: at=x is no number"},
        std::pair{"fault kind=flood", "line 1: kind=flood is none of cut, crash"},
        std::pair{"# only a remark\nnews",
                  "line 2: a line starts with world, fault, job, tool or change"},
        std::pair{"world nodes", "line 1: 'nodes' is no NAME=VALUE"},
        std::pair{"world planets=9", "line 1: nobody knows 'planets'"},
        std::pair{"world nodes=0", "a world has a node at least"}}) {
    const auto result = read_scenario(text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_NE(result.error().message.find(wanted), std::string::npos) << result.error().message;
  }
}

TEST(Scenario, OnlyClassesThatAreAllowedAreDrawn) {
  ScenarioOptions options;
  options.classes = {FaultClass::kFreeze};
  options.nodes = 5;
  options.radix = 7;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto scenario = draw_scenario(seed, options);
    EXPECT_TRUE(std::ranges::all_of(
        scenario.faults, [](const Fault& fault) { return fault.kind == FaultKind::kFreeze; }));
    EXPECT_TRUE(std::ranges::all_of(scenario.jobs, [](const JobPlan& job) {
      return job.trouble == Trouble::kNone && job.client == ClientHabit::kStays;
    }));
    EXPECT_EQ(scenario.nodes, 5U);
    EXPECT_EQ(scenario.radix, 7U);
  }
}

}  // namespace
}  // namespace tide::sim
