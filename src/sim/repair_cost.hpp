// What it costs to repair the tree once for all who leave together, and once for each of them,
// measured with the real cores: m daemons of one branch go in one shrink, or one after the other in
// m shrinks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tide::sim {

struct RepairCostOptions {
  std::uint32_t most = 4096;  // m is 1, 2, 4, … up to this
  std::uint32_t radix = 2;    // the least: of all trees the one with the longest branches
};

// Of m departures.
struct RepairCost {
  std::uint64_t computations = 0;  // of the tree, by the head and all daemons
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t moves = 0;  // of links, to another parent
  double seconds = 0;       // of processor time
};

struct RepairCostRow {
  std::uint32_t departures = 0;
  RepairCost at_once{};
  RepairCost one_by_one{};
  // By the formulas: the tree is computed by the head and by whoever is told, who leaves included.
  std::uint64_t computations_at_once = 0;
  std::uint64_t computations_one_by_one = 0;
  [[nodiscard]] bool holds() const {
    return at_once.computations == computations_at_once &&
           one_by_one.computations == computations_one_by_one;
  }
};

struct RepairCostReport {
  RepairCostOptions options;
  std::uint64_t daemons = 0;  // in the DVM, which is that branch alone
  std::vector<RepairCostRow> rows;
  [[nodiscard]] bool holds() const;
};

RepairCostReport measure_repair_cost(const RepairCostOptions& options);

// A table in Markdown.
std::string to_text(const RepairCostReport& report);
// Computations, messages and moves over m, both axes logarithmic.
std::string to_svg(const RepairCostReport& report);

}  // namespace tide::sim
