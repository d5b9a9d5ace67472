#include "cli/program.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "say/command_line.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

constexpr std::string_view kVersionText = "Tide " TIDE_VERSION "\n";

int dispatch(const ClientContext& context) {
  switch (context.line.command) {
    case Command::kUp:
      return up_command(context);
    case Command::kCheck:
      return check_command(context);
    case Command::kRun:
      return run_command(context);
    case Command::kOneShot:
      return one_shot_command(context);
    case Command::kStatus:
      return status_command(context);
    case Command::kJobs:
      return jobs_command(context);
    case Command::kExplain:
      return explain_command(context);
    case Command::kPs:
      return ps_command(context);
    case Command::kEvents:
      return events_command(context);
    case Command::kWatch:
      return watch_command(context);
    case Command::kKill:
      return kill_command(context);
    case Command::kGrow:
      return grow_command(context);
    case Command::kShrink:
      return shrink_command(context);
    case Command::kPool:
      return pool_command(context);
    case Command::kAlloc:
      return alloc_command(context);
    case Command::kDown:
      return down_command(context);
    case Command::kParams:
      return params_command(context);
    case Command::kLogs:
      return logs_command(context);
    default:
      return debug_command(context);
  }
}

int usage_failure(const CommandLine& line, const Error& error) {
  if (!line.has(Option::kJson)) {
    complain(line, say::usage(line.program, error.message));
    return kExitUsage;
  }
  fail(line, error);
  return kExitUsage;
}

int show_help(const CommandLine& line) {
  if (line.help_topic.empty()) {
    print(command_help(line.command, line.program));
    return kExitSuccess;
  }
  if (const auto text = topic_help(line.command, line.help_topic)) {
    print(*text);
    return kExitSuccess;
  }
  complain(line, say::unknown_topic(line.help_topic, topic_names(),
                                    nearest_topic(line.command, line.help_topic)));
  return kExitUsage;
}

// `tide` without a command, or with an option in its place.
int run_without_command(std::span<const std::string_view> argv, const Error& error) {
  const std::string_view word = argv.size() < 2 ? "" : argv[1];
  if (word == "-V" || word == "--version" || word == "version") {
    print(kVersionText);
    return kExitSuccess;
  }
  const bool says_help = word == "-h" || word == "--help" || word == "help";
  if (says_help && argv.size() == 2) {
    print(overview_help());
    return kExitSuccess;
  }
  CommandLine line;
  line.program = "tide";
  complain(line, say::usage(line.program, error.message));
  return kExitUsage;
}

// Said once: the head that a command starts says it itself.
void warn_of_ignored_tmpdir(const ClientContext& context) {
  const Command command = context.line.command;
  if (command == Command::kUp || command == Command::kCheck || command == Command::kOneShot ||
      command == Command::kParams) {
    return;
  }
  const auto ignored = ignored_tmpdir(context.params.get_string("prte_tmpdir_base"));
  if (ignored) complain(context.line, say::relative_tmpdir(*ignored, context.run_base));
}

// What is known of a command line that could not be parsed.
CommandLine unparsed(const Invocation& invocation) {
  CommandLine line;
  line.program = invocation.program;
  line.command = invocation.command;
  line.apps.emplace_back();
  const auto& words = invocation.words;
  if (find_option(invocation.command, "json") != nullptr &&
      std::find(words.begin(), words.end(), "--json") != words.end()) {
    line.apps.front().options.push_back({Option::kJson, "--json", {}, {}});
  }
  return line;
}

int run_invocation(const Result<Invocation>& invocation, std::span<const std::string_view> argv,
                   const char* const* environment) {
  if (!invocation) return run_without_command(argv, invocation.error());
  if (invocation->command == Command::kSim) return sim_command(*invocation);
  Result<CommandLine> line = parse_command_line(*invocation);
  if (!line) return usage_failure(unparsed(*invocation), line.error());
  if (line->wants_version) {
    print(kVersionText);
    return kExitSuccess;
  }
  if (line->wants_help) return show_help(*line);
  for (const std::string& hint : line->hints) complain(*line, hint);
  if (Status status = check_use(*line); !status) return usage_failure(*line, status.error());
  const CommandLine given = *line;
  Result<ClientContext> context = make_client_context(std::move(line).value(), environment);
  if (!context) return usage_failure(given, context.error());
  warn_of_ignored_tmpdir(*context);
  return dispatch(*context);
}

}  // namespace

int run_program(std::span<const std::string_view> argv, const char* const* environment) {
  const Result<Invocation> invocation = make_invocation(argv);
  const int status = run_invocation(invocation, argv, environment);
  return status_after_print(invocation ? invocation->program : "tide", status);
}

}  // namespace tide::cli
