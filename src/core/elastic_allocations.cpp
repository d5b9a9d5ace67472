// Changes that processes and tools ask for, and what they are told.
#include <algorithm>
#include <memory>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "core/elastic_desk.hpp"
#include "core/pmix_words.hpp"
#include "core/proc_names.hpp"
#include "say/allocations.hpp"
#include "say/elastic.hpp"
#include "say/reservations.hpp"

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

// In a time that tells nothing of how much of it was right.
bool is_key(std::string_view given, std::string_view key) {
  if (key.empty() || given.size() != key.size()) return false;
  int different = 0;
  for (std::size_t i = 0; i < key.size(); ++i) different |= given[i] ^ key[i];
  return different == 0;
}

}  // namespace

AllocationCause ElasticDesk::cause_of(Trigger trigger) {
  switch (trigger) {
    case Trigger::kRequest:
      return AllocationCause::kRequest;
    case Trigger::kInheritance:
      return AllocationCause::kInheritance;
    default:
      return AllocationCause::kScheduler;
  }
}

bool ElasticDesk::is_scheduler(std::string_view key) const {
  return is_key(key, config_.scheduler_key);
}

// ---- requests ----

void ElasticDesk::allocate(const PmixAsker& asker, const wire::AllocationRequest& request) {
  allocate({.pmix = asker}, {.nspace = asker.who.nspace(), .by_tool = asker.by_tool}, request);
}

void ElasticDesk::allocate(ClientId client, std::uint32_t number,
                           const wire::AllocationRequest& request) {
  allocate({client, number}, {.nspace = sessions_.user(), .by_tool = true, .by_command = true},
           request);
}

void ElasticDesk::allocate(const ChangeAsker& asker, Actor actor, const Wanted& request) {
  if (const auto may = may_act(); !may) return refuse(asker, may.error());
  if (!request.scheduler_key().empty()) {
    actor.owns_all = actor.by_tool && is_scheduler(request.scheduler_key());
    if (!actor.owns_all) return refuse(asker, say::not_the_scheduler());
  }
  if (const auto makes_sense = check(actor, request); !makes_sense) {
    return refuse(asker, makes_sense.error());
  }
  switch (request.what()) {
    case Wanted::NEW:
      return make_allocation(asker, actor, request);
    case Wanted::EXTEND:
      return extend_allocation(asker, actor, request);
    case Wanted::RELEASE:
      return release_nodes(asker, actor, request);
    case Wanted::CANCEL:
      return take_back_request(asker, actor, request);
    default:
      return refuse(asker, say::unknown_allocation_request());
  }
}

// row:R10 row:R13 what means nothing in what gives something back is not looked at there
Status ElasticDesk::check(const Actor& actor, const Wanted& request) const {
  if (request.what() != Wanted::NEW && request.what() != Wanted::EXTEND) return ok_status();
  if (!request.target().empty() && !actor.by_tool) return say::target_by_process();
  if (request.inheritance() > static_cast<std::uint32_t>(Inheritance::kChildDefault)) {
    return say::unknown_inheritance(request.inheritance());
  }
  return ok_status();
}

namespace {

wire::GrowRequest nodes_in(const wire::AllocationRequest& request) {
  wire::GrowRequest out;
  out.set_count(request.count());
  *out.mutable_hosts() = request.hosts();
  out.set_time_ms(request.time_ms());
  out.set_warn_ms(request.warn_ms());
  return out;
}

AllocationTerms terms_in(const wire::AllocationRequest& request, const ChangeAsker& asker) {
  AllocationTerms out{.inheritance = static_cast<Inheritance>(request.inheritance())};
  if (request.warn_ms() > 0 && asker.pmix) {
    out.to_warn = std::make_shared<const PmixAsker>(*asker.pmix);
  }
  return out;
}

}  // namespace

// row:R2 row:R3
void ElasticDesk::make_allocation(const ChangeAsker& asker, const Actor& actor,
                                  const Wanted& request) {
  Ask ask;
  ask.asker = asker;
  ask.nspace = actor.nspace;
  ask.of_user = actor.by_tool;
  ask.request_id = request.request_id();
  // row:R21 what a scheduler gives to nobody is everybody's
  const bool pushes = actor.owns_all && request.target().empty();
  if (pushes) ask.trigger = Trigger::kPush;
  const auto& owner = request.target().empty() ? actor.nspace : request.target();
  if (!pushes) {
    if (sessions_.full()) return refuse(asker, say::too_many_allocations(kMaxAllocations));
    if (!sessions_.lives(owner)) return refuse(asker, say::no_such_owner(owner));
    ask.to.allocation = Allocation{.owner = owner,
                                   .asker = actor.nspace,
                                   .request_id = request.request_id(),
                                   .shared = request.share(),
                                   .of_user = actor.by_tool,
                                   .terms = terms_in(request, asker)};
  }
  ask_for_nodes(std::move(ask), nodes_in(request));
}

// row:R4 the id, if it is one that the actor owns
Result<std::string> ElasticDesk::extended_by(const Actor& actor, const Wanted& request) const {
  const bool by_id = !request.allocation().empty();
  if (!by_id && request.request_id().empty()) return say::extend_of_what();
  const Allocation* found = by_id ? sessions_.resolve(request.allocation())
                                  : sessions_.resolve(actor.nspace, request.request_id());
  if (found == nullptr && !by_id && !request.target().empty()) {
    found = sessions_.resolve(request.target(), request.request_id());
  }
  if (found == nullptr) {
    return say::no_allocation_to_extend(by_id ? request.allocation() : request.request_id());
  }
  const Actor judged = request.target().empty() ? actor : Actor{.nspace = request.target()};
  if (!actor.owns_all && !sessions_.owns(judged, *found)) {
    return say::allocation_of_others(found->id);
  }
  return found->id;
}

void ElasticDesk::extend_allocation(const ChangeAsker& asker, const Actor& actor,
                                    const Wanted& request) {
  const auto id = extended_by(actor, request);
  if (!id) return refuse(asker, id.error());
  const bool by_nodes = request.count() > 0 || !request.hosts().empty();
  if (by_nodes && request.time_ms() > 0) return refuse(asker, say::extend_by_nodes_or_time());
  Ask ask;
  ask.asker = asker;
  ask.terms = terms_in(request, asker);
  if (actor.owns_all) ask.trigger = Trigger::kPush;
  ask.nspace = actor.nspace;
  ask.of_user = actor.by_tool;
  ask.request_id = request.request_id();
  auto wanted = nodes_in(request);
  if (by_nodes) {
    ask.to.allocation = *sessions_.find(*id);
    ask.to.terms = ask.terms;
    ask.to.warn_ms = request.warn_ms();
    return ask_for_nodes(std::move(ask), wanted);
  }
  if (request.time_ms() > 0) {
    wanted.set_extend(*id);
    return extend(std::move(ask), wanted);
  }
  if (request.inheritance() == 0 && request.warn_ms() == 0) {
    return refuse(asker, say::extend_by_nothing());
  }
  set_terms(*id, ask.terms, request.warn_ms(), ask.trigger);
  answer_begun({.asker = asker, .allocation = *id}, true);
}

// row:R13 row:R16
void ElasticDesk::set_terms(const std::string& allocation, const AllocationTerms& terms,
                            std::uint32_t warn_ms, Trigger trigger) {
  sessions_.extend(allocation, terms, cause_of(trigger));
  const Allocation* known = sessions_.find(allocation);
  // The moment for which it says something has passed already.
  if (known != nullptr && known->is_disowned()) disowned_.push_back(allocation);
  const auto lease = leases_.find(allocation);
  if (lease == leases_.end() || warn_ms == 0) return;
  lease->second.warn_ms = warn_ms;
  lease->second.warned = false;
  arm_lease(lease->second);
}

void ElasticDesk::release_nodes(const ChangeAsker& asker, const Actor& actor,
                                const Wanted& request) {
  wire::ShrinkRequest wanted;
  wanted.set_count(request.count());
  for (const auto& host : request.hosts()) {
    if (host.kind() != wire::HostRequest::NAME || host.excluded()) {
      return refuse(asker, say::only_plain_host_names(host.text()));
    }
    wanted.add_nodes(host.node());
  }
  wanted.set_allocation(request.allocation());
  const bool by_request_id = request.allocation().empty() && request.hosts().empty() &&
                             request.count() == 0 && !request.request_id().empty();
  if (by_request_id) {
    const auto* own = sessions_.resolve(actor.nspace, request.request_id());
    if (own == nullptr) return refuse(asker, say::no_such_allocation(request.request_id()));
    wanted.set_allocation(own->id);
  }
  release(asker, actor, wanted, actor.owns_all ? Trigger::kReclaim : Trigger::kRequest);
}

void ElasticDesk::take_back_request(const ChangeAsker& asker, const Actor& actor,
                                    const Wanted& request) {
  const auto& name = request.request_id();
  if (name.empty()) return refuse(asker, say::cancel_of_what());
  const auto newest_first = std::views::reverse(asks_);
  const auto found = std::ranges::find_if(newest_first, [&](const auto& entry) {
    const Ask& ask = entry.second;
    const bool own = ask.nspace == actor.nspace || (actor.by_command && ask.of_user);
    return own && ask.request_id == name;
  });
  if (found == newest_first.end()) return refuse(asker, say::no_request_to_cancel(name));
  take_back(found->first, say::request_was_cancelled(name));
  answer_begun({.asker = asker}, true);
}

// row:R20
bool ElasticDesk::may_release(const Actor& actor, const Node& node) const {
  if (actor.owns_all) return true;
  const auto* allocation = sessions_.find(node.session.empty() ? node.allocation : node.session);
  const bool own = allocation != nullptr && sessions_.owns(actor, *allocation);
  return own || (node.session.empty() && actor.by_tool);
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
  const auto& failure = campaign.outcome.failure;
  auto notice = notice_to(asker, failure ? kEventDvmModFailed : kEventDvmIsReady,
                          campaign.allocation, asker.request_id);
  if (failure) {
    auto* cause = notice.add_facts();
    cause->set_key(kFactJobStatus);
    cause->set_status(term_status_of(*failure));
  } else {
    // Who asked for so many learns here which they are.
    add_text(notice, kFactNodes, join(campaign.nodes, ","));
  }
  add_text(notice, kFactText, text);
  send(asker, std::move(notice));
}

// To one process, about an allocation. Who has no handler for it is not disturbed.
wire::EventNotice ElasticDesk::notice_to(const PmixAsker& asker, std::int32_t code,
                                         const std::string& allocation,
                                         const std::string& request_id) {
  wire::EventNotice notice;
  notice.set_code(code);
  notice.set_range(wire::RANGE_CUSTOM);
  *notice.mutable_targets()->add_names() = asker.who;
  add_text(notice, kFactAllocation, allocation);
  if (!request_id.empty()) add_text(notice, kFactRequest, request_id);
  auto* specific = notice.add_facts();
  specific->set_key(kFactNonDefault);
  specific->set_flag(true);
  return notice;
}

void ElasticDesk::send(const PmixAsker& asker, wire::EventNotice notice) {
  wire::DownBody body;
  *body.mutable_event() = std::move(notice);
  daemons_.scatter({{asker.from.daemon, std::move(body)}}, nullptr, {});
}

// ---- those who are gone ----

template <class Meant>
void ElasticDesk::forget_pmix(const Meant& meant) {
  forget([&](const ChangeAsker& asker) { return asker.pmix && meant(*asker.pmix); });
  sessions_.forget_to_warn(meant);
}

void ElasticDesk::cancel_allocation(const Requester& from) {
  forget_pmix([&](const PmixAsker& asker) { return asker.from == from; });
}

void ElasticDesk::on_proc_gone(const wire::ProcName& proc) {
  forget_pmix([&](const PmixAsker& asker) { return id_of(asker.who) == id_of(proc); });
}

void ElasticDesk::on_nspace_gone(const std::string& nspace) {
  forget_pmix([&](const PmixAsker& asker) { return asker.who.nspace() == nspace; });
  for (auto& id : sessions_.on_gone(nspace)) disowned_.push_back(std::move(id));
}

// row:C4
void ElasticDesk::on_daemon_gone(Rank daemon) {
  forget_pmix([&](const PmixAsker& asker) { return asker.from.daemon == daemon; });
}

}  // namespace tide::core
