#include "sim/options.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/text.hpp"

namespace tide::sim {

const char* const kHelp =
    R"(usage: tide sim [OPTION…]

Runs the cores of head and daemons in virtual worlds: network, clock, launchers, processes and clients
are simulated, faults are drawn from a seed, and every promise is checked. The same seed is the same world.

  --seeds A..B        seeds to run, both included (1..1000)
  --fresh N           and N seeds that nobody chose; they are printed
  --minutes M         stop after so long, whatever is left; with no --seeds: seeds as they come
  --nodes N           so many nodes in every world (drawn: 1 to 40)
  --radix R           so many children in the tree (drawn: 2, 3, 4 or 64)
  --faults CLASS,…    only these: cut, crash, freeze, partition, launcher, process, client, lie (each world takes
                      a random part of them), or none
  --at-least N        fail, too, if a class is hit less than N times, or a world not 5 to 30 times in all
  --threads N         worlds at a time (as many as there are cores)
  --replay SEED       one world, with all that happens in it
  --scenario FILE     the same for a world written down, as a failure is
  --trace FILE        with one world: a trace for chrome://tracing or https://ui.perfetto.dev
  --quiet             with one world: the verdict only

All interleavings of a small world, instead of some of large ones:
  --exhaustive        a head, its daemons and two jobs; in every state each of the faults, one in a run
  --nodes N           so many daemons (3; 4 at most)
  --jobs N            so many jobs (2 at most)
  --changes N         one or two changes of size that meet in each way; those who want them or bring jobs may come in every
                      state, which does not count as a departure
  --departures D      that depart at most D times from the usual order; the fault is one of them (1)
  --limit STATES      stop after so many (5000000); with --minutes: after so long
  --path PATH         one of the interleavings, with all that happens in it, as a failure names it

One huge world without faults, instead:
  --scale N           N daemons (up to 1000000): a start, a broadcast, a job on all, a loss, a grow by a tenth, a shrink by a
                      whole branch; what is counted is held against the formulas of the tree
  --radix R           with so many children in the tree (64)

What repairs of the tree cost, instead:
  --repair-cost       m daemons of one branch leave in one shrink, or in m of them; m = 1, 2, 4, …
  --most M            up to so many (4096)
  --plot FILE         also as a plot, in SVG

examples:
  tide sim --seeds 1..10000
  tide sim --minutes 5 --faults cut,freeze --nodes 9
  tide sim --replay 4711 --trace /tmp/world.json
  tide sim --exhaustive --nodes 2 --departures 2 --faults cut,crash
  tide sim --exhaustive --nodes 2 --jobs 1 --changes 2 --departures 0
  tide sim --scale 100000 --radix 32
  tide sim --repair-cost --plot repair-cost.svg

Exit status: 0 all promises held, 1 one was broken (or --at-least not met, or a formula), 2 the command line is not understood, 3 a limit
came before all interleavings within the bound were tried.
)";

namespace {

constexpr std::uint32_t kMostExploredNodes = 4;
constexpr std::uint32_t kMostExploredJobs = 2;
constexpr std::uint32_t kMostExploredChanges = 2;

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
  if (text == "none") return ok_status();
  for (const auto& name : split(text, ',')) {
    const auto found = fault_class_named(name);
    if (!found) return usage(fmt::format("there is no class of faults '{}'", one_line(name)));
    options.scenario.classes.insert(*found);
  }
  return ok_status();
}

Status take_path(Options& options, const std::string& text) {
  const auto path = read_path(text);
  if (!path) return usage(path.error().message);
  options.path = *path;
  return ok_status();
}

// The options that both ways to run share.
Result<Options> for_exploring(Options options) {
  auto& explore = options.explore;
  explore.nodes = options.scenario.nodes.value_or(explore.nodes);
  explore.radix = options.scenario.radix.value_or(explore.radix);
  explore.classes = options.scenario.classes;
  explore.threads = options.threads;
  if (explore.nodes > kMostExploredNodes)
    return usage(fmt::format("--exhaustive takes at most {} nodes", kMostExploredNodes));
  return options;
}

Status take_number(Options& options, const std::string& option, const std::string& text) {
  const auto value = number(option, text);
  if (!value) return value.error();
  if (option == "--fresh") {
    options.fresh = *value;
  } else if (option == "--most" && *value >= 1 && *value <= 65'536) {
    options.most = static_cast<std::uint32_t>(*value);
  } else if (option == "--changes" && *value <= kMostExploredChanges) {
    options.explore.changes = static_cast<std::uint32_t>(*value);
  } else if (option == "--jobs" && *value <= kMostExploredJobs) {
    options.explore.jobs = static_cast<std::uint32_t>(*value);
  } else if (option == "--departures" && *value <= 1'000) {
    options.explore.departures = static_cast<std::uint32_t>(*value);
  } else if (option == "--limit") {
    options.explore.max_states = *value;
  } else if (option == "--minutes" && *value >= 1) {
    options.minutes = static_cast<std::int64_t>(*value);
  } else if (option == "--at-least") {
    options.at_least = *value;
  } else if (option == "--threads") {
    options.threads = static_cast<unsigned>(std::clamp<std::uint64_t>(*value, 1, 1024));
  } else if (option == "--replay") {
    options.replay = *value;
  } else if (option == "--nodes" && *value >= 1 && *value <= 100'000) {
    options.scenario.nodes = static_cast<std::uint32_t>(*value);
  } else if (option == "--scale" && *value >= 1 && *value <= 1'000'000) {
    options.scale = static_cast<std::uint32_t>(*value);
  } else if (option == "--radix" && *value >= 2 && *value <= 1'000) {
    options.scenario.radix = static_cast<std::uint32_t>(*value);
  } else {
    return usage(fmt::format("{} can't be {}", option, *value));
  }
  return ok_status();
}

// Options that mean nothing with the others are a mistake, not to be passed over.
Status check_together(const Options& options, const std::vector<std::string>& words) {
  static constexpr std::array kOnlyExhaustive = {"--jobs", "--changes", "--departures", "--limit",
                                                 "--path"};
  static constexpr std::array kNeverExhaustive = {"--seeds", "--fresh", "--at-least", "--replay",
                                                  "--scenario"};
  static constexpr std::array kWithScale = {"--scale", "--radix"};
  static constexpr std::array kWithRepairs = {"--repair-cost", "--most", "--plot"};
  const bool one_world = options.replay || !options.scenario_file.empty() || options.path;
  if (!options.trace_file.empty() && !one_world)
    return usage("--trace goes with one world: --replay, --scenario or --path");
  if (options.replay && (options.seeds || !options.scenario_file.empty()))
    return usage("--replay, --scenario and --seeds exclude each other");
  for (const auto& word : words) {
    const bool is_option = word.starts_with("--");
    if (options.scale && is_option && std::ranges::find(kWithScale, word) == kWithScale.end())
      return usage(word + " does not go with --scale");
    const bool of_repairs = std::ranges::find(kWithRepairs, word) != kWithRepairs.end();
    if (options.repair_cost && is_option && !of_repairs)
      return usage(word + " does not go with --repair-cost");
    if (!options.repair_cost && of_repairs) return usage(word + " goes with --repair-cost");
    if (!options.exhaustive && std::ranges::find(kOnlyExhaustive, word) != kOnlyExhaustive.end())
      return usage(word + " goes with --exhaustive");
    if (options.exhaustive && std::ranges::find(kNeverExhaustive, word) != kNeverExhaustive.end())
      return usage(word + " does not go with --exhaustive");
  }
  return ok_status();
}

}  // namespace

Result<Options> parse_options(const std::vector<std::string>& words) {
  Options options;
  static constexpr std::array kNumbers = {
      "--fresh", "--minutes", "--at-least", "--threads",    "--replay", "--nodes", "--radix",
      "--jobs",  "--most",    "--changes",  "--departures", "--limit",  "--scale"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h")
      options.help = true;
    else if (word == "--quiet")
      options.quiet = true;
    else if (word == "--exhaustive")
      options.exhaustive = true;
    else if (word == "--repair-cost")
      options.repair_cost = true;
    const bool flag = word == "--quiet" || word == "--exhaustive" || word == "--repair-cost";
    if (options.help || flag) continue;
    const bool is_number = std::ranges::find(kNumbers, word) != kNumbers.end();
    const bool known = is_number || word == "--seeds" || word == "--faults" ||
                       word == "--scenario" || word == "--trace" || word == "--path" ||
                       word == "--plot";
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
    else if (word == "--path")
      taken = take_path(options, value);
    else if (word == "--plot")
      options.plot_file = value;
    else
      (word == "--scenario" ? options.scenario_file : options.trace_file) = value;
    if (!taken) return taken.error();
  }
  if (options.help) return options;
  if (const auto together = check_together(options, words); !together) return together.error();
  return options.exhaustive ? for_exploring(std::move(options)) : Result<Options>(options);
}

}  // namespace tide::sim
