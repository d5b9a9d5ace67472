// What people see of changes: where each is, since when, and what it waits for.
#include <algorithm>
#include <array>
#include <utility>

#include "core/elastic_desk.hpp"
#include "say/campaigns.hpp"
#include "say/elastic.hpp"
#include "say/reservations.hpp"

namespace tide::core {

namespace {

constexpr std::array kPhases = {"starting",  "wiring",    "rolling-back", "waiting",
                                "processes", "departing", "returning"};
constexpr std::array kTriggers = {"request", "push", "reclaim", "lease",
                                  "inheritance"};  // by Trigger
constexpr std::size_t kPastChanges = 100;          // that are remembered
constexpr std::size_t kPoints = 16;                // of what is waited for; the first ones

std::uint64_t between(std::uint64_t from_ms, std::uint64_t to_ms) {
  return to_ms > from_ms ? to_ms - from_ms : 0;
}

// Several of one kind are one point each, up to a number.
wire::JobPoint* add_point(const char* kind, std::string text, const std::string& node,
                          wire::ChangeReport& out) {
  if (static_cast<std::size_t>(out.waits_size()) == kPoints) return nullptr;
  auto* point = out.add_waits();
  point->set_kind(kind);
  point->set_text(std::move(text));
  if (!node.empty()) point->add_nodes(node);
  return point;
}

}  // namespace

const char* change_phase_name(std::size_t phase) {
  return kPhases.at(phase);
}

std::vector<std::string> ElasticDesk::missing(CampaignId id, const Campaign& campaign) const {
  if (campaign.phase == Phase::kStarting) return roster_.silent_of(id);
  std::vector<std::string> out;
  if (campaign.phase == Phase::kWiring) {
    for (auto& one : roster_.unwired_of(id)) out.push_back(std::move(one.node));
    return out;
  }
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
      if (const auto failures = roster_.failures_of(id); !failures.empty()) {
        return say::grow_is_failing(what, failures.front().reason, missing(id, campaign));
      }
      return say::grow_waits_for_reports(what, missing(id, campaign));
    case Phase::kWiring:
      return say::grow_waits_for_wiring(
          what, missing(id, campaign),
          std::ranges::any_of(roster_.unwired_of(id), &Roster::Unwired::speaks_for_others));
    case Phase::kRollingBack:
      return say::change_is_rolled_back(what);
    case Phase::kWaiting:
      return say::change_waits_for_grow(what, missing(id, campaign));
    case Phase::kEnding:
      return say::shrink_waits_for_processes(what, jobs_.jobs_on(campaign.own));
    case Phase::kDeparting:
      return say::shrink_waits_for_departures(what, missing(id, campaign));
    case Phase::kReturning:
      return say::change_waits_for_managers(
          what, std::vector<std::string>(campaign.unanswered.begin(), campaign.unanswered.end()));
  }
  return what;
}

void ElasticDesk::describe(CampaignId id, const Campaign& campaign, std::uint64_t now_ms,
                           wire::CampaignStatus& out) const {
  out.set_number(id.value());
  out.set_shrinks(campaign.kind == CampaignKind::kShrink);
  out.set_allocation(campaign.allocation);
  for (const auto& node : campaign.nodes) out.add_nodes(node);
  out.set_phase(change_phase_name(static_cast<std::size_t>(campaign.phase)));
  for (const auto& node : missing(id, campaign)) out.add_missing(node);
  out.set_age_ms(between(campaign.began_ms, now_ms));
  out.set_parked_jobs(static_cast<std::uint32_t>(jobs_.fence().parked_for(id).size()));
  for (const auto& manager : campaign.unanswered) out.add_managers(manager);
}

void ElasticDesk::describe(wire::StatusReply& out, std::uint64_t now_ms) const {
  out.set_elastic(config_.enabled);
  for (const auto& [id, campaign] : campaigns_) {
    describe(id, campaign, now_ms, *out.add_campaigns());
  }
  for (const auto& [number, ask] : asks_) describe(number, ask, now_ms, *out.add_asks());
  describe_allocations(out, now_ms);
}

void ElasticDesk::describe_allocations(wire::StatusReply& out, std::uint64_t now_ms) const {
  std::map<std::string, std::vector<const Node*>> allocations;
  for (const auto& [rank, node] : roster_.nodes()) {
    if (!node.allocation.empty()) allocations[node.allocation].push_back(&node);
  }
  for (const auto& known : sessions_.all()) allocations.try_emplace(known.id);
  for (const auto& [name, nodes] : allocations) {
    auto& row = *out.add_allocations();
    row.set_name(name);
    std::set<std::string> managers;
    for (const Node* node : nodes) {
      row.add_nodes(node->name);
      if (!node->manager.empty()) managers.insert(node->manager);
    }
    for (const auto& manager : managers) row.add_managers(manager);
    if (const Allocation* known = sessions_.find(name)) describe(*known, now_ms, row);
    const auto lease = leases_.find(name);
    if (lease == leases_.end()) continue;
    row.mutable_lease()->set_left_ms(between(now_ms, lease->second.ends_ms));
    row.mutable_lease()->set_warn_ms(lease->second.warn_ms);
    row.mutable_lease()->set_warned(lease->second.warned);
  }
}

void ElasticDesk::describe(const Allocation& allocation, std::uint64_t now_ms,
                           wire::AllocationStatus& out) {
  out.set_reserved(!allocation.shared);
  out.set_owner(allocation.owner);
  out.set_owner_ended(allocation.owner_ended);
  if (!allocation.shared) {
    if (!allocation.owner_ended) out.add_owners(allocation.owner);
    for (const auto& user : allocation.users) out.add_owners(user);
  }
  for (const auto& nspace : allocation.derived) out.add_derived(nspace);
  const auto inheritance = allocation.terms.inheritance;
  out.set_inheritance(
      inheritance_name(inheritance == Inheritance::kNotSaid ? Inheritance::kDefault : inheritance));
  out.set_request_id(allocation.request_id);
  out.set_age_ms(between(allocation.made_ms, now_ms));
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

// ---- all of one ----

Result<wire::ChangeReport> ElasticDesk::explain_change(std::uint32_t number) const {
  const auto found = campaigns_.find(CampaignId(number));
  if (found != campaigns_.end()) return report(found->first, found->second);
  const auto past = std::ranges::find_if(
      past_, [number](const Past& one) { return one.report.campaign().number() == number; });
  if (past != past_.end()) return past->report;
  const bool was = number > kFirstStart.value() && number <= last_campaign_;
  if (was) return say::change_forgotten(number);
  return say::no_such_change(number, last_campaign_ - kFirstStart.value());
}

Result<wire::AllocationReport> ElasticDesk::explain_allocation(const std::string& name) const {
  wire::AllocationReport out;
  out.mutable_allocation()->set_name(name);
  wire::StatusReply status;
  describe_allocations(status, now_ms_);
  for (auto& one : *status.mutable_allocations()) {
    if (one.name() == name) *out.mutable_allocation() = std::move(one);
  }
  std::set<Rank> ranks;
  for (const auto& [rank, node] : roster_.nodes()) {
    if (node.allocation == name || node.session == name) ranks.insert(rank);
  }
  std::set<std::uint32_t> jobs;
  for (const auto& process : jobs_.processes_on(ranks)) jobs.insert(process.job.value());
  for (const std::uint32_t job : jobs) out.add_jobs(job);
  for (const auto& one : past_) {
    if (one.allocations.contains(name)) *out.add_changes() = one.report;
  }
  for (const auto& [id, campaign] : campaigns_) {
    if (allocations_of(campaign).contains(name)) *out.add_changes() = report(id, campaign);
  }
  for (const auto& one : barren_) {
    if (one.allocation != name) continue;
    for (const auto& node : one.nodes) out.add_there(node);
  }
  if (const Allocation* known = sessions_.find(name)) {
    for (const auto& node : node_names(sessions_.nodes_of(*known).taken)) out.add_reserves(node);
  }
  for (const auto& [number, ask] : asks_) {
    const bool extends = ask.to.allocation && ask.to.allocation->id == name;
    if (extends || ask.allocation == name) describe(number, ask, now_ms_, *out.add_asks());
  }
  const bool nothing = out.allocation().nodes().empty() && out.allocation().owner().empty() &&
                       out.changes().empty() && out.there().empty() && out.reserves().empty();
  if (nothing) return say::no_such_allocation_to_explain(name);
  return out;
}

// Its own, and of a shrink those whose nodes it takes away, by whatever name it was asked for them.
std::set<std::string> ElasticDesk::allocations_of(const Campaign& campaign) {
  std::set<std::string> out{campaign.allocation};
  for (const auto& [rank, leaver] : campaign.leavers) {
    out.insert(leaver.allocations.begin(), leaver.allocations.end());
  }
  out.erase("");
  return out;
}

// Its id was given to who asked, who may ask what it means.
void ElasticDesk::note_barren(const Campaign& campaign) {
  barren_.push_back({campaign.allocation, campaign.nodes});
  if (barren_.size() > kPastChanges) barren_.pop_front();
}

const char* ElasticDesk::after_limit(CampaignId id, const Campaign& campaign) const {
  if (campaign.until_ms == 0) return "";
  switch (campaign.phase) {
    case Phase::kStarting:
      return roster_.failures_of(id).empty() ? "fails" : "fails-anyway";
    case Phase::kWiring:
      return "fails";
    case Phase::kDeparting:
      return campaign.hurried ? "goes-on" : "force";
    default:
      return "goes-on";
  }
}

wire::ChangeReport ElasticDesk::report(CampaignId id, const Campaign& campaign) const {
  wire::ChangeReport out;
  describe(id, campaign, now_ms_, *out.mutable_campaign());
  out.set_phase_age_ms(between(campaign.way.back().at_ms, now_ms_));
  out.set_phase_left_ms(between(now_ms_, campaign.until_ms));
  out.set_then(after_limit(id, campaign));
  out.set_asked_by(kTriggers.at(static_cast<std::size_t>(campaign.trigger)));
  switch (campaign.trigger) {
    case Trigger::kRequest:
      out.set_asked(campaign.asker.job
                        ? say::asked_by_job(campaign.asker.job->value())
                        : say::asked_by_request(campaign.asker.client || campaign.asker.pmix));
      break;
    case Trigger::kPush:
      out.set_asked(say::asked_by_push());
      break;
    case Trigger::kReclaim:
      out.set_asked(say::asked_by_reclaim(campaign.reason));
      break;
    case Trigger::kLease:
      out.set_asked(say::asked_by_lease(campaign.allocation));
      break;
    case Trigger::kInheritance:
      out.set_asked(say::asked_by_inheritance(campaign.allocation));
      break;
  }
  for (const JobId job : jobs_.fence().parked_for(id)) out.add_parked(job.value());
  for (const Step& step : campaign.way) {
    auto* row = out.add_way();
    row->set_state(change_phase_name(static_cast<std::size_t>(step.phase)));
    row->set_at_ms(step.at_ms);
  }
  add_waits(id, campaign, out);
  return out;
}

void ElasticDesk::add_waits(CampaignId id, const Campaign& campaign,
                            wire::ChangeReport& out) const {
  switch (campaign.phase) {
    case Phase::kStarting:
      return add_waits_for_reports(id, out);
    case Phase::kWiring:
      return add_waits_for_wiring(id, out);
    case Phase::kRollingBack:
      add_point("rollback", say::waits_for_rollback(), "", out);
      return;
    case Phase::kReturning:
      for (const auto& manager : campaign.unanswered) {
        auto* point =
            add_point("manager",
                      say::waits_for_manager(manager, share_of(manager, campaign.owners)), "", out);
        if (point == nullptr) continue;
        for (const auto& node : share_of(manager, campaign.owners)) point->add_nodes(node);
      }
      return;
    default:
      return add_waits_of_shrink(campaign, out);
  }
}

// row:E16 first what it fails of: that others are waited for would be misleading without
void ElasticDesk::add_waits_for_reports(CampaignId id, wire::ChangeReport& out) const {
  for (const auto& failure : roster_.failures_of(id)) {
    // Some points are left for those who are waited for.
    if (static_cast<std::size_t>(out.waits_size()) == kPoints / 2) break;
    add_point("failure", failure.reason, failure.node, out);
  }
  for (const auto& name : roster_.silent_of(id)) {
    const Node* node = roster_.find(name);
    add_point("report", say::waits_for_report(name, node == nullptr ? 0 : node->pid), name, out);
  }
}

// row:E16
void ElasticDesk::add_waits_for_wiring(CampaignId id, wire::ChangeReport& out) const {
  for (const auto& one : roster_.unwired_of(id)) {
    const Node* node = roster_.find(one.node);
    const auto pid = node == nullptr ? 0 : node->pid;
    add_point("wiring", say::waits_for_acknowledgement(one.node, pid, one.speaks_for_others),
              one.node, out);
  }
  if (out.waits().empty()) add_point("wiring", say::waits_for_wiring(), "", out);
}

void ElasticDesk::add_waits_of_shrink(const Campaign& campaign, wire::ChangeReport& out) const {
  if (campaign.phase == Phase::kEnding) {
    for (const auto& process : jobs_.processes_on(campaign.own)) {
      auto* point = add_point("process",
                              say::waits_for_process(process.rank.value(), process.job.value(),
                                                     process.node, process.pid),
                              process.node, out);
      if (point != nullptr) point->add_jobs(process.job.value());
    }
    if (!out.waits().empty()) return;
    // Their processes have ended, and what these left is seen to.
    const auto jobs = jobs_.jobs_on(campaign.own);
    if (!jobs.empty()) add_point("jobs", say::waits_for_rest_of_jobs(jobs), "", out);
    return;
  }
  for (const Rank rank : living(campaign.ranks)) {
    const Node& node = roster_.nodes().at(rank);
    if (campaign.phase == Phase::kDeparting) {
      add_point("departure", say::waits_for_departure(node.name, node.pid, campaign.hurried),
                node.name, out);
    } else if (node.state < NodeState::kUp) {
      add_point("grow", say::waits_for_grow_of(node.name, node.campaign.value()), node.name, out);
    }
  }
}

void ElasticDesk::remember(CampaignId id, const Campaign& campaign, const wire::ChangeEnded& end) {
  auto out = report(id, campaign);
  out.clear_waits();
  out.clear_parked();
  out.clear_then();
  out.set_ended(true);
  const bool by_somebody = campaign.trigger == Trigger::kRequest && !campaign.asker.job;
  if (by_somebody) out.set_asked(say::asked_by_somebody());
  *out.mutable_end() = end;
  auto* last = out.add_way();
  last->set_state(end.done() ? "done" : "failed");
  last->set_at_ms(now_ms_);
  past_.push_back({std::move(out), allocations_of(campaign)});
  if (past_.size() > kPastChanges) past_.pop_front();
}

}  // namespace tide::core
