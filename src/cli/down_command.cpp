#include "base/dvm_directory.hpp"
#include "cli/commands.hpp"
#include "cli/dvm_finder.hpp"
#include "cli/process_handle.hpp"
#include "say/ending.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

// On top of what the head itself allows for an orderly end.
constexpr std::uint32_t kMarginMs = 5000;
constexpr std::uint32_t kKilledWaitMs = 5000;

int force_end(const ClientContext& context, const DvmInfo& dvm, const ProcessHandle& head) {
  head.kill();
  if (!head.wait_gone(kKilledWaitMs)) {
    complain(context.line, say::head_cannot_be_killed(dvm.name, dvm.pid));
    return kExitFailure;
  }
  complain(context.line, say::head_was_killed(dvm.name));
  // It could not clean up after itself.
  const Status removed = remove_dead_dvm(context.run_base, dvm.name);
  if (!removed) complain(context.line, removed.error().message);
  return kExitSuccess;
}

bool is_head(const DvmInfo& dvm) {
  const Result<std::uint64_t> start_ticks = process_start_ticks(dvm.pid);
  return start_ticks.ok() && *start_ticks == dvm.pid_start_ticks;
}

// A head that ends may close the connection before its answer is read.
bool may_be_ending(ErrorCode code) {
  return code == ErrorCode::kConnectionLost || code == ErrorCode::kTimedOut;
}

// Asks the head to end and hangs up: it does not end while somebody still listens.
Result<wire::ClientReply> ask_to_end(const ClientContext& context, DvmConnection connection,
                                     std::uint32_t timeout_ms) {
  wire::ClientRequest request;
  request.mutable_down()->set_force(context.line.has(Option::kForce));
  return ask(connection.channel, std::move(request), timeout_ms,
             [&context](std::string_view news) { complain(context.line, news); });
}

int end_dvm(const ClientContext& context, const DvmInfo& dvm) {
  const ProcessHandle head(static_cast<pid_t>(dvm.pid));
  // Looked at again now that the handle is held: the number may have come to mean another.
  if (!is_head(dvm)) return kExitSuccess;
  const bool force = context.line.has(Option::kForce);
  Result<DvmConnection> connection = connect_to_dvm(context, dvm);
  if (!connection && force) return force_end(context, dvm, head);
  if (!connection) return fail_without_dvm(context.line, connection.error());

  const std::uint32_t timeout_ms =
      context.params.get_duration_ms("tide_shutdown_timeout") + kMarginMs;
  const Result<wire::ClientReply> reply = ask_to_end(context, std::move(*connection), timeout_ms);
  if (!reply && !may_be_ending(reply.error().code)) return fail(context.line, reply.error());
  if (head.wait_gone(timeout_ms)) {
    print("DVM " + dvm.name + " has ended\n");
    return kExitSuccess;
  }
  if (force) return force_end(context, dvm, head);
  complain(context.line, say::dvm_has_not_ended(dvm.name));
  return kExitFailure;
}

int end_all(const ClientContext& context) {
  const Result<std::vector<DvmInfo>> dvms = running_dvms(context.run_base);
  if (!dvms) return fail(context.line, dvms.error());
  if (dvms->empty()) complain(context.line, say::no_dvm_to_end());
  int status = kExitSuccess;
  for (const DvmInfo& dvm : *dvms) {
    const int one = end_dvm(context, dvm);
    if (status == kExitSuccess) status = one;
  }
  return status;
}

}  // namespace

int down_command(const ClientContext& context) {
  if (context.line.has(Option::kAll)) return end_all(context);
  const Result<DvmChoice> choice = dvm_choice(context.line);
  if (!choice) return fail(context.line, choice.error());
  const Result<DvmInfo> dvm = find_dvm(context.run_base, *choice, now_unix_ms());
  if (!dvm) return fail_without_dvm(context.line, dvm.error());
  return end_dvm(context, *dvm);
}

}  // namespace tide::cli
