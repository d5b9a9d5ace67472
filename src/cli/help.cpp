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
    CommandText{Command::kUp, "up", "start a DVM", "[--nodes N] [--slots N] [--dvm NAME] [option…]",
                "Starts a DVM on this machine and comes back when it is ready. It stays until\n"
                "tide down ends it.\n",
                "  $ --nodes 8\n"
                "  $ --dvm night --nodes 4 --slots 2 --report-uri night.uri\n"
                "  $ --nodes 64 --prtemca rml_radix 2\n"},
    CommandText{
        Command::kRun, "run", "run a job in a DVM", "[option…] PROGRAM [argument…] [: …]",
        "Runs PROGRAM as a parallel job in a running DVM, shows its output, passes standard\n"
        "input to rank 0, and exits with the status of the job (--help exit-status).\n"
        "A lone ':' separates programs of one job, each with options of its own.\n"
        "Ctrl-C ends the job in good order, a second one at once.\n",
        "  $ -n 4 hostname\n"
        "  $ -n 2 --host v1,v3 --output tag ./solver input.dat\n"
        "  $ -n 64 --map-by node:OVERSUBSCRIBE -x OMP_NUM_THREADS=1 ./a.out\n"
        "  $ -n 1 ./master : -n 7 ./worker\n"
        "  $ --timeout 5m --dvm night ./long\n"},
    CommandText{Command::kOneShot, "", "run a job in a DVM of its own",
                "[--nodes N] [--slots N] [option…] PROGRAM [argument…] [: …]",
                "Starts a private DVM on this machine, runs PROGRAM in it as prun does, ends the\n"
                "DVM, and exits with the status of the job (--help exit-status).\n",
                "  $ -n 4 hostname\n"
                "  $ --nodes 4 --slots 2 -n 8 --map-by node ./a.out\n"
                "  $ --nodes 2 -n 1 ./master : -n 3 ./worker\n"},
    CommandText{Command::kStatus, "status", "show a DVM with its nodes and running jobs",
                "[option…]", "",
                "  $\n"
                "  $ --dvm night --json\n"},
    CommandText{Command::kJobs, "jobs", "list jobs", "[--all] [option…]",
                "Lists the jobs that run in the DVM.\n",
                "  $\n"
                "  $ --all --json\n"},
    CommandText{Command::kKill, "kill", "end a job, or send it a signal",
                "JOB [--signal SIGNAL] [option…]",
                "JOB is a number as listed by tide jobs, or a namespace.\n",
                "  $ 3\n"
                "  $ 3 --signal USR1\n"},
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
        "  $ head --lines all\n"},
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
          "  NOOVERSUBSCRIBE   they are not (not given: this)\n\n"
          "Case does not matter and a unique beginning is enough: --map-by no:over.\n"
          "A qualifier may have =yes or =no.\n\n"
          "Examples: --map-by node   --map-by :OVERSUBSCRIBE   --map-by slot:oversubscribe=no\n"},
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
    Topic{"exit-status",
          "The exit status of a run is that of its job:\n\n"
          "  0        every process ended with 0\n"
          "  N        the first process that failed ended with N\n"
          "  128+S    … or was ended by signal S\n"
          "  1        the command could not do what it was asked\n"
          "  2        the command line makes no sense; nothing was done\n"
          "  120      a node or its daemon was lost under the job\n"
          "  121      no DVM to talk to, or the connection to it was lost\n"
          "  122      the job failed and no process gave a status\n"
          "  124      the job ran longer than --timeout allows\n"
          "  125      no place for the job: too few slots, no such node\n"
          "  126      the program was found and cannot be executed\n"
          "  127      the program was not found\n"},
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
                          row.instead.empty() && (&row == &shown || row.help.empty());
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
