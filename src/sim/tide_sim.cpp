// tide-sim: the simulator, for people `tide sim`.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/standard_descriptors.hpp"
#include "base/text.hpp"
#include "sim/campaign.hpp"
#include "sim/explore.hpp"
#include "sim/options.hpp"
#include "sim/reduce.hpp"
#include "sim/repair_cost.hpp"
#include "sim/scale.hpp"

namespace tide::sim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBrokenPromise = 1;
constexpr int kUsage = 2;
constexpr int kNotAll = 3;
constexpr std::size_t kShownLines = 40;

// Now and then, and on a terminal in place.
class Progress {
 public:
  void show(const std::string& text) {
    const auto interval = terminal_ ? std::chrono::milliseconds(500) : std::chrono::seconds(30);
    if (Clock::now() - shown_ < interval) return;
    shown_ = Clock::now();
    fmt::print(stderr, "{}{}{}", terminal_ ? "\r" : "", text, terminal_ ? "   " : "\n");
  }
  void clear() const {
    if (terminal_) fmt::print(stderr, "\r\033[K");
  }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  Clock::time_point shown_ = Clock::now();
};

// The events and what the world did, without what was done on them; of the choices and faults all.
void show_last_lines(const Journal& journal) {
  std::vector<const TraceLine*> shown;
  for (const auto& line : journal.lines()) {
    if (line.kind != TraceLine::Kind::kAction) shown.push_back(&line);
  }
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const bool last = i + kShownLines >= shown.size();
    const bool chosen = shown[i]->text.starts_with("choice: ");
    if (last || chosen || shown[i]->text.starts_with("fault: "))
      fmt::print("{}\n", readable(*shown[i]));
  }
}

// ---- one world ----

Result<Scenario> scenario_to_replay(const Options& options) {
  if (options.replay) return draw_scenario(*options.replay, options.scenario);
  std::ifstream file(options.scenario_file);
  if (!file) return Error{ErrorCode::kNotFound, "cannot read " + options.scenario_file};
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return read_scenario(text);
}

int tell_story(const Options& options, const Scenario& scenario, const Journal& journal,
               const std::optional<Failure>& failure) {
  if (!options.quiet) {
    fmt::print("{}", to_text(scenario));
    for (const auto& line : journal.lines()) fmt::print("{}\n", readable(line));
  }
  if (!options.trace_file.empty()) {
    std::ofstream file(options.trace_file);
    file << chrome_trace(journal.lines());
    if (!file) {
      fmt::print(stderr, "tide sim: cannot write {}\n", options.trace_file);
      return kUsage;
    }
    fmt::print("trace: {} (open it in https://ui.perfetto.dev or chrome://tracing)\n",
               options.trace_file);
  }
  fmt::print("{}\n", failure ? "BROKEN: " + failure->text : "every promise held");
  return failure ? kBrokenPromise : 0;
}

int replay(const Options& options) {
  const auto scenario = scenario_to_replay(options);
  if (!scenario) {
    fmt::print(stderr, "tide sim: {}\n", scenario.error().message);
    return kUsage;
  }
  Journal journal(/*keep_lines=*/true);
  const auto failure = run_scenario(*scenario, journal);
  return tell_story(options, *scenario, journal, failure);
}

// ---- many worlds ----

std::string class_names(const FaultClasses& classes) {
  std::string names;
  if (classes.empty()) return "none";
  for (const auto each : classes) names += (names.empty() ? "" : ",") + std::string(name_of(each));
  return names;
}

// What draws the same worlds again.
std::string words_for(const ScenarioOptions& options) {
  std::string words;
  if (options.nodes) words += fmt::format(" --nodes {}", *options.nodes);
  if (options.radix) words += fmt::format(" --radix {}", *options.radix);
  if (options.classes.size() < kFaultClasses.size())
    words += " --faults " + class_names(options.classes);
  return words;
}

void show_failure(const FailedSeed& failed, const ScenarioOptions& options) {
  fmt::print("\nseed {} breaks a promise\n  {}\n", failed.seed, failed.failure.text);
  const auto whole = draw_scenario(failed.seed, options);
  const auto reduced = reduce_failing(whole, failed.failure);
  Journal journal(/*keep_lines=*/true);
  const auto again = run_scenario(reduced.scenario, journal);
  fmt::print("made smaller in {} runs: {} of {} faults, {} of {} jobs, {} of {} nodes\n",
             reduced.runs, reduced.scenario.faults.size(), whole.faults.size(),
             reduced.scenario.jobs.size(), whole.jobs.size(), reduced.scenario.nodes, whole.nodes);
  fmt::print("the last events of it:\n");
  show_last_lines(journal);
  if (again) fmt::print("  -> {}\n", again->text);
  const auto path = fmt::format("tide-sim-{}.scenario", failed.seed);
  std::ofstream file(path);
  file << "# " << one_line(failed.failure.text) << "\n" << to_text(reduced.scenario);
  fmt::print("replay: tide sim --replay {}{}{}\n", failed.seed, words_for(options),
             file ? fmt::format("   or, made smaller: tide sim --scenario {}", path) : "");
}

void show_summary(const CampaignResult& result, double seconds) {
  const Counts& counts = result.counts;
  fmt::print("{} worlds in {:.1f} s: {:.0f} worlds per second, {:.1f} virtual hours\n",
             counts.worlds, seconds, static_cast<double>(counts.worlds) / std::max(seconds, 0.001),
             static_cast<double>(counts.virtual_ms) / 3'600'000.0);
  fmt::print("  {} events, {} messages, {} jobs ({} succeeded), {} starts that failed\n",
             counts.steps, counts.messages, counts.jobs, counts.jobs_succeeded,
             counts.failed_starts);
  fmt::print("  {} faults, {} to {} in a world, {} DVMs started again to meet the rest of them;",
             counts.faults_in_all(), result.fewest_faults, result.most_faults,
             counts.lives - std::min(counts.lives, counts.worlds));
  for (const auto each : kFaultClasses) fmt::print(" {} {}", name_of(each), counts.faults_of(each));
  fmt::print("\n  asked of the services, and with success: tools {}", counts.tools);
  for (std::size_t i = 0; i < kAsks; ++i) {
    fmt::print(", {} {}/{}", name_of(static_cast<Ask>(i)), counts.served[i], counts.asked[i]);
  }
  fmt::print("\n  changes of size: {} asked for, {} done, {} failed", counts.changes,
             counts.changes_done, counts.changes_failed);
  fmt::print("\n  requests: {} queued, {} taken back, {} asked anew; {} leases moved",
             counts.queued, counts.taken_back, counts.asked_anew, counts.leases_moved);
  fmt::print("\n{} broken promises\n", result.failures.size());
}

// What the worlds were to meet and did not; true if there is nothing of that.
bool met_enough(const CampaignResult& result, const Options& options) {
  if (!options.at_least) return true;
  bool enough = true;
  for (const auto each : options.scenario.classes) {
    if (result.counts.faults_of(each) >= *options.at_least) continue;
    enough = false;
    fmt::print("too few faults: {} is hit {} times, not {}\n", name_of(each),
               result.counts.faults_of(each), *options.at_least);
  }
  if (result.fewest_faults < kFewestFaults || result.most_faults > kMostFaults) {
    enough = false;
    fmt::print("each world is to have {} to {} faults\n", kFewestFaults, kMostFaults);
  }
  return enough;
}

// A run of neighbours, so that they can be named in a few words.
std::vector<std::uint64_t> draw_fresh(std::uint64_t count) {
  std::random_device device;
  const std::uint64_t first = (std::uint64_t{device()} << 20U) ^ device();
  std::vector<std::uint64_t> seeds(count);
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

int run_many(const Options& options) {
  CampaignOptions campaign;
  campaign.scenario = options.scenario;
  campaign.threads = options.threads;
  campaign.more_seeds = draw_fresh(options.fresh);
  const auto otherwise = options.minutes ? std::pair{std::uint64_t{1}, std::uint64_t{1} << 40U}
                                         : std::pair{std::uint64_t{1}, std::uint64_t{1000}};
  std::tie(campaign.first_seed, campaign.last_seed) = options.seeds.value_or(otherwise);
  if (options.fresh > 0) {
    fmt::print("fresh seeds: {}..{}\n", campaign.more_seeds.front(), campaign.more_seeds.back());
  }
  const auto begin = Clock::now();
  if (options.minutes) {
    const auto end = begin + std::chrono::minutes(*options.minutes);
    campaign.stop = [end] { return Clock::now() >= end; };
  }
  Progress progress;
  campaign.progress = [&](const Counts& counts, std::uint64_t failures) {
    progress.show(fmt::format("{} worlds, {} faults, {} broken promises", counts.worlds,
                              counts.faults_in_all(), failures));
  };
  const auto result = run_campaign(campaign);
  progress.clear();
  show_summary(result, std::chrono::duration<double>(Clock::now() - begin).count());
  for (const auto& failed : result.failures)
    fmt::print("  seed {}: {}\n", failed.seed, failed.failure.text);
  if (!result.failures.empty()) show_failure(result.failures.front(), options.scenario);
  const bool enough = met_enough(result, options);
  return result.failures.empty() && enough ? 0 : kBrokenPromise;
}

// ---- all interleavings of small ones ----

int replay_path(const Options& options) {
  Journal journal(/*keep_lines=*/true);
  const auto failure = replay(options.explore, *options.path, journal);
  return tell_story(options, small_worlds(options.explore)[options.path->world], journal, failure);
}

// The story up to the broken promise, and how to see all of it.
void show_broken_path(const ExploreOptions& options, const Explored& explored) {
  Journal journal(/*keep_lines=*/true);
  const auto again = replay(options, *explored.broken, journal);
  fmt::print("\nan interleaving breaks a promise\n  {}\nits choices, and the last events of it:\n",
             explored.failure->text);
  show_last_lines(journal);
  if (again) fmt::print("  -> {}\n", again->text);
  fmt::print(
      "replay: tide sim --exhaustive --nodes {} --jobs {} --changes {} --radix {} --faults {} "
      "--path {}\n",
      options.nodes, options.jobs, options.changes, options.radix, class_names(options.classes),
      to_text(*explored.broken));
}

int explore_all(const Options& options) {
  auto explore_options = options.explore;
  const auto begin = Clock::now();
  if (options.minutes) {
    const auto end = begin + std::chrono::minutes(*options.minutes);
    explore_options.stop = [end] { return Clock::now() >= end; };
  }
  Progress progress;
  explore_options.progress = [&](std::uint64_t states, std::uint64_t runs) {
    progress.show(fmt::format("{} states, {} runs", states, runs));
  };
  const auto explored = explore(explore_options);
  progress.clear();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  fmt::print("{} states visited in {} runs, {:.1f} s: {} worlds of {} daemons and {} jobs\n",
             explored.states, explored.runs, seconds, explored.worlds, explore_options.nodes,
             explore_options.jobs);
  fmt::print("  {} runs with a fault, {} runs to a new end\n", explored.faults, explored.ends);
  fmt::print("  {}: at most {} departures from the usual order, a fault is one of them\n",
             explored.complete ? "everything within the bound" : "NOT everything within the bound",
             explore_options.departures);
  fmt::print("{} broken promises\n", explored.failure ? 1 : 0);
  if (explored.failure) show_broken_path(explore_options, explored);
  return explored.failure ? kBrokenPromise : explored.complete ? 0 : kNotAll;
}

// ---- a huge one ----

int measure(const Options& options) {
  ScaleOptions scale;
  scale.daemons = *options.scale;
  scale.radix = options.scenario.radix.value_or(scale.radix);
  const auto begin = Clock::now();
  const auto report = measure_scale(scale);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  fmt::print("{}\n{}, {:.1f} s\n", to_text(report),
             report.holds() ? "every formula holds" : "NOT every formula holds", seconds);
  return report.holds() ? 0 : kBrokenPromise;
}

// ---- repairs ----

int measure_repairs(const Options& options) {
  RepairCostOptions cost;
  cost.most = options.most.value_or(cost.most);
  const auto report = measure_repair_cost(cost);
  fmt::print("{}\n{}\n", to_text(report),
             report.holds() ? "every formula holds" : "NOT every formula holds");
  if (!options.plot_file.empty()) {
    std::ofstream file(options.plot_file);
    file << to_svg(report);
    if (!file) {
      fmt::print(stderr, "tide sim: cannot write {}\n", options.plot_file);
      return kUsage;
    }
  }
  return report.holds() ? 0 : kBrokenPromise;
}

int run(const std::vector<std::string>& words) {
  const auto options = parse_options(words);
  if (!options) {
    fmt::print(stderr, "tide sim: {}\n", options.error().message);
    return kUsage;
  }
  if (options->help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (options->scale) return measure(*options);
  if (options->repair_cost) return measure_repairs(*options);
  if (options->exhaustive) return options->path ? replay_path(*options) : explore_all(*options);
  return options->replay || !options->scenario_file.empty() ? replay(*options) : run_many(*options);
}

}  // namespace
}  // namespace tide::sim

int main(int argc, char** argv) try {
  tide::open_missing_standard_descriptors();
  const int status = tide::sim::run({argv + 1, argv + argc});
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::perror("tide sim: cannot write to standard output");
  return status == 0 ? 1 : status;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "tide sim: %s\n", problem.what());
  return 1;
}
