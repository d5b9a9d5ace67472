#include "cli/job_request.hpp"

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
  } else if (given.option == Option::kHost) {
    Result<std::vector<wire::HostRequest>> hosts = parse_hosts(given.value);
    if (!hosts) return hosts.error();
    for (wire::HostRequest& host : *hosts) *app.add_hosts() = std::move(host);
  }
  return ok_status();
}

Status make_app(const AppWords& words, const Environment& environment,
                const std::string& working_directory, JobRequest& request) {
  wire::AppSpec& app = *request.job.add_apps();
  for (const std::string& word : words.argv) app.add_argv(word);
  app.set_working_directory(working_directory);
  for (const GivenOption& given : words.options) {
    if (Status status = take_app_option(given, working_directory, app); !status) return status;
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
  return ok_status();
}

Status take_job_options(const CommandLine& line, JobRequest& request) {
  if (Status status = take_map_by(line, request.job); !status) return status;
  for (const AppWords& words : line.apps) {
    for (const GivenOption& given : words.options) {
      if (given.option != Option::kOutput) continue;
      if (Status status = parse_output(given.value, request.output); !status) return status;
    }
  }
  request.job.set_merge_output(request.output.merge_stderr);
  if (const GivenOption* given = line.find(Option::kTimeout)) {
    Result<std::uint32_t> timeout_ms = parse_timeout_ms(given->value);
    if (!timeout_ms) return timeout_ms.error();
    request.job.set_timeout_ms(*timeout_ms);
  }
  if (const GivenOption* given = line.find(Option::kStdin)) {
    Result<std::int32_t> rank = parse_stdin_rank(given->value);
    if (!rank) return rank.error();
    request.job.set_stdin_rank(*rank);
  }
  return ok_status();
}

}  // namespace

Result<JobRequest> make_job_request(const CommandLine& line, const Environment& environment,
                                    const std::string& working_directory) {
  JobRequest request;
  if (Status status = take_job_options(line, request); !status) return status.error();
  for (const AppWords& words : line.apps) {
    Status status = make_app(words, environment, working_directory, request);
    if (!status) return status.error();
  }
  return request;
}

std::vector<std::pair<std::string, std::string>> command_line_params(const CommandLine& line) {
  std::vector<std::pair<std::string, std::string>> params;
  for (const AppWords& words : line.apps) {
    for (const GivenOption& given : words.options) {
      if (given.option == Option::kPrteMca) params.emplace_back(given.value, given.second_value);
    }
  }
  return params;
}

}  // namespace tide::cli
