// Worlds drawn from seeds keep their promises; the same seed is the same world, byte for byte.
#include "sim/world.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/campaign.hpp"
#include "sim/run.hpp"

namespace tide::sim {
namespace {

std::string story_of(const Scenario& scenario) {
  Journal journal(/*keep_lines=*/true);
  const auto failure = run_scenario(scenario, journal);
  std::string story = failure ? failure->text : "held";
  for (const auto& line : journal.lines()) story += "\n" + readable(line);
  return story;
}

TEST(Worlds, KeepTheirPromises) {
  const auto result = run_campaign({.first_seed = 1, .last_seed = 150});
  for (const auto& failed : result.failures) {
    ADD_FAILURE() << failed.failure.text << "\nreplay: tide sim --replay " << failed.seed;
  }
  EXPECT_EQ(result.counts.worlds, 150U);
  EXPECT_GT(result.counts.jobs_succeeded, 150U);
  EXPECT_GE(result.fewest_faults, kFewestFaults);
  EXPECT_LE(result.most_faults, kMostFaults);
  for (const auto each : kFaultClasses)
    EXPECT_GT(result.counts.faults_of(each), 15U) << name_of(each);
  for (std::size_t i = 0; i < kAsks; ++i)
    EXPECT_GT(result.counts.served[i], 30U) << name_of(static_cast<Ask>(i));
  EXPECT_GT(result.counts.tools, 30U);
}

// A DVM whose start fails meets no fault after that: another one does.
TEST(Worlds, GoOnWithAnotherDvmWhenTheStartFails) {
  Scenario scenario;
  scenario.nodes = 2;
  scenario.faults.push_back(Fault{.kind = FaultKind::kFailsToStart, .target = 1});
  for (std::uint64_t at_ms = 1'500; at_ms < 6'000; at_ms += 1'000)
    scenario.faults.push_back(Fault{.kind = FaultKind::kCut, .at_ms = at_ms});
  scenario.jobs.push_back(JobPlan{.at_ms = 1'400});
  Journal journal;
  EXPECT_FALSE(run_scenario(scenario, journal));
  EXPECT_EQ(journal.counts.failed_starts, 1U);
  EXPECT_EQ(journal.counts.lives, 2U);
  EXPECT_GE(journal.counts.faults_in_all(), kFewestFaults);
  EXPECT_EQ(journal.counts.jobs_succeeded, 1U);
}

TEST(Worlds, AreTheSameForTheSameSeed) {
  for (const std::uint64_t seed : {1U, 7U, 23U, 42U, 99U}) {
    const auto story = story_of(draw_scenario(seed));
    EXPECT_GT(story.size(), 10'000U);
    EXPECT_EQ(story, story_of(draw_scenario(seed)));
  }
}

TEST(Worlds, AreAsWrittenDown) {
  const auto scenario = draw_scenario(5);
  const auto read = read_scenario(to_text(scenario));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(story_of(scenario), story_of(*read));
}

TEST(Worlds, AreTheSameOnManyThreads) {
  const auto one = run_campaign({.first_seed = 1, .last_seed = 60, .threads = 1});
  const auto four = run_campaign({.first_seed = 1, .last_seed = 60, .threads = 4});
  EXPECT_EQ(one.counts.steps, four.counts.steps);
  EXPECT_EQ(one.counts.messages, four.counts.messages);
  EXPECT_EQ(one.counts.faults, four.counts.faults);
}

TEST(ChromeTrace, IsJsonWithATrackForEachHost) {
  Journal journal(/*keep_lines=*/true);
  journal.line(1, 0, TraceLine::Kind::kEvent, "link_up \"quoted\"\n");
  journal.line(2, 3, TraceLine::Kind::kWorld, "fault: cut");
  const auto text = chrome_trace(journal.lines());
  EXPECT_NE(text.find(R"("name":"head")"), std::string::npos);
  EXPECT_NE(text.find(R"("name":"h3")"), std::string::npos);
  EXPECT_NE(text.find(R"(link_up \"quoted\"\u000a)"), std::string::npos);
  EXPECT_EQ(text.find("},\n]"), std::string::npos);
}

}  // namespace
}  // namespace tide::sim
