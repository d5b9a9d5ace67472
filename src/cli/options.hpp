// Every option of every command: one table that parsing, help and suggestions are made from.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tide::cli {

enum class Command : std::uint8_t {
  kUp,
  kCheck,
  kRun,      // also prun
  kOneShot,  // prterun: a DVM for one job
  kStatus,
  kJobs,
  kExplain,
  kPs,
  kEvents,
  kWatch,
  kKill,
  kDown,    // also pterm
  kParams,  // also prte_info
  kGrow,
  kShrink,
  kPool,
  kAlloc,
  kLogs,
  kDebug,
  kSim,  // a program of its own, which understands its words itself
  kCount,
};

using CommandSet = std::uint32_t;
constexpr CommandSet only(Command command) {
  return static_cast<CommandSet>(1U << static_cast<unsigned>(command));
}

enum class Option : std::uint8_t {
  kHelp,
  kVersion,
  kVerbose,
  kPrteMca,
  kNoEffect,
  // which DVM
  kDvm,
  kDvmUri,
  kPid,
  kNamespace,
  kSystemFirst,
  kSystemOnly,
  // a job
  kNumProcs,
  kEnvForward,
  kEnvSet,
  kEnvUnset,
  kEnvPrepend,
  kEnvAppend,
  kWorkingDirectory,
  kHost,
  kHostfile,
  kAddHost,
  kAddHostfile,
  kActivate,
  kMapBy,
  kOversubscribe,
  kNoOversubscribe,
  kOutput,
  kStdin,
  kTimeout,
  kPreloadBinary,
  kPreloadFiles,
  kSessionDirectory,
  kSpawnTimeout,
  kReportStateOnTimeout,
  kGetStackTraces,
  kRuntimeOptions,
  kDisplay,
  kDoNotLaunch,
  kDetach,
  kForwardSignals,
  kPersonality,
  kTarget,
  kTargetRequest,
  // a DVM to start
  kNodes,
  kSlots,
  kDefaultHostfile,
  kSetSlots,
  kMaxVmSize,
  kReportUri,
  kReportPid,
  kSystemServer,
  kPrefix,
  kNoPrefix,
  kLaunchAgent,
  kElastic,
  kPoolNodes,
  kPoolHostfile,
  kPoolLease,
  kPoolWarn,
  // the other commands
  kJson,
  kAll,
  kSignal,
  kForce,
  kLines,
  kFollow,
  kParam,
  kParsable,
  kCount,
  kAllocation,
  kLeaseTime,
  kLeaseWarn,
  kExtend,
  kRequestId,
  kShare,
  kOwner,
  kInherit,
  kWait,
};

enum class Arity : std::uint8_t { kNone, kOne, kTwo };

// How often an option may be given.
enum class Repeat : std::uint8_t { kOncePerJob, kOncePerApp, kOften };

struct OptionRow {
  std::string_view name;  // without dashes; one character: a short option
  Option option;
  Arity arity = Arity::kNone;
  CommandSet commands = 0;
  std::string_view value_name{};  // for help
  std::string_view help{};        // one line or more; empty: another spelling of the row before
  std::string_view instead{};     // an old spelling: what to write today
  std::string_view implied{};     // the value that this spelling stands for
};

// Rows of one option stand together, the spelling that help shows first.
std::span<const OptionRow> option_table();

Repeat repeat_of(Option option);

// Named by the surface people know, and not built.
inline constexpr CommandSet kEveryCommand = static_cast<CommandSet>(only(Command::kCount) - 1U);
struct UnbuiltOption {
  std::string_view name;
  std::string_view alternative{};  // what there is for the purpose today
  CommandSet commands = kEveryCommand;
  std::string_view never{};  // why it will not be built; empty: it may be
};
std::span<const UnbuiltOption> unbuilt_options();

// The row of this name that `command` takes; null if it takes none.
const OptionRow* find_option(Command command, std::string_view name);
const UnbuiltOption* find_unbuilt_option(Command command, std::string_view name);

}  // namespace tide::cli
