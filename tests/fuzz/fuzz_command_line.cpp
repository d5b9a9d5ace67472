// Command lines of every program: words separated by newlines, the first names the program.
#include <algorithm>
#include <string>
#include <vector>

#include "base/params.hpp"
#include "base/text.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/dvm_choice.hpp"
#include "cli/head_arguments.hpp"
#include "cli/help.hpp"
#include "cli/job_request.hpp"
#include "cli/values.hpp"
#include "head/options.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "wire/client.pb.h"

namespace tide::fuzz {
namespace {

Result<head::ParsedOptions> read_as_head(std::vector<std::string> argv) {
  const std::vector<char*> pointers = cli::argument_pointers(argv);
  return head::parse_options(static_cast<int>(argv.size()), pointers.data());
}

// What is chosen is granted, with no more slots than that.
void choose_within_a_grant(head::HeadOptions options) {
  const rm::Grant grant{"slurm", "17", {{"node1", "", 4, 0}, {"node2.east", "", 2, 0}}, "V"};
  if (!head::choose_nodes(options, grant)) return;
  for (const auto& host : options.hosts) {
    const auto granted = std::ranges::find(grant.hosts, host.name, &rm::Host::name);
    FUZZ_REQUIRE(granted != grant.hosts.end() && host.slots <= granted->slots && host.slots > 0);
  }
}

// The client checks for the head: what it lets pass the head must take, to the letter. Which hosts
// there are only the head works out.
void read_as_started_head(const cli::CommandLine& line) {
  std::vector<std::string> argv = {"prte"};
  cli::add_head_options(line, argv);
  const auto parsed = read_as_head(argv);
  FUZZ_REQUIRE(parsed.ok());
  choose_within_a_grant(parsed->options);
  FUZZ_REQUIRE(parsed->options.params == cli::command_line_params(line));
  const cli::GivenOption* uri = line.find(cli::Option::kReportUri);
  FUZZ_REQUIRE(uri == nullptr || parsed->options.report_uri == uri->value);
}

// A job that the client takes must reach the head as it is.
void make_request(const cli::CommandLine& line) {
  static constexpr const char* kEnvironment[] = {"HOME=/home/u", "A_ONE=1", "A_TWO=\xff", nullptr};
  const auto request = cli::make_job_request(line, cli::Environment(kEnvironment), "/home/u");
  if (!request) {
    FUZZ_REQUIRE(!request.error().message.empty());
    return;
  }
  wire::ClientRequest sent;
  *sent.mutable_submit()->mutable_job() = request->job;
  wire::ClientRequest got;
  FUZZ_REQUIRE(got.ParseFromString(sent.SerializeAsString()));
}

void name_job(const std::string& word) {
  const auto name = cli::parse_job_name(word);
  FUZZ_REQUIRE(name.ok());
  wire::ClientRequest sent;
  sent.mutable_kill()->mutable_job()->set_nspace(std::string(name->nspace));
  wire::ClientRequest got;
  FUZZ_REQUIRE(got.ParseFromString(sent.SerializeAsString()));
}

void use(const cli::CommandLine& line) {
  if (!cli::check_use(line)) return;
  ParamInputs inputs;
  inputs.command_line = cli::command_line_params(line);
  static_cast<void>(Params::load(inputs));
  switch (line.command) {
    case cli::Command::kRun:
      make_request(line);
      return;
    case cli::Command::kOneShot:
      make_request(line);
      read_as_started_head(line);
      return;
    case cli::Command::kUp:
      read_as_started_head(line);
      return;
    case cli::Command::kKill:
      name_job(line.apps.front().argv.front());
      return;
    default:
      return;
  }
}

void read_as_client(const std::vector<std::string>& words) {
  const std::vector<std::string_view> argv(words.begin(), words.end());
  const auto invocation = cli::make_invocation(argv);
  if (!invocation) {
    FUZZ_REQUIRE(!invocation.error().message.empty());
    return;
  }
  const auto line = cli::parse_command_line(*invocation);
  if (!line) {
    FUZZ_REQUIRE(!line.error().message.empty());
    return;
  }
  FUZZ_REQUIRE(!line->apps.empty());
  if (line->wants_help) {
    cli::command_help(line->command, line->program);
    cli::topic_help(line->command, line->help_topic);
  } else if (!line->wants_version) {
    use(*line);
  }
}

}  // namespace
}  // namespace tide::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(tide::fuzz::as_text(data, size));
  std::ranges::replace(text, '\0', '\n');
  const std::vector<std::string> words = tide::split(text, '\n');
  // Files are opened for these, whatever the fuzzer makes of their names.
  const bool names_file = std::ranges::any_of(words, [](const std::string& word) {
    return word.find("hostfile") != word.npos || word.find("machinefile") != word.npos;
  });
  if (names_file) return 0;
  if (words.front() == "prte") {
    const auto parsed = tide::fuzz::read_as_head(words);
    FUZZ_REQUIRE(parsed.ok() || !parsed.error().message.empty());
  } else {
    tide::fuzz::read_as_client(words);
  }
  return 0;
}
