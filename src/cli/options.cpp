#include "cli/options.hpp"

#include <array>

namespace tide::cli {
namespace {

constexpr CommandSet kJob = only(Command::kRun) | only(Command::kOneShot);
constexpr CommandSet kStart = only(Command::kUp) | only(Command::kOneShot);
constexpr CommandSet kFind = kEveryCommand & static_cast<CommandSet>(~kStart);
constexpr CommandSet kJsonTakers =
    only(Command::kStatus) | only(Command::kJobs) | only(Command::kParams);

constexpr Arity kNone = Arity::kNone;
constexpr Arity kOne = Arity::kOne;
constexpr Arity kTwo = Arity::kTwo;

constexpr std::array kOptions = {
    // ---- a job ----
    OptionRow{"n", Option::kNumProcs, kOne, kJob, "N",
              "start N processes of this program; not given: one per slot"},
    OptionRow{"np", Option::kNumProcs, kOne, kJob},
    OptionRow{"c", Option::kNumProcs, kOne, kJob},
    OptionRow{"host", Option::kHost, kOne, kJob, "NODE[:SLOTS],…",
              "run on these nodes only, on each with at most so many slots"},
    OptionRow{"H", Option::kHost, kOne, kJob},
    OptionRow{"map-by", Option::kMapBy, kOne, kJob, "WHAT[:HOW…]",
              "slot fills a node before the next, node goes round; HOW is OVERSUBSCRIBE or\n"
              "NOOVERSUBSCRIBE (--help map-by)"},
    OptionRow{"mapby", Option::kMapBy, kOne, kJob},
    OptionRow{"bynode", Option::kMapBy, kNone, kJob, "", "", "--map-by node", "node"},
    OptionRow{"byslot", Option::kMapBy, kNone, kJob, "", "", "--map-by slot", "slot"},
    OptionRow{"oversubscribe", Option::kOversubscribe, kNone, kJob, "", "",
              "--map-by :OVERSUBSCRIBE"},
    OptionRow{"nooversubscribe", Option::kNoOversubscribe, kNone, kJob, "", "",
              "--map-by :NOOVERSUBSCRIBE"},
    OptionRow{"x", Option::kEnvForward, kOne, kJob, "VAR[=VALUE]",
              "give the processes this variable, with your value of it if none is named; also a\n"
              "list VAR,VAR,… and PREFIX*"},
    OptionRow{"set-env", Option::kEnvSet, kOne, kJob, "VAR=VALUE", "set a variable"},
    OptionRow{"unset-env", Option::kEnvUnset, kOne, kJob, "VAR", "remove a variable"},
    OptionRow{"prepend-env", Option::kEnvPrepend, kTwo, kJob, "VAR[SEP] VALUE",
              "put VALUE and the separator (':' if not named) before what is there"},
    OptionRow{"append-env", Option::kEnvAppend, kTwo, kJob, "VAR[SEP] VALUE",
              "the same, after what is there"},
    OptionRow{"wdir", Option::kWorkingDirectory, kOne, kJob, "DIR",
              "working directory of the processes; not given: the one you are in"},
    OptionRow{"wd", Option::kWorkingDirectory, kOne, kJob},
    OptionRow{"output", Option::kOutput, kOne, kJob, "HOW,…",
              "tag: mark each line with job, rank and stream; merge-stderr-to-stdout"},
    OptionRow{"tag-output", Option::kOutput, kNone, kJob, "", "", "--output tag", "tag"},
    OptionRow{"merge-stderr-to-stdout", Option::kOutput, kNone, kJob, "", "",
              "--output merge-stderr-to-stdout", "merge-stderr-to-stdout"},
    OptionRow{"stdin", Option::kStdin, kOne, kJob, "RANK|none",
              "the process that reads standard input; not given: 0"},
    OptionRow{"timeout", Option::kTimeout, kOne, kJob, "TIME",
              "end the job after this time (90, 90s, 5m) with exit status 124; 0: no limit"},
    // ---- a DVM to start ----
    OptionRow{"nodes", Option::kNodes, kOne, kStart, "N", "so many nodes on this machine, v1 … vN"},
    OptionRow{"slots", Option::kSlots, kOne, kStart, "N",
              "slots of each node; not given: the cores it sees"},
    OptionRow{"report-uri", Option::kReportUri, kOne, kStart, "FILE|-|+",
              "write the address of the DVM to a file, - standard output, + standard error"},
    OptionRow{"report-pid", Option::kReportPid, kOne, kStart, "FILE|-|+",
              "the same for the process number of the head"},
    // ---- the other commands ----
    OptionRow{"json", Option::kJson, kNone, kJsonTakers, "", "for programs"},
    OptionRow{"all", Option::kAll, kNone, only(Command::kJobs), "", "jobs that have ended too"},
    OptionRow{"all", Option::kAll, kNone, only(Command::kDown), "", "every DVM of yours here"},
    OptionRow{"signal", Option::kSignal, kOne, only(Command::kKill), "SIGNAL",
              "send just this signal (TERM, SIGUSR1, 10); not given: end the job, with SIGTERM\n"
              "first and SIGKILL for what is left after a while"},
    OptionRow{
        "force", Option::kForce, kNone, only(Command::kDown), "",
        "do not wait for running jobs to end in good order; kill a head that does not answer"},
    OptionRow{"lines", Option::kLines, kOne, only(Command::kLogs), "N|all",
              "the last N lines of each log; not given: 100"},
    OptionRow{"param", Option::kParam, kOne, only(Command::kParams), "NAME|all",
              "show this parameter"},
    OptionRow{"parsable", Option::kParsable, kNone, only(Command::kParams), "",
              "one name:value:source:help per line"},
    OptionRow{"parseable", Option::kParsable, kNone, only(Command::kParams)},
    // ---- which DVM ----
    OptionRow{"dvm", Option::kDvm, kOne, kFind, "WHICH",
              "NAME, PID, pid:N, uri:U, file:F, ns:NS, search, system, system-first (--help dvm);\n"
              "not given: the only one running"},
    OptionRow{"dvm", Option::kDvm, kOne, only(Command::kUp), "NAME", "the name to give it"},
    OptionRow{"dvm-uri", Option::kDvmUri, kOne, kFind, "URI|file:FILE",
              "the DVM with this address, as written by --report-uri"},
    OptionRow{"pid", Option::kPid, kOne, kFind, "N|file:FILE",
              "the DVM whose head is this process"},
    OptionRow{"namespace", Option::kNamespace, kOne, kFind, "NS", "the DVM of this namespace"},
    OptionRow{"system-server-first", Option::kSystemFirst, kNone, kFind, "",
              "the machine's own DVM, else the only one running"},
    OptionRow{"system-server-only", Option::kSystemOnly, kNone, kFind, "", "the machine's own DVM"},
    // ---- every command ----
    OptionRow{"prtemca", Option::kPrteMca, kTwo, kEveryCommand, "NAME VALUE",
              "set a parameter (see tide params)"},
    OptionRow{"verbose", Option::kVerbose, kNone, kEveryCommand, "", "say more on standard error"},
    OptionRow{"v", Option::kVerbose, kNone, kEveryCommand},
    OptionRow{"version", Option::kVersion, kNone, kEveryCommand, "", "show the version"},
    OptionRow{"V", Option::kVersion, kNone, kEveryCommand},
    OptionRow{"help", Option::kHelp, kNone, kEveryCommand, "[TOPIC]",
              "this help, or that on one topic"},
    OptionRow{"h", Option::kHelp, kNone, kEveryCommand},
    OptionRow{"allow-run-as-root", Option::kNoEffect, kNone, kEveryCommand, "",
              "accepted, has no effect: root is a user like any other"},
    OptionRow{"no-aggregate-help", Option::kNoEffect, kNone, kEveryCommand, "",
              "accepted, has no effect: messages are never held back"},
};

constexpr CommandSet kUpOnly = only(Command::kUp);
constexpr CommandSet kOneShotOnly = only(Command::kOneShot);
constexpr std::string_view kExistingDvm = "prun, for a DVM that is running";

constexpr std::array kUnbuilt = {
    UnbuiltOption{"H", "--nodes", kUpOnly},
    UnbuiltOption{"host", "--nodes", kUpOnly},
    UnbuiltOption{"timeout", "the parameter tide_start_timeout", kUpOnly},
    UnbuiltOption{"x", "-x with tide run", kUpOnly},
    UnbuiltOption{"dvm", kExistingDvm, kOneShotOnly},
    UnbuiltOption{"dvm-uri", kExistingDvm, kOneShotOnly},
    UnbuiltOption{"namespace", kExistingDvm, kOneShotOnly},
    UnbuiltOption{"pid", kExistingDvm, kOneShotOnly},
    UnbuiltOption{"N", "-n with --map-by node"},
    UnbuiltOption{"activate"},
    UnbuiltOption{"add-host"},
    UnbuiltOption{"add-hostfile"},
    UnbuiltOption{"alloc-id"},
    UnbuiltOption{"alloc-refid"},
    UnbuiltOption{"app", "programs separated by ':' on the command line"},
    UnbuiltOption{"bind-to"},
    UnbuiltOption{"bind-to-core"},
    UnbuiltOption{"bindto"},
    UnbuiltOption{"bycore", "--map-by slot"},
    UnbuiltOption{"cpu-list"},
    UnbuiltOption{"cpu-set"},
    UnbuiltOption{"cpus-per-proc"},
    UnbuiltOption{"cpus-per-rank"},
    UnbuiltOption{"daemonize", "tide up, which always does"},
    UnbuiltOption{"debug-daemons", "tide logs"},
    UnbuiltOption{"debug-daemons-file", "tide logs"},
    UnbuiltOption{"default-hostfile", "--host"},
    UnbuiltOption{"display", "tide jobs, tide status"},
    UnbuiltOption{"display-allocation", "tide status"},
    UnbuiltOption{"display-devel-map"},
    UnbuiltOption{"display-map"},
    UnbuiltOption{"display-topo"},
    UnbuiltOption{"do-not-connect"},
    UnbuiltOption{"do-not-launch"},
    UnbuiltOption{"exec-agent"},
    UnbuiltOption{"forward-signals", "SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT are always forwarded"},
    UnbuiltOption{"fwd-environment", "-x"},
    UnbuiltOption{"get-stack-traces"},
    UnbuiltOption{"hostfile", "--host"},
    UnbuiltOption{"launch-agent"},
    UnbuiltOption{"leave-session-attached"},
    UnbuiltOption{"machinefile", "--host"},
    UnbuiltOption{"max-vm-size", "--nodes"},
    UnbuiltOption{"nolocal", "--host"},
    UnbuiltOption{"noprefix"},
    UnbuiltOption{"npernode", "-n with --map-by node"},
    UnbuiltOption{"npersocket"},
    UnbuiltOption{"num-connect-retries"},
    UnbuiltOption{"output-directory", "--output tag"},
    UnbuiltOption{"output-filename", "--output tag"},
    UnbuiltOption{"output-proctable"},
    UnbuiltOption{"path"},
    UnbuiltOption{"pernode", "-n with --map-by node"},
    UnbuiltOption{"personality"},
    UnbuiltOption{"pmixmca"},
    UnbuiltOption{"ppr", "-n with --map-by node"},
    UnbuiltOption{"prefix"},
    UnbuiltOption{"preload-binary"},
    UnbuiltOption{"preload-files"},
    UnbuiltOption{"pset"},
    UnbuiltOption{"rank-by", "--map-by"},
    UnbuiltOption{"rankby", "--map-by"},
    UnbuiltOption{"rankfile", "--host"},
    UnbuiltOption{"report-bindings"},
    UnbuiltOption{"report-state-on-timeout"},
    UnbuiltOption{"rtos", "--timeout"},
    UnbuiltOption{"runtime-options", "--timeout"},
    UnbuiltOption{"s"},
    UnbuiltOption{"session-id"},
    UnbuiltOption{"set-cwd-to-session-dir", "--wdir"},
    UnbuiltOption{"set-sid"},
    UnbuiltOption{"set-slots", "--slots"},
    UnbuiltOption{"singleton"},
    UnbuiltOption{"spawn-timeout", "--timeout"},
    UnbuiltOption{"stop-in-app"},
    UnbuiltOption{"stop-in-init"},
    UnbuiltOption{"stop-on-exec"},
    UnbuiltOption{"system-server"},
    UnbuiltOption{"timestamp-output", "--output tag"},
    UnbuiltOption{"tune", "--prtemca and parameter files"},
    UnbuiltOption{"uniform-nodes"},
    UnbuiltOption{"use-hwthread-cpus"},
    UnbuiltOption{"wait-to-connect"},
    UnbuiltOption{"xml", "--output tag"},
    UnbuiltOption{"xterm"},
};

}  // namespace

std::span<const OptionRow> option_table() {
  return kOptions;
}

std::span<const UnbuiltOption> unbuilt_options() {
  return kUnbuilt;
}

Repeat repeat_of(Option option) {
  switch (option) {
    case Option::kNumProcs:
    case Option::kWorkingDirectory:
      return Repeat::kOncePerApp;
    case Option::kMapBy:
    case Option::kStdin:
    case Option::kTimeout:
    case Option::kDvm:
    case Option::kDvmUri:
    case Option::kPid:
    case Option::kNamespace:
    case Option::kNodes:
    case Option::kSlots:
    case Option::kReportUri:
    case Option::kReportPid:
    case Option::kSignal:
    case Option::kLines:
      return Repeat::kOncePerJob;
    default:
      return Repeat::kOften;
  }
}

const OptionRow* find_option(Command command, std::string_view name) {
  for (const OptionRow& row : kOptions) {
    if (row.name == name && (row.commands & only(command)) != 0) return &row;
  }
  return nullptr;
}

const UnbuiltOption* find_unbuilt_option(Command command, std::string_view name) {
  for (const UnbuiltOption& row : kUnbuilt) {
    if (row.name == name && (row.commands & only(command)) != 0) return &row;
  }
  return nullptr;
}

}  // namespace tide::cli
