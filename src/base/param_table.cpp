// The one table of parameters. Keep it sorted by name.
#include <array>
#include <cstdint>

#include "base/failpoints.hpp"
#include "base/ip_network.hpp"
#include "base/messages.hpp"
#include "base/params.hpp"
#include "base/text.hpp"

namespace tide {
namespace {

constexpr std::int64_t kSecondMs = 1000;
constexpr std::int64_t kHourMs = 3600 * kSecondMs;
constexpr std::int64_t kKib = 1024;
constexpr std::int64_t kMib = 1024 * kKib;
constexpr std::int64_t kGib = 1024 * kMib;
constexpr std::int64_t kMaxVerbosity = 5;
constexpr std::int64_t kMaxRadix = 4096;
constexpr std::int64_t kMaxNodes = 100'000;
constexpr std::int64_t kMaxSlotsPerNode = 65536;

constexpr std::array<std::string_view, 1> kRadixAliases = {"rml_base_radix"};
constexpr std::array<std::string_view, 8> kSchedulers = {"auto", "none",       "slurm", "pbs",
                                                         "lsf",  "gridengine", "pals",  "flux"};
constexpr std::array<std::string_view, 7> kLaunchers = {"auto",       "ssh",  "slurm", "lsf",
                                                        "gridengine", "pals", "flux"};
constexpr std::array<std::string_view, 3> kSlotChoices = {"cores", "sockets", "hwthreads"};

Status check_failpoints(std::string_view value) {
  const Result<Failpoints> parsed = Failpoints::parse(value);
  if (!parsed) return parsed.error();
  return ok_status();
}

Status check_absolute_or_empty(std::string_view value) {
  if (value.empty() || value.starts_with('/')) return ok_status();
  return say::parameter_not_absolute();
}

// Whether an interface of that name is there is for each machine to say.
Status check_interfaces(std::string_view value) {
  if (value.empty()) return ok_status();
  for (const std::string& piece : split(value, ',')) {
    const std::string_view word = trim(piece);
    const bool name = !word.empty() && word.find('/') == std::string_view::npos;
    if (name ? is_ip_address(word) : !IpNetwork::parse(word)) {
      return say::not_an_interface_or_network(word);
    }
  }
  return ok_status();
}

constexpr ParamDef verbosity(std::string_view name, std::string_view help) {
  return {.name = name,
          .type = ParamType::kInt,
          .default_value = "0",
          .help = help,
          .min = 0,
          .max = kMaxVerbosity};
}

constexpr ParamDef duration(std::string_view name, std::string_view default_value,
                            std::string_view help, std::int64_t min_ms, std::int64_t max_ms) {
  return {.name = name,
          .type = ParamType::kDurationMs,
          .default_value = default_value,
          .help = help,
          .min = min_ms,
          .max = max_ms};
}

constexpr ParamDef number(std::string_view name, std::string_view default_value,
                          std::string_view help, std::int64_t min, std::int64_t max) {
  return {.name = name,
          .type = ParamType::kInt,
          .default_value = default_value,
          .help = help,
          .min = min,
          .max = max};
}

constexpr ParamDef size(std::string_view name, std::string_view default_value,
                        std::string_view help, std::int64_t min, std::int64_t max) {
  return {.name = name,
          .type = ParamType::kSizeBytes,
          .default_value = default_value,
          .help = help,
          .min = min,
          .max = max};
}

constexpr std::array kTable = {
    verbosity("errmgr_base_verbose", "How much to log about errors and their handling (0-5)"),
    verbosity("iof_base_verbose", "How much to log about forwarding input and output (0-5)"),
    verbosity("odls_base_verbose", "How much to log about local processes (0-5)"),
    ParamDef{.name = "plm",
             .type = ParamType::kChoice,
             .default_value = "auto",
             .help = "What starts daemons on other machines: auto, ssh, or the command of the "
                     "scheduler of this name",
             .choices = kLaunchers},
    verbosity("plm_base_verbose", "How much to log about launching daemons and jobs (0-5)"),
    ParamDef{.name = "plm_command_all",
             .type = ParamType::kString,
             .default_value = "",
             .help = "A command that starts daemons on many hosts at once; {count}, {hosts}, "
                     "{ranges}, {job} and {command} are filled in"},
    ParamDef{.name = "plm_command_each",
             .type = ParamType::kString,
             .default_value = "",
             .help = "A command that starts the daemon of one host and stays; {host}, {job} and "
                     "{command} are filled in"},
    ParamDef{.name = "plm_slurm_args",
             .type = ParamType::kString,
             .default_value = "",
             .help = "More options for the srun that starts daemons in a job of Slurm"},
    ParamDef{.name = "plm_ssh_agent",
             .type = ParamType::kString,
             .default_value = "ssh : rsh",
             .help = "What starts a program on another machine: the first of these that is found, "
                     "with its options; %h, %u and %c stand for host, user and command"},
    ParamDef{.name = "plm_ssh_args",
             .type = ParamType::kString,
             .default_value = "",
             .help = "More options for the agent of plm_ssh_agent"},
    ParamDef{.name = "plm_ssh_no_tree_spawn",
             .type = ParamType::kBool,
             .default_value = "false",
             .help = "Start all daemons from the head, and not along the routing tree"},
    number("plm_ssh_num_concurrent", "128",
           "How many starts on other machines are under way at once", 1, 65536),
    duration(
        "plm_ssh_timeout", "30s",
        "Time for an agent to log in on the other machine, a third of it to connect, and again "
        "for the daemon to find the head",
        100, kHourMs),
    duration("plm_step_grace", "15s",
             "How long a daemon that a scheduler's command has started goes on when the scheduler "
             "tells it to end, for programs to end in good order",
             0, kHourMs),
    duration("plm_step_timeout", "30s",
             "Time until something is heard of a daemon that a scheduler's command starts, and "
             "again for the daemon to find the head",
             100, kHourMs),
    ParamDef{.name = "prte_elastic_mode",
             .type = ParamType::kBool,
             .default_value = "false",
             .help = "Whether the DVM can grow and shrink while it runs"},
    ParamDef{.name = "prte_if_exclude",
             .type = ParamType::kString,
             .default_value = "",
             .help = "Interfaces or networks (10.78.0.0/16) that the DVM does not use between "
                     "machines, separated by commas; all others are used",
             .check = check_interfaces},
    ParamDef{.name = "prte_if_include",
             .type = ParamType::kString,
             .default_value = "",
             .help = "Interfaces or networks (10.78.0.0/16) that the DVM uses between machines, "
                     "separated by commas, and no others",
             .check = check_interfaces},
    size("prte_max_msg_size", "64m", "Largest message that is accepted from a peer", 64 * kKib,
         2 * kGib - 1),
    ParamDef{.name = "prte_max_vm_size",
             .type = ParamType::kInt,
             .default_value = "0",
             .help = "Nodes that a DVM starts with at most, the first ones; 0: all that are named",
             .max = kMaxNodes},
    ParamDef{
        .name = "prte_set_default_slots",
        .type = ParamType::kChoice,
        .default_value = "cores",
        .help = "Slots of a node for which none are given: cores, sockets, hwthreads or a number",
        .min = 1,
        .max = kMaxSlotsPerNode,
        .choices = kSlotChoices},
    ParamDef{.name = "prte_tmpdir_base",
             .type = ParamType::kString,
             .default_value = "",
             .help = "Where run directories are made; empty: TMPDIR, else /tmp",
             .check = check_absolute_or_empty},
    ParamDef{.name = "ras",
             .type = ParamType::kChoice,
             .default_value = "auto",
             .help = "Scheduler whose job gives a DVM its nodes: auto, none or its name",
             .choices = kSchedulers},
    verbosity("ras_base_verbose", "How much to log about finding and granting nodes (0-5)"),
    ParamDef{.name = "ras_slurm_args",
             .type = ParamType::kString,
             .default_value = "",
             .help = "More options for salloc, when the DVM asks Slurm for more nodes"},
    duration("ras_slurm_first_look", "2s",
             "How soon after a change the DVM looks at its Slurm jobs again; the next looks are "
             "further and further apart",
             100, kHourMs),
    duration("ras_slurm_last_look", "60s",
             "How far apart looks at Slurm jobs become when nothing changes", 100, kHourMs),
    duration("ras_slurm_timeout", "20s",
             "Time for a command of Slurm's to answer, but for one that waits for nodes", 100,
             kHourMs),
    verbosity("rmaps_base_verbose", "How much to log about mapping processes to nodes (0-5)"),
    verbosity("rml_base_verbose", "How much to log about links and messages (0-5)"),
    ParamDef{.name = "rml_radix",
             .type = ParamType::kInt,
             .default_value = "64",
             .help = "Most children that a daemon has in the routing tree",
             .min = 1,
             .max = kMaxRadix,
             .aliases = kRadixAliases},
    verbosity("routed_base_verbose", "How much to log about the routing tree (0-5)"),
    verbosity("state_base_verbose", "How much to log about changes of state (0-5)"),
    duration("tide_drain_grace", "1s",
             "Time for the output of an ended process to close before what it left is killed", 10,
             kHourMs),
    ParamDef{.name = "tide_failpoint",
             .type = ParamType::kString,
             .default_value = "",
             .help = "For tests: places to stop at, NAME:hold|delay=MS|fail, separated by commas; "
                     "NAME@2:… from the second time on, NAME/v2:… on node v2 only",
             .check = check_failpoints},
    duration("tide_grow_timeout", "60s",
             "Time for the daemons of a grow to be started and known to all; then it is undone",
             100, 24 * kHourMs),
    duration("tide_heartbeat_interval", "2s", "How often a quiet link shows that it is alive", 10,
             kHourMs),
    duration("tide_heartbeat_timeout", "10s", "A link that is silent for so long is given up", 50,
             kHourMs),
    number("tide_history_events", "1000", "How many events are remembered for tide events", 16,
           1'000'000),
    number("tide_history_jobs", "1000", "How many ended jobs are remembered", 0, 1'000'000),
    duration("tide_kill_grace", "2s", "Time between the steps from a gentle signal to SIGKILL", 0,
             kHourMs),
    duration("tide_leave_timeout", "10s",
             "Time for daemons that are told to leave; then they are ended", 100, kHourMs),
    ParamDef{.name = "tide_listen_address",
             .type = ParamType::kString,
             .default_value = "",
             .help = "Address that daemons listen on; empty: loopback if all nodes are local"},
    duration("tide_reattach_timeout", "10s",
             "A daemon that finds no way to the head for so long ends itself", 100, kHourMs),
    number("tide_recorder_events", "4096", "How many events the flight recorder keeps", 16,
           1'000'000),
    duration("tide_reduction_patience", "50ms",
             "How long a partial answer waits for others to travel with", 0, 60 * kSecondMs),
    duration("tide_release_grace", "10s",
             "Time for processes on nodes that are released to end, then they are killed", 0,
             kHourMs),
    ParamDef{.name = "tide_scheduler_key_file",
             .type = ParamType::kString,
             .default_value = "",
             .help = "File with the key that a scheduler proves itself by; empty: nobody is one",
             .check = check_absolute_or_empty},
    duration("tide_shutdown_timeout", "10s", "Time for an orderly end before the rest is killed",
             100, kHourMs),
    duration("tide_stage_timeout", "60s",
             "Files of a job of which nothing is taken for so long are given up", 100, kHourMs),
    duration("tide_start_timeout", "60s", "Time for a started daemon to report", 100, 24 * kHourMs),
    size("tide_stream_window", "256k", "Output that may be under way per stream of a process",
         4 * kKib, 256 * kMib),
    duration("tide_suspect_grace", "5s", "Time for an unreachable daemon to come back", 0, kHourMs),
};

constexpr bool sorted_by_name() {
  for (std::size_t i = 1; i < kTable.size(); ++i) {
    if (kTable[i - 1].name >= kTable[i].name) return false;
  }
  return true;
}
static_assert(sorted_by_name());

}  // namespace

std::span<const ParamDef> param_table() {
  return kTable;
}

}  // namespace tide
