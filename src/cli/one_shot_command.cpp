#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/head_arguments.hpp"
#include "cli/private_head.hpp"
#include "cli/run_command.hpp"
#include "say/starting.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

// On top of what the head itself allows for its start and its end: it should be first to give up,
// because it knows why.
constexpr std::uint32_t kMarginMs = 5000;

Result<PrivateHead> start_head(const ClientContext& context, const std::string& dvm_name) {
  Result<std::string> program = sibling_program("prte");
  if (!program) return program.error();
  std::vector<std::string> argv = {"prte", "--one-shot", "--no-ready-msg", "--dvm", dvm_name};
  if (context.line.has(Option::kVerbose)) argv.emplace_back("--show-progress");
  add_head_options(context.line, argv);
  return PrivateHead::start(*program, std::move(argv));
}

// Zero: the DVM is ready. Else what to exit with.
int wait_for_head(const ClientContext& context, PrivateHead& head, SignalSource& signals) {
  using Kind = PrivateHead::Start::Kind;
  const std::uint32_t timeout_ms = context.params.get_duration_ms("tide_start_timeout") + kMarginMs;
  const PrivateHead::Start start = head.wait_ready(timeout_ms, signals);
  switch (start.kind) {
    case Kind::kReady:
      return kExitSuccess;
    case Kind::kSignalled:
      complain(context.line, say::private_dvm_interrupted(start.signal));
      return exit_status_of_signal(start.signal);
    case Kind::kFailed:
      complain(context.line, say::private_dvm_not_started());
      return kExitNoDvm;
    case Kind::kTimedOut:
      break;
  }
  complain(context.line, say::private_dvm_late(timeout_ms));
  return kExitNoDvm;
}

// Hangs up when the job has ended, before the head is waited for.
int connect_and_run(const ClientContext& context, const DvmInfo& dvm, SignalSource& signals,
                    JobRequest request) {
  Result<DvmConnection> connection = connect_to_dvm(context, dvm);
  if (!connection) return fail_without_dvm(context.line, connection.error());
  return run_job(context, connection->channel, signals, std::move(request));
}

}  // namespace

int one_shot_command(const ClientContext& context) {
  Result<JobRequest> request = prepare_job(context);
  if (!request) return fail(context.line, request.error());
  Result<SignalSource> signals = SignalSource::open(request->forwarded_signals);
  if (!signals) return fail(context.line, signals.error());

  DvmInfo dvm;
  dvm.name = "prterun-" + std::to_string(getpid());
  dvm.directory = dvm_directory_path(context.run_base, dvm.name);
  dvm.ready = true;
  Result<PrivateHead> head = start_head(context, dvm.name);
  if (!head) return fail(context.line, head.error());
  if (const int status = wait_for_head(context, *head, *signals); status != 0) return status;

  const int status = connect_and_run(context, dvm, *signals, std::move(request).value());
  const std::uint32_t end_timeout_ms =
      context.params.get_duration_ms("tide_shutdown_timeout") + kMarginMs;
  if (!head->end(end_timeout_ms)) {
    complain(context.line, say::private_dvm_killed(end_timeout_ms));
  }
  return status;
}

}  // namespace tide::cli
