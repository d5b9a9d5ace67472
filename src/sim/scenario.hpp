// What happens in one world, as data: drawn from a seed, written down, read again, made smaller.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tide::sim {

// Classes can be left out one by one; each world takes a random subset of those allowed.
enum class FaultClass : std::uint8_t {
  kCut,        // links break
  kCrash,      // daemons die, seen by the launcher or without a word
  kFreeze,     // daemons (and for a short time the head) stand still
  kPartition,  // packets do not arrive, one way or both
  kLauncher,   // daemons come late, twice, half or not at all
  kProcess,    // processes crash, hang, ignore signals, can't be started
  kClient,     // clients leave, kill, read slowly
  kLie,        // daemons speak in the name of others
};
inline constexpr std::array kFaultClasses = {
    FaultClass::kCut,      FaultClass::kCrash,   FaultClass::kFreeze, FaultClass::kPartition,
    FaultClass::kLauncher, FaultClass::kProcess, FaultClass::kClient, FaultClass::kLie};
using FaultClasses = std::set<FaultClass>;

enum class FaultKind : std::uint8_t {
  kCut,
  kCrash,
  kPowerLoss,  // neither the links nor the launcher tell
  kFreeze,
  kPartition,
  kOneWay,  // what the target sends does not arrive
  // launcher faults: the target is a rank, the time is that of its launch
  kSlowStart,
  kFailsToStart,
  kNeverConnects,
  kDiesConnected,  // before it reports
  kDiesReported,
  kTwin,       // a second process with the same ticket
  kComesLate,  // after the start was given up
  kLie,
};
inline constexpr std::size_t kFaultKinds = 14;

FaultClass class_of(FaultKind kind);
// A start that is merely slow is a delay: it is drawn, and not counted.
bool counts_as_fault(FaultKind kind);
std::string_view name_of(FaultKind kind);
std::string_view name_of(FaultClass fault_class);
std::optional<FaultClass> fault_class_named(std::string_view name);

struct Fault {
  static constexpr std::uint32_t kEverybody = 0;      // other: the target alone against all
  static constexpr std::uint32_t kHalf = UINT32_MAX;  // other: the odd ranks against the even
  FaultKind kind = FaultKind::kCut;
  std::uint64_t at_ms = 0;
  std::uint32_t target = 0;  // a rank for the launcher, else a number that chooses among the living
  std::uint32_t other = kEverybody;
  std::uint64_t for_ms = 0;
  bool operator==(const Fault&) const = default;
};

enum class Trouble : std::uint8_t {
  kNone,
  kExitCode,
  kCrash,
  kHang,
  kStubborn,    // hangs, and only SIGKILL ends it
  kNotStarted,  // the program can't be executed
  kUnendable,   // ends well, but what it leaves behind can't be ended
  kDeserts,     // ends well, when the others are waiting for it
  kAborts,      // gives up its job
};
inline constexpr std::size_t kTroubles = 9;

// What processes ask of the DVM.
enum class Ask : std::uint8_t {
  kFence,    // of all processes of the job
  kSubset,   // of some
  kModex,    // what another one has put
  kPublish,  // and look up, and take back
  kEvent,
  kGroup,  // made and unmade
  kSpawn,  // a job, to be connected with
  kLog,
  kQuery,
  kAllocate,  // nodes, more of them, or fewer: src/sim/reservations
};
inline constexpr std::size_t kAsks = 10;
std::string_view name_of(Ask ask);

// Where the processes of a job wait until their client, which is their debugger, lets them go on.
enum class HeldAt : std::uint8_t { kNowhere, kExec, kInit };

inline constexpr std::size_t kMessageLimit = 256UL * 1024;  // of the head

// Why there is no place for a job.
enum class Misfit : std::uint8_t { kNone, kNoSuchNode, kTooMany, kTooLarge };

enum class ClientHabit : std::uint8_t { kStays, kSlow, kLeaves, kKills, kSignals };

struct JobPlan {
  std::uint64_t at_ms = 0;
  std::uint32_t processes = 1;
  bool by_node = false;
  std::uint32_t max_run_ms = 50;
  std::uint32_t max_output_bytes = 4000;
  std::uint32_t input_bytes = 0;
  Trouble trouble = Trouble::kNone;  // of one process
  std::uint32_t trouble_rank = 0;
  ClientHabit client = ClientHabit::kStays;
  std::uint64_t client_after_ms = 0;  // when it does what it does
  std::uint32_t timeout_ms = 0;
  std::uint32_t spawn_timeout_ms = 0;
  bool stack_traces = false;  // when a time limit ends it
  bool only_map = false;      // to be shown and not started
  bool recoverable = false;   // goes on without a process that fails
  HeldAt held_at = HeldAt::kNowhere;
  Misfit misfit = Misfit::kNone;
  std::uint32_t restarts = 0;
  std::uint32_t failures = 1;  // so often the process in trouble fails before it does not
  std::array<std::uint32_t, kAsks> asks{};  // how often each
  Trouble child = Trouble::kNone;           // of what it spawns
  bool spawned = false;                     // by a process with which it connects
  bool aimed = false;                       // at some of the sessions that are there
  std::uint32_t files = 0;                  // that it brings to its nodes
  std::uint32_t bad_disks = 0;              // in a hundred nodes, where they can't be written
  std::uint32_t adds = 0;                   // nodes that it asks for
  bool adds_by_name = false;                // else so many that are to be had, or all
  std::optional<FaultKind> adds_trouble{};  // of the first of these that is named and started
  bool operator==(const JobPlan&) const = default;

  [[nodiscard]] bool fails_at_first() const {
    return trouble == Trouble::kExitCode || trouble == Trouble::kCrash;
  }
  [[nodiscard]] bool ends_well() const {
    if (misfit != Misfit::kNone) return misfit == Misfit::kTooLarge && only_map;
    return only_map || trouble == Trouble::kNone || trouble == Trouble::kUnendable ||
           trouble == Trouble::kDeserts || (fails_at_first() && failures <= restarts);
  }
  [[nodiscard]] std::uint32_t& asks_for(Ask ask) { return asks.at(static_cast<std::size_t>(ask)); }
  [[nodiscard]] std::uint32_t asks_for(Ask ask) const {
    return asks.at(static_cast<std::size_t>(ask));
  }
};

// A tool that attaches itself to the head or to a daemon.
struct ToolPlan {
  std::uint64_t at_ms = 0;
  std::uint32_t place = 0;    // 0: the head; else a number that chooses among the living
  std::uint64_t stay_ms = 0;  // 0: until its jobs are over
  std::uint32_t jobs = 1;     // that it spawns
  bool outlived = false;      // by its jobs
  bool slow = false;          // to read
  std::uint32_t processes = 1;
  std::uint32_t max_output_bytes = 2000;
  std::uint32_t wishes = 0;  // about allocations
  bool aims = false;         // its jobs at some of the sessions that are there
  bool schedules = false;    // it knows the key of the scheduler
  bool operator==(const ToolPlan&) const = default;
};

// A change of the DVM's size.
enum class ChangeKind : std::uint8_t { kGrow, kShrink, kPush, kReclaim };
struct ChangePlan {
  std::uint64_t at_ms = 0;
  ChangeKind what = ChangeKind::kGrow;
  std::uint32_t count = 1;
  bool by_name = false;
  std::vector<std::string> nodes{};    // these, if there are any
  std::optional<FaultKind> trouble{};  // of the first daemon that a grow starts
  std::uint64_t leaves_after_ms = 0;   // who asked; 0: never
  bool by_tool = false;                // not by a client of the head
  std::uint32_t place = 0;             // of the tool; 0: the head
  bool reserves = false;               // what a tool's grow brings is not for everybody
  bool operator==(const ChangePlan&) const = default;
};

enum class Latency : std::uint8_t { kSteady, kUniform, kHeavy };

// Applied in every world.
inline constexpr std::uint32_t kFewestFaults = 5;
inline constexpr std::uint32_t kMostFaults = 30;

struct Scenario {
  std::uint64_t seed = 1;  // of what is not written down: delays, durations, sizes
  std::uint32_t nodes = 8;
  std::uint32_t slots = 2;
  std::uint32_t radix = 2;
  Latency latency = Latency::kUniform;
  std::uint32_t latency_us = 500;     // typical
  std::uint32_t window_bytes = 1000;  // small, so that credit matters
  bool far = false;                   // other machines: daemons start daemons, nobody sees them end
  std::uint32_t second_names = 0;     // so many nodes are machines that are there already
  std::vector<Fault> faults;
  std::vector<JobPlan> jobs;
  std::vector<ToolPlan> tools;
  std::uint32_t spares = 0;  // nodes that the DVM does not start with, and may get
  std::vector<ChangePlan> changes;
  std::optional<std::uint64_t> take_down_ms;
  bool operator==(const Scenario&) const = default;

  // When the last fault is over.
  [[nodiscard]] std::uint64_t calm_ms() const;
  // Processes or tools ask for allocations.
  [[nodiscard]] bool reserves() const;
  // Whether the DVM is made to change its size, and not for a job alone.
  [[nodiscard]] bool changes_size() const { return !changes.empty() || reserves(); }
  // In some worlds no order to leave can be sent.
  [[nodiscard]] bool orders_fail() const { return seed % 16 == 5 && changes_size(); }
  // How many there are that count.
  [[nodiscard]] std::uint32_t fault_count() const;
};

struct ScenarioOptions {
  std::optional<std::uint32_t> nodes{};
  std::optional<std::uint32_t> radix{};
  FaultClasses classes{kFaultClasses.begin(), kFaultClasses.end()};
};

Scenario draw_scenario(std::uint64_t seed, const ScenarioOptions& options = {});

// One line for the world, one for each fault and job; read_scenario() takes it back.
std::string to_text(const Scenario& scenario);
Result<Scenario> read_scenario(std::string_view text);

}  // namespace tide::sim
