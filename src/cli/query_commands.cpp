// Questions to a running DVM that one answer settles.
#include "cli/commands.hpp"
#include "cli/json_text.hpp"
#include "cli/status_text.hpp"
#include "cli/values.hpp"
#include "cli/watch_json.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

// As many ended jobs as a head may ever remember.
constexpr std::uint32_t kAllHistory = 1'000'000;

Result<wire::ClientReply> ask_dvm(DvmConnection& connection, wire::ClientRequest request) {
  return ask(connection.channel, std::move(request));
}

// Connects, asks, and has `show` make the exit status from the answer.
template <class Show>
int ask_and_show(const ClientContext& context, wire::ClientRequest request, Show show) {
  Result<DvmConnection> connection = connect_to_dvm(context);
  if (!connection) return fail_without_dvm(context.line, connection.error());
  Result<wire::ClientReply> reply = ask_dvm(*connection, std::move(request));
  if (!reply) return fail(context.line, reply.error());
  show(*reply);
  return kExitSuccess;
}

}  // namespace

int status_command(const ClientContext& context) {
  const bool json = context.line.has(Option::kJson);
  wire::ClientRequest request;
  request.mutable_status()->set_jobs(true);
  request.mutable_status()->set_counters(json);
  return ask_and_show(context, std::move(request), [json](const wire::ClientReply& reply) {
    print(json ? status_json(reply.status()) : status_text(reply.status()));
  });
}

int jobs_command(const ClientContext& context) {
  const bool json = context.line.has(Option::kJson);
  const bool all = context.line.has(Option::kAll);
  wire::ClientRequest request;
  request.mutable_status()->set_jobs(true);
  request.mutable_status()->set_history(all ? kAllHistory : 0);
  return ask_and_show(context, std::move(request), [json, all](const wire::ClientReply& reply) {
    print(json ? jobs_json(reply.status()) : jobs_text(reply.status(), all));
  });
}

int kill_command(const ClientContext& context) {
  const std::string& job = context.line.apps.front().argv.front();
  const GivenOption* signal = context.line.find(Option::kSignal);
  wire::ClientRequest request;
  *request.mutable_kill()->mutable_job() = job_ref(job);
  // Checked by check_use(); without a signal the job is ended step by step.
  const Result<int> number = parse_signal(signal == nullptr ? "TERM" : signal->value);
  request.mutable_kill()->set_signal(*number);
  request.mutable_kill()->set_terminate(signal == nullptr);
  return ask_and_show(context, std::move(request), [](const wire::ClientReply&) {});
}

int debug_command(const ClientContext& context) {
  const std::vector<std::string>& operands = context.line.apps.front().argv;
  wire::ClientRequest request;
  if (operands.front() == "release") {
    request.mutable_release()->set_name(operands.back());
  } else {
    request.mutable_recorder();
  }
  const bool json = context.line.has(Option::kJson);
  return ask_and_show(context, std::move(request), [json](const wire::ClientReply& reply) {
    if (json) return print(recorder_json(reply.recorder()));
    std::string text;
    for (const std::string& line : reply.recorder().lines()) text += line + "\n";
    print(text);
  });
}

}  // namespace tide::cli
