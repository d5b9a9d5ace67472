#include "sim/scenario.hpp"

#include <algorithm>

#include "sim/chance.hpp"

namespace tide::sim {

namespace {

// Against the deadline for silence on a link (10 s): a short one is outlasted, a long one is not.
constexpr std::uint64_t kShortMs = 3'000;
constexpr std::uint64_t kLongMs = 40'000;

enum Purpose : std::uint64_t { kShape, kClassChoice, kTimes, kFaultDraw, kJobDraw, kEnd };

struct Burst {
  std::uint64_t from_ms;
  std::uint64_t length_ms;
};

// Faults come in bursts with quiet between them: the world must be able to recover, and be seen to.
std::vector<Burst> draw_bursts(Chance chance, std::uint64_t first_ms) {
  std::vector<Burst> bursts;
  std::uint64_t from = first_ms;
  const auto count = chance.between(1, 4);
  for (std::uint64_t i = 0; i < count; ++i) {
    bursts.push_back(Burst{from, chance.between(20, 3'000)});
    from += bursts.back().length_ms + chance.between(2'000, 40'000);
  }
  return bursts;
}

std::uint64_t moment_in(const Burst& burst, Chance& chance) {
  return burst.from_ms + chance.below(burst.length_ms);
}

std::uint64_t draw_duration(Chance& chance) {
  return chance.percent(60) ? chance.between(1, kShortMs) : chance.between(kShortMs, kLongMs);
}

FaultKind draw_kind(FaultClass fault_class, Chance& chance) {
  switch (fault_class) {
    case FaultClass::kCrash:
      return chance.percent(70) ? FaultKind::kCrash : FaultKind::kPowerLoss;
    case FaultClass::kFreeze:
      return FaultKind::kFreeze;
    case FaultClass::kPartition:
      return chance.percent(50) ? FaultKind::kPartition : FaultKind::kOneWay;
    case FaultClass::kLie:
      return FaultKind::kLie;
    default:
      return FaultKind::kCut;
  }
}

std::uint32_t draw_other_side(Chance& chance) {
  const auto kind = chance.below(10);
  if (kind < 4) return Fault::kEverybody;
  if (kind == 4) return Fault::kHalf;
  return chance.small(1, 1000);
}

Fault draw_fault(FaultClass fault_class, const std::vector<Burst>& bursts, Chance& chance) {
  Fault fault;
  fault.kind = draw_kind(fault_class, chance);
  fault.at_ms = moment_in(bursts[chance.below(bursts.size())], chance);
  fault.target = chance.small(0, 1000);
  if (fault_class == FaultClass::kPartition) fault.other = draw_other_side(chance);
  if (fault_class == FaultClass::kPartition || fault_class == FaultClass::kFreeze) {
    fault.for_ms = draw_duration(chance);
  }
  return fault;
}

// In a world where the start is to fail many daemons fail; else all of them come, if oddly.
void draw_launcher_faults(Scenario& scenario, Chance chance) {
  // A twin is turned away, unless it is the first to show the ticket.
  static constexpr std::array kHarmless = {FaultKind::kSlowStart, FaultKind::kSlowStart,
                                           FaultKind::kSlowStart, FaultKind::kTwin};
  static constexpr std::array kFatal = {FaultKind::kFailsToStart, FaultKind::kNeverConnects,
                                        FaultKind::kDiesConnected, FaultKind::kDiesReported,
                                        FaultKind::kComesLate};
  const bool fatal = chance.percent(20);
  const auto count = fatal ? std::max(kFewestFaults, scenario.nodes / 2) : chance.small(1, 6);
  for (std::uint32_t rank = 1; rank <= scenario.nodes && rank <= count; ++rank) {
    const bool this_one = fatal && chance.percent(50);
    const auto kind =
        this_one ? kFatal[chance.below(kFatal.size())] : kHarmless[chance.below(kHarmless.size())];
    scenario.faults.push_back(
        Fault{.kind = kind, .at_ms = 0, .target = rank, .for_ms = chance.between(1, 900)});
  }
}

void draw_faults(Scenario& scenario, const FaultClasses& classes, const std::vector<Burst>& bursts,
                 Chance chance) {
  if (classes.contains(FaultClass::kLauncher)) draw_launcher_faults(scenario, chance.of(1));
  std::vector<FaultClass> others;
  for (const auto each : {FaultClass::kCut, FaultClass::kCrash, FaultClass::kFreeze,
                          FaultClass::kPartition, FaultClass::kLie}) {
    if (classes.contains(each)) others.push_back(each);
  }
  if (others.empty()) return;
  const auto wanted = chance.small(kFewestFaults, kMostFaults);
  std::uint32_t crashes_left = scenario.nodes / 2;  // somebody is to be left for the rest
  while (scenario.fault_count() < wanted) {
    auto fault = draw_fault(others[chance.below(others.size())], bursts, chance);
    if (class_of(fault.kind) == FaultClass::kCrash && crashes_left-- == 0) {
      fault.kind = FaultKind::kCut;
      crashes_left = 0;
    }
    scenario.faults.push_back(fault);
  }
}

Trouble draw_trouble(Chance& chance) {
  static constexpr std::array kAll = {Trouble::kExitCode,   Trouble::kCrash,
                                      Trouble::kHang,       Trouble::kStubborn,
                                      Trouble::kNotStarted, Trouble::kUnendable};
  return kAll[chance.below(kAll.size())];
}

ClientHabit draw_habit(Chance& chance) {
  static constexpr std::array kAll = {ClientHabit::kSlow, ClientHabit::kLeaves, ClientHabit::kKills,
                                      ClientHabit::kSignals};
  return kAll[chance.below(kAll.size())];
}

JobPlan draw_job(const Scenario& scenario, const FaultClasses& classes, const Burst& burst,
                 Chance& chance) {
  JobPlan job;
  const auto lead = std::min<std::uint64_t>(burst.from_ms, 300);
  job.at_ms = burst.from_ms - lead + chance.below(burst.length_ms + 2 * lead + 1);
  job.processes = chance.small(1, std::uint64_t{scenario.nodes} * scenario.slots + 2);
  job.by_node = chance.percent(60);
  job.max_run_ms = chance.percent(20) ? 3'000 : 60;
  job.max_output_bytes = chance.percent(30) ? 0 : chance.small(100, 5'000);
  if (chance.percent(20)) job.input_bytes = chance.small(1, 4'000);
  if (classes.contains(FaultClass::kProcess) && chance.percent(30)) {
    job.trouble = draw_trouble(chance);
    job.trouble_rank = chance.small(0, job.processes - 1);
  }
  if (classes.contains(FaultClass::kClient) && chance.percent(30)) {
    job.client = draw_habit(chance);
    job.client_after_ms = chance.between(0, 400);
  }
  const bool hangs = job.trouble == Trouble::kHang || job.trouble == Trouble::kStubborn;
  if (hangs || chance.percent(5)) job.timeout_ms = chance.small(1'000, 6'000);
  return job;
}

FaultClasses draw_classes(const FaultClasses& allowed, Chance chance) {
  static constexpr std::array kMainClasses = {FaultClass::kCut, FaultClass::kCrash,
                                              FaultClass::kFreeze, FaultClass::kPartition};
  FaultClasses chosen;
  for (const auto each : allowed) {
    const unsigned likely =
        each == FaultClass::kLauncher ? 15 : 60;  // much of it ends the world early
    if (chance.percent(likely)) chosen.insert(each);
  }
  const auto is_chosen = [&chosen](FaultClass each) { return chosen.contains(each); };
  const auto start = chance.below(kMainClasses.size());
  for (std::size_t i = 0; i < kMainClasses.size(); ++i) {
    const auto each = kMainClasses[(start + i) % kMainClasses.size()];
    if (std::ranges::none_of(kMainClasses, is_chosen) && allowed.contains(each))
      chosen.insert(each);
  }
  return chosen;
}

}  // namespace

FaultClass class_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kCut:
      return FaultClass::kCut;
    case FaultKind::kCrash:
    case FaultKind::kPowerLoss:
      return FaultClass::kCrash;
    case FaultKind::kFreeze:
      return FaultClass::kFreeze;
    case FaultKind::kPartition:
    case FaultKind::kOneWay:
      return FaultClass::kPartition;
    case FaultKind::kLie:
      return FaultClass::kLie;
    default:
      return FaultClass::kLauncher;
  }
}

bool counts_as_fault(FaultKind kind) {
  return kind != FaultKind::kSlowStart;
}

std::uint32_t Scenario::fault_count() const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      faults, [](const Fault& fault) { return counts_as_fault(fault.kind); }));
}

std::uint64_t Scenario::calm_ms() const {
  std::uint64_t calm = take_down_ms.value_or(0);
  for (const auto& fault : faults) calm = std::max(calm, fault.at_ms + fault.for_ms);
  for (const auto& job : jobs) calm = std::max(calm, job.at_ms + job.client_after_ms);
  return calm;
}

Scenario draw_scenario(std::uint64_t seed, const ScenarioOptions& options) {
  const Chance chance(seed);
  Chance shape = chance.of(kShape);
  static constexpr std::array<std::uint32_t, 5> kRadices = {2, 2, 3, 4, 64};
  Scenario scenario;
  scenario.seed = seed;
  const auto drawn_nodes = shape.percent(85) ? shape.small(1, 14) : shape.small(15, 40);
  scenario.nodes = options.nodes.value_or(drawn_nodes);
  scenario.slots = shape.small(1, 4);
  const auto drawn_radix = kRadices[shape.below(kRadices.size())];
  scenario.radix = options.radix.value_or(drawn_radix);
  scenario.latency = static_cast<Latency>(shape.below(3));
  scenario.latency_us = shape.percent(70) ? shape.small(50, 1'000) : shape.small(1'000, 30'000);
  scenario.window_bytes = shape.small(200, 3'000);

  const auto classes = draw_classes(options.classes, chance.of(kClassChoice));
  Chance times = chance.of(kTimes);
  // Slow daemons are waited for: faults before the DVM is ready mostly just end it.
  const auto bursts =
      draw_bursts(times.of(1), times.percent(4) ? times.below(200) : times.between(1'000, 3'000));
  draw_faults(scenario, classes, bursts, chance.of(kFaultDraw));
  Chance job_chance = chance.of(kJobDraw);
  const auto jobs = job_chance.between(2, 14);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    scenario.jobs.push_back(
        draw_job(scenario, classes, bursts[job_chance.below(bursts.size())], job_chance));
  }
  Chance end = chance.of(kEnd);
  if (end.percent(15)) scenario.take_down_ms = moment_in(bursts.back(), end);
  return scenario;
}

}  // namespace tide::sim
