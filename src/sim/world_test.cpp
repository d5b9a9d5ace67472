// The real cores in a virtual world: jobs end, broadcasts complete, the tree is repaired, whatever
// the order of events. Every test runs many seeds; a failure names its seed.
#include "sim/world.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

namespace tide::sim {
namespace {

constexpr std::uint64_t kLimitMs = 120'000;

std::uint64_t seeds() {
  const char* wanted = std::getenv("TIDE_SIM_SEEDS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 300;
}

// TIDE_SIM_SEED=N runs that one world alone.
std::uint64_t first_seed() {
  const char* wanted = std::getenv("TIDE_SIM_SEED");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 1;
}

std::uint64_t last_seed() {
  return std::getenv("TIDE_SIM_SEED") != nullptr ? first_seed() : seeds();
}

std::string tail(const World& world) {
  std::string out;
  const auto& lines = world.trace();
  for (std::size_t i = lines.size() > 60 ? lines.size() - 60 : 0; i < lines.size(); ++i) {
    out += lines[i] + "\n";
  }
  return out;
}

void expect_complete_output(const World& world, const JobOutcome& outcome,
                            std::uint32_t processes) {
  EXPECT_TRUE(outcome.output_in_order);
  for (std::uint32_t rank = 0; rank < processes; ++rank) {
    const auto seen = outcome.output_bytes.find(rank);
    const auto bytes = seen == outcome.output_bytes.end() ? 0 : seen->second;
    EXPECT_EQ(bytes, world.expected_output(outcome.number, rank)) << "process " << rank;
  }
}

TEST(World, JobsEndWithAllTheirOutput) {
  for (std::uint64_t seed = first_seed(); seed <= last_seed(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world({.seed = seed, .nodes = 1 + static_cast<std::uint32_t>(seed % 9), .radix = 2});
    world.start_dvm();
    for (int i = 0; i < 5; ++i) world.submit_at(static_cast<std::uint64_t>(i) * 7, 6);
    ASSERT_TRUE(world.run(kLimitMs)) << tail(world);
    ASSERT_TRUE(world.ready());
    EXPECT_EQ(world.check_converged(), "");
    for (const auto& outcome : world.outcomes()) {
      EXPECT_EQ(outcome.answers, 1);
      EXPECT_EQ(outcome.exit_status, 0);
      EXPECT_EQ(outcome.runaways_at_end, 0U);
      expect_complete_output(world, outcome, 6);
    }
    if (HasFailure()) FAIL() << tail(world);
  }
}

// row:E1 without elastic mode: jobs on a lost node end with its name, everything else goes on
TEST(World, CrashesEndTheJobsOnTheNodeAndNothingElse) {
  for (std::uint64_t seed = first_seed(); seed <= last_seed(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 rng(seed * 977);
    const auto nodes = 4 + static_cast<std::uint32_t>(rng() % 12);
    World world({.seed = seed, .nodes = nodes, .radix = rng() % 2 == 0 ? 2U : 64U});
    world.start_dvm();
    ASSERT_FALSE(world.run(400));
    ASSERT_TRUE(world.ready());
    std::set<std::string> crashed;
    const auto crashes = 1 + rng() % 3;
    for (std::uint64_t i = 0; i < crashes; ++i) {
      const auto rank = 1 + static_cast<std::uint32_t>(rng() % nodes);
      world.crash_at(400 + rng() % 100, Rank(rank));
      crashed.insert(fmt::format("v{}", rank));
    }
    for (int i = 0; i < 12; ++i) {
      world.submit_at(400 + rng() % 150, 1 + static_cast<std::uint32_t>(rng() % (2 * nodes)));
    }
    ASSERT_TRUE(world.run(kLimitMs)) << tail(world);
    EXPECT_EQ(world.check_converged(), "");
    for (const auto& outcome : world.outcomes()) {
      EXPECT_EQ(outcome.answers, 1) << "job " << outcome.number;
      EXPECT_EQ(outcome.runaways_at_end, 0U) << "job " << outcome.number;
      bool touched = false;
      for (const auto& [rank, node] : outcome.placed_on)
        touched = touched || crashed.contains(node);
      if (outcome.exit_status != 0) {
        ASSERT_FALSE(outcome.messages.empty());
        EXPECT_NE(outcome.messages[0].find("node v"), std::string::npos) << outcome.messages[0];
      } else {
        expect_complete_output(world, outcome,
                               static_cast<std::uint32_t>(outcome.placed_on.size()));
      }
      if (!touched) {
        EXPECT_TRUE(outcome.exit_status == 0 || outcome.exit_status == 120);
      }
    }
    if (HasFailure()) FAIL() << tail(world);
  }
}

// A frozen daemon is found out also where its parent dies in the same moment, so that no link
// tells.
TEST(World, AFrozenDaemonIsGivenUpWhoeverElseDies) {
  for (std::uint64_t seed = first_seed(); seed <= last_seed(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 rng(seed * 4099);
    const auto nodes = 4 + static_cast<std::uint32_t>(rng() % 12);
    World world({.seed = seed, .nodes = nodes, .radix = 2});
    world.start_dvm();
    ASSERT_FALSE(world.run(400));
    ASSERT_TRUE(world.ready());
    const Rank frozen{2 + static_cast<std::uint32_t>(rng() % (nodes - 1))};
    const auto parent = world.head().overlay().membership().tree().parent(frozen);
    world.freeze_at(450, frozen);
    if (*parent != kHeadRank) world.crash_at(440 + rng() % 200, *parent);
    world.crash_at(440 + rng() % 400, Rank(1 + static_cast<std::uint32_t>(rng() % nodes)));
    for (int i = 0; i < 8; ++i) world.submit_at(400 + rng() % 150, nodes);
    ASSERT_TRUE(world.run(kLimitMs)) << tail(world);
    EXPECT_EQ(world.head().overlay().membership().find(frozen), nullptr) << frozen.value();
    EXPECT_EQ(world.check_converged(), "");
    for (const auto& outcome : world.outcomes()) {
      EXPECT_EQ(outcome.answers, 1) << "job " << outcome.number;
    }
    if (HasFailure()) FAIL() << tail(world);
  }
}

// Whatever the order of output, end and reports: one process fails, so the job does, with its
// status.
TEST(World, OneFailureEndsTheJob) {
  for (std::uint64_t seed = first_seed(); seed <= last_seed(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world({.seed = seed,
                 .nodes = 1 + static_cast<std::uint32_t>(seed % 4),
                 .max_delay_ms = 20,
                 .failing_rank = static_cast<std::uint32_t>(seed % 6)});
    world.start_dvm();
    for (int i = 0; i < 5; ++i) world.submit_at(static_cast<std::uint64_t>(i) * 7, 6);
    ASSERT_TRUE(world.run(kLimitMs)) << tail(world);
    for (const auto& outcome : world.outcomes()) {
      EXPECT_EQ(outcome.answers, 1) << "job " << outcome.number;
      EXPECT_EQ(outcome.exit_status, kFailedStatus) << "job " << outcome.number;
    }
    if (HasFailure()) FAIL() << tail(world);
  }
}

TEST(World, CutLinksLoseNothing) {
  for (std::uint64_t seed = first_seed(); seed <= last_seed(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 rng(seed * 1237);
    const auto nodes = 3 + static_cast<std::uint32_t>(rng() % 12);
    World world({.seed = seed, .nodes = nodes, .radix = 2});
    world.start_dvm();
    world.run(400);
    ASSERT_TRUE(world.ready());
    for (int i = 0; i < 6; ++i) {
      world.cut_link_at(400 + rng() % 200, Rank(1 + static_cast<std::uint32_t>(rng() % nodes)));
    }
    for (int i = 0; i < 8; ++i) world.submit_at(400 + rng() % 150, nodes);
    ASSERT_TRUE(world.run(kLimitMs)) << tail(world);
    EXPECT_EQ(world.check_converged(), "");
    for (const auto& outcome : world.outcomes()) {
      EXPECT_EQ(outcome.answers, 1) << "job " << outcome.number;
      EXPECT_EQ(outcome.exit_status, 0) << "job " << outcome.number;
      EXPECT_EQ(outcome.runaways_at_end, 0U) << "job " << outcome.number;
      expect_complete_output(world, outcome, nodes);
    }
    if (HasFailure()) FAIL() << tail(world);
  }
}

// A daemon that has the key and lies is believed about itself and those below it, and no further.
TEST(World, LiesAboutOthersChangeNothing) {
  for (std::uint64_t seed = first_seed(); seed <= last_seed(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 rng(seed * 4241);
    const auto nodes = 3 + static_cast<std::uint32_t>(rng() % 12);
    World world({.seed = seed, .nodes = nodes, .radix = rng() % 2 == 0 ? 2U : 64U});
    world.start_dvm();
    world.run(400);
    ASSERT_TRUE(world.ready());
    for (int i = 0; i < 10; ++i)
      world.lie_at(400 + rng() % 200, Rank(1 + static_cast<std::uint32_t>(rng() % nodes)));
    if (seed % 2 == 0)
      world.cut_link_at(400 + rng() % 200, Rank(1 + static_cast<std::uint32_t>(rng() % nodes)));
    for (int i = 0; i < 6; ++i) world.submit_at(400 + rng() % 150, nodes);
    ASSERT_TRUE(world.run(kLimitMs)) << tail(world);
    EXPECT_EQ(world.check_converged(), "");
    for (const auto& outcome : world.outcomes()) {
      EXPECT_EQ(outcome.answers, 1) << "job " << outcome.number;
      EXPECT_EQ(outcome.exit_status, 0) << "job " << outcome.number;
      expect_complete_output(world, outcome, nodes);
    }
    if (HasFailure()) FAIL() << tail(world);
  }
}

TEST(World, TakingItDownEndsEverything) {
  for (std::uint64_t seed = first_seed(); seed <= last_seed(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 rng(seed * 31);
    World world({.seed = seed, .nodes = 7, .radix = 2});
    world.start_dvm();
    for (int i = 0; i < 6; ++i) world.submit_at(rng() % 300, 9);
    world.take_down_at(rng() % 400);
    if (seed % 3 == 0) world.crash_at(rng() % 400, Rank(1 + static_cast<std::uint32_t>(rng() % 7)));
    ASSERT_TRUE(world.run(kLimitMs)) << tail(world);
    EXPECT_TRUE(world.head_exited());
    for (const auto& outcome : world.outcomes()) {
      EXPECT_LE(outcome.answers, 1);
      if (outcome.number != 0) {
        EXPECT_EQ(outcome.answers, 1);
      }
    }
    if (HasFailure()) FAIL() << tail(world);
  }
}

// Processes that the kernel does not let go are a matter of the node, not of the job.
TEST(World, JobsEndThoughWhatTheyLeftCannotBeEnded) {
  for (std::uint64_t seed = first_seed(); seed <= std::min<std::uint64_t>(last_seed(), 50);
       ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world({.seed = seed, .nodes = 5, .radix = 2, .sweeps_hang = true});
    world.start_dvm();
    for (int i = 0; i < 4; ++i) world.submit_at(400 + static_cast<std::uint64_t>(i) * 7, 8);
    ASSERT_TRUE(world.run(kLimitMs)) << tail(world);
    EXPECT_EQ(world.check_converged(), "");
    for (const auto& outcome : world.outcomes()) {
      EXPECT_EQ(outcome.answers, 1);
      EXPECT_EQ(outcome.exit_status, 0);
      expect_complete_output(world, outcome, 8);
    }
    if (HasFailure()) FAIL() << tail(world);
  }
}

TEST(World, SameSeedSameRun) {
  const auto run = [] {
    World world({.seed = 42, .nodes = 9, .radix = 2});
    world.start_dvm();
    for (int i = 0; i < 6; ++i) world.submit_at(static_cast<std::uint64_t>(i) * 30, 9);
    world.crash_at(120, Rank(1));
    world.run(kLimitMs);
    return world.trace();
  };
  const auto first = run();
  EXPECT_GT(first.size(), 50U);
  EXPECT_EQ(first, run());
}

// The door to a head that survives its own crash.
TEST(World, ReplayingTheHeadsEventsGivesAnEqualState) {
  World world({.seed = 7, .nodes = 9, .radix = 2});
  world.start_dvm();
  for (int i = 0; i < 6; ++i) world.submit_at(static_cast<std::uint64_t>(i) * 30, 9);
  world.crash_at(150, Rank(2));
  ASSERT_TRUE(world.run(kLimitMs));
  core::HeadCore replayed(world.head_config());
  for (const auto& [event, now_ms] : world.head_events()) replayed.on(event, now_ms);
  const auto now = world.now_ms();
  EXPECT_EQ(replayed.status(1000, now).SerializeAsString(),
            world.head().status(1000, now).SerializeAsString());
}

}  // namespace
}  // namespace tide::sim
