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
};
inline constexpr std::size_t kTroubles = 7;
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
  bool operator==(const JobPlan&) const = default;
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
  std::vector<Fault> faults;
  std::vector<JobPlan> jobs;
  std::optional<std::uint64_t> take_down_ms;
  bool operator==(const Scenario&) const = default;

  // When the last fault is over.
  [[nodiscard]] std::uint64_t calm_ms() const;
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
