#include "cli/options.hpp"

#include <array>

namespace tide::cli {
namespace {

constexpr CommandSet kJob = only(Command::kRun) | only(Command::kOneShot);
constexpr CommandSet kStart = only(Command::kUp) | only(Command::kOneShot);
// Whoever names machines that a DVM is, or could be, started on.
constexpr CommandSet kMachines = kStart | only(Command::kCheck);
constexpr CommandSet kChange = only(Command::kGrow) | only(Command::kShrink);
constexpr CommandSet kAlloc = only(Command::kAlloc);
constexpr CommandSet kSizers = kChange | only(Command::kPool) | kAlloc;
constexpr CommandSet kFind = kEveryCommand & static_cast<CommandSet>(~kMachines);
// Every command that shows something.
constexpr CommandSet kJsonTakers =
    only(Command::kStatus) | only(Command::kJobs) | only(Command::kExplain) | only(Command::kPs) |
    only(Command::kEvents) | only(Command::kParams) | only(Command::kLogs) | only(Command::kDebug) |
    only(Command::kCheck) | kChange | kAlloc;

constexpr Arity kNone = Arity::kNone;
constexpr Arity kOne = Arity::kOne;
constexpr Arity kTwo = Arity::kTwo;

constexpr std::array kOptions = {
    // ---- a job ----
    OptionRow{"n", Option::kNumProcs, kOne, kJob, "N",
              "start N processes of this program; not given: one per slot"},
    OptionRow{"np", Option::kNumProcs, kOne, kJob},
    OptionRow{"c", Option::kNumProcs, kOne, kJob},
    OptionRow{"host", Option::kHost, kOne, only(Command::kRun), "NODE[:SLOTS],…",
              "run on these nodes only, on each with at most so many slots (--help hosts)"},
    OptionRow{"H", Option::kHost, kOne, only(Command::kRun)},
    OptionRow{"hostfile", Option::kHostfile, kOne, only(Command::kRun), "FILE",
              "the same from a file with a node on each line; --host chooses among those"},
    OptionRow{"machinefile", Option::kHostfile, kOne, only(Command::kRun)},
    OptionRow{"add-host", Option::kAddHost, kOne, kJob, "HOST[:SLOTS],…",
              "extend the DVM by those of these hosts that it does not have, before the job is\n"
              "mapped; they stay, for all jobs (--help add-host)"},
    OptionRow{"add-hostfile", Option::kAddHostfile, kOne, kJob, "FILE",
              "the same from a file with a host on each line"},
    OptionRow{"activate", Option::kActivate, kOne, kJob, "LIST|+all|+nK|file=F",
              "the same with nodes that the DVM may have and does not use: these, all, K of them"},
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
    OptionRow{"preload-files", Option::kPreloadFiles, kOne, kJob, "FILE,…",
              "bring these files of yours to the nodes, below the directory TIDE_JOB_DIR of the\n"
              "job; archives (.tar, .tar.gz, .zip, …) are unpacked there (--help preload)"},
    OptionRow{"preload-binary", Option::kPreloadBinary, kNone, kJob, "",
              "bring the program itself, and start it in that directory"},
    OptionRow{"s", Option::kPreloadBinary, kNone, kJob},
    OptionRow{"set-cwd-to-session-dir", Option::kSessionDirectory, kNone, kJob, "",
              "start the processes in that directory"},
    OptionRow{"spawn-timeout", Option::kSpawnTimeout, kOne, kJob, "TIME",
              "end the job, with exit status 124, unless all processes run within this time"},
    OptionRow{"report-state-on-timeout", Option::kReportStateOnTimeout, kNone, kJob, "",
              "when a time limit ends the job say where it stood, process by process"},
    OptionRow{"get-stack-traces", Option::kGetStackTraces, kNone, kJob, "",
              "when a time limit ends the job show the stacks of its processes, by gdb"},
    OptionRow{"runtime-options", Option::kRuntimeOptions, kOne, kJob, "WHAT,…",
              "what becomes of the job when a process fails, and more (--help runtime-options)"},
    OptionRow{"rtos", Option::kRuntimeOptions, kOne, kJob},
    OptionRow{"stop-on-exec", Option::kRuntimeOptions, kNone, kJob, "",
              "hold the processes for a debugger before they run (--help debugging)", "",
              "stop-on-exec"},
    OptionRow{"stop-in-init", Option::kRuntimeOptions, kNone, kJob, "", "… in PMIx_Init", "",
              "stop-in-init"},
    OptionRow{"stop-in-app", Option::kRuntimeOptions, kNone, kJob, "", "… where they want to be",
              "", "stop-in-app"},
    OptionRow{"display", Option::kDisplay, kOne, kJob, "map",
              "show where the processes are before they run"},
    OptionRow{"display-map", Option::kDisplay, kNone, kJob, "", "", "--display map", "map"},
    OptionRow{"do-not-launch", Option::kDoNotLaunch, kNone, kJob, "",
              "show where the processes would be, and start none"},
    OptionRow{"detach", Option::kDetach, kNone, only(Command::kRun), "",
              "leave when the job is under way; its output is dropped, tide jobs shows it"},
    OptionRow{"forward-signals", Option::kForwardSignals, kOne, kJob, "SIGNAL,…|none",
              "pass these signals on to the processes; not given: USR1, USR2, TSTP, CONT"},
    OptionRow{"personality", Option::kPersonality, kOne, kJob, "prte|ompi",
              "with ompi the processes also get Open MPI's variables (OMPI_COMM_WORLD_RANK …)"},
    OptionRow{"target", Option::kTarget, kOne, kJob, "ID,…",
              "run on the nodes of these reservations only, as tide alloc list shows them;\n"
              "default among them: and on those of the default session (--help reservations)"},
    OptionRow{"alloc-id", Option::kTarget, kOne, kJob},
    OptionRow{"alloc-refid", Option::kTargetRequest, kOne, kJob, "NAME",
              "the same with the reservation that was asked for as NAME (--request-id)"},
    // ---- a DVM to start ----
    OptionRow{"nodes", Option::kNodes, kOne, kStart, "N", "so many nodes on this machine, v1 … vN"},
    OptionRow{"slots", Option::kSlots, kOne, kStart, "N",
              "slots of each node; not given: the cores it sees"},
    OptionRow{
        "host", Option::kHost, kOne, kMachines, "HOST[:SLOTS],…",
        "on these machines, on each with so many slots (--help hosts); prterun with --nodes:\n"
        "on these of its nodes"},
    OptionRow{"H", Option::kHost, kOne, kMachines},
    OptionRow{"hostfile", Option::kHostfile, kOne, kMachines, "FILE",
              "the same from a file with a host on each line; --host chooses among those"},
    OptionRow{"machinefile", Option::kHostfile, kOne, kMachines},
    OptionRow{"default-hostfile", Option::kDefaultHostfile, kOne, kMachines, "FILE",
              "the machines there are; --hostfile and --host choose among them"},
    OptionRow{"set-slots", Option::kSetSlots, kOne, kStart, "WHAT",
              "cores, sockets, hwthreads or a number: the slots where none are given"},
    OptionRow{"max-vm-size", Option::kMaxVmSize, kOne, kMachines, "N",
              "start with no more than N nodes, the first ones; jobs can activate the others"},
    OptionRow{"prefix", Option::kPrefix, kOne, kMachines, "DIR",
              "other machines have prted in DIR/bin; not given: where it is here"},
    OptionRow{"noprefix", Option::kNoPrefix, kNone, kMachines, "",
              "other machines have prted in their PATH"},
    OptionRow{"launch-agent", Option::kLaunchAgent, kOne, kMachines, "CMD",
              "run CMD on other machines, in place of prted"},
    OptionRow{"elastic", Option::kElastic, kNone, only(Command::kUp), "",
              "the DVM can grow and shrink while it runs (tide grow, tide shrink)"},
    OptionRow{"pool", Option::kPoolNodes, kOne, kStart, "N",
              "so many nodes more on this machine, named on after the first, that it can grow by"},
    OptionRow{"pool-hostfile", Option::kPoolHostfile, kOne, kStart, "FILE",
              "machines that it can grow by"},
    OptionRow{"pool-lease", Option::kPoolLease, kOne, only(Command::kUp), "TIME",
              "what it grows by stays so long at most: 90, 90s, 5m"},
    OptionRow{"pool-warn", Option::kPoolWarn, kOne, only(Command::kUp), "TIME",
              "and is warned of so long before the end"},
    OptionRow{"report-uri", Option::kReportUri, kOne, kStart, "FILE|-|+",
              "write the address of the DVM to a file, - standard output, + standard error"},
    OptionRow{"report-pid", Option::kReportPid, kOne, kStart, "FILE|-|+",
              "the same for the process number of the head"},
    OptionRow{"system-server", Option::kSystemServer, kNone, kStart, "",
              "be your DVM of this machine: for --system-server-only, and for PMIx tools that name "
              "no other"},
    // ---- nodes that come and go ----
    OptionRow{"count", Option::kCount, kOne, kSizers, "N", "so many nodes"},
    OptionRow{"host", Option::kHost, kOne, only(Command::kGrow) | kAlloc, "HOST[:SLOTS],…",
              "these, on each with at most so many slots"},
    OptionRow{"host", Option::kHost, kOne, only(Command::kShrink) | only(Command::kPool), "NODE,…",
              "these"},
    OptionRow{"H", Option::kHost, kOne, kSizers},
    OptionRow{"alloc", Option::kAllocation, kOne, only(Command::kShrink), "ID",
              "those that came with this allocation, as tide grow and tide status show it"},
    OptionRow{"time", Option::kLeaseTime, kOne, only(Command::kGrow), "TIME",
              "they stay so long, then they go back (90, 90s, 5m); the pool may allow less"},
    OptionRow{"warn", Option::kLeaseWarn, kOne, only(Command::kGrow), "TIME",
              "tell so long before the end (tide events)"},
    OptionRow{"extend", Option::kExtend, kOne, only(Command::kGrow), "ID",
              "the nodes of this allocation stay longer by --time; no node comes"},
    OptionRow{"alloc", Option::kAllocation, kOne, kAlloc, "ID",
              "the one to extend or release, as tide alloc list shows it"},
    OptionRow{"request-id", Option::kRequestId, kOne, kAlloc, "NAME",
              "new: a name of your own for it; extend, release: the one that has this name"},
    OptionRow{"share", Option::kShare, kNone, kAlloc, "",
              "new: the nodes are everybody's; not given: they are reserved"},
    OptionRow{"target", Option::kOwner, kOne, kAlloc, "JOB|NAMESPACE",
              "new, extend: for this job or tool; not given: for you"},
    OptionRow{"inherit", Option::kInherit, kOne, kAlloc, "WHAT",
              "new, extend: what becomes of it when its owner ends: none, child, default or\n"
              "child-default (--help reservations)"},
    OptionRow{
        "time", Option::kLeaseTime, kOne, kAlloc, "TIME",
        "new: it lasts so long, then the nodes go back (90, 90s, 5m); extend: so much longer"},
    OptionRow{"warn", Option::kLeaseWarn, kOne, kAlloc, "TIME",
              "new, extend: tell so long before the end (tide events)"},
    OptionRow{"wait", Option::kWait, kNone, kChange | kAlloc, "",
              "stay until it is done, and say how it goes"},
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
    OptionRow{"follow", Option::kFollow, kNone, only(Command::kEvents), "",
              "go on with what happens next, until the DVM ends"},
    OptionRow{"f", Option::kFollow, kNone, only(Command::kEvents)},
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
    UnbuiltOption{"timeout", "the parameter tide_start_timeout", kUpOnly},
    UnbuiltOption{"x", "-x with tide run", kUpOnly},
    UnbuiltOption{"dvm", kExistingDvm, kOneShotOnly},
    UnbuiltOption{"dvm-uri", kExistingDvm, kOneShotOnly},
    UnbuiltOption{"namespace", kExistingDvm, kOneShotOnly},
    UnbuiltOption{"pid", kExistingDvm, kOneShotOnly},
    UnbuiltOption{"N", "-n with --map-by node"},
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
    UnbuiltOption{"display-allocation", "tide status"},
    UnbuiltOption{"display-devel-map"},
    UnbuiltOption{"display-topo"},
    UnbuiltOption{"do-not-connect"},
    UnbuiltOption{"exec-agent"},
    UnbuiltOption{"fwd-environment", "-x"},
    UnbuiltOption{"leave-session-attached"},
    UnbuiltOption{"nolocal", "--host"},
    UnbuiltOption{"npernode", "-n with --map-by node"},
    UnbuiltOption{"npersocket"},
    UnbuiltOption{"num-connect-retries"},
    UnbuiltOption{"output-directory", "--output tag"},
    UnbuiltOption{"output-filename", "--output tag"},
    UnbuiltOption{"output-proctable"},
    UnbuiltOption{"path"},
    UnbuiltOption{"pernode", "-n with --map-by node"},
    UnbuiltOption{"pmixmca"},
    UnbuiltOption{"ppr", "-n with --map-by node"},
    UnbuiltOption{"pset"},
    UnbuiltOption{"rank-by", "--map-by"},
    UnbuiltOption{"rankby", "--map-by"},
    UnbuiltOption{"rankfile", "--host"},
    UnbuiltOption{"report-bindings"},
    UnbuiltOption{"session-id", "--alloc-id ID, as tide alloc list shows it", kJob,
                  "sessions have no numbers here"},
    UnbuiltOption{"set-sid"},
    UnbuiltOption{"singleton"},
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
    case Option::kActivate:
    case Option::kMapBy:
    case Option::kStdin:
    case Option::kTimeout:
    case Option::kSpawnTimeout:
    case Option::kForwardSignals:
    case Option::kPersonality:
    case Option::kDvm:
    case Option::kDvmUri:
    case Option::kPid:
    case Option::kNamespace:
    case Option::kNodes:
    case Option::kSlots:
    case Option::kDefaultHostfile:
    case Option::kSetSlots:
    case Option::kMaxVmSize:
    case Option::kPrefix:
    case Option::kLaunchAgent:
    case Option::kReportUri:
    case Option::kReportPid:
    case Option::kSignal:
    case Option::kLines:
    case Option::kPoolNodes:
    case Option::kCount:
    case Option::kAllocation:
    case Option::kPoolLease:
    case Option::kPoolWarn:
    case Option::kLeaseTime:
    case Option::kLeaseWarn:
    case Option::kExtend:
    case Option::kTarget:
    case Option::kTargetRequest:
    case Option::kRequestId:
    case Option::kOwner:
    case Option::kInherit:
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
