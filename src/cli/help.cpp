#include "cli/help.hpp"

#include <array>
#include <vector>

#include "base/text.hpp"

namespace tide::cli {
namespace {

struct CommandText {
  Command command;
  std::string_view name;  // after `tide`; empty: no such
  std::string_view summary;
  std::string_view usage;  // follows the program's name
  std::string_view text;
  std::string_view examples;  // "$" stands for the program's name
};

constexpr std::array kCommands = {
    CommandText{
        Command::kUp, "up", "start a DVM", "[--nodes N] [--slots N] [--dvm NAME] [option…]",
        "Starts a DVM on this machine, or on those that are named, and comes back when it is\n"
        "ready. It stays until tide down ends it.\n",
        "  $ --nodes 8\n"
        "  $ --hostfile nodes.txt\n"
        "  $ --host node[01-16]:4\n"
        "  $ --dvm night --nodes 4 --slots 2 --report-uri night.uri\n"
        "  $ --elastic --nodes 2 --pool 6\n"
        "  $ --elastic --pool 8 --pool-lease 10m --pool-warn 30s\n"
        "  $ --nodes 64 --prtemca rml_radix 2\n"},
    CommandText{
        Command::kCheck, "check", "try whether a DVM can be started on these machines",
        "--hostfile FILE | --host LIST [option…]",
        "Logs in on every machine as tide up does, starts a daemon there that finds its way\n"
        "back here, and ends it. Says of each machine what was found, or why it can't be used\n"
        "and what to do. Exits with 0 when all can be used, else with 1; nothing stays.\n",
        "  $ --hostfile nodes.txt\n"
        "  $ --host node[01-16] --verbose\n"
        "  $ --hostfile nodes.txt --prefix /opt/tide --json\n"
        "  $ --host node7 --prtemca plm_ssh_timeout 60s\n"},
    CommandText{
        Command::kRun, "run", "run a job in a DVM", "[option…] PROGRAM [argument…] [: …]",
        "Runs PROGRAM as a parallel job in a running DVM, shows its output, passes standard\n"
        "input to rank 0, and exits with the status of the job (--help exit-status).\n"
        "A lone ':' separates programs of one job, each with options of its own.\n"
        "Ctrl-C ends the job in good order, a second one at once.\n",
        "  $ -n 4 hostname\n"
        "  $ -n 2 --host v1,v3 --output tag ./solver input.dat\n"
        "  $ --host +e:2 ./solver other.dat\n"
        "  $ --add-host node7,node8:4 ./solver third.dat\n"
        "  $ -n 64 --map-by node:OVERSUBSCRIBE -x OMP_NUM_THREADS=1 ./a.out\n"
        "  $ -n 1 ./master : -n 7 ./worker\n"
        "  $ --target a1,default ./solver fourth.dat\n"
        "  $ --timeout 5m --dvm night ./long\n"},
    CommandText{
        Command::kOneShot, "", "run a job in a DVM of its own",
        "[--nodes N] [--slots N] [option…] PROGRAM [argument…] [: …]",
        "Starts a private DVM on this machine, or on those that are named, runs PROGRAM in it\n"
        "as prun does, ends the DVM, and exits with the status of the job (--help\n"
        "exit-status).\n",
        "  $ -n 4 hostname\n"
        "  $ --hostfile nodes.txt --map-by node hostname\n"
        "  $ --nodes 4 --slots 2 -n 8 --map-by node ./a.out\n"
        "  $ --nodes 2 -n 1 ./master : -n 3 ./worker\n"
        "  $ --nodes 4 --max-vm-size 2 --activate +all --map-by node hostname\n"},
    CommandText{Command::kStatus, "status", "show a DVM with its nodes and running jobs",
                "[option…]", "",
                "  $\n"
                "  $ --dvm night --json\n"},
    CommandText{
        Command::kJobs, "jobs", "list jobs", "[--all] [option…]",
        "Lists the jobs that run in the DVM: state, processes, nodes, age, and in a word what\n"
        "each waits for; tide explain says more of one.\n",
        "  $\n"
        "  $ --all --json\n"},
    CommandText{
        Command::kExplain, "explain",
        "say where a job is and what it waits for; or a change, an allocation",
        "JOB|change:N|ALLOCATION [option…]",
        "Says since when a job is in its state, what it waits for (a daemon, a node, a reader of\n"
        "its output, processes), what else is known, and the way it came; of one that has ended\n"
        "how and why. The head answers from what it knows and asks nobody.\n"
        "JOB is a number as listed by tide jobs, or a namespace. change:N (or grow:N, shrink:N) "
        "is\n"
        "a change of the DVM's size as tide status and tide events number it: its phase, who\n"
        "asked, what it waits for, which jobs wait for it, or how it ended. ALLOCATION, a1 and so\n"
        "on, are nodes that came together: from which resource manager, for how long.\n",
        "  $ 3\n"
        "  $ 3 --dvm night\n"
        "  $ change:4\n"
        "  $ a1\n"
        "  $ tide-vm-6655-e451885e@3 --json\n"},
    CommandText{
        Command::kPs, "ps", "list the processes of a job, or of all jobs", "[JOB] [option…]",
        "One line for each process: rank, node, process number, state, and how it ended. Without\n"
        "JOB the processes of all jobs that run. Of jobs that have ended the last ones are kept.\n",
        "  $\n"
        "  $ 3\n"
        "  $ 3 --json\n"},
    CommandText{
        Command::kEvents, "events", "show what happened in a DVM, and what happens",
        "[--follow] [option…]",
        "One line for each event that the DVM remembers: jobs submitted, started, running,\n"
        "registered, failing, ended; nodes up, suspected, back, lost; tools that came and went;\n"
        "the DVM itself. With --follow it goes on until the DVM ends, or Ctrl-C. Who reads too\n"
        "slowly misses events, and is told how many; nobody waits for a reader.\n",
        "  $\n"
        "  $ --follow\n"
        "  $ --follow --json --dvm night\n"},
    CommandText{
        Command::kWatch, "watch", "show a DVM at work, on one screen", "[option…]",
        "Nodes (# a slot in use, . a free one), changes of size under way, jobs, those that wait\n"
        "for a change first, and what happened last; four times a second, until the DVM ends or\n"
        "Ctrl-C. Where standard output is no terminal: a line whenever nodes or changes are\n"
        "others than before. Programs read tide events --follow --json.\n",
        "  $\n"
        "  $ --dvm night\n"},
    CommandText{Command::kKill, "kill", "end a job, or send it a signal",
                "JOB [--signal SIGNAL] [option…]",
                "JOB is a number as listed by tide jobs, or a namespace.\n",
                "  $ 3\n"
                "  $ 3 --signal USR1\n"},
    CommandText{
        Command::kGrow, "grow", "give an elastic DVM more nodes",
        "--count N | --host LIST | --extend ID [--time TIME] [--wait] [option…]",
        "In a Slurm job: asks Slurm for more nodes, and waits in its queue if it has to. Else\n"
        "takes nodes from the pool of the DVM (tide up --elastic --pool N), or adds hosts by\n"
        "name. Says what has begun and comes back; with --wait when all daemons know of each\n"
        "other, and jobs can run on the new nodes. If one node can't be started the DVM is as it\n"
        "was before. Exits with 0, 3 (refused), 4 (failed, and undone) or 5 (not known: the\n"
        "connection to the DVM was lost).\n"
        "With --time the nodes go back by themselves when it is over, as by tide shrink; tide\n"
        "status shows what is left of it. --extend prolongs that.\n",
        "  $ --count 2 --wait\n"
        "  $ --host node7,node8:4\n"
        "  $ --count 2 --time 10m --warn 1m\n"
        "  $ --extend a1 --time 10m\n"
        "  $ --count 1 --wait --json\n"},
    CommandText{
        Command::kShrink, "shrink", "release nodes of an elastic DVM",
        "--count N | --host LIST | --alloc ID [--wait] [option…]",
        "Ends what runs on these nodes, then their daemons, and gives them back to the pool, or\n"
        "to Slurm. --count takes those first that nobody uses. Says what has begun and comes "
        "back;\n"
        "with --wait when the nodes are gone. Exit status as that of tide grow.\n",
        "  $ --count 2\n"
        "  $ --host v3,v4 --wait\n"
        "  $ --alloc a1 --wait --json\n"},
    CommandText{
        Command::kPool, "pool", "let the pool push nodes to an elastic DVM, or take some back",
        "push|reclaim --count N | --host LIST [option…]",
        "Plays the part of a scheduler. push gives the DVM nodes that it has not asked for,\n"
        "reclaim takes nodes back, those first that it got last. tide status and tide events\n"
        "show how it goes.\n",
        "  $ push --count 2\n"
        "  $ reclaim --host v3\n"},
    CommandText{
        Command::kAlloc, "alloc", "reserve nodes, and see what is reserved",
        "new|extend|release|list|cancel NAME [option…]",
        "new asks for an allocation: nodes of the pool (in a Slurm job: of Slurm), or nodes that\n"
        "the DVM has, which are reserved for you, so that only jobs that are aimed at it run\n"
        "there (tide run --target), or shared by all. It stays until it is released, its --time\n"
        "is over or the DVM ends. extend gives it more nodes, or more time, or other terms.\n"
        "release ends it, or lets single nodes go. list shows all there are. cancel takes back a\n"
        "request, by its --request-id, that is not granted yet. Exit status as that of tide grow\n"
        "(--help reservations).\n",
        "  $ new --count 2 --wait\n"
        "  $ new --host v1,v2 --request-id ensemble\n"
        "  $ new --count 4 --time 30m --warn 5m --inherit none\n"
        "  $ new --count 2 --share\n"
        "  $ new --count 2 --target 3 --inherit child\n"
        "  $ extend --alloc a1 --count 2 --wait\n"
        "  $ extend --request-id ensemble --time 10m\n"
        "  $ release --alloc a1 --wait\n"
        "  $ list --json\n"
        "  $ cancel ensemble\n"},
    CommandText{Command::kDown, "down", "end a DVM", "[--force] [--all] [option…]",
                "Ends the DVM, its jobs and its daemons, and comes back when the head is gone.\n",
                "  $\n"
                "  $ --dvm night\n"
                "  $ --all --force\n"},
    CommandText{
        Command::kParams, "params", "list parameters with value and source", "[NAME…] [option…]",
        "Shows the parameters as a command started here would see them; with --dvm or its\n"
        "kin those of a running DVM. Set them with --prtemca NAME VALUE, in the environment\n"
        "as PRTE_MCA_NAME, or in a parameter file.\n",
        "  $\n"
        "  $ rml_radix --json\n"
        "  $ --param all --parsable\n"},
    CommandText{
        Command::kLogs, "logs", "show the logs of a DVM", "[NODE…] [--lines N|all] [option…]",
        "Shows the end of the logs of these nodes; head is the head's own. Without a node:\n"
        "of all.\n",
        "  $\n"
        "  $ v3 --lines 20\n"
        "  $ head --lines all --json\n"},
    CommandText{
        Command::kDebug, "debug", "look inside a DVM, and let go what a failpoint holds",
        "recorder | release NAME [option…]",
        "recorder shows the last events of the head and what it did on each. release lets\n"
        "the failpoint NAME go on, which was set to hold by the parameter tide_failpoint.\n",
        "  $ recorder\n"
        "  $ release launch\n"},
    CommandText{Command::kSim, "sim", "run Tide's core in virtual worlds full of faults", "", "",
                ""},
};

struct Topic {
  std::string_view name;
  std::string_view text;
};

constexpr std::array kTopics = {
    Topic{"map-by",
          "--map-by WHAT[:HOW…] says where the processes of a job go.\n\n"
          "  slot   fill a node up to its slots, then the next one (not given: this)\n"
          "  node   one process on each node in turn, up to the slots of each\n\n"
          "  OVERSUBSCRIBE     more processes on a node than it has slots are allowed\n"
          "  NOOVERSUBSCRIBE   they are not (not given: this)\n"
          "  DISPLAY           show where the processes would be, and start none\n\n"
          "Case does not matter and a unique beginning is enough: --map-by no:over.\n"
          "A qualifier may have =yes or =no.\n\n"
          "Examples: --map-by node   --map-by :OVERSUBSCRIBE   --map-by slot:oversubscribe=no\n"},
    Topic{
        "hosts",
        "--host LIST and --hostfile FILE name machines to start a DVM on (tide up, prte, prterun)\n"
        "or choose among the nodes of a DVM for one job (prun, tide run).\n\n"
        "  node1              one host; as many slots as it has\n"
        "  node1:4            with four slots; in a file also node1 slots=4 max-slots=8\n"
        "  me@node1           log in as me\n"
        "  node[01-16,20]     seventeen hosts\n"
        "  ^node7             not this one\n"
        "  +n0                the first node of the DVM, or of the hostfile for --host\n"
        "  +e   +e:2          all nodes that nobody uses; two of them\n"
        "  10.0.0.7  [fe80::7]:4\n\n"
        "A file has one host on each line, and comments after #. A host that is named again has\n"
        "the slots of all its lines together, one where none are given. With both options\n"
        "--host chooses among the hosts of the file. See docs/hosts.md.\n\n"
        "Examples: --host node1:4,node2   --hostfile nodes.txt --host ^node7   --host +n0,+e:1\n"},
    Topic{
        "add-host",
        "A job can bring nodes along that the DVM does not have. Their daemons are started before\n"
        "the job is mapped; then they belong to the DVM, and stay there for all jobs.\n\n"
        "  --add-host node7,node8:4   these hosts, written as for --host, or nodes of the pool\n"
        "  --add-hostfile FILE        those of a file\n"
        "  --activate v3,v4           these nodes of the pool; in a Slurm job: of Slurm\n"
        "  --activate +n2             the first two of it that are free\n"
        "  --activate +all            all that are free, if there are any\n"
        "  --activate file=FILE       those of a file, which the pool has\n\n"
        "Where the DVM has them already there is nothing to do. --host chooses among all nodes,\n"
        "the new ones included. If one can't be started none stays, and the job is not launched.\n"
        "See docs/elastic.md.\n\n"
        "Examples: --add-host node7 -n 8   --add-host node7 --host node7   --activate +n2\n"},
    Topic{"reservations",
          "A reservation is a set of nodes that only jobs see which are aimed at it. All other\n"
          "nodes are the default session, where jobs run that say nothing.\n\n"
          "  tide alloc new --count 2      nodes of the pool, or of Slurm; answers with an id: a1\n"
          "  tide alloc new --host v1,v2   nodes that the DVM has\n"
          "  --target a1                   a job on the nodes of a1 and no others\n"
          "  --target a1,a2                on those of both\n"
          "  --target a1,default           on those of a1 and of the default session\n"
          "  --alloc-refid NAME            on those of the one that was asked for as NAME\n\n"
          "--inherit says what becomes of a reservation when its owner has ended:\n\n"
          "  none            its nodes go back, also under jobs that run there\n"
          "  child           they go back when all that comes of the owner has ended, too\n"
          "  default         they join the default session (not given: this)\n"
          "  child-default   the same when all that comes of the owner has ended, too\n\n"
          "You are the owner of what you ask for by a command, and end with the DVM. See\n"
          "docs/reservations.md.\n\n"
          "Examples: tide alloc new --count 2 --wait   prun --alloc-id a1 -n 8 ./solver\n"},
    Topic{"output",
          "--output HOW,… says how the output of the processes is shown.\n\n"
          "  tag                      begin each line with [job,rank]<stream>:\n"
          "  merge-stderr-to-stdout   write standard error of the processes to standard output\n\n"
          "Without tag the bytes of each stream appear exactly as they were written. Merged, the\n"
          "two streams of a process are one, and keep the order in which it wrote to them.\n\n"
          "Example: --output tag,merge-stderr-to-stdout\n"},
    Topic{"dvm",
          "--dvm WHICH chooses the DVM; the only one running is the default.\n\n"
          "  NAME           as given to tide up --dvm\n"
          "  PID, pid:N     by the process number of its head\n"
          "  uri:U          by its address, as written by --report-uri\n"
          "  file:F         by the address in file F\n"
          "  ns:NS          by its namespace, or that of one of its jobs\n"
          "  search         the only one running\n"
          "  system         the machine's own (none can be started yet)\n"
          "  system-first   the machine's own, else the only one running\n\n"
          "Examples: --dvm night   --dvm file:night.uri   --dvm 4711\n"},
    Topic{"environment",
          "Processes start with the environment of the daemon on their node. These options change\n"
          "it, in the order they are given:\n\n"
          "  -x VAR                    set VAR to the value it has here\n"
          "  -x VAR=VALUE              set VAR to VALUE\n"
          "  -x A,B,C=VALUE            a list; a value ends it, and may hold commas\n"
          "  -x PREFIX*                every variable here whose name begins so\n"
          "  --set-env VAR=VALUE       set VAR\n"
          "  --unset-env VAR           remove VAR\n"
          "  --prepend-env VAR[;] V    put V and ';' before the value; VAR alone: and ':'\n"
          "  --append-env VAR[;] V     the same, after it\n\n"
          "Example: -x 'OMP_*' --prepend-env PATH /opt/bin ./a.out\n"},
    Topic{
        "preload",
        "-s and --preload-files bring files of yours to the nodes before a job starts, and they\n"
        "are removed when it has ended.\n\n"
        "  --preload-files in.dat,data/a.dat   lands as in.dat and data/a.dat\n"
        "  --preload-files /home/me/in.dat     lands as in.dat\n"
        "  --preload-files input.tar.gz        is unpacked where it lands\n"
        "  -s ./solver                         the program itself; it starts there\n"
        "  --set-cwd-to-session-dir            start there without -s\n\n"
        "There is the directory of the job on each node; TIDE_JOB_DIR names it to the processes.\n"
        "A name with '..' is refused, and so is a second file of the same name that is not the\n"
        "same file. Executables stay executable. See docs/staging.md.\n\n"
        "Example: prun -n 4 -s --preload-files in.dat ./solver in.dat\n"},
    Topic{
        "exit-status",
        "The exit status of a run is that of its job:\n\n"
        "  0        every process ended with 0\n"
        "  N        the first process that failed ended with N\n"
        "  128+S    … or was ended by signal S\n"
        "  1        the command could not do what it was asked\n"
        "  2        the command line makes no sense; nothing was done\n"
        "  120      a node or its daemon was lost under the job\n"
        "  121      no DVM to talk to, or the connection to it was lost\n"
        "  122      the job failed and no process gave a status\n"
        "  3, 4, 5  of tide grow, shrink and alloc: refused; failed and undone; not known\n"
        "  123      a file of the job could not be brought to a node\n"
        "  124      the job ran longer than --timeout, or its launch than --spawn-timeout, allows\n"
        "  125      no place for the job: too few slots, no such node or reservation\n"
        "  126      the program was found and cannot be executed\n"
        "  127      the program was not found\n"},
    Topic{
        "runtime-options",
        "--runtime-options WHAT,… decides what becomes of a job.\n\n"
        "  error-nonzero-status=no   a process that exits with another status than 0 ends nothing\n"
        "  recoverable               nor does one that is killed, or lost with its node\n"
        "  notifyerrors              the others are told of such a process by a PMIx event\n"
        "  autorestart               a process that failed is started again, three times at most\n"
        "  max-restarts=N            … N times\n"
        "  continuous                recoverable, and started again without limit\n"
        "  timeout=T                 as --timeout\n"
        "  spawn-timeout=T           as --spawn-timeout\n"
        "  report-state-on-timeout, get-stack-traces   as the options of these names\n"
        "  donotlaunch               as --do-not-launch\n"
        "  report-child-jobs-separately   the status of jobs it spawns does not count\n"
        "  stop-on-exec, stop-in-init, stop-in-app   hold its processes (--help debugging)\n\n"
        "The exit status of a job that went on is that of the first process that failed. Case\n"
        "does not matter, a unique beginning is enough, and each may have =yes or =no.\n\n"
        "Examples: --rtos recoverable,notifyerrors   --rtos autorestart,max-restarts=10\n"},
    Topic{"debugging",
          "A job can be held until a debugger has its processes:\n\n"
          "  --stop-on-exec   before the first instruction of the program\n"
          "  --stop-in-init   in PMIx_Init, and so in MPI_Init\n"
          "  --stop-in-app    where the program itself waits for PMIX_DEBUGGER_RELEASE\n\n"
          "When all its processes wait the command shows where they are, with their pids. Attach\n"
          "with gdb -p PID on that node. tide kill JOB --signal CONT lets all of them go on; with\n"
          "--stop-on-exec also gdb's continue, after handle SIGSTOP nostop noprint nopass. A tool\n"
          "that spawned the job gets the event PMIX_READY_FOR_DEBUG, once, and lets it go on with\n"
          "PMIX_DEBUGGER_RELEASE. See docs/debugging.md.\n\n"
          "Where a job hangs: --timeout TIME --get-stack-traces (by gdb).\n\n"
          "Examples: prun -n 4 --stop-on-exec ./a.out   tide kill 3 --signal CONT\n"},
    Topic{"params",
          "Parameters are set, the first of these that names one wins:\n\n"
          "  --prtemca NAME VALUE\n"
          "  PRTE_MCA_NAME=VALUE in the environment\n"
          "  NAME = VALUE in ~/.prte/mca-params.conf\n"
          "  NAME = VALUE in /etc/prte/mca-params.conf\n\n"
          "tide params lists them all with value, source and meaning.\n"},
};

const CommandText& command_text(Command command) {
  for (const CommandText& text : kCommands) {
    if (text.command == command) return text;
  }
  return kCommands.front();
}

std::string dashed(std::string_view name) {
  return (name.size() == 1 ? "-" : "--") + std::string(name);
}

// "-n, --np, -c N"
std::string option_heading(const OptionRow& shown, Command command) {
  std::string heading;
  for (const OptionRow& row : option_table()) {
    const bool spelling = row.option == shown.option && (row.commands & only(command)) != 0 &&
                          row.implied == shown.implied && row.instead.empty() &&
                          (&row == &shown || row.help.empty());
    if (!spelling) continue;
    if (!heading.empty()) heading += ", ";
    heading += dashed(row.name);
  }
  if (!shown.value_name.empty()) heading += " " + std::string(shown.value_name);
  return heading;
}

std::string option_help(const OptionRow& row, Command command) {
  std::string text = "  " + option_heading(row, command) + "\n";
  for (const std::string& line : split(row.help, '\n')) text += "        " + line + "\n";
  return text;
}

std::string with_program(std::string_view text, std::string_view program) {
  std::string result;
  for (const char c : text) {
    if (c == '$') {
      result += program;
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::string overview_help() {
  std::string text =
      "Tide runs parallel jobs in a distributed virtual machine (DVM) that is started once.\n\n"
      "usage: tide COMMAND [option…]\n\n";
  for (const CommandText& command : kCommands) {
    if (command.name.empty()) continue;
    const std::string name(command.name);
    text += "  " + name + std::string(10 - name.size(), ' ') + std::string(command.summary) + "\n";
  }
  text +=
      "\nThe names prun (run), prterun (run in a DVM of its own), pterm (down) and prte_info\n"
      "(params) are the same program.\n\n"
      "Examples:\n"
      "  tide up --nodes 8\n"
      "  tide run -n 16 hostname\n"
      "  tide down\n\n"
      "tide COMMAND --help says more.\n";
  return text;
}

std::string command_help(Command command, std::string_view program) {
  const CommandText& about = command_text(command);
  std::string text = std::string(program) + ": " + std::string(about.summary) + "\n\n";
  text += "usage: " + std::string(program) + " " + std::string(about.usage) + "\n\n";
  if (!about.text.empty()) text += std::string(about.text) + "\n";
  text += "Options:\n";
  for (const OptionRow& row : option_table()) {
    if ((row.commands & only(command)) == 0 || row.help.empty()) continue;
    text += option_help(row, command);
  }
  text += "\nExamples:\n" + with_program(about.examples, program);
  text += "\nTopics for --help TOPIC: " + topic_names() + ", or an option.\n";
  return text;
}

std::optional<std::string> topic_help(Command command, std::string_view topic) {
  while (topic.starts_with('-')) topic.remove_prefix(1);
  for (const Topic& known : kTopics) {
    if (known.name == topic) return std::string(known.text);
  }
  const OptionRow* named = find_option(command, topic);
  if (named == nullptr) return std::nullopt;
  if (!named->instead.empty()) {
    return dashed(topic) + " is an old spelling of " + std::string(named->instead) + "\n";
  }
  for (const OptionRow& row : option_table()) {
    const bool same = row.option == named->option && (row.commands & only(command)) != 0;
    if (same && !row.help.empty()) return option_help(row, command);
  }
  return std::nullopt;
}

std::optional<std::string> nearest_topic(Command command, std::string_view topic) {
  std::vector<std::string_view> names;
  for (const Topic& known : kTopics) names.push_back(known.name);
  for (const OptionRow& row : option_table()) {
    if ((row.commands & only(command)) != 0 && row.name.size() > 1) names.push_back(row.name);
  }
  return nearest(topic, names);
}

std::string topic_names() {
  std::string names;
  for (const Topic& topic : kTopics) {
    if (!names.empty()) names += ", ";
    names += topic.name;
  }
  return names;
}

}  // namespace tide::cli
