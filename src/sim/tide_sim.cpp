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

#include "base/text.hpp"
#include "sim/campaign.hpp"
#include "sim/reduce.hpp"

namespace tide::sim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBrokenPromise = 1;
constexpr int kUsage = 2;
constexpr std::size_t kShownLines = 40;

constexpr const char* kHelp =
    R"(usage: tide sim [OPTION…]

Runs the cores of head and daemons in virtual worlds: network, clock, launchers, processes and clients
are simulated, faults are drawn from a seed, and every promise is checked. The same seed is the same world.

  --seeds A..B        seeds to run, both included (1..1000)
  --fresh N           and N seeds that nobody chose; they are printed
  --minutes M         stop after so long, whatever is left; with no --seeds: seeds as they come
  --nodes N           so many nodes in every world (drawn: 1 to 40)
  --radix R           so many children in the tree (drawn: 2, 3, 4 or 64)
  --faults CLASS,…    only these: cut, crash, freeze, partition, launcher, process, client, lie (each world takes
                      a random part of them)
  --at-least N        fail, too, if a class is hit less than N times, or a world not 5 to 30 times in all
  --threads N         worlds at a time (as many as there are cores)
  --replay SEED       one world, with all that happens in it
  --scenario FILE     the same for a world written down, as a failure is
  --trace FILE        with one world: a trace for chrome://tracing or https://ui.perfetto.dev
  --quiet             with one world: the verdict only

examples:
  tide sim --seeds 1..10000
  tide sim --minutes 5 --faults cut,freeze --nodes 9
  tide sim --replay 4711 --trace /tmp/world.json

Exit status: 0 all promises held, 1 one was broken (or --at-least not met), 2 the command line is not understood.
)";

struct Options {
  std::optional<std::pair<std::uint64_t, std::uint64_t>> seeds;
  std::uint64_t fresh = 0;
  std::optional<std::int64_t> minutes;
  std::optional<std::uint64_t> at_least;
  ScenarioOptions scenario;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::optional<std::uint64_t> replay;
  std::string scenario_file;
  std::string trace_file;
  bool quiet = false;
  bool help = false;
};

Error usage(std::string text) {
  return Error{ErrorCode::kInvalidArgument, std::move(text) + "; see tide sim --help"};
}

Result<std::uint64_t> number(std::string_view option, const std::string& text) {
  const auto value = parse_int(text);
  if (!value || *value < 0)
    return usage(fmt::format("{} takes a number, not '{}'", option, one_line(text)));
  return static_cast<std::uint64_t>(*value);
}

Status take_seeds(Options& options, const std::string& text) {
  const auto dots = text.find("..");
  const auto first = number("--seeds", text.substr(0, dots));
  const auto last = dots == std::string::npos ? first : number("--seeds", text.substr(dots + 2));
  if (!first || !last || *last < *first)
    return usage(fmt::format("--seeds takes A..B, not '{}'", one_line(text)));
  options.seeds = {*first, *last};
  return ok_status();
}

Status take_faults(Options& options, const std::string& text) {
  options.scenario.classes.clear();
  for (const auto& name : split(text, ',')) {
    const auto found = fault_class_named(name);
    if (!found) return usage(fmt::format("there is no class of faults '{}'", one_line(name)));
    options.scenario.classes.insert(*found);
  }
  return ok_status();
}

Status take_number(Options& options, const std::string& option, const std::string& text) {
  const auto value = number(option, text);
  if (!value) return value.error();
  if (option == "--fresh") {
    options.fresh = *value;
  } else if (option == "--minutes") {
    options.minutes = static_cast<std::int64_t>(*value);
  } else if (option == "--at-least") {
    options.at_least = *value;
  } else if (option == "--threads") {
    options.threads = static_cast<unsigned>(std::clamp<std::uint64_t>(*value, 1, 1024));
  } else if (option == "--replay") {
    options.replay = *value;
  } else if (option == "--nodes" && *value >= 1 && *value <= 100'000) {
    options.scenario.nodes = static_cast<std::uint32_t>(*value);
  } else if (option == "--radix" && *value >= 2 && *value <= 1'000) {
    options.scenario.radix = static_cast<std::uint32_t>(*value);
  } else {
    return usage(fmt::format("{} can't be {}", option, *value));
  }
  return ok_status();
}

Result<Options> parse(const std::vector<std::string>& words) {
  Options options;
  static constexpr std::array kNumbers = {"--fresh",  "--minutes", "--at-least", "--threads",
                                          "--replay", "--nodes",   "--radix"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h")
      options.help = true;
    else if (word == "--quiet")
      options.quiet = true;
    if (options.help || word == "--quiet") continue;
    const bool is_number = std::ranges::find(kNumbers, word) != kNumbers.end();
    const bool known = is_number || word == "--seeds" || word == "--faults" ||
                       word == "--scenario" || word == "--trace";
    if (!known) return usage(fmt::format("there is no option '{}'", one_line(word)));
    if (i + 1 == words.size()) return usage(fmt::format("{} needs a value", word));
    const std::string& value = words[++i];
    Status taken = ok_status();
    if (is_number)
      taken = take_number(options, word, value);
    else if (word == "--seeds")
      taken = take_seeds(options, value);
    else if (word == "--faults")
      taken = take_faults(options, value);
    else
      (word == "--scenario" ? options.scenario_file : options.trace_file) = value;
    if (!taken) return taken.error();
  }
  return options;
}

// ---- one world ----

Result<Scenario> scenario_to_replay(const Options& options) {
  if (options.replay) return draw_scenario(*options.replay, options.scenario);
  std::ifstream file(options.scenario_file);
  if (!file) return Error{ErrorCode::kNotFound, "cannot read " + options.scenario_file};
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return read_scenario(text);
}

int replay(const Options& options) {
  const auto scenario = scenario_to_replay(options);
  if (!scenario) {
    fmt::print(stderr, "tide sim: {}\n", scenario.error().message);
    return kUsage;
  }
  Journal journal(/*keep_lines=*/true);
  const auto failure = run_scenario(*scenario, journal);
  if (!options.quiet) {
    fmt::print("{}", to_text(*scenario));
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

// ---- many worlds ----

void show_failure(const FailedSeed& failed, const ScenarioOptions& options) {
  fmt::print("\nseed {} breaks a promise\n  {}\n", failed.seed, failed.failure.text);
  const auto whole = draw_scenario(failed.seed, options);
  const auto reduced = reduce_failing(whole, failed.failure);
  Journal journal(/*keep_lines=*/true);
  const auto again = run_scenario(reduced.scenario, journal);
  fmt::print("made smaller in {} runs: {} of {} faults, {} of {} jobs, {} of {} nodes\n",
             reduced.runs, reduced.scenario.faults.size(), whole.faults.size(),
             reduced.scenario.jobs.size(), whole.jobs.size(), reduced.scenario.nodes, whole.nodes);
  std::vector<std::string> shown;
  for (const auto& line : journal.lines()) {
    if (line.kind != TraceLine::Kind::kAction) shown.push_back(readable(line));
  }
  const auto skip = shown.size() > kShownLines ? shown.size() - kShownLines : 0;
  fmt::print("the last events of it:\n");
  for (std::size_t i = skip; i < shown.size(); ++i) fmt::print("{}\n", shown[i]);
  if (again) fmt::print("  -> {}\n", again->text);
  const auto path = fmt::format("tide-sim-{}.scenario", failed.seed);
  std::ofstream file(path);
  file << "# " << failed.failure.text << "\n" << to_text(reduced.scenario);
  fmt::print("replay: tide sim --replay {}{}\n", failed.seed,
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
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  auto shown = begin;
  campaign.progress = [&](const Counts& counts, std::uint64_t failures) {
    const auto interval = terminal ? std::chrono::milliseconds(500) : std::chrono::seconds(30);
    if (Clock::now() - shown < interval) return;
    shown = Clock::now();
    fmt::print(stderr, "{}{} worlds, {} faults, {} broken promises{}", terminal ? "\r" : "",
               counts.worlds, counts.faults_in_all(), failures, terminal ? "   " : "\n");
  };
  const auto result = run_campaign(campaign);
  if (terminal) fmt::print(stderr, "\r\033[K");
  show_summary(result, std::chrono::duration<double>(Clock::now() - begin).count());
  for (const auto& failed : result.failures)
    fmt::print("  seed {}: {}\n", failed.seed, failed.failure.text);
  if (!result.failures.empty()) show_failure(result.failures.front(), options.scenario);
  const bool enough = met_enough(result, options);
  return result.failures.empty() && enough ? 0 : kBrokenPromise;
}

}  // namespace
}  // namespace tide::sim

int main(int argc, char** argv) try {
  using namespace tide::sim;
  const auto options = parse({argv + 1, argv + argc});
  if (!options) {
    fmt::print(stderr, "tide sim: {}\n", options.error().message);
    return kUsage;
  }
  if (options->help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  return options->replay || !options->scenario_file.empty() ? replay(*options) : run_many(*options);
} catch (const std::exception& problem) {
  std::fprintf(stderr, "tide sim: %s\n", problem.what());
  return 2;
}
