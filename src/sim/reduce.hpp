// Makes a failing scenario smaller: what can be left out without mending it is left out.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/run.hpp"
#include "sim/scenario.hpp"

namespace tide::sim {

struct Reduced {
  Scenario scenario;
  std::uint64_t runs = 0;
};

// `fails` tells whether a scenario still breaks the promise in question.
Reduced reduce(Scenario scenario, const std::function<bool(const Scenario&)>& fails,
               std::uint64_t max_runs = 2000);

// Breaks the same promise as this scenario does when it is run.
Reduced reduce_failing(const Scenario& scenario, const Failure& failure);

}  // namespace tide::sim
