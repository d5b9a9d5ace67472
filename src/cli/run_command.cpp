#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>

#include "cli/commands.hpp"
#include "cli/job_files.hpp"
#include "cli/job_request.hpp"
#include "cli/job_targets.hpp"
#include "cli/run_command.hpp"
#include "cli/run_loop.hpp"
#include "say/command_line.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

Result<std::string> current_directory() {
  const std::unique_ptr<char, decltype(&std::free)> path(getcwd(nullptr, 0), &std::free);
  if (path == nullptr) return system_error("finding the working directory", errno);
  return std::string(path.get());
}

// Follows this request through the logs of head and daemons.
std::string correlation_id() {
  return std::to_string(getpid()) + "-" + std::to_string(now_unix_ms());
}

// A name of a request means something where the request was made.
Status resolve_target(net::LocalChannel& channel, JobRequest& request) {
  if (request.target_request.empty()) return ok_status();
  wire::ClientRequest question;
  question.mutable_status();
  const Result<wire::ClientReply> reply = ask(channel, std::move(question));
  if (!reply) return reply.error();
  return aim_at_request(reply->status(), request.target_request, request.job);
}

}  // namespace

Result<JobRequest> prepare_job(const ClientContext& context) {
  Result<std::string> directory = current_directory();
  if (!directory) return directory.error();
  Result<JobRequest> request =
      make_job_request(context.line, Environment(context.environment), *directory);
  if (!request) {
    return Error{request.error().code, say::usage(context.line.program, request.error().message)};
  }
  auto files = take_preloads(context.line, Environment(context.environment), request->job);
  if (!files) return files.error();
  request->files = std::move(*files);
  request->job.set_correlation(correlation_id());
  for (const std::string& warning : request->warnings) complain(context.line, warning);
  return request;
}

int run_job(const ClientContext& context, net::LocalChannel& channel, SignalSource& signals,
            JobRequest request) {
  if (const Status resolved = resolve_target(channel, request); !resolved) {
    const int status = fail(context.line, resolved.error());
    return resolved.error().code == ErrorCode::kNotFound ? kExitMapFailed : status;
  }
  RunOptions options;
  options.program = context.line.program;
  options.output = request.output;
  options.files = std::move(request.files);
  options.verbose = context.line.has(Option::kVerbose);
  options.forwarded_signals = request.forwarded_signals;
  return RunLoop(channel, &signals, options, std::move(request.job)).run();
}

int run_command(const ClientContext& context) {
  Result<JobRequest> request = prepare_job(context);
  if (!request) return fail(context.line, request.error());
  Result<DvmConnection> connection = connect_to_dvm(context);
  if (!connection) return fail_without_dvm(context.line, connection.error());
  Result<SignalSource> signals = SignalSource::open(request->forwarded_signals);
  if (!signals) return fail(context.line, signals.error());
  return run_job(context, connection->channel, *signals, std::move(request).value());
}

}  // namespace tide::cli
