#include "sim/scenario.hpp"

#include <algorithm>

#include "sim/chance.hpp"

namespace tide::sim {

namespace {

// Against the deadline for silence on a link (10 s): a short one is outlasted, a long one is not.
constexpr std::uint64_t kShortMs = 3'000;
constexpr std::uint64_t kLongMs = 40'000;
constexpr std::uint64_t kFirstChangeMs = 300;  // before the DVM is ready there is nothing to change

enum Purpose : std::uint64_t {
  kShape,
  kClassChoice,
  kTimes,
  kFaultDraw,
  kJobDraw,
  kEnd,
  kAskDraw,
  kToolDraw,
  kDistance,
  kWishDraw,
  kFileDraw,
  kTraceDraw,
  kChangeDraw,
  kAddDraw = 20,
  kReservationDraw,
};

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

// What people decide about a job. Whoever asks nothing of others is not missed by them.
void draw_wishes(JobPlan& job, Chance chance) {
  if (!chance.percent(35) || job.asks != decltype(job.asks){}) return;
  job.recoverable = chance.percent(40);
  if (chance.percent(50)) job.restarts = chance.small(1, 3);
  if (job.restarts > 0) job.failures = chance.small(1, 4);
  if (chance.percent(10)) job.only_map = true;
  if (chance.percent(15)) job.spawn_timeout_ms = chance.small(1, 500);
  if (chance.percent(10)) job.misfit = static_cast<Misfit>(chance.between(1, 3));
  const bool may_be_held = job.restarts == 0 && !job.only_map;
  if (may_be_held && chance.percent(40)) {
    job.held_at = chance.percent(50) ? HeldAt::kExec : HeldAt::kInit;
  }
}

void draw_traces(JobPlan& job, Chance chance) {
  const bool limited = job.timeout_ms > 0 || job.spawn_timeout_ms > 0;
  if (limited) job.stack_traces = chance.percent(60);
}

// Some kinds in a job, not all: what is asked rarely must not hide behind what is asked often.
void draw_asks(JobPlan& job, const FaultClasses& classes, Chance chance) {
  if (!chance.percent(40)) return;
  const auto kinds = chance.between(1, 3);
  for (std::uint64_t i = 0; i < kinds; ++i) {
    job.asks.at(chance.below(kAsks - 1)) += chance.small(1, 2);  // allocations are drawn apart
  }
  job.asks_for(Ask::kSpawn) = std::min(job.asks_for(Ask::kSpawn), 1U);
  if (!classes.contains(FaultClass::kProcess)) return;
  static constexpr std::array kChildren = {Trouble::kExitCode, Trouble::kHang, Trouble::kStubborn,
                                           Trouble::kNotStarted};
  if (chance.percent(40)) job.child = kChildren[chance.below(kChildren.size())];
  if (job.trouble != Trouble::kNone || !chance.percent(25)) return;
  job.trouble = chance.percent(60) ? Trouble::kDeserts : Trouble::kAborts;
  job.trouble_rank = chance.small(0, job.processes - 1);
  if (job.trouble == Trouble::kDeserts) ++job.asks_for(Ask::kFence);
}

void draw_files(JobPlan& job, const FaultClasses& classes, Chance chance) {
  if (!chance.percent(25)) return;
  job.files = chance.small(1, 12);
  if (classes.contains(FaultClass::kProcess) && chance.percent(15)) {
    job.bad_disks = chance.small(1, 60);
  }
}

ToolPlan draw_tool(const std::vector<Burst>& bursts, Chance& chance) {
  const Burst& burst = bursts[chance.below(bursts.size())];
  ToolPlan tool;
  tool.at_ms = moment_in(burst, chance);
  tool.place = chance.percent(30) ? 0 : chance.small(1, 1'000);
  if (chance.percent(50)) tool.stay_ms = chance.between(1, 800);
  tool.jobs = chance.small(0, 2);
  tool.outlived = chance.percent(30);
  tool.slow = chance.percent(20);
  tool.processes = chance.small(1, 4);
  tool.max_output_bytes = chance.small(0, 4'000);
  return tool;
}

// What may happen to a daemon that is started for a grow.
constexpr std::array kGrowTroubles = {FaultKind::kFailsToStart, FaultKind::kNeverConnects,
                                      FaultKind::kDiesConnected, FaultKind::kDiesReported,
                                      FaultKind::kSlowStart};

ChangePlan draw_change(const Scenario& scenario, const FaultClasses& classes,
                       const std::vector<Burst>& bursts, Chance& chance) {
  const Burst& burst = bursts[chance.below(bursts.size())];
  ChangePlan change;
  change.at_ms = std::max<std::uint64_t>(moment_in(burst, chance), kFirstChangeMs);
  const auto kind = chance.below(10);
  change.what = kind < 5   ? ChangeKind::kGrow
                : kind < 8 ? ChangeKind::kShrink
                : kind < 9 ? ChangeKind::kPush
                           : ChangeKind::kReclaim;
  const bool grows = change.what == ChangeKind::kGrow || change.what == ChangeKind::kPush;
  change.count = chance.small(1, grows ? scenario.spares : scenario.nodes);
  change.by_name = chance.percent(50);
  if (classes.contains(FaultClass::kLauncher) && chance.percent(40)) {
    change.trouble = kGrowTroubles[chance.below(kGrowTroubles.size())];
  }
  if (classes.contains(FaultClass::kClient) && chance.percent(20)) {
    change.leaves_after_ms = chance.between(1, 300);
  }
  return change;
}

// What goes wrong with a launch is drawn for clients only: whose grow it is can't be told later.
void draw_asker(ChangePlan& change, Chance chance) {
  const bool asked = change.what == ChangeKind::kGrow || change.what == ChangeKind::kShrink;
  if (!asked || change.trouble || !chance.percent(50)) return;
  change.by_tool = true;
  change.place = chance.percent(30) ? 0 : chance.small(1, 1'000);
  change.reserves = chance.percent(40);
}

void draw_changes(Scenario& scenario, const FaultClasses& classes, const std::vector<Burst>& bursts,
                  Chance chance) {
  if (!chance.percent(40)) return;
  scenario.spares = chance.small(1, 10);
  for (auto left = chance.between(1, 8); left > 0; --left) {
    scenario.changes.push_back(draw_change(scenario, classes, bursts, chance));
  }
  std::uint64_t number = 0;
  for (auto& change : scenario.changes) draw_asker(change, chance.of(++number));
}

// Jobs that ask for nodes, also in worlds where nobody else changes the size.
void draw_added_nodes(Scenario& scenario, const FaultClasses& classes, Chance chance) {
  if (scenario.spares == 0 && chance.percent(20)) scenario.spares = chance.small(1, 10);
  if (scenario.spares == 0) return;
  for (auto& job : scenario.jobs) {
    if (!chance.percent(25)) continue;
    job.adds = chance.small(1, scenario.spares + 1);
    job.adds_by_name = chance.percent(70);
    if (job.adds_by_name && classes.contains(FaultClass::kLauncher) && chance.percent(40)) {
      job.adds_trouble = kGrowTroubles[chance.below(kGrowTroubles.size())];
    }
  }
}

// Tools and processes that reserve nodes, and aim jobs at what is reserved.
void draw_reservations(Scenario& scenario, const std::vector<Burst>& bursts, Chance chance) {
  if (!chance.percent(30)) return;
  if (scenario.spares == 0) scenario.spares = chance.small(1, 10);
  const auto more = chance.between(1, 3);
  for (std::uint64_t i = 0; i < more; ++i) {
    scenario.tools.push_back(draw_tool(bursts, chance));
    if (scenario.tools.back().stay_ms > 0)
      scenario.tools.back().stay_ms += chance.between(0, 5'000);
  }
  for (auto& tool : scenario.tools) {
    tool.at_ms = std::max(tool.at_ms, kFirstChangeMs);
    tool.wishes = chance.small(0, 5);
    tool.aims = chance.percent(60);
    tool.schedules = chance.percent(15);
  }
  scenario.tools.back().wishes += 2;
  for (auto& job : scenario.jobs) {
    job.aimed = chance.percent(30);
    if (job.only_map || job.held_at != HeldAt::kNowhere || job.restarts > 0) continue;
    if (job.recoverable || !chance.percent(25)) continue;
    job.asks_for(Ask::kAllocate) = chance.small(1, 3);
    if (chance.percent(40)) ++job.asks_for(Ask::kSpawn);
  }
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

bool Scenario::reserves() const {
  const auto wishes = [](const ToolPlan& tool) { return tool.wishes > 0; };
  const auto asks = [](const JobPlan& job) { return job.asks_for(Ask::kAllocate) > 0; };
  return std::ranges::any_of(tools, wishes) || std::ranges::any_of(jobs, asks);
}

std::uint64_t Scenario::calm_ms() const {
  std::uint64_t calm = take_down_ms.value_or(0);
  for (const auto& fault : faults) calm = std::max(calm, fault.at_ms + fault.for_ms);
  for (const auto& job : jobs) calm = std::max(calm, job.at_ms + job.client_after_ms);
  for (const auto& change : changes) calm = std::max(calm, change.at_ms + change.leaves_after_ms);
  for (const auto& tool : tools) calm = std::max(calm, tool.at_ms + tool.stay_ms);
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

  Chance distance = chance.of(kDistance);
  scenario.far = distance.percent(40);
  if (scenario.far && scenario.nodes > 2 && distance.percent(15)) {
    scenario.second_names = distance.small(1, scenario.nodes / 2);
  }

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
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    draw_asks(scenario.jobs[i], classes, chance.of(kAskDraw).of(i));
    draw_files(scenario.jobs[i], classes, chance.of(kFileDraw).of(i));
    draw_wishes(scenario.jobs[i], chance.of(kWishDraw).of(i));
    draw_traces(scenario.jobs[i], chance.of(kTraceDraw).of(i));
  }
  Chance tools = chance.of(kToolDraw);
  if (tools.percent(40)) {
    for (auto left = tools.between(1, 3); left > 0; --left) {
      scenario.tools.push_back(draw_tool(bursts, tools));
    }
  }
  draw_changes(scenario, classes, bursts, chance.of(kChangeDraw));
  draw_added_nodes(scenario, classes, chance.of(kAddDraw));
  draw_reservations(scenario, bursts, chance.of(kReservationDraw));
  Chance end = chance.of(kEnd);
  if (end.percent(15)) scenario.take_down_ms = moment_in(bursts.back(), end);
  return scenario;
}

}  // namespace tide::sim
