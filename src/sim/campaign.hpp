// Many worlds: seeds run on all cores, counted, and the first that fails made smaller.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/journal.hpp"
#include "sim/run.hpp"
#include "sim/scenario.hpp"

namespace tide::sim {

struct CampaignOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t last_seed = 1000;  // inclusive
  std::vector<std::uint64_t> more_seeds{};
  ScenarioOptions scenario{};
  unsigned threads = 1;
  std::uint64_t max_failures = 10;
  std::function<bool()> stop = [] { return false; };  // asked between worlds
  std::function<void(const Counts&, std::uint64_t failures)>
      progress{};  // now and then, by one thread
};

struct FailedSeed {
  std::uint64_t seed = 0;
  Failure failure;
};

struct CampaignResult {
  Counts counts;
  std::uint64_t fewest_faults = UINT64_MAX;  // in one world
  std::uint64_t most_faults = 0;
  std::vector<FailedSeed> failures;  // by seed
};

CampaignResult run_campaign(const CampaignOptions& options);

}  // namespace tide::sim
