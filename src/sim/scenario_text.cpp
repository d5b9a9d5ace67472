// Scenarios as text: "world seed=7 nodes=3 …", "fault at=431 kind=cut target=4", "job at=300 …",
// "tool at=500 …", "change at=600 …".
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.hpp"
#include "sim/scenario.hpp"

namespace tide::sim {

namespace {

constexpr std::array<std::string_view, kFaultKinds> kKindNames = {"cut",
                                                                  "crash",
                                                                  "power-loss",
                                                                  "freeze",
                                                                  "partition",
                                                                  "one-way",
                                                                  "slow-start",
                                                                  "fails-to-start",
                                                                  "never-connects",
                                                                  "dies-connected",
                                                                  "dies-reported",
                                                                  "twin",
                                                                  "comes-late",
                                                                  "lie"};
constexpr std::array<std::string_view, kFaultClasses.size()> kClassNames = {
    "cut", "crash", "freeze", "partition", "launcher", "process", "client", "lie"};
constexpr std::array<std::string_view, kTroubles> kTroubleNames = {
    "none",        "exit-code", "crash",   "hang",  "stubborn",
    "not-started", "unendable", "deserts", "aborts"};
constexpr std::array<std::string_view, kAsks> kAskNames = {
    "fence", "subset", "modex", "publish", "event", "group", "spawn", "log", "query", "allocate"};
constexpr std::array<std::string_view, 4> kMisfitNames = {"none", "no-such-node", "too-many",
                                                          "too-large"};
constexpr std::array<std::string_view, 3> kHeldNames = {"nowhere", "exec", "init"};
constexpr std::array<std::string_view, 5> kHabitNames = {"stays", "slow", "leaves", "kills",
                                                         "signals"};
constexpr std::array<std::string_view, 4> kChangeNames = {"grow", "shrink", "push", "reclaim"};
constexpr std::array<std::string_view, 3> kLatencyNames = {"steady", "uniform", "heavy"};

template <class Enum, std::size_t N>
std::string_view name_in(const std::array<std::string_view, N>& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

// The words of one line after the first, and what went wrong while they were taken.
class Words {
 public:
  explicit Words(const std::vector<std::string>& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto equals = words[i].find('=');
      if (equals == std::string::npos) {
        problem_ = fmt::format("'{}' is no NAME=VALUE", words[i]);
      } else {
        values_[words[i].substr(0, equals)] = words[i].substr(equals + 1);
      }
    }
  }

  [[nodiscard]] std::string take_text(const std::string& name) {
    const auto found = values_.extract(name);
    return found.empty() ? std::string() : found.mapped();
  }
  template <class Number>
  void take(const std::string& name, Number& number) {
    const auto found = values_.extract(name);
    if (found.empty()) return;
    const auto value = parse_int(found.mapped());
    if (!value || *value < 0) {
      problem_ = fmt::format("{}={} is no number", name, found.mapped());
    } else {
      number = static_cast<Number>(*value);
    }
  }
  template <class Enum, std::size_t N>
  void take(const char* name, const std::array<std::string_view, N>& names, Enum& value) {
    const auto found = values_.extract(name);
    if (found.empty()) return;
    const auto at = std::ranges::find(names, found.mapped());
    if (at == names.end()) {
      problem_ = fmt::format("{}={} is none of {}", name, found.mapped(), fmt::join(names, ", "));
    } else {
      value = static_cast<Enum>(at - names.begin());
    }
  }
  [[nodiscard]] std::string problem() const {
    if (!problem_.empty() || values_.empty()) return problem_;
    return fmt::format("nobody knows '{}'", values_.begin()->first);
  }

 private:
  std::map<std::string, std::string> values_;
  std::string problem_;
};

void take_world(Words& words, Scenario& scenario) {
  words.take("seed", scenario.seed);
  words.take("nodes", scenario.nodes);
  words.take("slots", scenario.slots);
  words.take("radix", scenario.radix);
  words.take("latency", kLatencyNames, scenario.latency);
  words.take("latency_us", scenario.latency_us);
  words.take("window", scenario.window_bytes);
  words.take("far", scenario.far);
  words.take("second_names", scenario.second_names);
  words.take("spares", scenario.spares);
  std::uint64_t take_down = 0;
  words.take("take_down", take_down);
  if (take_down > 0) scenario.take_down_ms = take_down;
}

Fault take_fault(Words& words) {
  Fault fault;
  words.take("at", fault.at_ms);
  words.take("kind", kKindNames, fault.kind);
  words.take("target", fault.target);
  words.take("other", fault.other);
  words.take("for", fault.for_ms);
  return fault;
}

JobPlan take_job(Words& words) {
  JobPlan job;
  words.take("at", job.at_ms);
  words.take("processes", job.processes);
  words.take("by_node", job.by_node);
  words.take("run", job.max_run_ms);
  words.take("output", job.max_output_bytes);
  words.take("input", job.input_bytes);
  words.take("trouble", kTroubleNames, job.trouble);
  words.take("trouble_rank", job.trouble_rank);
  words.take("client", kHabitNames, job.client);
  words.take("client_after", job.client_after_ms);
  words.take("timeout", job.timeout_ms);
  words.take("spawn_timeout", job.spawn_timeout_ms);
  words.take("stack_traces", job.stack_traces);
  words.take("only_map", job.only_map);
  words.take("recoverable", job.recoverable);
  words.take("held_at", kHeldNames, job.held_at);
  words.take("misfit", kMisfitNames, job.misfit);
  words.take("restarts", job.restarts);
  words.take("failures", job.failures);
  for (std::size_t i = 0; i < kAsks; ++i) words.take(std::string(kAskNames.at(i)), job.asks.at(i));
  words.take("child", kTroubleNames, job.child);
  words.take("aimed", job.aimed);
  words.take("files", job.files);
  words.take("bad_disks", job.bad_disks);
  words.take("adds", job.adds);
  words.take("adds_by_name", job.adds_by_name);
  auto trouble = FaultKind::kCut;
  words.take("adds_trouble", kKindNames, trouble);
  if (trouble != FaultKind::kCut) job.adds_trouble = trouble;
  return job;
}

ToolPlan take_tool(Words& words) {
  ToolPlan tool;
  words.take("at", tool.at_ms);
  words.take("place", tool.place);
  words.take("stay", tool.stay_ms);
  words.take("jobs", tool.jobs);
  words.take("outlived", tool.outlived);
  words.take("slow", tool.slow);
  words.take("processes", tool.processes);
  words.take("output", tool.max_output_bytes);
  words.take("wishes", tool.wishes);
  words.take("aims", tool.aims);
  words.take("schedules", tool.schedules);
  return tool;
}

ChangePlan take_change(Words& words) {
  ChangePlan change;
  words.take("at", change.at_ms);
  words.take("what", kChangeNames, change.what);
  words.take("count", change.count);
  words.take("by_name", change.by_name);
  words.take("leaves_after", change.leaves_after_ms);
  words.take("by_tool", change.by_tool);
  words.take("place", change.place);
  words.take("reserves", change.reserves);
  FaultKind trouble = FaultKind::kCut;  // which no launch has
  words.take("trouble", kKindNames, trouble);
  if (trouble != FaultKind::kCut) change.trouble = trouble;
  if (const auto nodes = words.take_text("nodes"); !nodes.empty()) change.nodes = split(nodes, '+');
  return change;
}

std::string to_text(const ChangePlan& change) {
  auto text = fmt::format("change at={} what={} count={} by_name={} leaves_after={}", change.at_ms,
                          name_in(kChangeNames, change.what), change.count,
                          static_cast<int>(change.by_name), change.leaves_after_ms);
  if (change.trouble) text += fmt::format(" trouble={}", name_of(*change.trouble));
  if (change.by_tool) {
    text += fmt::format(" by_tool=1 place={} reserves={}", change.place,
                        static_cast<int>(change.reserves));
  }
  if (!change.nodes.empty()) text += fmt::format(" nodes={}", fmt::join(change.nodes, "+"));
  return text + "\n";
}

std::string to_text(const JobPlan& job) {
  auto text = fmt::format(
      "job at={} processes={} by_node={} run={} output={} input={} trouble={} trouble_rank={} "
      "client={} client_after={} timeout={}",
      job.at_ms, job.processes, static_cast<int>(job.by_node), job.max_run_ms, job.max_output_bytes,
      job.input_bytes, name_in(kTroubleNames, job.trouble), job.trouble_rank,
      name_in(kHabitNames, job.client), job.client_after_ms, job.timeout_ms);
  if (job.spawn_timeout_ms > 0) text += fmt::format(" spawn_timeout={}", job.spawn_timeout_ms);
  if (job.stack_traces) text += " stack_traces=1";
  if (job.only_map) text += " only_map=1";
  if (job.recoverable) text += " recoverable=1";
  if (job.held_at != HeldAt::kNowhere) {
    text += fmt::format(" held_at={}", name_in(kHeldNames, job.held_at));
  }
  if (job.misfit != Misfit::kNone) {
    text += fmt::format(" misfit={}", name_in(kMisfitNames, job.misfit));
  }
  if (job.restarts > 0) text += fmt::format(" restarts={}", job.restarts);
  if (job.failures != 1) text += fmt::format(" failures={}", job.failures);
  for (std::size_t i = 0; i < kAsks; ++i) {
    if (job.asks.at(i) > 0) text += fmt::format(" {}={}", kAskNames.at(i), job.asks.at(i));
  }
  if (job.child != Trouble::kNone)
    text += fmt::format(" child={}", name_in(kTroubleNames, job.child));
  if (job.aimed) text += " aimed=1";
  if (job.files > 0) text += fmt::format(" files={} bad_disks={}", job.files, job.bad_disks);
  if (job.adds > 0) {
    text += fmt::format(" adds={} adds_by_name={}", job.adds, static_cast<int>(job.adds_by_name));
  }
  if (job.adds_trouble) text += fmt::format(" adds_trouble={}", name_of(*job.adds_trouble));
  return text + "\n";
}

}  // namespace

std::string_view name_of(FaultKind kind) {
  return name_in(kKindNames, kind);
}

std::string_view name_of(Ask ask) {
  return name_in(kAskNames, ask);
}

std::string_view name_of(FaultClass fault_class) {
  return name_in(kClassNames, fault_class);
}

std::optional<FaultClass> fault_class_named(std::string_view name) {
  const auto at = std::ranges::find(kClassNames, name);
  if (at == kClassNames.end()) return std::nullopt;
  return static_cast<FaultClass>(at - kClassNames.begin());
}

std::string to_text(const Scenario& scenario) {
  std::string text = fmt::format(
      "world seed={} nodes={} slots={} radix={} latency={} latency_us={} window={} far={} "
      "second_names={} spares={} "
      "take_down={}\n",
      scenario.seed, scenario.nodes, scenario.slots, scenario.radix,
      name_in(kLatencyNames, scenario.latency), scenario.latency_us, scenario.window_bytes,
      static_cast<int>(scenario.far), scenario.second_names, scenario.spares,
      scenario.take_down_ms.value_or(0));
  for (const auto& fault : scenario.faults) {
    text += fmt::format("fault at={} kind={} target={} other={} for={}\n", fault.at_ms,
                        name_of(fault.kind), fault.target, fault.other, fault.for_ms);
  }
  for (const auto& job : scenario.jobs) text += to_text(job);
  for (const auto& tool : scenario.tools) {
    text += fmt::format(
        "tool at={} place={} stay={} jobs={} outlived={} slow={} processes={} output={}",
        tool.at_ms, tool.place, tool.stay_ms, tool.jobs, static_cast<int>(tool.outlived),
        static_cast<int>(tool.slow), tool.processes, tool.max_output_bytes);
    if (tool.wishes > 0) text += fmt::format(" wishes={}", tool.wishes);
    if (tool.aims) text += " aims=1";
    if (tool.schedules) text += " schedules=1";
    text += "\n";
  }
  for (const auto& change : scenario.changes) text += to_text(change);
  return text;
}

Result<Scenario> read_scenario(std::string_view text) {
  Scenario scenario;
  std::size_t number = 0;
  for (const auto& line : split(text, '\n')) {
    ++number;
    const std::string_view trimmed = trim(line);
    if (trimmed.empty() || trimmed.front() == '#') continue;
    const auto parts = split(trimmed, ' ');
    Words words(parts);
    std::string problem;
    if (parts[0] == "world") {
      take_world(words, scenario);
    } else if (parts[0] == "fault") {
      scenario.faults.push_back(take_fault(words));
    } else if (parts[0] == "job") {
      scenario.jobs.push_back(take_job(words));
    } else if (parts[0] == "tool") {
      scenario.tools.push_back(take_tool(words));
    } else if (parts[0] == "change") {
      scenario.changes.push_back(take_change(words));
    } else {
      problem =
          fmt::format("a line starts with world, fault, job, tool or change, not '{}'", parts[0]);
    }
    if (problem.empty()) problem = words.problem();
    if (!problem.empty()) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("line {}: {}", number, problem)};
    }
  }
  if (scenario.nodes == 0 || scenario.radix < 2) {
    return Error{ErrorCode::kInvalidArgument, "a world has a node at least, and a radix of 2"};
  }
  if (scenario.second_names >= scenario.nodes) {
    return Error{ErrorCode::kInvalidArgument, "not every node can be one that is there already"};
  }
  return scenario;
}

}  // namespace tide::sim
