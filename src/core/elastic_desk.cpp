// Grows and answers; what is asked of resource managers is in elastic_asks.cpp, shrinks are in
// elastic_shrink.cpp, what processes and tools ask in elastic_allocations.cpp, what is seen in
// elastic_watching.cpp.
#include "core/elastic_desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "say/allocations.hpp"
#include "say/campaigns.hpp"
#include "say/elastic.hpp"
#include "say/reservations.hpp"

namespace tide::core {

namespace {

constexpr std::array kFailures = {"cannot-start", "lost", "time-limit", "resources", "dvm-ends"};

std::vector<std::string> names_of(const std::vector<NodeRequest>& nodes) {
  std::vector<std::string> out;
  for (const auto& node : nodes) out.push_back(node.name);
  return out;
}

}  // namespace

const char* change_failure_name(ChangeFailure cause) {
  return kFailures.at(static_cast<std::size_t>(cause));
}

ElasticDesk::ElasticDesk(ElasticConfig config, Roster& roster, Sessions& sessions, JobBoard& jobs,
                         DaemonPort& daemons, TimerBook& timers, EventLog& events, Actions& out)
    : config_(std::move(config)),
      roster_(roster),
      jobs_(jobs),
      daemons_(daemons),
      timers_(timers),
      events_(events),
      out_(out),
      notes_(out, config_.verbosity),
      sessions_(sessions) {}

// ---- answers ----

void ElasticDesk::reply(const ChangeAsker& asker, wire::ClientReply reply) {
  if (!asker.client) return;
  reply.set_request(asker.request);
  out_.emplace_back(Reply{*asker.client, std::move(reply), {}});
}

void ElasticDesk::refuse(const ChangeAsker& asker, const Error& why) {
  notes_.add(Subsystem::kRas, 1, "refused: {}", say::first_line(why.message));
  if (asker.job) return jobs_.on_not_extended(*asker.job, why);
  if (asker.pmix) return answer(daemons_, asker.pmix->from, why);
  wire::ClientReply out;
  out.mutable_error()->set_code(static_cast<std::uint32_t>(why.code));
  out.mutable_error()->set_message(why.message);
  reply(asker, std::move(out));
}

void ElasticDesk::answer_begun(const Campaign& campaign, bool complete) {
  if (const auto& pmix = campaign.asker.pmix) {
    return answer_allocation(*pmix, campaign.allocation, complete);
  }
  wire::ClientReply out;
  auto* begun = out.mutable_change_begun();
  begun->set_allocation(campaign.allocation);
  for (const auto& node : campaign.nodes) begun->add_nodes(node);
  begun->set_complete(complete);
  begun->set_lease_ms(lease_left_ms(campaign.allocation));
  begun->set_number(campaign.number);
  for (const auto& node : campaign.already) begun->add_already(node);
  if (campaign.cut) *begun->mutable_cut() = *campaign.cut;
  reply(campaign.asker, std::move(out));
}

void ElasticDesk::tell(const ChangeAsker& asker, std::string text) {
  wire::ClientReply out;
  out.mutable_change_news()->set_text(std::move(text));
  reply(asker, std::move(out));
}

Status ElasticDesk::may_act() const {
  if (ending_) return say::dvm_changes_no_more();
  if (!roster_.ready()) return say::dvm_not_ready_to_change();
  return ok_status();
}

Status ElasticDesk::may_change() const {
  if (!config_.enabled) return say::not_elastic();
  return may_act();
}

std::string ElasticDesk::next_allocation() {
  return fmt::format("a{}", ++last_allocation_);
}

CampaignId ElasticDesk::open(Campaign campaign) {
  const CampaignId id{++last_campaign_};
  campaign.number = id.value();
  campaign.began_ms = now_ms_;
  const bool shrinks = campaign.kind == CampaignKind::kShrink;
  auto what = say::change_words(shrinks, id.value(), campaign.nodes);
  if (!campaign.reason.empty()) what = say::change_because(what, campaign.reason);
  notes_.add(Subsystem::kRas, 1, "begun: {}", what);
  events_.add_of_dvm(shrinks ? EventKind::kShrinkBegun : EventKind::kGrowBegun, what);
  // row:E1 else nobody is held but who asked
  if (config_.enabled) jobs_.begin_change(id, campaign.kind, campaign.asker.job.has_value());
  campaign.way.push_back({campaign.phase, now_ms_});
  campaigns_.emplace(id, std::move(campaign));
  return id;
}

void ElasticDesk::go(CampaignId id, Campaign& campaign, Phase phase) {
  campaign.phase = phase;
  campaign.way.push_back({phase, now_ms_});
  campaign.until_ms = 0;
  const bool shrinks = campaign.kind == CampaignKind::kShrink;
  events_.add_of_dvm(EventKind::kChangePhase,
                     say::change_phase(say::change_words(shrinks, id.value(), campaign.nodes),
                                       change_phase_name(static_cast<std::size_t>(phase))));
}

void ElasticDesk::enter(CampaignId id, Campaign& campaign, Phase phase, std::uint32_t limit_ms) {
  go(id, campaign, phase);
  campaign.until_ms = now_ms_ + limit_ms;
  out_.emplace_back(timers_.arm(TimerKind::kChange, limit_ms, id.value()));
}

// ---- grow ----

void ElasticDesk::handle(const NodesPushed& event) {
  if (const auto may = may_change(); !may) {
    notes_.add(Subsystem::kRas, 0, "nodes that were pushed are not taken: {}",
               say::first_line(may.error().message));
    give_back_at_once(event.nodes);
    return;
  }
  begin_grow({}, {event.nodes, event.lease, Trigger::kPush}, {});
}

// While it was asked for them, what it is for may have ended.
Status ElasticDesk::may_still_join(const Destination& to) const {
  const Allocation allocation = to.allocation.value_or(everybodys());
  const bool extends = to.allocation && !allocation.id.empty();
  if (extends && sessions_.resolve(allocation.id) == nullptr) {
    return say::no_allocation_to_extend(allocation.id);
  }
  return sessions_.may_join(to.there, allocation);
}

std::vector<std::string> ElasticDesk::node_names(const std::set<Rank>& ranks) const {
  std::vector<std::string> out;
  for (const Rank rank : ranks) out.push_back(roster_.nodes().at(rank).name);
  return out;
}

// row:C5 nodes that have a daemon already are complete at once
void ElasticDesk::begin_grow(const ChangeAsker& asker, Arrival arrival, const Destination& to) {
  auto& nodes = arrival.nodes;
  if (const auto joins = may_still_join(to); !joins) {
    give_back_at_once(nodes);
    return refuse(asker, joins.error());
  }
  std::erase_if(nodes, [this](const auto& node) { return roster_.find(node.name) != nullptr; });
  Allocation allocation = to.allocation.value_or(everybodys());
  const bool extends = !allocation.id.empty();
  const auto awaited = living(to.awaited);
  const bool complete = nodes.empty() && awaited.empty();
  // row:C1 a process or tool is given an id in any case; for others it would mean nothing
  const bool wants_id = !complete || to.allocation || asker.pmix;
  if (!extends && wants_id) allocation.id = next_allocation();
  Campaign campaign{.kind = CampaignKind::kGrow,
                    .asker = asker,
                    .allocation = allocation.id,
                    .nodes = complete        ? to.there
                             : nodes.empty() ? node_names(awaited)
                                             : names_of(nodes),
                    .ranks = awaited,
                    .founds = !extends,
                    .trigger = arrival.trigger,
                    .owners = owners_of(nodes),
                    .already = complete ? std::vector<std::string>() : to.there};
  // What was there when nodes were asked for may have been lost since.
  std::erase_if(campaign.already,
                [this](const auto& name) { return roster_.find(name) == nullptr; });
  if (to.allocation && !extends) {
    sessions_.make(allocation, AllocationCause::kRequest, now_ms_);
    // Who was to own it may have ended before it was granted.
    if (sessions_.find(allocation.id)->is_disowned()) disowned_.push_back(allocation.id);
  }
  if (extends) {
    campaign.terms_before = sessions_.find(allocation.id)->terms;
    campaign.lease_before = lease_of(allocation.id);
    set_terms(allocation.id, to.terms, to.warn_ms, arrival.trigger);
  }
  campaign.taken = sessions_.join(to.there, allocation);
  if (nodes.empty() && !extends && wants_id) note_barren(campaign);
  if (complete) {
    if (asker.job) return answer_job(*asker.job, std::nullopt);
    return answer_begun(campaign, true);
  }
  for (auto& node : nodes) {
    node.allocation = allocation.id;
    node.session = allocation.shared ? "" : allocation.id;
  }
  if (!campaign.ranks.empty()) campaign.phase = Phase::kWaiting;
  campaign.to_start = std::move(nodes);
  ++counts_.grows;
  join_lease(campaign.allocation, arrival.lease);
  campaign.lease_after = lease_of(campaign.allocation);
  campaign.cut = cut_of(arrival.lease.time_ms, arrival.cut_by);
  const CampaignId id = open(std::move(campaign));
  answer_begun(campaigns_.at(id), false);
  if (asker.job) answer_job(*asker.job, id);
  begin_starting(id, campaigns_.at(id));
}

// What another grow brings is waited for, and what is its own started then: if the other fails
// nothing has to be undone here.
bool ElasticDesk::begin_starting(CampaignId id, Campaign& campaign) {
  std::erase_if(campaign.to_start, [&](const NodeRequest& wanted) {
    const Node* node = roster_.find(wanted.name);
    if (node != nullptr) campaign.ranks.insert(node->rank);
    return node != nullptr;
  });
  const bool waits = std::ranges::any_of(living(campaign.ranks), [this](Rank rank) {
    return roster_.nodes().at(rank).state < NodeState::kUp;
  });
  if (waits) return false;
  campaign.ranks.clear();
  const auto lease = leases_.find(campaign.allocation);
  if (campaign.to_start.empty()) {
    if (lease != leases_.end() && campaign.founds) leases_.erase(lease);
    on_grown(id);
    return true;
  }
  if (campaign.phase != Phase::kStarting) go(id, campaign, Phase::kStarting);
  campaign.until_ms = now_ms_ + config_.grow_timeout_ms;
  if (lease != leases_.end()) arm_lease(lease->second);
  roster_.grow(id, std::exchange(campaign.to_start, {}), config_.grow_timeout_ms);
  return true;
}

void ElasticDesk::fail_those_that_wait_for(const Campaign& failed) {
  const Outcome outcome = failed.outcome;
  std::vector<CampaignId> waiting;
  for (const auto& [id, campaign] : campaigns_) {
    const bool lost = campaign.kind == CampaignKind::kGrow && campaign.phase == Phase::kWaiting &&
                      living(campaign.ranks).size() < campaign.ranks.size();
    if (lost) waiting.push_back(id);
  }
  for (const CampaignId id : waiting) {
    Campaign& campaign = campaigns_.at(id);
    fail_grow(id, campaign, outcome, outcome.text);
    give_back(id, campaign);
  }
}

void ElasticDesk::on_node_reported(CampaignId id, const Node& node) {
  const auto found = campaigns_.find(id);
  if (found == campaigns_.end()) return;
  Campaign& campaign = found->second;
  ++campaign.reports;
  tell(campaign.asker, say::node_reported(node.name, campaign.reports, campaign.nodes.size()));
  if (!roster_.all_reported(id)) return;
  const auto until_ms = campaign.until_ms;  // the same for both
  go(id, campaign, Phase::kWiring);
  campaign.until_ms = until_ms;
}

void ElasticDesk::on_grown(CampaignId id) {
  jobs_.end_change(id, std::nullopt);
  end(id);
}

// Jobs that waited for it hear at once, who asked when nothing is left of it.
void ElasticDesk::fail_grow(CampaignId id, Campaign& campaign, Outcome outcome,
                            const std::string& reason) {
  ++counts_.rollbacks;
  campaign.outcome = std::move(outcome);
  sessions_.unreserve(campaign.taken);
  if (campaign.founds) {
    sessions_.end(campaign.allocation, AllocationCause::kFailure);
    leases_.erase(campaign.allocation);
  } else if (campaign.terms_before) {
    sessions_.restore(campaign.allocation, *campaign.terms_before);
    put_back_lease(campaign);
  }
  jobs_.end_change(id, reason);
}

// It stays in its phase: what it waits for now is only who else can't come.
void ElasticDesk::on_grow_failing(CampaignId id, std::uint32_t gather_ms) {
  const auto found = campaigns_.find(id);
  if (found != campaigns_.end()) found->second.until_ms = now_ms_ + gather_ms;
}

void ElasticDesk::on_grow_failed(CampaignId id, ChangeFailure cause, const std::string& reason) {
  Campaign& campaign = campaigns_.at(id);
  go(id, campaign, Phase::kRollingBack);
  fail_grow(id, campaign, {cause, say::grow_failed(reason)}, reason);
  for (auto& [number, other] : campaigns_) {
    for (auto& [rank, leaver] : other.leavers) {
      if (leaver.grow == id) leaver.fate = Fate::kNeverCame;
    }
  }
  fail_those_that_wait_for(campaigns_.at(id));
}

void ElasticDesk::on_rolled_back(CampaignId id) {
  if (const auto found = campaigns_.find(id); found != campaigns_.end()) {
    give_back(id, found->second);
  }
}

// ---- the end of a change ----

std::string ElasticDesk::words_of_success(const Campaign& campaign) const {
  const auto now = std::ranges::count_if(roster_.nodes(),
                                         [](const auto& entry) { return entry.second.is_up(); });
  const auto size = static_cast<std::size_t>(now);
  if (campaign.kind == CampaignKind::kGrow) {
    return campaign.owners.empty() ? say::others_have_come(campaign.nodes, size)
                                   : say::grown(campaign.nodes, size);
  }
  say::Departures out;
  for (const auto& [rank, leaver] : campaign.leavers) {
    auto& names = leaver.fate == Fate::kLeaves              ? out.left
                  : leaver.fate == Fate::kLeavesWithAnother ? out.left_already
                  : leaver.fate == Fate::kNeverCame         ? out.never_came
                                                            : out.lost;
    names.push_back(leaver.name);
  }
  // Then also those end that nobody has released.
  return say::shrunk(out, ending_ ? std::nullopt : std::optional(size));
}

void ElasticDesk::end(CampaignId id) {
  const Campaign campaign = std::move(campaigns_.extract(id).mapped());
  timers_.cancel(TimerKind::kChange, id.value());
  const bool shrinks = campaign.kind == CampaignKind::kShrink;
  const bool done = !campaign.outcome.failure;
  const std::string text = done ? words_of_success(campaign) : campaign.outcome.text;
  const auto kind = shrinks ? (done ? EventKind::kShrinkDone : EventKind::kShrinkFailed)
                            : (done ? EventKind::kGrowDone : EventKind::kGrowFailed);
  events_.add_of_dvm(kind, say::first_line(text));
  notes_.add(Subsystem::kRas, done ? 1 : 0, "{}", say::first_line(text));
  wire::ClientReply out;
  out.mutable_change_ended()->set_done(done);
  if (!done) out.mutable_change_ended()->set_cause(change_failure_name(*campaign.outcome.failure));
  out.mutable_change_ended()->set_text(text);
  remember(id, campaign, out.change_ended());
  if (const auto& pmix = campaign.asker.pmix) return tell_of_end(*pmix, campaign, text);
  reply(campaign.asker, std::move(out));
}

bool ElasticDesk::handle_timer(TimerKind kind, std::uint32_t subject) {
  if (kind == TimerKind::kGrant) {
    take_back(subject, say::no_resource_manager_answered(config_.grant_timeout_ms));
    return true;
  }
  if (kind == TimerKind::kLease) {
    on_lease_timer(subject);
    return true;
  }
  if (kind != TimerKind::kChange) return false;
  const auto found = campaigns_.find(CampaignId(subject));
  if (found != campaigns_.end()) on_phase_timeout(found->first, found->second);
  return true;
}

void ElasticDesk::end_all(const std::string& reason) {
  if (std::exchange(ending_, true)) return;
  take_back_if([](const Ask&) { return say::dvm_changes_no_more(); });
  for (const auto& [rank, node] : roster_.nodes()) {
    if (!node.manager.empty()) owed_.emplace(node.name, node.manager);
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
      sessions_.set_ending(campaign.ends, false);
      jobs_.end_change(id, std::nullopt);
    } else if (!campaign.outcome.failure) {  // it waited for another
      fail_grow(id, campaign, {ChangeFailure::kEnding, say::grow_failed(text)}, text);
    }
    end(id);
  }
}

// row:R11 whoever granted nodes has them again when no daemon is left
void ElasticDesk::finish() {
  while (!campaigns_.empty()) end(campaigns_.begin()->first);
  sessions_.end_all();
  for (const auto& manager : config_.managers) {
    std::vector<std::string> share;
    for (const auto& [node, owner] : owed_) {
      if (owner == manager) share.push_back(node);
    }
    if (!share.empty()) out_.emplace_back(ReturnNodes{0, manager, std::move(share)});
  }
}

}  // namespace tide::core
