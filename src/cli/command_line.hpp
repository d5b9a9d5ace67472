// From the words of a command line to options, programs and operands. Pure: nothing is looked up
// in the world, and no value is understood yet.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/options.hpp"

namespace tide::cli {

// How people called us: messages begin with it.
struct Invocation {
  std::string program;  // "prun", "tide run"
  Command command = Command::kRun;
  std::vector<std::string> words;  // what follows
};

// `argv[0]` decides: prun, prterun, pterm and prte_info are commands by themselves; any other name
// is `tide`, whose first word names the command. `tide help X` is `tide X --help`.
// kInvalidArgument: there is no such command.
Result<Invocation> make_invocation(std::span<const std::string_view> argv);

// The names after `tide`, in the order that help lists them.
std::span<const std::string_view> subcommand_names();

struct GivenOption {
  Option option = Option::kHelp;
  std::string spelling;  // as typed, with dashes and without the value
  std::string value;
  std::string second_value;
};

// One program of the job with the options that stand before it. In commands that start no
// program `argv` holds the operands.
struct AppWords {
  std::vector<GivenOption> options;
  std::vector<std::string> argv;
};

struct CommandLine {
  std::string program;
  Command command = Command::kRun;
  bool wants_help = false;
  bool wants_version = false;
  std::string help_topic;
  std::vector<AppWords> apps;      // at least one; more only where ':' separates programs
  std::vector<std::string> hints;  // one line each for old spellings that were used

  // The last one given in any part; null if there is none.
  [[nodiscard]] const GivenOption* find(Option option) const;
  [[nodiscard]] bool has(Option option) const { return find(option) != nullptr; }
};

// Takes `--name value`, `--name=value` and the same with a single dash. kInvalidArgument, with a
// message for people: an option that does not exist, is not built yet, lacks its value, or is
// given twice though it has one value.
Result<CommandLine> parse_command_line(const Invocation& invocation);

}  // namespace tide::cli
