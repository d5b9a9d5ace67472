// Allocations that are over because those who own them are gone, and what is said to those who
// asked to be told before.
#include <algorithm>
#include <utility>

#include "core/elastic_desk.hpp"
#include "core/pmix_words.hpp"
#include "say/elastic.hpp"
#include "say/reservations.hpp"

namespace tide::core {

// row:R12 once: what is over is none any more
void ElasticDesk::end_the_disowned() {
  for (const auto& id : std::exchange(disowned_, {})) {
    const Allocation* allocation = sessions_.resolve(id);
    if (allocation != nullptr && !ending_) end_disowned(Allocation(*allocation));
  }
  end_those_of_ended_allocations();
}

// row:R14 what stays is disturbed by nothing, what leaves does so as by any shrink
void ElasticDesk::end_disowned(const Allocation& allocation) {
  auto leave = sessions_.nodes_of(allocation).brought;
  if (allocation.nodes_stay() || leave.empty() || !config_.enabled) {
    return sessions_.end(allocation.id, AllocationCause::kInheritance);
  }
  begin_shrink({}, {std::move(leave), allocation.id}, allocation.id, Trigger::kInheritance);
}

// Nodes of a grow that waits for another one are started for nobody when what they were for is
// over.
void ElasticDesk::end_those_of_ended_allocations() {
  std::set<std::string> over;
  for (const auto& [id, campaign] : campaigns_) {
    if (campaign.to_start.empty()) continue;
    const auto& session = campaign.to_start.front().session;
    if (!session.empty() && sessions_.resolve(session) == nullptr) over.insert(session);
  }
  for (const auto& session : over) {
    fail_unstarted([&session](const NodeRequest& node) { return node.session == session; },
                   say::allocation_has_ended(session).message);
  }
}

// Grows that wait for another one, and have one of these nodes to start then.
void ElasticDesk::fail_unstarted(const std::function<bool(const NodeRequest&)>& meant,
                                 const std::string& why) {
  std::vector<CampaignId> grows;
  for (const auto& [id, campaign] : campaigns_) {
    const bool waits = campaign.kind == CampaignKind::kGrow && campaign.phase == Phase::kWaiting;
    if (waits && std::ranges::any_of(campaign.to_start, meant)) grows.push_back(id);
  }
  for (const CampaignId id : grows) {
    Campaign& campaign = campaigns_.at(id);
    fail_grow(id, campaign, {ChangeFailure::kResources, say::grow_failed(why)}, why);
    give_back(id, campaign);
  }
}

// ---- warnings ----

// row:R16
void ElasticDesk::send_warning(const PmixAsker& asker, const Allocation& allocation,
                               std::uint32_t left_s) {
  const bool made_it = allocation.asker == asker.who.nspace();
  auto notice =
      notice_to(asker, kEventAllocationWarning, allocation.id,
                asker.request_id.empty() && made_it ? allocation.request_id : asker.request_id);
  auto* left = notice.add_facts();
  left->set_key(kFactTimeLeft);
  left->set_number(left_s);
  send(asker, std::move(notice));
}

void ElasticDesk::relay_warning(const wire::TimeoutWarning& warning, bool by_tool) {
  const auto& id = warning.allocation();
  const Allocation* allocation = sessions_.resolve(id);
  const auto drop = [&](const std::string& why) {
    notes_.add(Subsystem::kRas, 0, "{}", say::warning_not_relayed(id, why));
  };
  if (!by_tool || !is_scheduler(warning.scheduler_key())) {
    return drop(say::not_the_scheduler().message);
  }
  if (allocation == nullptr) return drop(say::no_such_reservation(id, false).message);
  if (!allocation->terms.to_warn) return drop(say::nobody_to_warn());
  send_warning(*allocation->terms.to_warn, *allocation, warning.left_s());
}

}  // namespace tide::core
