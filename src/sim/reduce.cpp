#include "sim/reduce.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tide::sim {

namespace {

class Reducer {
 public:
  Reducer(Scenario scenario, const std::function<bool(const Scenario&)>& fails,
          std::uint64_t max_runs)
      : best_(std::move(scenario)), fails_(fails), max_runs_(max_runs) {}

  Reduced run() {
    for (bool smaller = true; smaller && runs_ < max_runs_;) {
      smaller = shorten(&Scenario::faults);
      smaller = shorten(&Scenario::jobs) || smaller;
      smaller = shorten(&Scenario::tools) || smaller;
      smaller = shorten(&Scenario::changes) || smaller;
      smaller = simplify() || smaller;
    }
    return Reduced{best_, runs_};
  }

 private:
  bool try_this(Scenario candidate) {
    if (candidate == best_ || runs_ >= max_runs_) return false;
    ++runs_;
    if (!fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  // Takes out halves, quarters and so on down to single ones.
  template <class Item>
  bool shorten(std::vector<Item> Scenario::* list) {
    bool any = false;
    for (std::size_t piece = std::max<std::size_t>((best_.*list).size() / 2, 1);; piece /= 2) {
      for (std::size_t from = 0; from < (best_.*list).size();) {
        Scenario candidate = best_;
        auto& items = candidate.*list;
        const auto begin = items.begin() + static_cast<std::ptrdiff_t>(from);
        const auto count = std::min(piece, items.size() - from);
        items.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
        if (try_this(std::move(candidate))) {
          any = true;
        } else {
          from += piece;
        }
      }
      if (piece <= 1) return any;
    }
  }

  bool simplify() {
    bool any = try_with([](Scenario& scenario) { scenario.take_down_ms.reset(); });
    any = try_with([](Scenario& scenario) { scenario.latency = Latency::kSteady; }) || any;
    any = try_with([](Scenario& scenario) { scenario.second_names = 0; }) || any;
    any = try_with([](Scenario& scenario) { scenario.far = false; }) || any;
    while (best_.nodes > best_.second_names + 1 &&
           try_with([](Scenario& scenario) { --scenario.nodes; }))
      any = true;
    for (std::size_t i = 0; i < best_.jobs.size(); ++i) {
      any = try_with([i](Scenario& scenario) { scenario.jobs[i].client = ClientHabit::kStays; }) ||
            any;
      any = try_with([i](Scenario& scenario) { scenario.jobs[i].input_bytes = 0; }) || any;
      any = try_with([i](Scenario& scenario) { scenario.jobs[i].misfit = Misfit::kNone; }) || any;
      any = try_with([i](Scenario& scenario) { scenario.jobs[i].files = 0; }) || any;
      any =
          try_with([i](Scenario& scenario) { scenario.jobs[i].held_at = HeldAt::kNowhere; }) || any;
      any = try_with([i](Scenario& scenario) { scenario.jobs[i].max_output_bytes = 0; }) || any;
      any = try_with([i](Scenario& scenario) { scenario.jobs[i].processes = 1; }) || any;
      for (std::size_t ask = 0; ask < kAsks; ++ask) {
        any = try_with([&](Scenario& scenario) { scenario.jobs[i].asks.at(ask) = 0; }) || any;
      }
    }
    return any;
  }

  bool try_with(const std::function<void(Scenario&)>& change) {
    Scenario candidate = best_;
    change(candidate);
    return try_this(std::move(candidate));
  }

  Scenario best_;
  const std::function<bool(const Scenario&)>& fails_;
  std::uint64_t max_runs_;
  std::uint64_t runs_ = 0;
};

}  // namespace

Reduced reduce(Scenario scenario, const std::function<bool(const Scenario&)>& fails,
               std::uint64_t max_runs) {
  return Reducer(std::move(scenario), fails, max_runs).run();
}

Reduced reduce_failing(const Scenario& scenario, const Failure& failure) {
  return reduce(scenario, [&failure](const Scenario& candidate) {
    Journal journal;
    const auto again = run_scenario(candidate, journal);
    return again && again->promise == failure.promise;
  });
}

}  // namespace tide::sim
