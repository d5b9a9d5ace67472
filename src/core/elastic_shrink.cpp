// Shrinks: who leaves, when the order goes out, and when they are gone.
#include <algorithm>
#include <tuple>
#include <utility>

#include "core/elastic_desk.hpp"
#include "say/allocations.hpp"
#include "say/elastic.hpp"

namespace tide::core {

// ---- the request ----

// Of nodes that are everybody's, those first that nobody uses, and of these the newest.
Result<ElasticDesk::Choice> ElasticDesk::choose_by_count(const Actor& actor,
                                                         std::uint32_t count) const {
  std::vector<std::tuple<std::uint32_t, std::int64_t, Rank>> candidates;
  bool some_are_others = false;
  for (const auto& [rank, node] : roster_.nodes()) {
    if (!node.is_up() || !node.session.empty()) continue;
    if (may_release(actor, node)) {
      candidates.emplace_back(node.used, -std::int64_t{rank.value()}, rank);
    } else {
      some_are_others = true;
    }
  }
  if (count > candidates.size() && some_are_others) return say::nodes_of_others(actor.nspace);
  if (count > candidates.size()) return say::too_few_nodes_to_release(count, candidates.size());
  std::ranges::sort(candidates);
  Choice out;
  for (std::uint32_t i = 0; i < count; ++i) out.ranks.insert(std::get<Rank>(candidates[i]));
  return out;
}

// row:R15 what an owner gives up of that which its reservation took goes back to where it was
Result<ElasticDesk::Choice> ElasticDesk::choose_by_name(const Actor& actor,
                                                        const wire::ShrinkRequest& request) const {
  Choice out;
  for (const auto& name : request.nodes()) {
    const Node* node = roster_.find(name);
    if (node == nullptr) return say::no_such_node_to_release(name, roster_.remaining());
    if (!may_release(actor, *node)) return say::nodes_of_others(actor.nspace);
    const bool was_taken = !node->session.empty() && node->allocation != node->session;
    (was_taken && !actor.owns_all ? out.stays : out.ranks).insert(node->rank);
  }
  return out;
}

// row:R15 what a reservation took out of the default session goes back there, and does not leave
Result<ElasticDesk::Choice> ElasticDesk::choose_by_allocation(const Actor& actor,
                                                              const std::string& id) const {
  if (const Allocation* known = sessions_.resolve(id)) {
    const bool may = sessions_.owns(actor, *known) || (known->shared && actor.by_tool);
    if (!may) return say::nodes_of_others(actor.nspace);
    return Choice{sessions_.nodes_of(*known).brought, id};
  }
  // row:R11 what is over has no name any more; what never was anybody's has one for its nodes
  if (sessions_.is_over(id) && !actor.owns_all) return say::no_such_allocation(id);
  Choice out;
  for (const auto& [rank, node] : roster_.nodes()) {
    if (node.allocation != id || (!actor.owns_all && !node.session.empty())) continue;
    if (!may_release(actor, node)) return say::nodes_of_others(actor.nspace);
    out.ranks.insert(rank);
  }
  if (out.ranks.empty()) return say::no_such_allocation(id);
  return out;
}

Result<ElasticDesk::Choice> ElasticDesk::choose(const Actor& actor,
                                                const wire::ShrinkRequest& request) const {
  const int ways = static_cast<int>(request.count() > 0) +
                   static_cast<int>(!request.nodes().empty()) +
                   static_cast<int>(!request.allocation().empty());
  if (ways != 1) return say::change_by_what(true);
  if (request.count() > 0) return choose_by_count(actor, request.count());
  if (!request.nodes().empty()) return choose_by_name(actor, request);
  return choose_by_allocation(actor, request.allocation());
}

void ElasticDesk::shrink(const ChangeAsker& asker, const wire::ShrinkRequest& request) {
  if (const auto may = may_change(); !may) return refuse(asker, may.error());
  release(asker, {.nspace = sessions_.user(), .owns_all = true}, request, Trigger::kRequest);
}

// row:C5 an allocation of which no node leaves is over at once
void ElasticDesk::release(const ChangeAsker& asker, const Actor& actor,
                          const wire::ShrinkRequest& request, Trigger trigger) {
  auto choice = choose(actor, request);
  if (!choice) return refuse(asker, choice.error());
  const bool leave = !choice->ranks.empty();
  const auto may = leave ? may_change() : ok_status();
  if (!may) return refuse(asker, may.error());
  const auto allocation = request.allocation().empty() ? next_allocation() : request.allocation();
  auto nodes = node_names(choice->stays);
  sessions_.unreserve(choice->stays);
  if (leave) return begin_shrink(asker, std::move(*choice), allocation, trigger);
  sessions_.end(choice->ends, cause_of(trigger));
  answer_begun({.asker = asker, .allocation = allocation, .nodes = std::move(nodes)}, true);
}

// row:E20 what leaves already leaves anyway; what comes is let come first, but for what has not
// begun to
void ElasticDesk::handle(const NodesReclaimed& event) {
  if (const auto may = may_change(); !may) {
    notes_.add(Subsystem::kRas, 0, "nodes that are taken back do not leave the DVM by that: {}",
               say::first_line(may.error().message));
    return;
  }
  const std::set<std::string> names(event.nodes.begin(), event.nodes.end());
  fail_unstarted([&names](const NodeRequest& node) { return names.contains(node.name); },
                 event.reason);
  std::set<Rank> ranks;
  for (const auto& name : names) {
    const Node* node = roster_.find(name);
    if (node != nullptr && node->state < NodeState::kLeaving) ranks.insert(node->rank);
  }
  if (ranks.empty()) return;
  notes_.add(Subsystem::kRas, 0, "nodes are taken back: {}", event.reason);
  begin_shrink({},
               {.ranks = std::move(ranks), .reason = std::string(say::first_line(event.reason))},
               next_allocation(), Trigger::kReclaim);
}

void ElasticDesk::begin_shrink(const ChangeAsker& asker, Choice choice, std::string allocation,
                               Trigger trigger) {
  sessions_.set_ending(choice.ends, true);
  Campaign campaign{.kind = CampaignKind::kShrink,
                    .asker = asker,
                    .allocation = std::move(allocation),
                    .ranks = std::move(choice.ranks),
                    .phase = Phase::kWaiting,
                    .ends = std::move(choice.ends),
                    .reason = std::move(choice.reason),
                    .trigger = trigger};
  for (const Rank rank : campaign.ranks) {
    const Node& node = roster_.nodes().at(rank);
    campaign.nodes.push_back(node.name);
    campaign.leavers.emplace(rank, Leaver{.name = node.name,
                                          .grow = node.campaign,
                                          .allocations = {node.allocation, node.session}});
    if (node.state >= NodeState::kLeaving) campaign.already.push_back(node.name);
  }
  const CampaignId id = open(std::move(campaign));
  answer_begun(campaigns_.at(id), false);
}

// ---- how it goes on ----

std::set<Rank> ElasticDesk::living(const std::set<Rank>& ranks) const {
  std::set<Rank> out;
  for (const Rank rank : ranks) {
    if (roster_.nodes().contains(rank)) out.insert(rank);
  }
  return out;
}

// Jobs that wait for nodes under suspicion are looked at when all else is settled: these may be for
// others by now, and others for them; or set apart to leave, for which nobody waits. Where nothing
// has to end there first they are up again by now if the order to leave could not be sent.
void ElasticDesk::look() {
  bool changed = false;
  bool moved = true;
  while (std::exchange(moved, false)) {
    end_the_disowned();  // a tool that owns something goes with the node that it is attached to
    moved = see_to_asks();
    std::vector<CampaignId> ids;
    for (const auto& [id, campaign] : campaigns_) ids.push_back(id);
    for (const CampaignId id : ids) {
      const auto found = campaigns_.find(id);
      if (found != campaigns_.end() && advance(id, found->second)) moved = true;
    }
    changed = sessions_.take_changed() || moved || changed;
    if (moved || !std::exchange(changed, false)) continue;
    jobs_.map_undecided_jobs();
    moved = true;
  }
}

bool ElasticDesk::advance(CampaignId id, Campaign& campaign) {
  switch (campaign.phase) {
    case Phase::kWaiting:
      if (ending_) return false;
      return campaign.kind == CampaignKind::kGrow ? begin_starting(id, campaign)
                                                  : begin_leaving(id, campaign);
    case Phase::kEnding:
      if (ending_ || !jobs_.jobs_on(campaign.own).empty()) return false;
      order(id, campaign);
      return true;
    case Phase::kDeparting:
      if (!std::ranges::all_of(campaign.ranks,
                               [this](Rank rank) { return roster_.is_gone(rank); })) {
        return false;
      }
      have_left(id, campaign);
      return true;
    default:
      return false;
  }
}

// What is not its own to let go: gone before it could begin, or leaving already.
void ElasticDesk::settle_fates(Campaign& campaign) const {
  for (auto& [rank, leaver] : campaign.leavers) {
    if (leaver.fate != Fate::kLeaves || campaign.own.contains(rank)) continue;
    leaver.fate = roster_.nodes().contains(rank) ? Fate::kLeavesWithAnother : Fate::kLost;
  }
}

// row:E20 what an unfinished grow brings can leave when that has ended; what leaves already leaves
// with the shrink that came first
bool ElasticDesk::begin_leaving(CampaignId id, Campaign& campaign) {
  campaign.own.clear();
  campaign.owners.clear();
  for (const Rank rank : living(campaign.ranks)) {
    const Node& node = roster_.nodes().at(rank);
    if (node.state < NodeState::kUp) return false;
    if (node.is_up()) campaign.own.insert(rank);
  }
  settle_fates(campaign);
  if (!campaign.own.empty()) ++counts_.shrinks;
  for (const Rank rank : campaign.own) {
    const Node& node = roster_.nodes().at(rank);
    campaign.owners.emplace(node.name, node.manager);
  }
  roster_.set_apart(campaign.own);
  jobs_.end_processes_on(campaign.own, config_.process_grace_ms, campaign.reason);
  enter(id, campaign, Phase::kEnding, config_.process_grace_ms + config_.process_settle_ms);
  return true;
}

// row:S15 who can't be ordered stays, and a shrink that counted on that succeeds only by an order
// of its own
void ElasticDesk::order(CampaignId id, Campaign& campaign) {
  campaign.own = living(campaign.own);
  campaign.ranks = living(campaign.ranks);
  if (!campaign.own.empty()) {
    const auto ordered = roster_.order_to_leave(campaign.own);
    campaign.outcome =
        ordered ? Outcome{}
                : Outcome{ChangeFailure::kResources, say::shrink_failed(ordered.error().message)};
  }
  if (!campaign.outcome.failure) {
    return enter(id, campaign, Phase::kDeparting, config_.departure_timeout_ms);
  }
  roster_.take_back(campaign.own);
  auto failed = those_that_fail_with(id, campaign);
  failed.insert(failed.begin(), id);
  for (const CampaignId each : failed) {
    sessions_.set_ending(campaigns_.at(each).ends, false);
    jobs_.end_change(each, std::nullopt);
    end(each);
  }
}

// Other shrinks that counted on its departures do without them. Who waits only for others has
// failed; whether one that still ends processes can order somebody is not known yet.
std::vector<CampaignId> ElasticDesk::those_that_fail_with(CampaignId id, const Campaign& failed) {
  std::vector<CampaignId> out;
  for (auto& [other_id, other] : campaigns_) {
    const bool begun = other.kind == CampaignKind::kShrink && other.phase != Phase::kWaiting;
    if (other_id == id || !begun) continue;
    std::size_t counted_on = 0;
    for (const Rank rank : failed.own) {
      if (other.ranks.erase(rank) > 0) counted_on += other.leavers.erase(rank);
    }
    const bool has_ordered = other.phase == Phase::kDeparting && !other.own.empty();
    if (counted_on == 0 || has_ordered) continue;
    other.outcome = failed.outcome;
    if (other.phase == Phase::kDeparting) out.push_back(other_id);
  }
  return out;
}

void ElasticDesk::on_departed(const Node& node) {
  for (auto& [id, campaign] : campaigns_) {
    if (campaign.kind == CampaignKind::kGrow || campaign.ranks.erase(node.rank) == 0) continue;
    // One that has not begun yet had nothing to do with it.
    if (campaign.phase == Phase::kWaiting) {
      campaign.leavers.at(node.rank).fate = Fate::kLeavesWithAnother;
    }
    tell(campaign.asker, say::node_has_left(node.name, campaign.ranks.size()));
  }
}

// row:E12 row:E13 the fence falls when they are gone from membership and book
void ElasticDesk::have_left(CampaignId id, Campaign& campaign) {
  sessions_.end(campaign.ends, cause_of(campaign.trigger));
  jobs_.end_change(id, std::nullopt);
  give_back(id, campaign);
}

void ElasticDesk::on_phase_timeout(CampaignId id, Campaign& campaign) {
  switch (campaign.phase) {
    case Phase::kEnding:
      return order(id, campaign);
    case Phase::kDeparting:
      // Who leaves with a shrink that came first has the time which that one gives.
      if (std::exchange(campaign.hurried, true)) {
        return roster_.give_up_departing(std::set<Rank>(campaign.own));
      }
      roster_.end_departing(campaign.own);
      return enter(id, campaign, Phase::kDeparting, config_.departure_timeout_ms);
    case Phase::kReturning:
      return end_without_answers(id, campaign);
    default:
      return;
  }
}

}  // namespace tide::core
