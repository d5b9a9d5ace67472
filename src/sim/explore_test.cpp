// All interleavings of small worlds: what is tried, what is told apart, what is found.
#include "sim/explore.hpp"

#include <gtest/gtest.h>

#include <map>

#include "sim/clients.hpp"
#include "sim/world.hpp"

namespace tide::sim {
namespace {

ExploreOptions small(std::uint32_t departures) {
  ExploreOptions options;
  options.nodes = 2;
  options.jobs = 1;
  options.departures = departures;
  return options;
}

// Those of the run with the next choice at the last departure; none: there is no such choice.
std::vector<std::uint64_t> states_of_next(const ExploreOptions& options, Path path) {
  ++path.departures.back().choice;
  try {
    return states_of(options, path);
  } catch (const std::invalid_argument&) {
    return {};
  }
}

std::string story_of(const ExploreOptions& options, const Path& path) {
  Journal journal(/*keep_lines=*/true);
  const auto failure = replay(options, path, journal);
  std::string story = failure ? failure->text : "held";
  for (const auto& line : journal.lines()) story += "\n" + readable(line);
  return story;
}

TEST(Explore, OneFaultInEveryStateOfTwoDaemonsAndTwoJobs) {
  const auto explored = explore(ExploreOptions{.nodes = 2, .jobs = 2, .departures = 1});
  EXPECT_TRUE(explored.complete);
  EXPECT_FALSE(explored.failure) << explored.failure->text << "\n" << to_text(*explored.broken);
  EXPECT_GT(explored.states, 50'000U);
  EXPECT_GT(explored.faults, 1'000U);
}

TEST(Explore, TheUsualOrderAloneIsOneRun) {
  const auto explored = explore(small(0));
  EXPECT_TRUE(explored.complete);
  EXPECT_EQ(explored.runs, 1U);
  EXPECT_EQ(explored.states, states_of(small(0), Path{}).size());
}

TEST(Explore, WhatIsVisitedDoesNotHangOnThreads) {
  auto options = small(1);
  const auto one = explore(options);
  options.threads = 4;
  const auto four = explore(options);
  EXPECT_TRUE(one.complete && four.complete);
  EXPECT_EQ(one.states, four.states);
  EXPECT_GT(one.states, one.runs);
}

// What the pruning rests on: states with the same hash go on in the same way.
TEST(Explore, EqualHashesHaveEqualFutures) {
  const auto options = small(1);
  std::map<std::uint64_t, std::uint64_t> following;
  std::uint64_t met_again = 0;
  const auto usual = states_of(options, Path{}).size();
  for (std::uint32_t step = 0; step < usual; ++step) {
    for (Path path{0, {{step, 0}}};; ++path.departures[0].choice) {
      const auto states = states_of_next(options, path);
      if (states.empty()) break;
      for (std::size_t i = 0; i + 1 < states.size(); ++i) {
        const auto [known, added] = following.try_emplace(states[i], states[i + 1]);
        met_again += added ? 0U : 1U;
        ASSERT_EQ(known->second, states[i + 1]) << to_text(path) << " state " << i;
      }
    }
  }
  EXPECT_GT(met_again, 1'000U);
}

TEST(Explore, APathIsTheSameRunEachTime) {
  auto options = small(2);
  options.classes = {FaultClass::kLie};
  Path path{0, {{20, 1}, {30, 1}}};
  while (!states_of_next(options, path).empty())
    ++path.departures[1].choice;  // the lie is the last
  const auto story = story_of(options, path);
  EXPECT_EQ(story, story_of(options, path));
  EXPECT_NE(story.find("choice: "), std::string::npos);
  EXPECT_NE(story.find("fault: "), std::string::npos);
}

// A promise that nobody made: no daemon is ever lost.
TEST(Explore, ABrokenPromiseComesWithItsPath) {
  auto options = small(1);
  options.classes = {FaultClass::kCrash};
  options.also_check = [](const World& world) {
    const bool up = world.ready() && !world.clients().down_requested();
    if (up && world.head().roster().nodes().size() < 2)
      throw BrokenPromise("nobody is ever lost", "somebody is");
  };
  const auto explored = explore(options);
  ASSERT_TRUE(explored.failure && explored.broken);
  EXPECT_FALSE(explored.complete);
  EXPECT_EQ(explored.failure->promise, "nobody is ever lost");
  EXPECT_EQ(explored.broken->departures.size(), 1U);
  Journal journal(/*keep_lines=*/true);
  const auto again = replay(options, *explored.broken, journal);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->text, explored.failure->text);
}

TEST(Explore, ALimitStopsItAndThatIsSaid) {
  auto options = small(2);
  options.max_states = 500;
  const auto explored = explore(options);
  EXPECT_FALSE(explored.complete);
  EXPECT_FALSE(explored.failure);
  EXPECT_LT(explored.states, 100'000U);
}

TEST(ExplorePath, TextComesBackAsItWas) {
  for (const auto* text : {"0/", "3/7:1", "0/31:4,57:1"}) {
    const auto path = read_path(text);
    ASSERT_TRUE(path.ok()) << text;
    EXPECT_EQ(to_text(*path), text);
  }
  for (const auto* text : {"", "7", "x/", "0/7", "0/7:", "0/7:1,", "-1/", "0/99999999999:1"}) {
    EXPECT_FALSE(read_path(text).ok()) << text;
  }
  EXPECT_THROW(story_of(small(1), Path{1'000, {}}), std::invalid_argument);
}

}  // namespace
}  // namespace tide::sim
