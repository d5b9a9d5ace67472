#include "cli/change.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "cli/signal_source.hpp"
#include "cli/values.hpp"
#include "hosts/hostfile.hpp"
#include "say/campaigns.hpp"
#include "say/finding.hpp"
#include "say/pool.hpp"
#include "say/reserving.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

// Resource managers have half a minute in the head, which then answers by itself.
constexpr std::uint32_t kFirstAnswerMs = 40'000;
// A head that says nothing for so long is asked whether it is still there.
constexpr std::uint32_t kQuietMs = 5'000;
constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();

using Clock = std::chrono::steady_clock;

// Follows one change from the request to its end, or until it is told not to.
class Change {
 public:
  Change(const ClientContext& context, DvmConnection& connection, SignalSource& signals,
         AskedChange asked)
      : line_(context.line),
        channel_(connection.channel),
        signals_(signals),
        asked_(std::move(asked)),
        wait_(line_.has(Option::kWait)),
        json_(line_.has(Option::kJson)) {
    shown_.kind = asked_.kind;
  }

  int run() {
    asked_.request.set_request(kChange);
    if (const Status sent = channel_.send(asked_.request); !sent) return unknown(sent.error());
    const Result<wire::ClientReply> first = first_answer();
    if (!first) return interrupted_ ? interrupted() : unknown(first.error());
    if (first->has_error()) return refused(first->error());
    const wire::ChangeBegun& begun = first->change_begun();
    shown_.number = begun.number();
    shown_.allocation = begun.allocation();
    shown_.nodes.assign(begun.nodes().begin(), begun.nodes().end());
    shown_.already.assign(begun.already().begin(), begun.already().end());
    shown_.complete = begun.complete();
    shown_.lease_ms = begun.lease_ms();
    shown_.lease_cut_by = begun.cut().manager();
    if (!json_) print(first_words(begun) + "\n");
    if (begun.complete()) return ended(kExitSuccess, "done", "", "");
    if (!wait_) return ended(kExitSuccess, "", "", "");
    return see_to_its_end();
  }

 private:
  static constexpr std::uint32_t kChange = 1;
  static constexpr std::uint32_t kStillThere = 2;

  std::string first_words(const wire::ChangeBegun& begun) const {
    std::string text = asked_.first_words(shown_);
    if (!begun.has_cut()) return text;
    return text + "; " +
           say::lease_is_cut(time_of(line_, Option::kLeaseTime), begun.cut().granted_ms(),
                             begun.cut().manager());
  }

  using Incoming = std::optional<net::LocalChannel::Incoming>;

  // As that of the channel. Nothing also after a signal, behind what had come before that.
  Result<Incoming> receive(std::uint32_t timeout_ms) {
    const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
    while (true) {
      if (!interrupted_) interrupted_ = signals_.take();
      auto incoming = channel_.receive(0);
      if (!incoming || incoming->has_value()) return incoming;
      const int left_ms = static_cast<int>(std::max<std::int64_t>(
          std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count(), 0));
      if (interrupted_ || left_ms == 0) return Incoming();
      const int events = channel_.wants_write() ? POLLIN | POLLOUT : POLLIN;
      std::array<pollfd, 2> polls = {
          {{channel_.fd(), static_cast<short>(events), 0}, {signals_.fd(), POLLIN, 0}}};
      if (poll(polls.data(), polls.size(), left_ms) < 0 && errno != EINTR) {
        return system_error("waiting for the DVM", errno);
      }
    }
  }

  // What the head says next of this change; nothing after a signal.
  Result<Incoming> next_word() {
    bool asked = false;
    while (true) {
      auto incoming = receive(asked ? kAnswerTimeoutMs : kQuietMs);
      if (!incoming) return incoming;
      if (incoming->has_value()) {
        if ((**incoming).reply.request() == kChange) return incoming;
        asked = false;
        continue;
      }
      if (interrupted_) return incoming;
      if (asked) return say::dvm_does_not_answer(kAnswerTimeoutMs / 1000);
      wire::ClientRequest request;
      request.set_request(kStillThere);
      request.mutable_status();
      if (const Status sent = channel_.send(request); !sent) return sent.error();
      asked = true;
    }
  }

  // It may be behind news of a scheduler that lets the request wait, for as long as it likes.
  Result<wire::ClientReply> first_answer() {
    const auto deadline = Clock::now() + std::chrono::milliseconds(kFirstAnswerMs);
    bool queued = false;
    while (true) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      auto incoming =
          queued ? next_word() : receive(left > 0 ? static_cast<std::uint32_t>(left) : 0);
      if (!incoming) return incoming.error();
      if (!incoming->has_value()) return say::dvm_does_not_answer(kFirstAnswerMs / 1000);
      wire::ClientReply& reply = (**incoming).reply;
      if (reply.request() != kChange) continue;
      if (!reply.has_change_news()) return std::move(reply);
      complain(line_, reply.change_news().text());
      queued = true;
    }
  }

  // Every phase of a change is bounded by the head; that it is there is what has to be watched.
  int see_to_its_end() {
    while (true) {
      auto incoming = next_word();
      if (!incoming) return unknown(incoming.error());
      if (!incoming->has_value()) return interrupted();
      const wire::ClientReply& reply = (**incoming).reply;
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

  // Only whoever waited has gone: what was begun goes on, what was not granted is taken back.
  int interrupted() {
    return ended(exit_status_of_signal(*interrupted_), "", "",
                 say::change_goes_on(asked_.shrinks, shown_.number));
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
  SignalSource& signals_;
  AskedChange asked_;
  std::optional<int> interrupted_;  // by this signal
  bool wait_;
  bool json_;
  ShownChange shown_;
};

}  // namespace

std::uint32_t count_of(const CommandLine& line) {
  const GivenOption* given = line.find(Option::kCount);
  if (given == nullptr) return 0;
  return parse_count(given->value, given->spelling, 1, kMost).value();
}

std::uint32_t time_of(const CommandLine& line, Option option) {
  const GivenOption* given = line.find(option);
  if (given == nullptr) return 0;
  return parse_timeout_ms(given->value, given->spelling).value();
}

std::vector<hosts::HostWord> words_of(const CommandLine& line) {
  std::vector<hosts::HostWord> out;
  for (const GivenOption& given : line.apps.front().options) {
    if (given.option != Option::kHost) continue;
    auto words = hosts::parse_host_list(given.value, given.spelling);
    for (hosts::HostWord& word : *words) out.push_back(std::move(word));
  }
  return out;
}

std::string words_of_shrink(const ShownChange& change) {
  if (change.complete && !change.nodes.empty()) return say::nodes_are_everybodys(change.nodes);
  if (change.complete) return say::allocation_is_over(change.allocation);
  return say::change_begun(true, own_nodes(change), change.allocation, change.already);
}

std::vector<std::string> own_nodes(const ShownChange& change) {
  std::vector<std::string> out = change.nodes;
  std::erase_if(out, [&change](const std::string& node) {
    return std::ranges::find(change.already, node) != change.already.end();
  });
  return out;
}

int change_size(const ClientContext& context, DvmConnection& connection, AskedChange asked) {
  Result<SignalSource> signals = SignalSource::open({});
  if (!signals) return fail(context.line, signals.error());
  return Change(context, connection, *signals, std::move(asked)).run();
}

int change_size(const ClientContext& context, AskedChange asked) {
  Result<DvmConnection> connection = connect_to_dvm(context);
  if (!connection) return fail_without_dvm(context.line, connection.error());
  return change_size(context, *connection, std::move(asked));
}

}  // namespace tide::cli
