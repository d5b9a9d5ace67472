// Nodes that may stay for a time only: warned of, prolonged, taken out. How long is for resource
// managers to say; what happens then is decided here.
#include <algorithm>
#include <limits>
#include <utility>

#include "core/elastic_desk.hpp"
#include "say/campaigns.hpp"
#include "say/elastic.hpp"

namespace tide::core {

// Its time begins with the grant; it is looked at from the moment in which there is a node that it
// could take out.
void ElasticDesk::begin_lease(const std::string& allocation, const Lease& lease) {
  if (lease.time_ms == 0 || !config_.enabled) return;
  leases_.emplace(allocation, HeldLease{.number = ++last_lease_,
                                        .ends_ms = now_ms_ + lease.time_ms,
                                        .warn_ms = lease.warn_ms});
}

// Its nodes stay or go together: those that come later may make its time shorter.
void ElasticDesk::join_lease(const std::string& allocation, const Lease& lease) {
  const auto found = leases_.find(allocation);
  const auto ends_ms = now_ms_ + lease.time_ms;
  if (found == leases_.end()) {
    begin_lease(allocation, lease);
  } else if (lease.time_ms > 0 && ends_ms < found->second.ends_ms) {
    found->second.ends_ms = ends_ms;
  } else {
    return;
  }
  const auto begun = leases_.find(allocation);
  if (begun != leases_.end() && !staying(allocation).empty()) arm_lease(begun->second);
}

// Unless it was moved since.
void ElasticDesk::put_back_lease(const Campaign& campaign) {
  const auto found = leases_.find(campaign.allocation);
  if (found == leases_.end() || !campaign.lease_after) return;
  auto& lease = found->second;
  const bool is_ours = lease.ends_ms == campaign.lease_after->ends_ms &&
                       lease.warn_ms == campaign.lease_after->warn_ms;
  if (!is_ours) return;
  if (!campaign.lease_before) {
    timers_.cancel(TimerKind::kLease, lease.number);
    leases_.erase(found);
    return;
  }
  lease.ends_ms = campaign.lease_before->ends_ms;
  lease.warn_ms = campaign.lease_before->warn_ms;
  arm_lease(lease);
}

std::optional<ElasticDesk::HeldLease> ElasticDesk::lease_of(const std::string& allocation) const {
  const auto found = leases_.find(allocation);
  return found == leases_.end() ? std::nullopt : std::optional(found->second);
}

// Until the warning, or the end. One that is further away than a timer reaches is looked at again.
void ElasticDesk::arm_lease(const HeldLease& lease) {
  const bool warns = lease.warn_ms > 0 && !lease.warned;
  const auto before_ms = warns ? std::uint64_t{lease.warn_ms} : 0;
  const auto at_ms = lease.ends_ms > before_ms ? lease.ends_ms - before_ms : 0;
  const auto left_ms = at_ms > now_ms_ ? at_ms - now_ms_ : 0;
  constexpr std::uint64_t kFarthestMs = std::numeric_limits<std::uint32_t>::max();
  out_.emplace_back(timers_.arm(
      TimerKind::kLease, static_cast<std::uint32_t>(std::min(left_ms, kFarthestMs)), lease.number));
}

std::optional<wire::LeaseCut> ElasticDesk::cut_of(std::uint32_t granted_ms,
                                                  const std::string& manager) {
  if (manager.empty()) return std::nullopt;
  wire::LeaseCut out;
  out.set_granted_ms(granted_ms);
  out.set_manager(manager);
  return out;
}

void ElasticDesk::handle(const SourceLimit& event) {
  source_ends_ms_.reset();
  if (event.left_ms > 0) source_ends_ms_ = now_ms_ + event.left_ms;
}

std::optional<std::uint64_t> ElasticDesk::time_left_ms(const std::set<Rank>& nodes) const {
  std::optional<std::uint64_t> ends_ms = source_ends_ms_;
  for (const Rank rank : nodes) {
    const auto node = roster_.nodes().find(rank);
    if (node == roster_.nodes().end()) continue;
    const auto lease = leases_.find(node->second.allocation);
    if (lease == leases_.end()) continue;
    ends_ms = std::min(ends_ms.value_or(lease->second.ends_ms), lease->second.ends_ms);
  }
  if (!ends_ms) return std::nullopt;
  return *ends_ms > now_ms_ ? *ends_ms - now_ms_ : 0;
}

// row:E17 those of an allocation stay or go together, whichever of them are named
void ElasticDesk::handle(const LeaseMoved& event) {
  if (ending_) return;
  std::set<std::string> allocations;
  for (const auto& name : event.nodes) {
    const Node* node = roster_.find(name);
    if (node != nullptr && node->state < NodeState::kLeaving) allocations.insert(node->allocation);
    for (const auto& [id, campaign] : campaigns_) {  // granted, and not begun to start
      const bool unstarted =
          std::ranges::find(campaign.to_start, name, &NodeRequest::name) != campaign.to_start.end();
      if (unstarted) allocations.insert(campaign.allocation);
    }
  }
  allocations.erase("");  // what the DVM was started with has no lease
  for (const auto& allocation : allocations) {
    if (event.time_ms == 0) {
      lift_lease(allocation);
    } else {
      move_lease(allocation, event);
    }
  }
}

void ElasticDesk::lift_lease(const std::string& allocation) {
  const auto found = leases_.find(allocation);
  if (found == leases_.end()) return;
  timers_.cancel(TimerKind::kLease, found->second.number);
  leases_.erase(found);
  events_.add_of_dvm(EventKind::kLeaseMoved, say::lease_lifted(allocation));
}

void ElasticDesk::move_lease(const std::string& allocation, const LeaseMoved& event) {
  // Schedulers count in seconds: within one of these it is the same end, said again.
  constexpr std::uint64_t kSameMs = 1'000;
  const auto found = leases_.find(allocation);
  const auto ends_ms = now_ms_ + event.time_ms;
  if (found == leases_.end()) {
    begin_lease(allocation, {event.time_ms, event.warn_ms});
  } else {
    auto& lease = found->second;
    const auto by_ms = std::max(ends_ms, lease.ends_ms) - std::min(ends_ms, lease.ends_ms);
    if (by_ms < kSameMs) return;
    lease.ends_ms = ends_ms;
    lease.warned = lease.warned && ends_ms <= now_ms_ + lease.warn_ms;
  }
  const auto moved = leases_.find(allocation);
  if (moved == leases_.end()) return;  // not elastic
  // Else it is looked at when its first node begins to start.
  if (!staying(allocation).empty()) arm_lease(moved->second);
  events_.add_of_dvm(EventKind::kLeaseMoved, say::lease_moved(allocation, event.time_ms));
}

// Of these nodes those that do not leave already.
std::set<Rank> ElasticDesk::staying(const std::string& allocation) const {
  std::set<Rank> out;
  for (const auto& [rank, node] : roster_.nodes()) {
    if (node.allocation == allocation && node.state < NodeState::kLeaving) out.insert(rank);
  }
  return out;
}

std::uint64_t ElasticDesk::lease_left_ms(const std::string& allocation) const {
  const auto found = leases_.find(allocation);
  if (found == leases_.end() || found->second.ends_ms <= now_ms_) return 0;
  return found->second.ends_ms - now_ms_;
}

// row:E17 a lease that is over takes its nodes along, as any shrink does
void ElasticDesk::on_lease_timer(std::uint32_t number) {
  const auto found = std::ranges::find_if(
      leases_, [number](const auto& entry) { return entry.second.number == number; });
  if (found == leases_.end()) return;
  const std::string allocation = found->first;
  HeldLease& lease = found->second;
  auto ranks = staying(allocation);
  const bool reserves = sessions_.resolve(allocation) != nullptr;
  if ((ranks.empty() && !reserves) || ending_) {  // nothing is left that it could be about
    leases_.erase(found);
    return;
  }
  if (now_ms_ < lease.ends_ms) {
    if (!lease.warned && lease.warn_ms > 0 && now_ms_ + lease.warn_ms >= lease.ends_ms) {
      warn(allocation, lease);
    }
    return arm_lease(lease);
  }
  leases_.erase(found);
  ++counts_.lease_ends;
  const auto text = say::lease_ended(allocation);
  notes_.add(Subsystem::kRas, 0, "{}", text);
  events_.add_of_dvm(EventKind::kLeaseEnded, text);
  // row:R11 of what it had there may be left only what it took out of the default session
  if (ranks.empty()) return sessions_.end(allocation, AllocationCause::kScheduler);
  begin_shrink({}, {std::move(ranks), allocation}, allocation, Trigger::kLease);
}

// Told to whoever watches, and to the process that asked for it.
void ElasticDesk::warn(const std::string& allocation, HeldLease& lease) {
  lease.warned = true;
  ++counts_.lease_warnings;
  const auto text = say::lease_warning(allocation, lease.ends_ms - now_ms_);
  notes_.add(Subsystem::kRas, 1, "{}", text);
  events_.add_of_dvm(EventKind::kLeaseWarning, text);
  const Allocation* known = sessions_.find(allocation);
  if (known == nullptr || !known->terms.to_warn) return;
  const auto left_s = (lease.ends_ms - now_ms_ + 999) / 1000;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  send_warning(*known->terms.to_warn, *known, static_cast<std::uint32_t>(std::min(left_s, kMost)));
}

// ---- more time ----

// row:C5 no daemon has to do with it: the first answer is the last
void ElasticDesk::extend(Ask pending, const wire::GrowRequest& request) {
  const ChangeAsker& asker = pending.asker;
  const std::string& allocation = request.extend();
  if (request.count() > 0 || !request.hosts().empty() || request.time_ms() == 0) {
    return refuse(asker, say::extend_by_what());
  }
  const auto ranks = staying(allocation);
  const bool lasts = !leases_.contains(allocation);
  if (lasts && (!ranks.empty() || sessions_.resolve(allocation) != nullptr)) {
    return refuse(asker, say::no_lease_to_extend(allocation));
  }
  if (ranks.empty()) return refuse(asker, say::no_such_allocation_to_extend(allocation));
  std::set<std::string> managers;
  for (const Rank rank : ranks) managers.insert(roster_.nodes().at(rank).manager);
  pending.allocation = allocation;
  pending.warn_ms = request.warn_ms();
  pending.words = say::time_asked_for(allocation);
  if (!begin_ask(std::move(pending))) return;
  out_.emplace_back(AskForTime{
      last_ask_, {managers.begin(), managers.end()}, request.time_ms(), node_names(ranks)});
}

// While it was asked for time, it may have ended.
Status ElasticDesk::may_be_prolonged(const std::string& allocation) const {
  if (leases_.contains(allocation) && !staying(allocation).empty()) return ok_status();
  return say::no_such_allocation_to_extend(allocation);
}

void ElasticDesk::handle(const TimeGranted& event) {
  const auto ask = asks_.extract(event.ask);
  if (ask.empty()) return;
  timers_.cancel(TimerKind::kGrant, event.ask);
  const ChangeAsker& asker = ask.mapped().asker;
  const std::string& allocation = ask.mapped().allocation;
  if (const auto may = may_be_prolonged(allocation); !may) return refuse(asker, may.error());
  HeldLease& lease = leases_.at(allocation);
  lease.ends_ms += event.time_ms;
  lease.warned = false;
  set_terms(allocation, ask.mapped().terms, ask.mapped().warn_ms, ask.mapped().trigger);
  arm_lease(lease);
  events_.add_of_dvm(EventKind::kLeaseExtended,
                     say::lease_extended(allocation, lease.ends_ms - now_ms_));
  auto nodes = node_names(staying(allocation));
  answer_begun({.asker = asker,
                .allocation = allocation,
                .nodes = std::move(nodes),
                .cut = cut_of(event.time_ms, event.cut_by)},
               true);
}

}  // namespace tide::core
