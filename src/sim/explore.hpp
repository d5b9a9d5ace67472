// Small worlds in all their interleavings, up to a bound.
//
// Messages, answers and the steps of processes take no time; only timers do. What is under way may
// happen in any order that keeps the lanes (messages of one class on one link stay in order), and
// nothing is more than kLatestMs late. One order is the default: first what fewest steps led to.
// Whatever departs from it counts, and up to a bound every combination of departures is tried:
// something overtakes, something waits for all else of its moment or for a timer, a timer is first,
// a fault strikes. Where the DVM changes its size, those who want that and those who bring jobs may
// come in any state of a DVM that is ready, and that does not count. States are told apart by a
// hash; from each that is new all is tried once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sim/run.hpp"
#include "sim/scenario.hpp"

namespace tide::sim {

class World;

// A departure from the default order: at this step that choice.
struct Departure {
  std::uint32_t step = 0;
  std::uint32_t choice = 0;
  auto operator<=>(const Departure&) const = default;
};

// One run: which of the small worlds, and where it departs. "2/31:4,57:1"
struct Path {
  std::uint32_t world = 0;
  std::vector<Departure> departures;
  auto operator<=>(const Path&) const = default;
};
std::string to_text(const Path& path);
Result<Path> read_path(std::string_view text);

struct ExploreOptions {
  std::uint32_t nodes = 3;
  std::uint32_t jobs = 2;
  std::uint32_t changes = 0;  // of the DVM's size: 1 or 2
  std::uint32_t radix = 2;
  std::uint32_t departures = 1;  // the bound; a fault counts as one, and there is at most one
  FaultClasses classes{kFaultClasses.begin(), kFaultClasses.end()};
  std::uint64_t max_states = 5'000'000;
  unsigned threads = 1;
  std::function<bool()> stop = [] { return false; };
  std::function<void(const World&)> also_check{};  // in every state, besides the promises
  std::function<void(std::uint64_t states, std::uint64_t runs)> progress{};
};

struct Explored {
  std::uint64_t worlds = 0;
  std::uint64_t states = 0;  // different ones
  std::uint64_t runs = 0;    // from the beginning to the end, or to a state that was seen before
  std::uint64_t ends = 0;    // runs that came to the end
  std::uint64_t faults = 0;  // runs into which a fault was put
  bool complete = true;      // everything within the bound was tried
  std::optional<Path> broken;
  std::optional<Failure> failure;
};

// The worlds that are explored: one into which faults strike at every step, and one for each thing
// that has its place without that: a daemon that does not start, a process that fails, a client.
// With changes of size: one for each way in which one or two of them can meet.
std::vector<Scenario> small_worlds(const ExploreOptions& options);

Explored explore(const ExploreOptions& options);

// The hashes of the states of a run after its last departure.
std::vector<std::uint64_t> states_of(const ExploreOptions& options, const Path& path);

// One run, written down, with its choices.
std::optional<Failure> replay(const ExploreOptions& options, const Path& path, Journal& journal);

}  // namespace tide::sim
