// One scenario from beginning to end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/journal.hpp"
#include "sim/scenario.hpp"

namespace tide::sim {

inline constexpr std::uint64_t kFewestAppliedFaults = 5;

// What did not hold, or nothing. Also internal checks of the cores that fail are reported so.
struct Failure {
  std::string promise;
  std::string text;
};
std::optional<Failure> run_scenario(const Scenario& scenario, Journal& journal);

}  // namespace tide::sim
