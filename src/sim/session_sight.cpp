#include "sim/session_sight.hpp"

#include "sim/ask_checks.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tide::sim {

namespace {

SessionRequest request_of(const wire::ServiceRequest& service) {
  SessionRequest out{.who = service.who().nspace()};
  if (service.has_spawn()) {
    out.is_job = true;
    out.key = service.spawn().scheduler_key();
    if (service.spawn().job().has_targets()) out.targets = service.spawn().job().targets();
  } else {
    out.wanted = service.allocation();
    out.key = out.wanted.scheduler_key();
  }
  return out;
}

bool is_of_sessions(const wire::ServiceRequest& service) {
  return service.has_spawn() || service.has_allocation();
}

// The error of an answer to this request, if it is among what the head does.
bool is_refused(const core::Actions& actions, Rank daemon, std::uint64_t token) {
  return std::ranges::any_of(actions, [&](const core::Action& action) {
    if (const auto* own = std::get_if<core::AnswerService>(&action)) {
      return daemon == kHeadRank && own->ticket == token && own->answer.error_code() != 0;
    }
    const auto* send = std::get_if<core::Send>(&action);
    if (send == nullptr || !send->message.has_down()) return false;
    const auto& entries = send->message.down().entries();
    return std::ranges::any_of(entries, [&](const wire::DownEntry& entry) {
      const auto& answer = entry.body().service_answer();
      return entry.destination() == daemon.value() && entry.body().has_service_answer() &&
             answer.token() == token && answer.error_code() != 0;
    });
  });
}

std::optional<SessionRequest> request_of(const core::HeadCore& head, const core::HeadEvent& event,
                                         const core::Actions& actions) {
  if (const auto* message = std::get_if<core::MessageIn>(&event)) {
    const auto& up = message->message.up();
    const auto& service = up.body().service_request();
    if (!message->message.has_up() || !up.body().has_service_request()) return std::nullopt;
    if (!is_of_sessions(service)) return std::nullopt;
    auto out = request_of(service);
    out.refused = is_refused(actions, Rank(up.origin()), service.token());
    return out;
  }
  if (const auto* asked = std::get_if<core::ServiceAsked>(&event)) {
    if (!is_of_sessions(asked->request)) return std::nullopt;
    auto out = request_of(asked->request);
    out.refused = is_refused(actions, kHeadRank, asked->ticket);
    return out;
  }
  const auto* client = std::get_if<core::ClientMessage>(&event);
  if (client == nullptr) return std::nullopt;
  SessionRequest out{.who = head.elastic().sessions().user(), .by_command = true};
  if (client->request.has_submit()) {
    out.is_job = true;
    const auto& job = client->request.submit().job();
    if (job.has_targets()) out.targets = job.targets();
  } else if (client->request.has_allocation()) {
    out.wanted = client->request.allocation();
    out.key = out.wanted.scheduler_key();
  } else {
    return std::nullopt;
  }
  out.refused = std::ranges::any_of(actions, [&](const core::Action& action) {
    const auto* reply = std::get_if<core::Reply>(&action);
    return reply != nullptr && reply->client == client->client && reply->reply.has_error();
  });
  return out;
}

void add_news(const core::HeadCore& head, std::uint64_t seen, SessionSight& out) {
  using core::EventKind;
  static constexpr std::array kKinds = {EventKind::kAllocationMade, EventKind::kAllocationExtended,
                                        EventKind::kAllocationTargeted,
                                        EventKind::kAllocationEnded};
  const auto& events = head.events().events();
  auto first = events.end();
  while (first != events.begin() && std::prev(first)->number() > seen) --first;
  for (; first != events.end(); ++first) {
    const auto is = [&](EventKind kind) { return first->kind() == core::event_kind_name(kind); };
    const std::string& detail = first->detail();
    if (is(EventKind::kToolAttached)) out.tools_in.insert(detail);
    if (is(EventKind::kToolGone)) out.tools_out.insert(detail);
    out.lease_over = out.lease_over || is(EventKind::kLeaseEnded);
    const auto kind = std::ranges::find_if(kKinds, is);
    if (kind != kKinds.end())
      out.news.push_back({*kind, detail.substr(0, detail.find(' ')), detail});
  }
}

// Who is asked to leave in this step, and whose processes are there.
void add_hit(const core::HeadCore& head, const SessionSight* before, SessionSight& out) {
  if (before == nullptr) return;
  std::set<Rank> leave;
  for (const auto& [rank, node] : out.nodes) {
    const auto was = before->nodes.find(rank);
    const bool begins = node.state == core::NodeState::kLeaving && was != before->nodes.end() &&
                        was->second.state < core::NodeState::kLeaving;
    if (begins) leave.insert(rank);
  }
  if (leave.empty()) return;
  for (auto& nspace : head.jobs().jobs_on(leave)) out.hit.insert(std::move(nspace));
}

void add_what_led_here(const core::HeadCore& head, const core::HeadEvent& event,
                       const core::Actions& actions, SessionSight& out) {
  out.request = request_of(head, event, actions);
  if (const auto* nodes = std::get_if<core::NodesGranted>(&event)) out.granted = nodes->ask;
  if (const auto* time = std::get_if<core::TimeGranted>(&event)) out.granted = time->ask;
  for (const auto& asked : look_at_asked(head, event, actions)) {
    out.asked.insert(asked.number);
    if (asked.before != 0) out.anew.emplace(asked.number, asked.before);
  }
  for (const auto& action : actions) {
    const auto* back = std::get_if<core::ReturnNodes>(&action);
    if (back == nullptr) continue;
    out.returns.push_back(*back);
    out.returned.insert(back->nodes.begin(), back->nodes.end());
    for (const auto& [rank, node] : head.roster().nodes()) out.returned.erase(node.name);
  }
  const auto* client = std::get_if<core::ClientMessage>(&event);
  out.by_hand = std::holds_alternative<core::NodesReclaimed>(event) ||
                (client != nullptr && client->request.has_shrink());
  const auto* message = std::get_if<core::MessageIn>(&event);
  out.of_a_loss = !out.request &&
                  !(message != nullptr && message->message.up().body().has_tool_left()) &&
                  !std::holds_alternative<core::ToolGone>(event);
}

}  // namespace

SessionSight look_at_sessions(const core::HeadCore& head, const core::HeadEvent& event,
                              const core::Actions& actions, const SessionSight* before,
                              std::uint64_t& seen) {
  SessionSight out;
  for (const auto& [rank, node] : head.roster().nodes()) {
    out.nodes.emplace(rank, SessionSight::Node{node.session, node.allocation, node.state});
  }
  for (const JobId id : head.jobs().unended_jobs()) {
    auto glance = *head.jobs().glance(id);
    out.jobs.emplace(std::move(glance.nspace),
                     SessionSight::Job{.spawner = std::move(glance.spawner),
                                       .sessions = std::move(glance.sessions),
                                       .mapped = std::move(glance.mapped),
                                       .lives = glance.state < core::JobState::kUnterminated,
                                       .launched = glance.launched,
                                       .recoverable = glance.recoverable});
  }
  for (const auto& one : head.elastic().sessions().all()) {
    out.allocations.emplace(one.id, SessionSight::Allocation{.owner = one.owner,
                                                             .asker = one.asker,
                                                             .request_id = one.request_id,
                                                             .shared = one.shared,
                                                             .ending = one.ending,
                                                             .inheritance = one.terms.inheritance,
                                                             .users = one.users});
  }
  out.open = head.jobs().fence().campaigns();
  out.rollbacks = head.elastic().counts().rollbacks;
  add_news(head, seen, out);
  seen = head.events().last();
  add_hit(head, before, out);
  add_what_led_here(head, event, actions, out);
  return out;
}

}  // namespace tide::sim
