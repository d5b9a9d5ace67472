// The command line of tide-sim.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "sim/explore.hpp"
#include "sim/scenario.hpp"

namespace tide::sim {

extern const char* const kHelp;

struct Options {
  std::optional<std::pair<std::uint64_t, std::uint64_t>> seeds;
  std::uint64_t fresh = 0;
  std::optional<std::int64_t> minutes;
  std::optional<std::uint64_t> at_least;
  ScenarioOptions scenario;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::optional<std::uint64_t> replay;
  bool exhaustive = false;
  ExploreOptions explore;
  std::optional<Path> path;
  std::optional<std::uint32_t> scale;  // so many daemons
  bool repair_cost = false;
  std::optional<std::uint32_t> most;  // departures, for the cost of repairs
  std::string plot_file;
  std::string scenario_file;
  std::string trace_file;
  bool quiet = false;
  bool help = false;
};

Result<Options> parse_options(const std::vector<std::string>& words);

}  // namespace tide::sim
