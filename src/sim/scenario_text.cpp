// Scenarios as text: "world seed=7 nodes=3 …", "fault at=431 kind=cut target=4", "job at=300 …".
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
    "none", "exit-code", "crash", "hang", "stubborn", "not-started", "unendable"};
constexpr std::array<std::string_view, 5> kHabitNames = {"stays", "slow", "leaves", "kills",
                                                         "signals"};
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

  template <class Number>
  void take(const char* name, Number& number) {
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
  return job;
}

}  // namespace

std::string_view name_of(FaultKind kind) {
  return name_in(kKindNames, kind);
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
      "world seed={} nodes={} slots={} radix={} latency={} latency_us={} window={} take_down={}\n",
      scenario.seed, scenario.nodes, scenario.slots, scenario.radix,
      name_in(kLatencyNames, scenario.latency), scenario.latency_us, scenario.window_bytes,
      scenario.take_down_ms.value_or(0));
  for (const auto& fault : scenario.faults) {
    text += fmt::format("fault at={} kind={} target={} other={} for={}\n", fault.at_ms,
                        name_of(fault.kind), fault.target, fault.other, fault.for_ms);
  }
  for (const auto& job : scenario.jobs) {
    text += fmt::format(
        "job at={} processes={} by_node={} run={} output={} input={} trouble={} trouble_rank={} "
        "client={} client_after={} timeout={}\n",
        job.at_ms, job.processes, static_cast<int>(job.by_node), job.max_run_ms,
        job.max_output_bytes, job.input_bytes, name_in(kTroubleNames, job.trouble),
        job.trouble_rank, name_in(kHabitNames, job.client), job.client_after_ms, job.timeout_ms);
  }
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
    } else {
      problem = fmt::format("a line starts with world, fault or job, not '{}'", parts[0]);
    }
    if (problem.empty()) problem = words.problem();
    if (!problem.empty()) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("line {}: {}", number, problem)};
    }
  }
  if (scenario.nodes == 0 || scenario.radix < 2) {
    return Error{ErrorCode::kInvalidArgument, "a world has a node at least, and a radix of 2"};
  }
  return scenario;
}

}  // namespace tide::sim
