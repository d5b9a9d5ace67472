#include "core/sessions.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "base/check.hpp"
#include "say/allocations.hpp"
#include "say/elastic.hpp"
#include "say/reservations.hpp"

namespace tide::core {

const char* inheritance_name(Inheritance inheritance) {
  static constexpr std::array kNames = {"", "none", "child", "default", "child-default"};
  return kNames.at(static_cast<std::size_t>(inheritance));
}

bool Allocation::nodes_stay() const {
  return terms.inheritance != Inheritance::kNone && terms.inheritance != Inheritance::kChild;
}

namespace {

std::string cause_words(AllocationCause cause) {
  switch (cause) {
    case AllocationCause::kRequest:
      return say::by_request();
    case AllocationCause::kScheduler:
      return say::by_scheduler();
    case AllocationCause::kInheritance:
      return say::by_inheritance();
    case AllocationCause::kFailure:
      return say::by_failure();
    case AllocationCause::kTeardown:
      break;
  }
  return say::by_teardown();
}

}  // namespace

// row:R12 what was not said is the default
bool Allocation::ends_with_owner() const {
  return terms.inheritance != Inheritance::kChild &&
         terms.inheritance != Inheritance::kChildDefault;
}

bool Allocation::is_disowned() const {
  return owner_ended && (ends_with_owner() || derived.empty());
}

const Allocation* Sessions::find(const std::string& id) const {
  const auto found = std::ranges::find(allocations_, id, &Allocation::id);
  return found == allocations_.end() ? nullptr : &*found;
}

Allocation* Sessions::find_mutable(const std::string& id) {
  const auto found = std::ranges::find(allocations_, id, &Allocation::id);
  return found == allocations_.end() ? nullptr : &*found;
}

const Allocation* Sessions::resolve(const std::string& id) const {
  const Allocation* found = find(id);
  return found == nullptr || found->ending ? nullptr : found;
}

const Allocation* Sessions::resolve(const std::string& asker, const std::string& request_id) const {
  for (const auto& one : std::views::reverse(allocations_)) {
    if (one.asker == asker && one.request_id == request_id && !one.ending) return &one;
  }
  return nullptr;
}

// ---- who may do what ----

// row:R8
bool Sessions::owns(const Actor& actor, const Allocation& allocation) const {
  return actor.owns_all || allocation.owner == actor.nspace ||
         allocation.users.contains(actor.nspace) || (actor.by_command && allocation.of_user);
}

// row:R9 all of them, or none
Result<std::set<std::string>> Sessions::targets(const Actor& actor,
                                                const wire::Targets& wanted) const {
  std::set<std::string> out;
  if (wanted.default_session()) out.insert(kDefaultSession);
  for (const auto& id : wanted.allocations()) {
    const Allocation* allocation = resolve(id);
    if (allocation == nullptr || allocation->shared) {
      return say::no_such_reservation(id, allocation != nullptr);
    }
    if (!owns(actor, *allocation)) return say::reservation_of_others(id);
    out.insert(id);
  }
  if (out.empty()) out.insert(kDefaultSession);
  return out;
}

std::set<std::string> Sessions::existing(const std::set<std::string>& sessions) const {
  std::set<std::string> out;
  for (const auto& id : sessions) {
    if (id == kDefaultSession || resolve(id) != nullptr) out.insert(id);
  }
  return out;
}

// ---- allocations ----

void Sessions::tell(EventKind kind, const Allocation& allocation, const std::string& what) {
  events_.add_of_dvm(
      kind, say::allocation_news(allocation.id, allocation.shared, allocation.owner, what));
}

void Sessions::make(Allocation allocation, AllocationCause cause, std::uint64_t now_ms) {
  TIDE_CHECK(!allocation.id.empty() && find(allocation.id) == nullptr);
  allocation.made_ms = now_ms;
  allocation.derived = genealogy_.descendants(allocation.owner);
  // Who asked for it may have ended before it was granted.
  allocation.owner_ended = !lives(allocation.owner);
  allocations_.push_back(std::move(allocation));
  tell(EventKind::kAllocationMade, allocations_.back(), cause_words(cause));
}

// row:R13
void Sessions::extend(const std::string& id, const AllocationTerms& terms, AllocationCause cause) {
  Allocation* allocation = find_mutable(id);
  if (allocation == nullptr) return;
  if (terms.inheritance != Inheritance::kNotSaid) {
    allocation->terms.inheritance = terms.inheritance;
  }
  if (terms.to_warn) allocation->terms.to_warn = terms.to_warn;
  tell(EventKind::kAllocationExtended, *allocation, cause_words(cause));
}

void Sessions::restore(const std::string& id, AllocationTerms terms) {
  if (Allocation* allocation = find_mutable(id)) allocation->terms = std::move(terms);
}

Status Sessions::may_join(const std::vector<std::string>& nodes,
                          const Allocation& allocation) const {
  const std::string session = allocation.shared ? "" : allocation.id;
  for (const auto& name : nodes) {
    const Node* node = roster_.find(name);
    if (node == nullptr) return say::node_is_gone(name);
    if (node->state >= NodeState::kLeaving) return say::node_is_leaving(node->name);
    if (!node->session.empty() && node->session != session) {
      return say::node_is_reserved(node->name, node->session);
    }
    // If what brings it fails, it has to go to where it came from, not out of a reservation.
    const bool moves = !allocation.shared && node->session.empty();
    if (moves && node->state < NodeState::kUp) return say::node_is_still_starting(node->name);
  }
  return ok_status();
}

std::set<Rank> Sessions::join(const std::vector<std::string>& nodes, const Allocation& allocation) {
  std::set<Rank> out;
  if (allocation.shared) return out;
  for (const auto& name : nodes) {
    const Node* named = roster_.find(name);
    if (named == nullptr || !named->session.empty()) continue;
    roster_.find(named->rank)->session = allocation.id;
    out.insert(named->rank);
  }
  changed_ = changed_ || !out.empty();
  return out;
}

void Sessions::unreserve(const std::set<Rank>& ranks) {
  changed_ = changed_ || !ranks.empty();
  for (const Rank rank : ranks) {
    if (Node* node = roster_.find(rank)) node->session.clear();
  }
}

Sessions::Nodes Sessions::nodes_of(const Allocation& allocation) const {
  Nodes out;
  const std::string session = allocation.shared ? "" : allocation.id;
  for (const auto& [rank, node] : roster_.nodes()) {
    if (node.session != session) continue;
    if (node.allocation == allocation.id) {
      out.brought.insert(rank);
    } else if (!allocation.shared) {
      out.taken.insert(rank);
    }
  }
  return out;
}

void Sessions::set_ending(const std::string& id, bool ending) {
  Allocation* allocation = find_mutable(id);
  if (allocation == nullptr) return;
  allocation->ending = ending;
  changed_ = true;
}

void Sessions::end(const std::string& id, AllocationCause cause) {
  const auto found = std::ranges::find(allocations_, id, &Allocation::id);
  if (found == allocations_.end()) return;
  const auto nodes = nodes_of(*found);
  changed_ = true;
  if (!found->shared) {
    unreserve(nodes.brought);
    unreserve(nodes.taken);
  }
  std::erase_if(over_, [this](const std::string& gone) {
    return std::ranges::none_of(roster_.nodes(),
                                [&](const auto& entry) { return entry.second.allocation == gone; });
  });
  if (!nodes.brought.empty()) over_.insert(id);
  tell(EventKind::kAllocationEnded, *found, cause_words(cause));
  allocations_.erase(found);
}

void Sessions::end_all() {
  while (!allocations_.empty()) {
    end(std::string(allocations_.back().id), AllocationCause::kTeardown);
  }
}

// ---- who comes and goes ----

// row:R19
void Sessions::on_job(const std::string& nspace, const std::string& parent,
                      const std::set<std::string>& sessions) {
  genealogy_.born(nspace, parent);
  for (auto& one : allocations_) {
    const bool of_owner = !parent.empty() && (one.owner == parent || one.derived.contains(parent));
    if (of_owner || (!one.shared && sessions.contains(one.id))) one.derived.insert(nspace);
  }
}

// row:R8
void Sessions::on_job_launched(const std::string& nspace, const std::set<std::string>& sessions) {
  for (auto& one : allocations_) {
    if (one.shared || !sessions.contains(one.id)) continue;
    one.users.insert(nspace);
    tell(EventKind::kAllocationTargeted, one, say::used_by_job(nspace));
  }
}

// row:R12
std::vector<std::string> Sessions::on_gone(const std::string& nspace) {
  genealogy_.gone(nspace);
  std::vector<std::string> out;
  for (auto& one : allocations_) {
    one.users.erase(nspace);
    const bool came_of_it = one.derived.erase(nspace) > 0;
    const bool is_owner = one.owner == nspace;
    one.owner_ended = one.owner_ended || is_owner;
    const bool matters = is_owner || (came_of_it && !one.ends_with_owner());
    if (matters && one.is_disowned() && !one.ending) out.push_back(one.id);
  }
  return out;
}

}  // namespace tide::core
