// What a huge DVM costs, measured with the real cores and held against the closed formulas of the
// tree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tide::sim {

struct ScaleOptions {
  std::uint32_t daemons = 100'000;
  std::uint32_t radix = 64;
  std::uint32_t latency_us = 50;
};

struct ScaleRow {
  enum class Unit : std::uint8_t { kCount, kMicroseconds, kBytes };
  std::string what;
  std::uint64_t measured = 0;
  std::uint64_t expected = 0;  // by the formula; without one nothing is promised
  std::string formula{};
  Unit unit = Unit::kCount;
  [[nodiscard]] bool holds() const { return formula.empty() || measured == expected; }
};

struct ScaleReport {
  ScaleOptions options;
  std::vector<ScaleRow> rows;
  [[nodiscard]] bool holds() const;
};

// The levels below the head of a full tree with so many daemons.
std::uint32_t full_depth(std::uint32_t daemons, std::uint32_t radix);

// Starts the DVM, broadcasts, runs a job on all daemons, kills rank 1, which has children, grows by
// a tenth, and sheds the whole branch of rank 2.
ScaleReport measure_scale(const ScaleOptions& options);

// A table in Markdown.
std::string to_text(const ScaleReport& report);

}  // namespace tide::sim
