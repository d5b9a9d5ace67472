#include "sim/ask_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/journal.hpp"

namespace tide::sim {

namespace {

[[noreturn]] void broken(std::string_view promise, std::uint32_t ask) {
  throw BrokenPromise(promise, fmt::format("request {}", ask));
}

std::string name_of(const wire::ProcName& proc) {
  return fmt::format("{}:{}", proc.nspace(), proc.rank());
}

std::string of_service(const wire::ServiceRequest& service) {
  const auto what = service.allocation().what();
  const bool asks = what == wire::AllocationRequest::NEW || what == wire::AllocationRequest::EXTEND;
  return service.has_allocation() && asks ? name_of(service.who()) : "";
}

// Who wants nodes or time by this event; empty: nobody.
std::string asker_of(const core::HeadEvent& event) {
  if (const auto* message = std::get_if<core::MessageIn>(&event)) {
    if (!message->message.has_up()) return "";
    return of_service(message->message.up().body().service_request());
  }
  if (const auto* asked = std::get_if<core::ServiceAsked>(&event))
    return of_service(asked->request);
  const auto* client = std::get_if<core::ClientMessage>(&event);
  if (client == nullptr) return "";
  const auto what = client->request.allocation().what();
  const bool asks = client->request.has_grow() ||
                    (client->request.has_allocation() && (what == wire::AllocationRequest::NEW ||
                                                          what == wire::AllocationRequest::EXTEND));
  return asks ? fmt::format("client {}", client->client.value()) : "";
}

void add_answer(const core::HeadEvent& event, const core::Actions& actions, AskSight& out) {
  if (const auto* refused = std::get_if<core::NodesRefused>(&event)) out.answered = refused->ask;
  if (const auto* time = std::get_if<core::TimeGranted>(&event)) out.answered = time->ask;
  const auto* granted = std::get_if<core::NodesGranted>(&event);
  if (granted == nullptr) return;
  out.answered = granted->ask;
  for (const auto& node : granted->nodes) out.granted.insert(node.name);
  for (const auto& action : actions) {
    const auto* back = std::get_if<core::ReturnNodes>(&action);
    if (back != nullptr && back->number == 0) {
      out.returned.insert(back->nodes.begin(), back->nodes.end());
    }
  }
}

bool is_gone(const core::HeadCore& head, const core::HeadEvent& event, const std::string& asker) {
  if (const auto* client = std::get_if<core::ClientGone>(&event)) {
    if (asker == fmt::format("client {}", client->client.value())) return true;
  }
  const bool is_proc = !asker.empty() && !asker.starts_with("client ");
  return is_proc && !head.elastic().sessions().lives(asker.substr(0, asker.rfind(':')));
}

}  // namespace

// What is no job's, and not asked for by this event, takes the place of one that was.
std::vector<AskSight::Asked> look_at_asked(const core::HeadCore& head, const core::HeadEvent& event,
                                           const core::Actions& actions) {
  const bool any = std::ranges::any_of(actions, [](const auto& action) {
    return std::holds_alternative<core::AskForNodes>(action) ||
           std::holds_alternative<core::AskForTime>(action);
  });
  if (!any) return {};
  wire::StatusReply status;
  head.elastic().describe(status, 0);
  const auto is_of_job = [&status](std::uint32_t number) {
    return std::ranges::any_of(status.asks(), [number](const auto& ask) {
      return ask.number() == number && ask.job() != 0;
    });
  };
  std::vector<AskSight::Asked> out;
  std::string asker = asker_of(event);
  std::uint32_t cancelled = 0;
  for (const auto& action : actions) {
    if (const auto* cancel = std::get_if<core::CancelAsk>(&action)) cancelled = cancel->ask;
    const auto* nodes = std::get_if<core::AskForNodes>(&action);
    const auto* time = std::get_if<core::AskForTime>(&action);
    if (nodes == nullptr && time == nullptr) continue;
    AskSight::Asked asked{.number = nodes != nullptr ? nodes->ask : time->ask};
    if (!is_of_job(asked.number)) {
      asked.asker = std::exchange(asker, "");
      if (asked.asker.empty()) asked.before = cancelled;
    }
    out.push_back(std::move(asked));
  }
  return out;
}

AskSight look_at_asks(const core::HeadCore& head, const core::HeadEvent& event,
                      const core::Actions& actions, const std::set<std::string>& open) {
  AskSight out;
  out.asked = look_at_asked(head, event, actions);
  for (const auto& action : actions) {
    if (const auto* cancel = std::get_if<core::CancelAsk>(&action)) {
      out.cancelled.push_back(cancel->ask);
    }
  }
  add_answer(event, actions, out);
  for (const auto& asker : open) {
    if (is_gone(head, event, asker)) out.gone.insert(asker);
  }
  if (!out.asked.empty() || open.contains("")) {
    for (const JobId job : head.jobs().unended_jobs()) {
      if (head.jobs().waiting_for_nodes(job) != nullptr) ++out.waiting_jobs;
    }
  }
  if (!out.asked.empty() || !out.cancelled.empty() || out.answered) {
    wire::StatusReply status;
    head.elastic().describe(status, 0);
    out.shown.emplace();
    for (const auto& ask : status.asks()) out.shown->insert(ask.number());
  }
  out.ended = std::ranges::any_of(
      actions, [](const auto& action) { return std::holds_alternative<core::Exit>(action); });
  return out;
}

std::set<std::string> AskChecks::askers() const {
  std::set<std::string> out;
  for (const auto& [number, asker] : open_) out.insert(asker);
  return out;
}

// An answer comes first in its step, what is taken back next, what is asked last.
void AskChecks::take(const AskSight& now) {
  check_answer(now);
  std::map<std::uint32_t, std::string> taken_back;
  for (const std::uint32_t number : now.cancelled) {
    auto ask = open_.extract(number);
    if (ask.empty()) broken("only what waits for an answer is taken back", number);
    taken_back.insert(std::move(ask));
    cancelled_.insert(number);
  }
  for (const auto& asked : now.asked) {
    if (asked.number <= last_) broken("each request has a number of its own", asked.number);
    last_ = asked.number;
    const auto before = taken_back.find(asked.before);
    if (asked.before != 0 && before == taken_back.end()) {
      broken("what is asked for is wanted by somebody", asked.number);
    }
    if (asked.before != 0) ++asked_anew_;
    open_.emplace(asked.number, asked.before != 0 ? before->second : asked.asker);
  }
  check_wanted(now);
}

void AskChecks::check_answer(const AskSight& now) {
  if (!now.answered || open_.erase(*now.answered) > 0) return;
  if (!cancelled_.contains(*now.answered)) return;  // an answer to what was never asked
  if (now.returned != now.granted) broken("what comes too late goes back", *now.answered);
}

void AskChecks::check_wanted(const AskSight& now) const {
  std::set<std::uint32_t> numbers;
  for (const auto& [number, asker] : open_) numbers.insert(number);
  if (now.shown && now.shown != numbers) broken("what is asked for is shown", last_);
  std::size_t of_jobs = 0;
  for (const auto& [number, asker] : open_) {
    if (now.gone.contains(asker)) broken("what nobody waits for is taken back", number);
    if (asker.empty()) ++of_jobs;
    if (now.ended) broken("nobody asks for nodes when the DVM has ended", number);
  }
  if (of_jobs > now.waiting_jobs) broken("what nobody waits for is taken back", last_);
}

void AskChecks::when_quiet() const {
  if (!open_.empty()) broken("every request comes to its end", open_.begin()->first);
}

}  // namespace tide::sim
