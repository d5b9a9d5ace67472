// Commands that change the size of a DVM: the first answer says what has begun, the last one how it
// has ended.
#include <chrono>
#include <limits>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/json_text.hpp"
#include "cli/values.hpp"
#include "hosts/hostfile.hpp"
#include "hosts/wire_words.hpp"
#include "say/campaigns.hpp"
#include "say/finding.hpp"
#include "say/pool.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

// Resource managers have half a minute in the head, which then answers by itself.
constexpr std::uint32_t kFirstAnswerMs = 40'000;
// A head that says nothing for so long is asked whether it is still there.
constexpr std::uint32_t kQuietMs = 5'000;
constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();

std::uint32_t count_of(const CommandLine& line) {
  const GivenOption* given = line.find(Option::kCount);
  if (given == nullptr) return 0;
  // Checked by check_use().
  return parse_count(given->value, given->spelling, 1, kMost).value();
}

std::uint32_t time_of(const CommandLine& line, Option option) {
  const GivenOption* given = line.find(option);
  if (given == nullptr) return 0;
  // Checked by check_use().
  return parse_timeout_ms(given->value, given->spelling).value();
}

// Checked by check_use(), too.
std::vector<hosts::HostWord> words_of(const CommandLine& line) {
  std::vector<hosts::HostWord> out;
  for (const GivenOption& given : line.apps.front().options) {
    if (given.option != Option::kHost) continue;
    auto words = hosts::parse_host_list(given.value, given.spelling);
    for (hosts::HostWord& word : *words) out.push_back(std::move(word));
  }
  return out;
}

// Follows one change from the request to its end.
class Change {
 public:
  Change(const ClientContext& context, DvmConnection& connection)
      : line_(context.line),
        channel_(connection.channel),
        wait_(line_.has(Option::kWait)),
        json_(line_.has(Option::kJson)) {
    shown_.shrinks = line_.command == Command::kShrink;
  }

  int run(wire::ClientRequest request) {
    request.set_request(kChange);
    if (const Status sent = channel_.send(request); !sent) return unknown(sent.error());
    const Result<wire::ClientReply> first = first_answer();
    if (!first) return unknown(first.error());
    if (first->has_error()) return refused(first->error());
    const wire::ChangeBegun& begun = first->change_begun();
    shown_.allocation = begun.allocation();
    shown_.nodes.assign(begun.nodes().begin(), begun.nodes().end());
    shown_.complete = begun.complete();
    shown_.lease_ms = begun.lease_ms();
    if (!json_) print(first_words() + "\n");
    if (begun.complete()) return ended(kExitSuccess, "done", "", "");
    if (!wait_) return ended(kExitSuccess, "", "", "");
    return see_to_its_end();
  }

 private:
  static constexpr std::uint32_t kChange = 1;
  static constexpr std::uint32_t kStillThere = 2;

  std::string first_words() const {
    if (line_.has(Option::kExtend)) {
      return say::lease_extended(shown_.allocation, shown_.lease_ms);
    }
    if (shown_.complete) return say::nothing_to_change(shown_.nodes);
    std::string text = say::change_begun(shown_.shrinks, shown_.nodes, shown_.allocation);
    if (shown_.lease_ms > 0 && !shown_.shrinks) {
      text += "\n" + say::lease_of_grow(shown_.lease_ms);
    }
    return text;
  }

  Result<wire::ClientReply> first_answer() {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + std::chrono::milliseconds(kFirstAnswerMs);
    while (true) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      auto incoming = channel_.receive(left > 0 ? static_cast<std::uint32_t>(left) : 0);
      if (!incoming) return incoming.error();
      if (!incoming->has_value()) return say::dvm_does_not_answer(kFirstAnswerMs / 1000);
      if ((**incoming).reply.request() == kChange) return std::move((**incoming).reply);
    }
  }

  // Every phase of a change is bounded by the head; that it is there is what has to be watched.
  int see_to_its_end() {
    bool asked = false;
    while (true) {
      auto incoming = channel_.receive(asked ? kAnswerTimeoutMs : kQuietMs);
      if (!incoming) return unknown(incoming.error());
      if (!incoming->has_value()) {
        if (asked) return unknown(say::dvm_does_not_answer(kAnswerTimeoutMs / 1000));
        wire::ClientRequest request;
        request.set_request(kStillThere);
        request.mutable_status();
        if (const Status sent = channel_.send(request); !sent) return unknown(sent.error());
        asked = true;
        continue;
      }
      asked = false;
      const wire::ClientReply& reply = (**incoming).reply;
      if (reply.request() != kChange) continue;
      if (reply.has_change_news()) complain(line_, reply.change_news().text());
      if (!reply.has_change_ended()) continue;
      const wire::ChangeEnded& end = reply.change_ended();
      return end.done() ? ended(kExitSuccess, "done", "", end.text())
                        : ended(kExitUndone, "failed", end.cause(), end.text());
    }
  }

  int refused(const wire::ErrorInfo& error) {
    fail(line_, Error{static_cast<ErrorCode>(error.code()), error.message()});
    return kExitRefused;
  }

  int unknown(const Error& error) {
    if (shown_.nodes.empty() && json_) {
      fail(line_, error);
      return kExitUnknown;
    }
    return ended(kExitUnknown, "unknown", "", say::change_outcome_unknown(error.message));
  }

  int ended(int status, const char* outcome, const std::string& cause, const std::string& text) {
    if (json_) {
      shown_.outcome = outcome;
      shown_.cause = cause;
      shown_.text = text;
      print(change_json(shown_));
    } else if (!text.empty() && status == kExitSuccess) {
      print(text + "\n");
    } else if (!text.empty()) {
      complain(line_, text);
    }
    return status;
  }

  const CommandLine& line_;
  net::LocalChannel& channel_;
  bool wait_;
  bool json_;
  ShownChange shown_;
};

int change_size(const ClientContext& context, wire::ClientRequest request) {
  Result<DvmConnection> connection = connect_to_dvm(context);
  if (!connection) return fail_without_dvm(context.line, connection.error());
  return Change(context, *connection).run(std::move(request));
}

}  // namespace

int grow_command(const ClientContext& context) {
  wire::ClientRequest request;
  request.mutable_grow()->set_count(count_of(context.line));
  for (const hosts::HostWord& word : words_of(context.line)) {
    *request.mutable_grow()->add_hosts() = hosts::to_wire(word);
  }
  request.mutable_grow()->set_time_ms(time_of(context.line, Option::kLeaseTime));
  request.mutable_grow()->set_warn_ms(time_of(context.line, Option::kLeaseWarn));
  if (const GivenOption* given = context.line.find(Option::kExtend)) {
    request.mutable_grow()->set_extend(given->value);
  }
  return change_size(context, std::move(request));
}

int shrink_command(const ClientContext& context) {
  wire::ClientRequest request;
  request.mutable_shrink()->set_count(count_of(context.line));
  for (const hosts::HostWord& word : words_of(context.line)) {
    request.mutable_shrink()->add_nodes(word.name);
  }
  if (const GivenOption* given = context.line.find(Option::kAllocation)) {
    request.mutable_shrink()->set_allocation(given->value);
  }
  return change_size(context, std::move(request));
}

int pool_command(const ClientContext& context) {
  Result<DvmConnection> connection = connect_to_dvm(context);
  if (!connection) return fail_without_dvm(context.line, connection.error());
  wire::ClientRequest request;
  request.mutable_pool()->set_reclaim(context.line.apps.front().argv.front() == "reclaim");
  request.mutable_pool()->set_count(count_of(context.line));
  for (const hosts::HostWord& word : words_of(context.line)) {
    request.mutable_pool()->add_nodes(word.name);
  }
  const Result<wire::ClientReply> reply = ask(connection->channel, std::move(request));
  if (reply) return kExitSuccess;
  fail(context.line, reply.error());
  const ErrorCode code = reply.error().code;
  const bool unheard = code == ErrorCode::kConnectionLost || code == ErrorCode::kTimedOut;
  return unheard ? kExitUnknown : kExitRefused;
}

}  // namespace tide::cli
