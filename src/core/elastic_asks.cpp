// What is asked of resource managers, until they grant or refuse it, or nobody waits for it any
// more: then they are told. A scheduler may let a request wait in its queue as long as it likes.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/elastic_desk.hpp"
#include "say/allocations.hpp"
#include "say/campaigns.hpp"
#include "say/elastic.hpp"
#include "say/reservations.hpp"

namespace tide::core {
namespace {

// A scheduler keeps a program for each that waits.
constexpr std::size_t kMostAsks = 256;

}  // namespace

// ---- asked ----

void ElasticDesk::grow(const ChangeAsker& asker, const wire::GrowRequest& request) {
  if (const auto may = may_change(); !may) return refuse(asker, may.error());
  Ask ask;
  ask.asker = asker;
  if (!request.extend().empty()) return extend(std::move(ask), request);
  ask_for_nodes(std::move(ask), request);
}

void ElasticDesk::ask_for_nodes(Ask pending, const wire::GrowRequest& request) {
  const ChangeAsker& asker = pending.asker;
  Destination& to = pending.to;
  if ((request.count() == 0) == request.hosts().empty()) {
    return refuse(asker, say::change_by_what(false));
  }
  AskForNodes ask{.ask = last_ask_ + 1,
                  .count = request.count(),
                  .hosts = {},
                  .wish = {request.time_ms(), request.warn_ms()}};
  for (const auto& host : request.hosts()) {
    if (host.kind() != wire::HostRequest::NAME || host.excluded()) {
      return refuse(asker, say::only_plain_host_names(host.text()));
    }
    const Node* node = roster_.find(host.node());
    if (node == nullptr) {
      ask.hosts.push_back(host);
    } else if (node->state >= NodeState::kLeaving) {
      return refuse(asker, say::node_is_leaving(node->name));
    } else {
      if (std::ranges::find(to.there, node->name) == to.there.end()) {
        to.there.push_back(node->name);
      }
      if (node->state < NodeState::kUp) to.awaited.insert(node->rank);
    }
  }
  if (request.time_ms() > 0 && !to.there.empty()) {
    return refuse(asker, say::lease_of_what_is_there(to.there.front()));
  }
  const auto joins = sessions_.may_join(to.there, to.allocation.value_or(everybodys()));
  if (!joins) return refuse(asker, joins.error());
  if (request.count() == 0 && ask.hosts.empty()) {
    return begin_grow(asker, {.trigger = pending.trigger}, to);
  }
  if (const auto may = may_change(); !may) return refuse(asker, may.error());
  for (const auto& host : ask.hosts) pending.names.push_back(host.node());
  pending.words = say::nodes_asked_for(ask.count, pending.names);
  pending.request = request;
  if (!begin_ask(std::move(pending))) return;
  out_.emplace_back(std::move(ask));
}

bool ElasticDesk::begin_ask(Ask ask) {
  if (asks_.size() >= kMostAsks) {
    refuse(ask.asker, say::too_many_asks(kMostAsks));
    return false;
  }
  ask.asked_ms = now_ms_;
  if (!ask.request_id.empty()) ask.words = say::asked_by_name(ask.words, ask.request_id);
  asks_.emplace(++last_ask_, std::move(ask));
  out_.emplace_back(timers_.arm(TimerKind::kGrant, config_.grant_timeout_ms, last_ask_));
  return true;
}

// ---- answered ----

// Who sees that it waits has to see how that ended.
void ElasticDesk::refuse_ask(const Ask& ask, const Error& why) {
  if (!ask.queued.empty()) {
    events_.add_of_dvm(EventKind::kRequestRefused,
                       say::queued_request_is_over(ask.words, say::first_line(why.message)));
  }
  refuse(ask.asker, why);
}

void ElasticDesk::handle(const NodesRefused& event) {
  const auto ask = asks_.extract(event.ask);
  if (ask.empty()) return;
  timers_.cancel(TimerKind::kGrant, event.ask);
  refuse_ask(ask.mapped(), event.error);
}

// Whoever waits for it is told, each time when there is something new.
void ElasticDesk::handle(const NodesQueued& event) {
  const auto found = asks_.find(event.ask);
  if (found == asks_.end()) return;
  Ask& ask = found->second;
  timers_.cancel(TimerKind::kGrant, event.ask);
  const std::string text =
      event.text.empty() ? say::waits_in_a_queue() : std::string(say::first_line(event.text));
  if (ask.queued == text) return;
  ask.queued = text;
  const auto news = say::request_is_queued(ask.words, text);
  notes_.add(Subsystem::kRas, 1, "{}", news);
  events_.add_of_dvm(EventKind::kRequestQueued, news);
  tell(ask.asker, news);
}

void ElasticDesk::handle(const NodesGranted& event) {
  auto ask = asks_.extract(event.ask);
  timers_.cancel(TimerKind::kGrant, event.ask);
  if (ask.empty()) return give_back_at_once(event.nodes);  // nobody waits for them any more
  begin_grow(ask.mapped().asker, {event.nodes, event.lease, ask.mapped().trigger, event.cut_by},
             ask.mapped().to);
}

// ---- not wanted any more ----

// Whoever asked, if there is still somebody, is told why.
void ElasticDesk::take_back(std::uint32_t number, const Error& why) {
  auto ask = asks_.extract(number);
  if (ask.empty()) return;
  timers_.cancel(TimerKind::kGrant, number);
  out_.emplace_back(CancelAsk{number});
  auto& job = ask.mapped().asker.job;
  if (job && jobs_.waiting_for_nodes(*job) == nullptr) job.reset();
  refuse_ask(ask.mapped(), why);
}

void ElasticDesk::take_back_if(const std::function<Status(const Ask&)>& wanted) {
  std::vector<std::pair<std::uint32_t, Error>> over;
  for (const auto& [number, ask] : asks_) {
    if (const Status is = wanted(ask); !is) over.emplace_back(number, is.error());
  }
  for (const auto& [number, why] : over) take_back(number, why);
}

// What is asked for in vain is seen when it is granted; a queue may be too long to wait for that.
Status ElasticDesk::is_wanted(const Ask& ask) const {
  const auto& asker = ask.asker;
  const bool job_waits = asker.job && jobs_.waiting_for_nodes(*asker.job) != nullptr;
  if (!asker.client && !asker.pmix && !job_waits) return say::asker_has_gone();
  if (ask.queued.empty()) return ok_status();
  if (!ask.allocation.empty()) return may_be_prolonged(ask.allocation);
  const auto& wanted = ask.to.allocation;
  if (wanted && wanted->id.empty() && !sessions_.lives(wanted->owner)) {
    return say::no_such_owner(wanted->owner);
  }
  return may_still_join(ask.to);
}

// No scheduler gives nodes twice: what has come with another change is not waited for.
bool ElasticDesk::ask_anew_for_the_rest() {
  std::vector<std::uint32_t> overtaken;
  for (const auto& [number, ask] : asks_) {
    const bool some_came = std::ranges::any_of(
        ask.names, [this](const auto& name) { return roster_.find(name) != nullptr; });
    if (!ask.queued.empty() && some_came) overtaken.push_back(number);
  }
  for (const std::uint32_t number : overtaken) {
    Ask ask = std::move(asks_.extract(number).mapped());
    out_.emplace_back(CancelAsk{number});
    if (ask.asker.job) {
      extensions_.push_front(*ask.asker.job);
      continue;
    }
    const auto request = std::move(ask.request);
    ask.queued.clear();
    ask.names.clear();
    ask_for_nodes(std::move(ask), request);
  }
  return !overtaken.empty();
}

bool ElasticDesk::see_to_asks() {
  take_back_if([this](const Ask& ask) { return is_wanted(ask); });
  const bool anew = ask_anew_for_the_rest();
  return ask_for_jobs() || anew;
}

// What is not granted yet is not wanted any more; what has begun goes on, and nobody is told.
void ElasticDesk::forget(const std::function<bool(const ChangeAsker&)>& meant) {
  for (auto& [number, ask] : asks_) {
    if (meant(ask.asker)) ask.asker = {};
  }
  for (auto& [id, campaign] : campaigns_) {
    if (meant(campaign.asker)) campaign.asker = {};
  }
}

void ElasticDesk::client_gone(ClientId client) {
  forget([client](const ChangeAsker& asker) { return asker.client == client; });
}

// ---- seen ----

void ElasticDesk::describe(std::uint32_t number, const Ask& ask, std::uint64_t now_ms,
                           wire::PendingAsk& out) const {
  const auto since_ms = [now_ms](std::uint64_t at_ms) {
    return now_ms > at_ms ? now_ms - at_ms : 0;
  };
  out.set_number(number);
  out.set_text(ask.words);
  out.set_age_ms(since_ms(ask.asked_ms));
  out.set_request_id(ask.request_id);
  if (ask.asker.job) out.set_job(ask.asker.job->value());
  out.set_queued(ask.queued);
  if (!ask.queued.empty()) return;
  const auto until_ms = ask.asked_ms + config_.grant_timeout_ms;
  out.set_left_ms(until_ms > now_ms ? until_ms - now_ms : 0);
}

void ElasticDesk::explain(JobId job, wire::ExplainReply& out) const {
  const auto add = [&out](std::string text) {
    auto* point = out.add_waits();
    point->set_kind("queue");
    point->set_text(std::move(text));
  };
  const wire::JobSpec* spec = jobs_.waiting_for_nodes(job);
  if (spec == nullptr) return;
  for (const auto& [number, ask] : asks_) {
    if (ask.queued.empty()) continue;
    if (ask.asker.job == job) return add(say::request_is_queued(ask.words, ask.queued));
    if (overlap(ask, *spec)) return add(say::waits_behind_request(ask.words, ask.queued));
  }
}

}  // namespace tide::core
