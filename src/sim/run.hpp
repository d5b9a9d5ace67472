// One scenario from beginning to end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/journal.hpp"
#include "sim/scenario.hpp"

namespace tide::sim {

// What did not hold, or nothing. Also internal checks of the cores that fail are reported so.
struct Failure {
  std::string promise;
  std::string text;
};
// Where a DVM ends before enough of the faults were applied (its start failed, nobody is left, it
// was taken down) another is started, and has those that are left.
std::optional<Failure> run_scenario(const Scenario& scenario, Journal& journal);

}  // namespace tide::sim
