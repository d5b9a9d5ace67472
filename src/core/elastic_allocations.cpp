// Changes that processes and tools ask for, and what they are told.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "core/elastic_desk.hpp"
#include "core/pmix_words.hpp"
#include "core/proc_names.hpp"
#include "say/allocations.hpp"
#include "say/elastic.hpp"

namespace tide::core {

namespace {

void add_text(wire::EventNotice& notice, const char* key, const std::string& text) {
  auto* fact = notice.add_facts();
  fact->set_key(key);
  fact->set_text(text);
}

// What PMIx calls the reason; each has its own.
std::int32_t term_status_of(ChangeFailure failure) {
  switch (failure) {
    case ChangeFailure::kCannotStart:
      return kStatusFailedToLaunch;
    case ChangeFailure::kLost:
      return kStatusLostConnection;
    case ChangeFailure::kTimeLimit:
      return kStatusTimeout;
    case ChangeFailure::kResources:
      return kStatusOutOfResource;
    case ChangeFailure::kEnding:
      break;
  }
  return kStatusUnreachable;
}

}  // namespace

// ---- requests ----

void ElasticDesk::allocate(const PmixAsker& asker, const wire::AllocationRequest& request) {
  const ChangeAsker who{.pmix = asker};
  if (const auto may = may_act(); !may) return refuse(who, may.error());
  switch (request.what()) {
    case wire::AllocationRequest::NEW:
    case wire::AllocationRequest::EXTEND:
      return allocate_nodes(asker, request);
    case wire::AllocationRequest::RELEASE:
      return release_nodes(asker, request);
    case wire::AllocationRequest::CANCEL:
      return take_back_request(asker);
    default:
      return refuse(who, say::unknown_allocation_request());
  }
}

Result<Allocation> ElasticDesk::destination_of(const PmixAsker& asker,
                                               const wire::AllocationRequest& request) const {
  const std::string& owner = asker.who.nspace();
  if (request.what() == wire::AllocationRequest::NEW) {
    if (sessions_.full()) return say::too_many_allocations(kMaxAllocations);
    return Allocation{
        .owner = owner, .request_id = request.request_id(), .shared = request.share()};
  }
  const bool by_id = !request.allocation().empty();
  if (!by_id && request.request_id().empty()) return say::extend_of_what();
  const Allocation* found = by_id ? sessions_.resolve(request.allocation())
                                  : sessions_.resolve(owner, request.request_id());
  if (found == nullptr) {
    return say::no_allocation_to_extend(by_id ? request.allocation() : request.request_id());
  }
  if (found->owner != owner) return say::allocation_of_others(found->id);
  return *found;
}

void ElasticDesk::allocate_nodes(const PmixAsker& asker, const wire::AllocationRequest& request) {
  const ChangeAsker who{.pmix = asker};
  auto allocation = destination_of(asker, request);
  if (!allocation) return refuse(who, allocation.error());
  wire::GrowRequest wanted;
  wanted.set_count(request.count());
  *wanted.mutable_hosts() = request.hosts();
  ask_for_nodes(who, wanted, {.allocation = std::move(*allocation)});
}

void ElasticDesk::release_nodes(const PmixAsker& asker, const wire::AllocationRequest& request) {
  const ChangeAsker who{.pmix = asker};
  wire::ShrinkRequest wanted;
  wanted.set_count(request.count());
  for (const auto& host : request.hosts()) {
    if (host.kind() != wire::HostRequest::NAME || host.excluded()) {
      return refuse(who, say::only_plain_host_names(host.text()));
    }
    wanted.add_nodes(host.node());
  }
  wanted.set_allocation(request.allocation());
  const bool by_request_id = request.allocation().empty() && request.hosts().empty() &&
                             request.count() == 0 && !request.request_id().empty();
  if (by_request_id) {
    const auto* own = sessions_.resolve(asker.who.nspace(), request.request_id());
    if (own == nullptr) return refuse(who, say::no_such_allocation(request.request_id()));
    wanted.set_allocation(own->id);
  }
  release(who, wanted);
}

void ElasticDesk::take_back_request(const PmixAsker& asker) {
  const auto found = std::ranges::find_if(asks_, [&](const auto& entry) {
    const auto& other = entry.second.asker.pmix;
    return other && other->who.nspace() == asker.who.nspace() &&
           other->request_id == asker.request_id;
  });
  if (asker.request_id.empty()) return refuse({.pmix = asker}, say::cancel_of_what());
  if (found == asks_.end()) {
    return refuse({.pmix = asker}, say::no_request_to_cancel(asker.request_id));
  }
  timers_.cancel(TimerKind::kGrant, found->first);
  refuse(found->second.asker, say::request_was_cancelled(asker.request_id));
  asks_.erase(found);
  answer_allocation(asker, "", true);
}

// row:R20
bool ElasticDesk::may_release(const ChangeAsker& asker, const Node& node) const {
  if (!asker.pmix) return true;
  const auto* allocation = sessions_.find(node.session.empty() ? node.allocation : node.session);
  const bool own = allocation != nullptr && allocation->owner == asker.pmix->who.nspace();
  return own || (node.session.empty() && asker.pmix->by_tool);
}

// ---- answers ----

void ElasticDesk::answer_allocation(const PmixAsker& asker, const std::string& allocation,
                                    bool complete) {
  wire::ServiceAnswer result;
  result.mutable_allocation()->set_allocation(allocation);
  result.mutable_allocation()->set_request_id(asker.request_id);
  result.mutable_allocation()->set_complete(complete);
  answer(daemons_, asker.from, ok_status(), std::move(result));
}

// row:C2 row:C3 by the way of the first answer, so it comes after that
void ElasticDesk::tell_of_end(const PmixAsker& asker, const Campaign& campaign,
                              const std::string& text) {
  wire::DownBody body;
  auto& notice = *body.mutable_event();
  const auto& failure = campaign.outcome.failure;
  notice.set_code(failure ? kEventDvmModFailed : kEventDvmIsReady);
  notice.set_range(wire::RANGE_CUSTOM);
  *notice.mutable_targets()->add_names() = asker.who;
  add_text(notice, kFactAllocation, campaign.allocation);
  if (!asker.request_id.empty()) add_text(notice, kFactRequest, asker.request_id);
  if (failure) {
    auto* cause = notice.add_facts();
    cause->set_key(kFactJobStatus);
    cause->set_status(term_status_of(*failure));
  } else {
    // Who asked for so many learns here which they are.
    add_text(notice, kFactNodes, join(campaign.nodes, ","));
  }
  add_text(notice, kFactText, text);
  // Who has no handler for this is not disturbed.
  auto* specific = notice.add_facts();
  specific->set_key(kFactNonDefault);
  specific->set_flag(true);
  daemons_.scatter({{asker.from.daemon, std::move(body)}}, nullptr, {});
}

// ---- those who are gone ----

// What is not granted yet is not wanted any more; what has begun goes on, and nobody is told.
template <class Meant>
void ElasticDesk::forget_askers(const Meant& meant) {
  std::erase_if(asks_, [&](const auto& entry) {
    const auto& asker = entry.second.asker.pmix;
    if (!asker || !meant(*asker)) return false;
    timers_.cancel(TimerKind::kGrant, entry.first);
    return true;
  });
  for (auto& [id, campaign] : campaigns_) {
    auto& asker = campaign.asker.pmix;
    if (asker && meant(*asker)) asker.reset();
  }
}

void ElasticDesk::cancel_allocation(const Requester& from) {
  forget_askers([&](const PmixAsker& asker) { return asker.from == from; });
}

void ElasticDesk::on_proc_gone(const wire::ProcName& proc) {
  forget_askers([&](const PmixAsker& asker) { return id_of(asker.who) == id_of(proc); });
}

void ElasticDesk::on_nspace_gone(const std::string& nspace) {
  forget_askers([&](const PmixAsker& asker) { return asker.who.nspace() == nspace; });
  sessions_.on_owner_gone(nspace);
}

// row:C4
void ElasticDesk::on_daemon_gone(Rank daemon) {
  forget_askers([&](const PmixAsker& asker) { return asker.from.daemon == daemon; });
}

}  // namespace tide::core
