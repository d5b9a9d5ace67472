// Commands that watch a DVM at work.
#include <optional>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/values.hpp"
#include "cli/watch_json.hpp"
#include "cli/watch_text.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

// A head that says nothing for so long is asked whether it is still there.
constexpr std::uint32_t kQuietMs = 5'000;

// Shows events until the DVM's end, a signal, or an output that takes no more.
class Follower {
 public:
  Follower(const ClientContext& context, DvmConnection& connection)
      : line_(context.line), connection_(connection), json_(line_.has(Option::kJson)) {}

  int run(bool follow) {
    while (true) {
      Result<bool> more = look();
      if (!more) return fail(line_, more.error());
      if (print_failed()) return kExitFailure;
      if (*more) continue;
      if (!follow || ended_) return kExitSuccess;
      const Status waited = wait_for_next();
      if (waited) continue;
      // It may go between two questions, with its last words unheard.
      return ending_ && waited.error().code == ErrorCode::kConnectionLost
                 ? kExitSuccess
                 : fail(line_, waited.error());
    }
  }

 private:
  static constexpr std::uint32_t kLook = 1;

  // What there is now. True: and more.
  Result<bool> look() {
    if (told_) {  // it was the answer to a question that waited
      const wire::EventsReply reply = *std::exchange(told_, std::nullopt);
      show(reply);
      return reply.more();
    }
    wire::ClientRequest request;
    request.mutable_events()->set_after(after_);
    Result<wire::ClientReply> reply = ask(connection_.channel, std::move(request));
    if (!reply) return ending_ ? at_the_end() : Result<bool>(reply.error());
    show(reply->events());
    return reply->events().more();
  }

  Result<bool> at_the_end() {
    ended_ = true;
    return false;
  }

  // Until something has happened, or it is time to see whether the head is still there.
  Status wait_for_next() {
    wire::ClientRequest request;
    request.set_request(++waiting_);
    request.mutable_events()->set_after(after_);
    request.mutable_events()->set_follow(true);
    if (Status sent = connection_.channel.send(request); !sent) return sent;
    auto incoming = connection_.channel.receive(kQuietMs);
    if (!incoming) return incoming.error();
    if (incoming->has_value() && (**incoming).reply.request() == waiting_) {
      told_ = (**incoming).reply.events();
    }
    return ok_status();
  }

  void show(const wire::EventsReply& reply) {
    print(json_ ? events_json(reply, now_unix_ms()) : events_text(reply, now_unix_ms()));
    after_ += reply.dropped();
    for (const wire::DvmEvent& event : reply.events()) {
      after_ = event.number();
      ending_ = ending_ || event.kind() == "dvm-ending";
      ended_ = ended_ || event.kind() == "dvm-ended";
    }
  }

  const CommandLine& line_;
  DvmConnection& connection_;
  bool json_;
  std::uint64_t after_ = 0;
  std::uint32_t waiting_ = kLook;
  std::optional<wire::EventsReply> told_;
  bool ending_ = false;
  bool ended_ = false;
};

}  // namespace

int explain_command(const ClientContext& context) {
  Result<DvmConnection> connection = connect_to_dvm(context);
  if (!connection) return fail_without_dvm(context.line, connection.error());
  const std::string& about = context.line.apps.front().argv.front();
  const Result<ExplainName> name = parse_explain_name(about);
  if (!name) return fail(context.line, name.error());
  wire::ClientRequest request;
  if (name->job) {
    *request.mutable_explain()->mutable_job() = job_ref(about);
  } else {
    request.mutable_explain()->set_change(name->change);
    request.mutable_explain()->set_allocation(std::string(name->allocation));
  }
  Result<wire::ClientReply> reply = ask(connection->channel, std::move(request));
  if (!reply) return fail(context.line, reply.error());
  const bool json = context.line.has(Option::kJson);
  print(json ? explain_json(reply->explain()) : explain_text(reply->explain()));
  return kExitSuccess;
}

// In pieces: a job may have more processes than one answer holds.
int ps_command(const ClientContext& context) {
  Result<DvmConnection> connection = connect_to_dvm(context);
  if (!connection) return fail_without_dvm(context.line, connection.error());
  const std::vector<std::string>& operands = context.line.apps.front().argv;
  std::vector<wire::JobProcs> pieces;
  wire::ClientRequest request;
  request.mutable_procs();
  if (!operands.empty()) *request.mutable_procs()->mutable_job() = job_ref(operands.front());
  while (true) {
    Result<wire::ClientReply> reply = ask(connection->channel, request);
    if (!reply) return fail(context.line, reply.error());
    wire::ProcsReply& piece = *reply->mutable_procs();
    for (wire::JobProcs& job : *piece.mutable_jobs()) pieces.push_back(std::move(job));
    if (!piece.more()) break;
    request.mutable_procs()->set_first_job(piece.next_job());
    request.mutable_procs()->set_first_rank(piece.next_rank());
  }
  print(context.line.has(Option::kJson) ? procs_json(pieces) : procs_text(pieces));
  return kExitSuccess;
}

int events_command(const ClientContext& context) {
  Result<DvmConnection> connection = connect_to_dvm(context);
  if (!connection) return fail_without_dvm(context.line, connection.error());
  return Follower(context, *connection).run(context.line.has(Option::kFollow));
}

}  // namespace tide::cli
