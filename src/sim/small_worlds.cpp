// The worlds whose interleavings are explored.
#include "sim/explore.hpp"

namespace tide::sim {

namespace {

constexpr std::uint64_t kSeed = 8;  // one of those whose heads are replayed at the end
constexpr std::uint64_t kSubmitMs = 1;
constexpr std::uint32_t kTimeoutMs = 2'000;

Scenario quiet_world(const ExploreOptions& options) {
  Scenario scenario;
  scenario.seed = kSeed;
  scenario.nodes = options.nodes;
  scenario.radix = options.radix;
  scenario.latency = Latency::kSteady;
  for (std::uint32_t i = 0; i < options.jobs; ++i) {
    JobPlan job;
    job.at_ms = kSubmitMs;
    job.processes = i == 0 ? options.nodes : 1;
    job.by_node = true;
    job.max_output_bytes = 20;
    scenario.jobs.push_back(job);
  }
  return scenario;
}

void add_launcher_worlds(const Scenario& quiet, std::vector<Scenario>& worlds) {
  for (const auto kind : {FaultKind::kSlowStart, FaultKind::kFailsToStart,
                          FaultKind::kNeverConnects, FaultKind::kDiesConnected,
                          FaultKind::kDiesReported, FaultKind::kTwin, FaultKind::kComesLate}) {
    for (std::uint32_t rank = 1; rank <= quiet.nodes; ++rank) {
      worlds.push_back(quiet);
      worlds.back().faults.push_back(Fault{.kind = kind, .target = rank, .for_ms = 100});
    }
  }
}

void add_job_worlds(const Scenario& quiet, const FaultClasses& classes,
                    std::vector<Scenario>& worlds) {
  if (quiet.jobs.empty()) return;
  if (classes.contains(FaultClass::kProcess)) {
    for (const auto trouble : {Trouble::kExitCode, Trouble::kCrash, Trouble::kHang,
                               Trouble::kStubborn, Trouble::kNotStarted, Trouble::kUnendable}) {
      worlds.push_back(quiet);
      worlds.back().jobs[0].trouble = trouble;
      const bool hangs = trouble == Trouble::kHang || trouble == Trouble::kStubborn;
      if (hangs) worlds.back().jobs[0].timeout_ms = kTimeoutMs;
    }
  }
  if (!classes.contains(FaultClass::kClient)) return;
  for (const auto habit : {ClientHabit::kLeaves, ClientHabit::kKills, ClientHabit::kSignals}) {
    worlds.push_back(quiet);
    worlds.back().jobs[0].client = habit;
  }
  worlds.push_back(quiet);
  worlds.back().take_down_ms = kSubmitMs;
}

// ---- of changing size ----

ChangePlan change(ChangeKind what, std::vector<std::string> nodes,
                  std::optional<FaultKind> trouble = {}) {
  return ChangePlan{
      .at_ms = kSubmitMs, .what = what, .nodes = std::move(nodes), .trouble = trouble};
}

ChangePlan grow(const std::string& node, std::optional<FaultKind> trouble = {}) {
  return change(ChangeKind::kGrow, {node}, trouble);
}

ChangePlan shrink(std::vector<std::string> nodes) {
  return change(ChangeKind::kShrink, std::move(nodes));
}

using Changes = std::vector<ChangePlan>;

std::vector<Changes> single_changes(const std::string& last) {
  std::vector<Changes> out = {{grow("p1")}, {shrink({last})}};
  for (const auto trouble : {FaultKind::kFailsToStart, FaultKind::kNeverConnects,
                             FaultKind::kDiesConnected, FaultKind::kDiesReported})
    out.push_back({grow("p1", trouble)});
  return out;
}

// Apart, with nodes in common, and with one that comes to nothing.
std::vector<Changes> pairs_of_changes(const std::string& last) {
  constexpr auto kFails = FaultKind::kFailsToStart;
  constexpr auto kDies = FaultKind::kDiesReported;
  return {{grow("p1"), grow("p2")},
          {grow("p1"), grow("p1")},
          {grow("p1"), shrink({last})},
          {grow("p1"), shrink({"p1"})},
          {grow("p1"), shrink({"p1", last})},
          {shrink({"v1"}), shrink({last})},
          {shrink({last}), shrink({"v1", last})},
          {shrink({last}), grow(last)},
          {grow("p1", kFails), grow("p2")},
          {grow("p1", kDies), shrink({last})},
          {grow("p1", kDies), shrink({"p1"})}};
}

std::vector<Scenario> worlds_with_changes(const ExploreOptions& options) {
  std::vector<Scenario> worlds;
  const std::string last = "v" + std::to_string(options.nodes);
  const auto all = options.changes == 1 ? single_changes(last) : pairs_of_changes(last);
  for (const auto& changes : all) {
    worlds.push_back(quiet_world(options));
    worlds.back().spares = 2;
    worlds.back().changes = changes;
    // Between its admission and its launch, where a shrink can meet it, a job waits for its files.
    for (auto& job : worlds.back().jobs) job.files = 1;
  }
  return worlds;
}

}  // namespace

std::vector<Scenario> small_worlds(const ExploreOptions& options) {
  if (options.changes > 0) return worlds_with_changes(options);
  std::vector<Scenario> worlds = {quiet_world(options)};
  const Scenario quiet = worlds[0];
  if (options.classes.contains(FaultClass::kLauncher)) add_launcher_worlds(quiet, worlds);
  add_job_worlds(quiet, options.classes, worlds);
  return worlds;
}

}  // namespace tide::sim
