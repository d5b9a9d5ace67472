#include "sim/run.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "sim/chance.hpp"
#include "sim/world.hpp"

namespace tide::sim {

namespace {

void throw_failed_check(const char* text) {
  throw BrokenPromise("internal checks hold", text);
}

constexpr std::uint64_t kMostLives = 20;
constexpr std::uint64_t kStartedMs = 1'000;  // by then a start that nothing disturbs is over

// The same world without what disturbed its start, ended it or left nobody in it.
Scenario next_life(const Scenario& before, std::vector<Fault> left) {
  Scenario scenario = before;
  scenario.seed = Chance(before.seed).next() >> 1U;  // a seed as people write it
  scenario.take_down_ms.reset();
  scenario.changes.clear();
  scenario.faults = std::move(left);
  const auto first = std::ranges::min_element(scenario.faults, {}, &Fault::at_ms)->at_ms;
  const auto later = first < kStartedMs ? kStartedMs : 0;
  for (auto& fault : scenario.faults) fault.at_ms += later;
  for (auto& job : scenario.jobs) job.at_ms += later;
  for (auto& tool : scenario.tools) tool.at_ms += later;
  return scenario;
}

void run_lives(Scenario scenario, Journal& journal) {
  for (std::uint64_t life = 1;; ++life) {
    World world(scenario, journal);
    world.run();
    auto left = world.faults_left();
    const bool enough = journal.counts.faults_in_all() >= kFewestFaults;
    if (enough || left.empty() || life == kMostLives) return;
    journal.line(world.schedule().now_us(), kHeadHost, TraceLine::Kind::kWorld,
                 "another DVM is started for the faults that are left");
    journal.next_life(world.schedule().now_us());
    scenario = next_life(scenario, std::move(left));
  }
}

}  // namespace

std::optional<Failure> run_scenario(const Scenario& scenario, Journal& journal) {
  set_check_failure_handler(&throw_failed_check);
  Journal own(journal.keeps_lines());
  Journal& kept = journal.keeps_lines() ? journal : own;
  std::optional<Failure> failure;
  try {
    run_lives(scenario, kept);
  } catch (const BrokenPromise& broken) {
    failure = Failure{broken.promise(), broken.what()};
  }
  ++kept.counts.worlds;
  if (&kept == &own) journal.counts.add(own.counts);
  return failure;
}

}  // namespace tide::sim
