// Shrinks: who leaves, when the order goes out, and when they are gone.
#include <algorithm>
#include <tuple>
#include <utility>

#include "core/elastic_desk.hpp"
#include "say/elastic.hpp"

namespace tide::core {

namespace {

bool is_up(const Node& node) {
  return node.state == NodeState::kUp || node.state == NodeState::kSuspect;
}

}  // namespace

// ---- the request ----

// Those first that nobody uses, and of these the newest.
Result<std::set<Rank>> ElasticDesk::choose_by_count(std::uint32_t count) const {
  std::vector<std::tuple<std::uint32_t, std::int64_t, Rank>> candidates;
  for (const auto& [rank, node] : roster_.nodes()) {
    if (is_up(node)) candidates.emplace_back(node.used, -std::int64_t{rank.value()}, rank);
  }
  if (count > candidates.size()) return say::too_few_nodes_to_release(count, candidates.size());
  std::ranges::sort(candidates);
  std::set<Rank> out;
  for (std::uint32_t i = 0; i < count; ++i) out.insert(std::get<Rank>(candidates[i]));
  return out;
}

Result<std::set<Rank>> ElasticDesk::choose_by_name(const wire::ShrinkRequest& request) const {
  std::set<Rank> out;
  for (const auto& name : request.nodes()) {
    const Node* node = roster_.find(name);
    if (node == nullptr) return say::no_such_node_to_release(name, roster_.remaining());
    out.insert(node->rank);
  }
  return out;
}

Result<std::set<Rank>> ElasticDesk::choose(const wire::ShrinkRequest& request) const {
  const int ways = static_cast<int>(request.count() > 0) +
                   static_cast<int>(!request.nodes().empty()) +
                   static_cast<int>(!request.allocation().empty());
  if (ways != 1) return say::change_by_what(true);
  if (request.count() > 0) return choose_by_count(request.count());
  if (!request.nodes().empty()) return choose_by_name(request);
  std::set<Rank> out;
  for (const auto& [rank, node] : roster_.nodes()) {
    if (node.allocation == request.allocation()) out.insert(rank);
  }
  if (out.empty()) return say::no_such_allocation(request.allocation());
  return out;
}

void ElasticDesk::shrink(const ChangeAsker& asker, const wire::ShrinkRequest& request) {
  if (const auto may = may_change(); !may) return refuse(asker, may.error());
  auto chosen = choose(request);
  if (!chosen) return refuse(asker, chosen.error());
  const auto& named = request.allocation();
  begin_shrink(asker, std::move(*chosen), named.empty() ? next_allocation() : named);
}

void ElasticDesk::handle(const NodesReclaimed& event) {
  if (const auto may = may_change(); !may) return;
  std::set<Rank> ranks;
  for (const auto& name : event.nodes) {
    if (const Node* node = roster_.find(name)) ranks.insert(node->rank);
  }
  if (ranks.empty()) return;
  notes_.add(Subsystem::kRas, 0, "nodes are taken back: {}", event.reason);
  begin_shrink({}, std::move(ranks), next_allocation());
}

void ElasticDesk::begin_shrink(const ChangeAsker& asker, std::set<Rank> ranks,
                               std::string allocation) {
  Campaign campaign{.kind = CampaignKind::kShrink,
                    .asker = asker,
                    .allocation = std::move(allocation),
                    .ranks = std::move(ranks),
                    .phase = Phase::kWaiting};
  for (const Rank rank : campaign.ranks) {
    campaign.nodes.push_back(roster_.nodes().at(rank).name);
  }
  ++counts_.shrinks;
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

void ElasticDesk::look() {
  bool moved = !campaigns_.empty();
  while (std::exchange(moved, false)) {
    std::vector<CampaignId> ids;
    for (const auto& [id, campaign] : campaigns_) {
      if (campaign.kind == CampaignKind::kShrink) ids.push_back(id);
    }
    for (const CampaignId id : ids) {
      const auto found = campaigns_.find(id);
      if (found != campaigns_.end() && advance(id, found->second)) moved = true;
    }
  }
}

bool ElasticDesk::advance(CampaignId id, Campaign& campaign) {
  switch (campaign.phase) {
    case Phase::kWaiting:
      return !ending_ && begin_leaving(id, campaign);
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

// row:E20 what an unfinished grow brings can leave when that has ended; what leaves already leaves
// with the shrink that came first
bool ElasticDesk::begin_leaving(CampaignId id, Campaign& campaign) {
  campaign.own.clear();
  for (const Rank rank : living(campaign.ranks)) {
    const Node& node = roster_.nodes().at(rank);
    if (node.state < NodeState::kUp) return false;
    if (is_up(node)) campaign.own.insert(rank);
  }
  roster_.set_apart(campaign.own);
  jobs_.map_undecided_jobs();  // if one of them was under suspicion nobody waits for it any more
  jobs_.end_processes_on(campaign.own);
  enter(id, campaign, Phase::kEnding, config_.process_timeout_ms);
  return true;
}

// row:S15
void ElasticDesk::order(CampaignId id, Campaign& campaign) {
  campaign.own = living(campaign.own);
  if (!campaign.own.empty()) {
    const auto ordered = roster_.order_to_leave(campaign.own);
    if (!ordered) {
      roster_.take_back(campaign.own);
      campaign.outcome = {ChangeFailure::kResources, say::shrink_failed(ordered.error().message)};
      jobs_.end_change(id, std::nullopt);
      return end(id);
    }
  }
  enter(id, campaign, Phase::kDeparting, config_.departure_timeout_ms);
}

void ElasticDesk::on_departed(const Node& node) {
  for (const auto& [id, campaign] : campaigns_) {
    if (!campaign.ranks.contains(node.rank)) continue;
    tell(campaign, say::node_has_left(node.name, living(campaign.ranks).size()));
  }
}

// row:E12 row:E13 the fence falls when they are gone from membership and book
void ElasticDesk::have_left(CampaignId id, Campaign& campaign) {
  jobs_.end_change(id, std::nullopt);
  give_back(id, campaign);
}

void ElasticDesk::on_phase_timeout(CampaignId id, Campaign& campaign) {
  switch (campaign.phase) {
    case Phase::kEnding:
      return order(id, campaign);
    case Phase::kDeparting:
      if (std::exchange(campaign.hurried, true)) return roster_.give_up_departing(campaign.ranks);
      roster_.end_departing(campaign.ranks);
      return enter(id, campaign, Phase::kDeparting, config_.departure_timeout_ms);
    case Phase::kReturning:
      return end(id);
    default:
      return;
  }
}

}  // namespace tide::core
