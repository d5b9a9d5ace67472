#include "cli/job_request.hpp"

#include "cli/added_nodes.hpp"
#include "cli/head_arguments.hpp"
#include "cli/job_targets.hpp"
#include "cli/runtime_options.hpp"
#include "hosts/hostfile.hpp"
#include "hosts/wire_words.hpp"
#include "say/command_line.hpp"
#include "wire/limits.hpp"

namespace tide::cli {
namespace {

Status take_app_option(const GivenOption& given, const std::string& working_directory,
                       wire::AppSpec& app) {
  if (given.option == Option::kNumProcs) {
    Result<std::uint32_t> count =
        parse_count(given.value, "the number of processes", 1, kMaxProcessesPerJob);
    if (!count) return count.error();
    app.set_processes(*count);
  } else if (given.option == Option::kWorkingDirectory) {
    if (given.value.empty()) {
      return say::empty_directory(given.spelling);
    }
    app.set_working_directory(given.value[0] == '/' ? given.value
                                                    : working_directory + "/" + given.value);
  }
  return ok_status();
}

// What a program says of hosts chooses among the nodes of the DVM.
Status take_hosts(const AppWords& words, wire::AppSpec& app) {
  for (const GivenOption& given : words.options) {
    if (given.option != Option::kHost && given.option != Option::kHostfile) continue;
    const bool is_file = given.option == Option::kHostfile;
    const auto hosts = is_file ? hosts::read_hostfiles(std::span(&given.value, 1))
                               : hosts::parse_host_list(given.value, given.spelling);
    if (!hosts) return hosts.error();
    for (const hosts::HostWord& host : *hosts) {
      *(is_file ? app.add_hostfile() : app.add_hosts()) = hosts::to_wire(host);
    }
  }
  return ok_status();
}

Status make_app(const AppWords& words, bool chooses_hosts, const Environment& environment,
                const std::string& working_directory, JobRequest& request) {
  wire::AppSpec& app = *request.job.add_apps();
  for (const std::string& word : words.argv) app.add_argv(word);
  app.set_working_directory(working_directory);
  for (const GivenOption& given : words.options) {
    if (Status status = take_app_option(given, working_directory, app); !status) return status;
  }
  if (chooses_hosts) {
    if (Status status = take_hosts(words, app); !status) return status;
  }
  auto directives = environment_directives(words.options, environment, request.warnings);
  if (!directives) return directives.error();
  for (wire::EnvDirective& directive : *directives) {
    *app.add_environment() = std::move(directive);
  }
  return ok_status();
}

Status take_map_by(const CommandLine& line, wire::JobSpec& job) {
  MapPolicy policy;
  if (const GivenOption* given = line.find(Option::kMapBy)) {
    Result<MapPolicy> parsed = parse_map_by(given->value);
    if (!parsed) return parsed.error();
    policy = *parsed;
  }
  const bool yes = line.has(Option::kOversubscribe) || policy.oversubscribe == true;
  const bool no = line.has(Option::kNoOversubscribe) || policy.oversubscribe == false;
  if (yes && no) return say::both_oversubscribe_and_not();
  job.set_map_by(policy.map_by);
  job.set_oversubscribe(yes);
  if (policy.only_display) job.mutable_runtime()->set_do_not_launch(true);
  return ok_status();
}

Status take_time_limits(const CommandLine& line, wire::JobSpec& job) {
  if (const GivenOption* given = line.find(Option::kTimeout)) {
    const auto limit_ms = parse_timeout_ms(given->value, given->spelling);
    if (!limit_ms) return limit_ms.error();
    job.set_timeout_ms(*limit_ms);
  }
  if (const GivenOption* given = line.find(Option::kSpawnTimeout)) {
    const auto limit_ms = parse_timeout_ms(given->value, given->spelling);
    if (!limit_ms) return limit_ms.error();
    job.mutable_runtime()->set_spawn_timeout_ms(*limit_ms);
  }
  return ok_status();
}

Status take_lists(const GivenOption& given, JobRequest& request) {
  if (given.option == Option::kOutput) return parse_output(given.value, request.output);
  if (given.option == Option::kDisplay) return parse_display(given.value, request.job);
  if (given.option == Option::kRuntimeOptions) {
    return parse_runtime_options(given.value, request.job);
  }
  return ok_status();
}

Status take_flags(const CommandLine& line, JobRequest& request) {
  auto& runtime = *request.job.mutable_runtime();
  if (line.has(Option::kReportStateOnTimeout)) runtime.set_report_state_on_timeout(true);
  if (line.has(Option::kGetStackTraces)) runtime.set_get_stack_traces(true);
  if (line.has(Option::kDoNotLaunch)) runtime.set_do_not_launch(true);
  if (line.has(Option::kDetach)) {
    runtime.set_detached(true);
    request.job.set_stdin_rank(-1);
  }
  if (const GivenOption* given = line.find(Option::kForwardSignals)) {
    auto signals = parse_forwarded_signals(given->value);
    if (!signals) return signals.error();
    request.forwarded_signals = {signals->begin(), signals->end()};
  }
  if (const GivenOption* given = line.find(Option::kPersonality)) {
    const auto ompi = parse_personality(given->value);
    if (!ompi) return ompi.error();
    request.job.set_ompi_variables(*ompi);
  }
  return ok_status();
}

Status take_job_options(const CommandLine& line, JobRequest& request) {
  if (Status status = take_map_by(line, request.job); !status) return status;
  for (const AppWords& words : line.apps) {
    for (const GivenOption& given : words.options) {
      if (Status status = take_lists(given, request); !status) return status;
    }
  }
  request.job.set_merge_output(request.output.merge_stderr);
  if (Status status = take_added_nodes(line, request.job); !status) return status;
  if (Status status = take_targets(line, request.job); !status) return status;
  if (const GivenOption* given = line.find(Option::kTargetRequest)) {
    if (given->value.empty()) return say::empty_value(given->spelling, "NAME");
    request.target_request = given->value;
  }
  if (Status status = take_time_limits(line, request.job); !status) return status;
  if (const GivenOption* given = line.find(Option::kStdin)) {
    Result<std::int32_t> rank = parse_stdin_rank(given->value);
    if (!rank) return rank.error();
    request.job.set_stdin_rank(*rank);
  }
  return take_flags(line, request);
}

}  // namespace

Result<JobRequest> make_job_request(const CommandLine& line, const Environment& environment,
                                    const std::string& working_directory) {
  JobRequest request;
  if (Status status = take_job_options(line, request); !status) return status.error();
  for (const AppWords& words : line.apps) {
    Status status =
        make_app(words, !hosts_are_the_dvm(line), environment, working_directory, request);
    if (!status) return status.error();
  }
  return request;
}

std::vector<std::pair<std::string, std::string>> command_line_params(const CommandLine& line) {
  std::vector<std::pair<std::string, std::string>> params;
  for (const AppWords& words : line.apps) {
    for (const GivenOption& given : words.options) {
      if (given.option == Option::kPrteMca) params.emplace_back(given.value, given.second_value);
      if (given.option == Option::kSetSlots) {
        params.emplace_back("prte_set_default_slots", given.value);
      }
      if (given.option == Option::kMaxVmSize) params.emplace_back("prte_max_vm_size", given.value);
    }
  }
  return params;
}

}  // namespace tide::cli
