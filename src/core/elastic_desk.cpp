// Requests, grows and answers; shrinks are in elastic_shrink.cpp.
#include "core/elastic_desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "say/elastic.hpp"

namespace tide::core {

namespace {

constexpr std::array kFailures = {"cannot-start", "lost", "time-limit", "resources", "dvm-ends"};
constexpr std::array kPhases = {"starting",  "wiring",    "rolling-back", "waiting",
                                "processes", "departing", "returning"};

std::vector<std::string> names_of(const std::vector<NodeRequest>& nodes) {
  std::vector<std::string> out;
  for (const auto& node : nodes) out.push_back(node.name);
  return out;
}

bool is_up(const Node& node) {
  return node.state == NodeState::kUp || node.state == NodeState::kSuspect;
}

}  // namespace

const char* change_failure_name(ChangeFailure cause) {
  return kFailures.at(static_cast<std::size_t>(cause));
}

ElasticDesk::ElasticDesk(ElasticConfig config, Roster& roster, JobBoard& jobs, TimerBook& timers,
                         EventLog& events, Actions& out)
    : config_(config),
      roster_(roster),
      jobs_(jobs),
      timers_(timers),
      events_(events),
      out_(out),
      notes_(out, config.verbosity) {}

// ---- answers ----

void ElasticDesk::reply(const ChangeAsker& asker, wire::ClientReply reply) {
  if (!asker.client) return;
  reply.set_request(asker.request);
  out_.emplace_back(Reply{*asker.client, std::move(reply), {}});
}

void ElasticDesk::refuse(const ChangeAsker& asker, const Error& why) {
  notes_.add(Subsystem::kRas, 1, "refused: {}", say::first_line(why.message));
  wire::ClientReply out;
  out.mutable_error()->set_code(static_cast<std::uint32_t>(why.code));
  out.mutable_error()->set_message(why.message);
  reply(asker, std::move(out));
}

void ElasticDesk::answer_begun(const Campaign& campaign, bool complete) {
  wire::ClientReply out;
  auto* begun = out.mutable_change_begun();
  begun->set_allocation(campaign.allocation);
  for (const auto& node : campaign.nodes) begun->add_nodes(node);
  begun->set_complete(complete);
  reply(campaign.asker, std::move(out));
}

void ElasticDesk::tell(const Campaign& campaign, std::string text) {
  wire::ClientReply out;
  out.mutable_change_news()->set_text(std::move(text));
  reply(campaign.asker, std::move(out));
}

void ElasticDesk::client_gone(ClientId client) {
  const auto forget = [client](ChangeAsker& asker) {
    if (asker.client == client) asker.client.reset();
  };
  for (auto& [number, ask] : asks_) forget(ask.asker);
  for (auto& [id, campaign] : campaigns_) forget(campaign.asker);
}

Status ElasticDesk::may_change() const {
  if (ending_) return say::dvm_changes_no_more();
  if (!config_.enabled) return say::not_elastic();
  if (!roster_.ready()) return say::dvm_not_ready_to_change();
  return ok_status();
}

std::string ElasticDesk::next_allocation() {
  return fmt::format("a{}", ++last_allocation_);
}

CampaignId ElasticDesk::open(Campaign campaign) {
  const CampaignId id{++last_campaign_};
  campaign.began_ms = now_ms_;
  const bool shrinks = campaign.kind == CampaignKind::kShrink;
  const auto what = say::change_words(shrinks, id.value(), campaign.nodes);
  notes_.add(Subsystem::kRas, 1, "begun: {}", what);
  events_.add_of_dvm(shrinks ? EventKind::kShrinkBegun : EventKind::kGrowBegun, what);
  jobs_.begin_change(id, campaign.kind);
  campaigns_.emplace(id, std::move(campaign));
  return id;
}

void ElasticDesk::enter(CampaignId id, Campaign& campaign, Phase phase, std::uint32_t limit_ms) {
  campaign.phase = phase;
  out_.emplace_back(timers_.arm(TimerKind::kChange, limit_ms, id.value()));
}

// ---- grow ----

void ElasticDesk::grow(const ChangeAsker& asker, const wire::GrowRequest& request) {
  if (const auto may = may_change(); !may) return refuse(asker, may.error());
  if ((request.count() == 0) == request.hosts().empty()) {
    return refuse(asker, say::change_by_what(false));
  }
  AskForNodes ask{++last_ask_, request.count(), {}};
  std::vector<std::string> there;
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
      there.push_back(node->name);
    }
  }
  if (request.count() == 0 && ask.hosts.empty()) {
    return answer_begun({.asker = asker, .allocation = next_allocation(), .nodes = there}, true);
  }
  asks_.emplace(ask.ask, Ask{asker});
  out_.emplace_back(timers_.arm(TimerKind::kGrant, config_.grant_timeout_ms, ask.ask));
  out_.emplace_back(std::move(ask));
}

void ElasticDesk::handle(const NodesRefused& event) {
  const auto ask = asks_.extract(event.ask);
  if (ask.empty()) return;
  timers_.cancel(TimerKind::kGrant, event.ask);
  refuse(ask.mapped().asker, event.error);
}

void ElasticDesk::handle(const NodesGranted& event) {
  const auto ask = asks_.extract(event.ask);
  timers_.cancel(TimerKind::kGrant, event.ask);
  if (ask.empty() || ending_) {  // too late: nobody waits for them
    out_.emplace_back(ReturnNodes{0, names_of(event.nodes)});
    return;
  }
  begin_grow(ask.mapped().asker, event.nodes);
}

void ElasticDesk::handle(const NodesPushed& event) {
  if (const auto may = may_change(); !may) {
    notes_.add(Subsystem::kRas, 0, "nodes that were pushed are not taken: {}",
               say::first_line(may.error().message));
    out_.emplace_back(ReturnNodes{0, names_of(event.nodes)});
    return;
  }
  begin_grow({}, event.nodes);
}

void ElasticDesk::begin_grow(const ChangeAsker& asker, std::vector<NodeRequest> nodes) {
  std::erase_if(nodes, [this](const auto& node) { return roster_.find(node.name) != nullptr; });
  Campaign campaign{.kind = CampaignKind::kGrow,
                    .asker = asker,
                    .allocation = next_allocation(),
                    .nodes = names_of(nodes)};
  if (nodes.empty()) return answer_begun(campaign, true);
  for (auto& node : nodes) node.allocation = campaign.allocation;
  ++counts_.grows;
  const CampaignId id = open(std::move(campaign));
  answer_begun(campaigns_.at(id), false);
  roster_.grow(id, nodes, config_.grow_timeout_ms);
}

void ElasticDesk::on_node_reported(CampaignId id, const Node& node) {
  const auto found = campaigns_.find(id);
  if (found == campaigns_.end()) return;
  Campaign& campaign = found->second;
  ++campaign.reports;
  tell(campaign, say::node_reported(node.name, campaign.reports, campaign.nodes.size()));
  if (roster_.silent_of(id).empty()) campaign.phase = Phase::kWiring;
}

void ElasticDesk::on_grown(CampaignId id) {
  jobs_.end_change(id, std::nullopt);
  end(id);
}

// Jobs that waited for it hear at once, who asked when nothing is left of it.
void ElasticDesk::on_grow_failed(CampaignId id, ChangeFailure cause, const std::string& reason) {
  ++counts_.rollbacks;
  Campaign& campaign = campaigns_.at(id);
  campaign.outcome = Outcome{cause, say::grow_failed(reason)};
  campaign.phase = Phase::kRollingBack;
  jobs_.end_change(id, reason);
}

void ElasticDesk::on_rolled_back(CampaignId id) {
  if (const auto found = campaigns_.find(id); found != campaigns_.end()) {
    give_back(id, found->second);
  }
}

// ---- the end of a change ----

// each resource manager is offered its share before anybody is told
void ElasticDesk::give_back(CampaignId id, Campaign& campaign) {
  enter(id, campaign, Phase::kReturning, config_.return_timeout_ms);
  out_.emplace_back(ReturnNodes{id.value(), campaign.nodes});
}

void ElasticDesk::handle(const ReturnAnswered& event) {
  const auto found = campaigns_.find(CampaignId(event.number));
  if (found != campaigns_.end() && found->second.phase == Phase::kReturning) end(found->first);
}

void ElasticDesk::end(CampaignId id) {
  const Campaign campaign = std::move(campaigns_.extract(id).mapped());
  timers_.cancel(TimerKind::kChange, id.value());
  const bool shrinks = campaign.kind == CampaignKind::kShrink;
  const bool done = !campaign.outcome.failure;
  const auto now =
      std::ranges::count_if(roster_.nodes(), [](const auto& entry) { return is_up(entry.second); });
  const auto size = static_cast<std::size_t>(now);
  const auto success =
      shrinks ? say::shrunk(campaign.nodes, size) : say::grown(campaign.nodes, size);
  const std::string text = done ? success : campaign.outcome.text;
  const auto kind = shrinks ? (done ? EventKind::kShrinkDone : EventKind::kShrinkFailed)
                            : (done ? EventKind::kGrowDone : EventKind::kGrowFailed);
  events_.add_of_dvm(kind, say::first_line(text));
  notes_.add(Subsystem::kRas, done ? 1 : 0, "{}", say::first_line(text));
  wire::ClientReply out;
  out.mutable_change_ended()->set_done(done);
  if (!done) out.mutable_change_ended()->set_cause(change_failure_name(*campaign.outcome.failure));
  out.mutable_change_ended()->set_text(text);
  reply(campaign.asker, std::move(out));
}

bool ElasticDesk::handle_timer(TimerKind kind, std::uint32_t subject) {
  if (kind == TimerKind::kGrant) {
    if (const auto ask = asks_.extract(subject); !ask.empty()) {
      refuse(ask.mapped().asker, say::no_resource_manager_answered(config_.grant_timeout_ms));
    }
    return true;
  }
  if (kind != TimerKind::kChange) return false;
  const auto found = campaigns_.find(CampaignId(subject));
  if (found != campaigns_.end()) on_phase_timeout(found->first, found->second);
  return true;
}

void ElasticDesk::end_all(const std::string& reason) {
  if (std::exchange(ending_, true)) return;
  for (const auto& [number, ask] : std::exchange(asks_, {})) {
    refuse(ask.asker, say::dvm_changes_no_more());
  }
  const auto text = say::change_ended_with_dvm(reason);
  std::vector<CampaignId> unordered;
  for (const auto& [id, campaign] : campaigns_) {
    if (campaign.phase < Phase::kDeparting) unordered.push_back(id);
  }
  for (const CampaignId id : unordered) {
    roster_.give_up(id, ChangeFailure::kEnding, text);
    const auto found = campaigns_.find(id);
    if (found == campaigns_.end()) continue;
    Campaign& campaign = found->second;
    if (campaign.kind == CampaignKind::kShrink) {
      campaign.outcome = {ChangeFailure::kEnding, say::shrink_failed(text)};
      jobs_.end_change(id, std::nullopt);
    }
    end(id);
  }
}

void ElasticDesk::finish() {
  while (!campaigns_.empty()) end(campaigns_.begin()->first);
}

// ---- to see inside ----

std::vector<std::string> ElasticDesk::missing(CampaignId id, const Campaign& campaign) const {
  if (campaign.phase == Phase::kStarting) return roster_.silent_of(id);
  std::vector<std::string> out;
  for (const Rank rank : campaign.ranks) {
    const auto node = roster_.nodes().find(rank);
    if (node == roster_.nodes().end()) continue;
    const bool waits = campaign.phase != Phase::kWaiting || node->second.state < NodeState::kUp;
    if (waits) out.push_back(node->second.name);
  }
  return out;
}

std::string ElasticDesk::waits(CampaignId id, const Campaign& campaign) const {
  auto what = say::change_words(campaign.kind == CampaignKind::kShrink, id.value(), campaign.nodes);
  switch (campaign.phase) {
    case Phase::kStarting:
      return say::grow_waits_for_reports(what, missing(id, campaign));
    case Phase::kWiring:
      return say::grow_waits_for_wiring(what);
    case Phase::kRollingBack:
      return say::change_is_rolled_back(what);
    case Phase::kWaiting:
      return say::shrink_waits_for_grow(what, missing(id, campaign));
    case Phase::kEnding:
      return say::shrink_waits_for_processes(what, jobs_.jobs_on(campaign.own));
    case Phase::kDeparting:
      return say::shrink_waits_for_departures(what, missing(id, campaign));
    case Phase::kReturning:
      return say::change_waits_for_managers(what);
  }
  return what;
}

void ElasticDesk::describe(wire::StatusReply& out, std::uint64_t now_ms) const {
  out.set_elastic(config_.enabled);
  for (const auto& [id, campaign] : campaigns_) {
    auto* row = out.add_campaigns();
    row->set_number(id.value());
    row->set_shrinks(campaign.kind == CampaignKind::kShrink);
    row->set_allocation(campaign.allocation);
    for (const auto& node : campaign.nodes) row->add_nodes(node);
    row->set_phase(kPhases.at(static_cast<std::size_t>(campaign.phase)));
    for (const auto& node : missing(id, campaign)) row->add_missing(node);
    row->set_age_ms(now_ms > campaign.began_ms ? now_ms - campaign.began_ms : 0);
    row->set_parked_jobs(static_cast<std::uint32_t>(jobs_.fence().parked_for(id)));
  }
}

void ElasticDesk::explain(const std::vector<CampaignId>& ids, wire::ExplainReply& out) const {
  for (const CampaignId id : ids) {
    const auto found = campaigns_.find(id);
    if (found == campaigns_.end()) continue;
    auto* point = out.add_waits();
    point->set_kind("change");
    point->set_text(waits(id, found->second));
    for (const auto& node : missing(id, found->second)) point->add_nodes(node);
  }
}

}  // namespace tide::core
