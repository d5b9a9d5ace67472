#include "sim/explore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"
#include "sim/choices.hpp"
#include "sim/world.hpp"

namespace tide::sim {

namespace {

// Some worlds have their fault already: for the others of those without changes that is so.
bool has_its_fault(std::uint32_t world, const Scenario& scenario) {
  if (scenario.changes.empty()) return world != 0;
  return std::ranges::any_of(scenario.changes,
                             [](const auto& each) { return each.trouble.has_value(); });
}

const FaultClasses& strikes_in(std::uint32_t world, const Scenario& scenario,
                               const ExploreOptions& options) {
  static const FaultClasses kNone;
  return has_its_fault(world, scenario) ? kNone : options.classes;
}

// ---- one run ----

struct SeenBefore {};

void throw_failed_check(const char* text) {
  throw BrokenPromise("internal checks hold", text);
}

// Called in each state after the last departure; may throw SeenBefore.
using Arrive = std::function<void(std::uint32_t step, const Choices& choices,
                                  const std::vector<Schedule::Entry>& pending)>;

class Guide {
 public:
  Guide(World& world, const ExploreOptions& options, const Path& path, const Arrive& arrive)
      : world_(world),
        choices_(world, strikes_in(path.world, world.scenario(), options)),
        options_(options),
        departures_(path.departures),
        arrive_(arrive) {}

  const Schedule::Entry* operator()(const std::vector<Schedule::Entry>& pending) {
    if (options_.also_check) options_.also_check(world_);
    const auto step = step_++;
    if (next_ == departures_.size()) {
      if (arrive_) arrive_(step, choices_, pending);
      return choices_.choose(pending, 0);
    }
    if (departures_[next_].step != step) return choices_.choose(pending, 0);
    const auto choice = departures_[next_++].choice;
    const auto last = choices_.orders(pending) + choices_.faults();
    if (choice > last)
      throw std::invalid_argument(fmt::format("step {} has {} choices, no {}", step, last, choice));
    return choices_.choose(pending, choice);
  }

 private:
  const World& world_;
  Choices choices_;
  const ExploreOptions& options_;
  const std::vector<Departure>& departures_;
  const Arrive& arrive_;
  std::uint32_t step_ = 0;
  std::size_t next_ = 0;
};

struct RunEnd {
  bool came_to_end = false;
  std::optional<Failure> failure;
};

RunEnd run_path(const Scenario& scenario, const ExploreOptions& options, const Path& path,
                Journal& journal, const Arrive& arrive) {
  set_check_failure_handler(&throw_failed_check);
  World world(scenario, journal);
  Guide guide(world, options, path, arrive);
  world.schedule().explore(std::ref(guide));
  try {
    world.run();
  } catch (const SeenBefore&) {
    return {};
  } catch (const BrokenPromise& broken) {
    return RunEnd{false, Failure{broken.promise(), broken.what()}};
  }
  return RunEnd{true, std::nullopt};
}

// ---- all of them ----

// Hashes in open addressing: eight bytes for a state, because there are many.
class HashSet {
 public:
  // False: it was there.
  bool add(std::uint64_t hash) {
    if (2 * (size_ + 1) > places_.size()) grow();
    const bool added = put(places_, hash == kEmpty ? 1 : hash);
    size_ += added ? 1 : 0;
    return added;
  }

 private:
  static constexpr std::uint64_t kEmpty = 0;

  static bool put(std::vector<std::uint64_t>& places, std::uint64_t hash) {
    std::size_t at = hash % places.size();
    while (places[at] != kEmpty && places[at] != hash) at = (at + 1) % places.size();
    return std::exchange(places[at], hash) == kEmpty;
  }
  void grow() {
    std::vector<std::uint64_t> larger(std::max<std::size_t>(1024, 2 * places_.size()), kEmpty);
    for (const auto hash : places_) {
      if (hash != kEmpty) put(larger, hash);
    }
    places_ = std::move(larger);
  }

  std::vector<std::uint64_t> places_;
  std::size_t size_ = 0;
};

// Shared by threads: one lock for each part.
class SeenStates {
 public:
  // False: it was there.
  bool add(std::uint64_t hash) {
    Part& part = parts_[hash % parts_.size()];
    const std::scoped_lock lock(part.mutex);
    return part.hashes.add(hash);
  }

 private:
  struct Part {
    std::mutex mutex;
    HashSet hashes;
  };
  std::array<Part, 61> parts_;
};

// How a path can go on at one step of it.
struct Branch {
  Path path;
  std::uint32_t cost = 0;  // of the path: departures that count
  std::uint32_t step = 0;
  std::uint32_t choices = 0;
  std::uint64_t arrivals = 0;   // which of these are arrivals and do not count, a bit for each
  bool takes_arrivals = false;  // these, or all others
};

class Search {
 public:
  explicit Search(const ExploreOptions& options)
      : options_(options), worlds_(small_worlds(options)) {}

  // All paths with fewer departures come first: each state is reached with as few as it can be, so
  // that none is left out that the bound allows.
  Explored run() {
    result_.worlds = worlds_.size();
    std::vector<Branch> level;
    for (std::uint32_t i = 0; i < worlds_.size(); ++i) {
      // Where there is one the fault is the first departure.
      const auto cost = fault_of(i);
      if (cost <= options_.departures) level.push_back(Branch{Path{i, {}}, cost});
    }
    // What came to be by arrivals alone belongs to the same level.
    for (; !level.empty() && !stopped_; level = std::exchange(same_.empty() ? next_ : same_, {})) {
      work_ = std::move(level);
      taken_ = 0;
      std::vector<std::thread> threads;
      for (unsigned i = 1; i < options_.threads; ++i) threads.emplace_back([this] { work(false); });
      work(true);
      for (auto& thread : threads) thread.join();
    }
    result_.states = states_;
    result_.complete = !stopped_;
    return std::move(result_);
  }

 private:
  void work(bool reports) {
    while (!stopped_) {
      const auto index = taken_.fetch_add(1);
      if (index >= work_.size()) return;
      const Branch& branch = work_[index];
      if (branch.choices == 0) follow(branch.path, branch.cost);
      for (std::uint32_t choice = 1; choice <= branch.choices && !stopped_; ++choice) {
        if (branch.takes_arrivals != is_in(branch.arrivals, choice)) continue;
        Path path = branch.path;
        path.departures.push_back(Departure{branch.step, choice});
        follow(path, branch.cost + (branch.takes_arrivals ? 0 : 1));
      }
      if (reports && options_.progress) options_.progress(states_, runs_);
      if (states_ >= options_.max_states || options_.stop()) stopped_ = true;
    }
  }

  static bool is_in(std::uint64_t arrivals, std::uint32_t choice) {
    return choice < 64 && ((arrivals >> choice) & 1U) != 0;
  }
  [[nodiscard]] std::uint32_t fault_of(std::uint32_t world) const {
    return has_its_fault(world, worlds_[world]) && options_.changes == 0 ? 1 : 0;
  }

  void follow(const Path& path, std::uint32_t cost) {
    std::vector<Branch> more;
    std::vector<Branch> as_many;
    const Arrive arrive = [&](std::uint32_t step, const Choices& choices, const auto& pending) {
      if (!seen_.add(Hash{choices.state_hash(), path.world}.value())) throw SeenBefore{};
      ++states_;
      const auto arrivals = options_.changes > 0 ? choices.arrivals(pending) : 0;
      const auto last = static_cast<std::uint32_t>(std::bit_width(arrivals));
      if (arrivals != 0) as_many.push_back(Branch{path, cost, step, last, arrivals, true});
      if (cost >= options_.departures) return;
      const auto count = choices.orders(pending) + choices.faults();
      if (count > 0) more.push_back(Branch{path, cost, step, count, arrivals, false});
    };
    Journal journal;
    const auto end = run_path(worlds_[path.world], options_, path, journal, arrive);
    ++runs_;
    const std::scoped_lock lock(mutex_);
    result_.runs = runs_;
    result_.ends += end.came_to_end ? 1U : 0U;
    result_.faults += journal.counts.faults_in_all() > 0 ? 1U : 0U;
    std::ranges::move(more, std::back_inserter(next_));
    std::ranges::move(as_many, std::back_inserter(same_));
    if (end.failure) note_failure(path, *end.failure);
  }

  void note_failure(const Path& path, const Failure& failure) {
    stopped_ = true;
    if (result_.broken && *result_.broken < path) return;
    result_.broken = path;
    result_.failure = failure;
  }

  const ExploreOptions& options_;
  std::vector<Scenario> worlds_;
  SeenStates seen_;
  std::vector<Branch> work_;
  std::atomic<std::size_t> taken_{0};
  std::atomic<std::uint64_t> states_{0};
  std::atomic<std::uint64_t> runs_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;          // of what follows
  std::vector<Branch> next_;  // with one departure more
  std::vector<Branch> same_;
  Explored result_;
};

Scenario world_of(const ExploreOptions& options, const Path& path) {
  const auto worlds = small_worlds(options);
  if (path.world >= worlds.size())
    throw std::invalid_argument(fmt::format("there are only {} worlds", worlds.size()));
  return worlds[path.world];
}

}  // namespace

Explored explore(const ExploreOptions& options) {
  return Search(options).run();
}

std::vector<std::uint64_t> states_of(const ExploreOptions& options, const Path& path) {
  std::vector<std::uint64_t> hashes;
  Journal journal;
  run_path(world_of(options, path), options, path, journal,
           [&hashes](std::uint32_t /*step*/, const Choices& choices, const auto& /*pending*/) {
             hashes.push_back(choices.state_hash());
           });
  return hashes;
}

std::optional<Failure> replay(const ExploreOptions& options, const Path& path, Journal& journal) {
  return run_path(world_of(options, path), options, path, journal, {}).failure;
}

// ---- paths as text ----

std::string to_text(const Path& path) {
  std::string text = fmt::format("{}/", path.world);
  for (const auto& departure : path.departures) {
    if (!text.ends_with('/')) text += ',';
    text += fmt::format("{}:{}", departure.step, departure.choice);
  }
  return text;
}

Result<Path> read_path(std::string_view text) {
  const Error bad{ErrorCode::kInvalidArgument,
                  fmt::format("a path is WORLD/STEP:CHOICE,…, not '{}'", one_line(text))};
  const auto take = [](std::string_view part, std::uint32_t& number) {
    const auto value = parse_int(part);
    if (!value || *value < 0 || *value > UINT32_MAX) return false;
    number = static_cast<std::uint32_t>(*value);
    return true;
  };
  const auto slash = text.find('/');
  Path path;
  if (slash == text.npos || !take(text.substr(0, slash), path.world)) return bad;
  const auto rest = text.substr(slash + 1);
  if (rest.empty()) return path;
  for (const auto& part : split(rest, ',')) {
    const auto colon = part.find(':');
    Departure departure;
    if (colon == part.npos || !take(std::string_view(part).substr(0, colon), departure.step) ||
        !take(std::string_view(part).substr(colon + 1), departure.choice))
      return bad;
    path.departures.push_back(departure);
  }
  return path;
}

}  // namespace tide::sim
