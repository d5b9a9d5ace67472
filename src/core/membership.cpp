#include "core/membership.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "wire/limits.hpp"

namespace tide::core {
namespace {

bool below_limit(const wire::RankSet& ranks) {
  return std::ranges::all_of(ranks.ranges(),
                             [](const auto& range) { return range.last() < kMaxDaemonRanks; });
}

}  // namespace

bool Membership::plausible(const wire::MembershipChange& change) {
  return change.span() <= kMaxDaemonRanks && below_limit(change.joined());
}

bool Membership::plausible(const wire::Snapshot& snapshot) {
  return snapshot.span() <= kMaxDaemonRanks && below_limit(snapshot.living());
}

Membership::Membership(Rank self, std::uint32_t radix)
    : self_(self), tree_(1, radix, RankSet(kHeadRank)) {
  look_around();
}

std::optional<Rank> Membership::parent() const {
  if (ancestors_.empty()) return std::nullopt;
  return ancestors_.back();
}

const Contact* Membership::contact(Rank rank) const {
  const auto found = contacts_.find(rank);
  return found == contacts_.end() ? nullptr : &found->second;
}

void Membership::learn(Rank rank, Contact contact) {
  contacts_.insert_or_assign(rank, std::move(contact));
}

void Membership::learn(const wire::Contact& contact) {
  learn(Rank(contact.rank()), {Incarnation(contact.incarnation()),
                               {contact.endpoints().begin(), contact.endpoints().end()}});
}

wire::Contact Membership::to_wire(Rank rank) const {
  wire::Contact out;
  out.set_rank(rank.value());
  if (const Contact* known = contact(rank)) {
    out.set_incarnation(known->incarnation.value());
    for (const auto& endpoint : known->endpoints) *out.add_endpoints() = endpoint;
  }
  return out;
}

RoutingTree Membership::tree_after(const wire::MembershipChange& change) const {
  RankSet living = tree_.living();
  living.insert(RankSet::from_wire(change.joined()));
  living.erase(RankSet::from_wire(change.left()));
  living.insert(kHeadRank);
  const auto new_span = std::max({span(), change.span(), living.highest().value() + 1});
  return {new_span, radix(), std::move(living)};
}

wire::MembershipChange Membership::completed(wire::MembershipChange change) const {
  change.clear_moved();
  const RoutingTree after = tree_after(change);
  after.movers_since(tree_).for_each(after.span(),
                                     [&](Rank rank) { *change.add_moved() = to_wire(rank); });
  // Of grows that overlap a later one may be complete first: then whoever comes now can have
  // somebody below it who was there before. Else nobody needs to know of it.
  const Rank newest = tree_.living().highest();
  RankSet::from_wire(change.joined()).for_each(after.span(), [&](Rank rank) {
    if (rank < newest && !after.children(rank).empty()) *change.add_moved() = to_wire(rank);
  });
  return change;
}

void Membership::apply(const wire::Operation& operation) {
  TIDE_CHECK(operation.serial() == serial_.value() + 1);
  serial_ = Serial(operation.serial());
  if (!operation.has_membership()) return;
  changed_at_ = serial_;
  const auto& change = operation.membership();
  tree_ = tree_after(change);
  if (self_ != kHeadRank) {
    for (const auto& contact : change.moved()) learn(contact);
  }
  look_around();
  if (change.left().ranges_size() > 0) ++repairs_;
}

wire::Snapshot Membership::snapshot_for(Rank rank) const {
  wire::Snapshot out;
  out.set_serial(serial_.value());
  out.set_span(span());
  out.set_radix(radix());
  *out.mutable_living() = tree_.living().to_wire();
  for (const Rank ancestor : tree_.path(rank)) {
    if (ancestor != kHeadRank && ancestor != rank) *out.add_ancestors() = to_wire(ancestor);
  }
  return out;
}

void Membership::load(const wire::Snapshot& snapshot) {
  serial_ = changed_at_ = Serial(snapshot.serial());
  RankSet living = RankSet::from_wire(snapshot.living());
  living.insert(kHeadRank);
  const auto new_span = std::max(snapshot.span(), living.highest().value() + 1);
  tree_ = RoutingTree(new_span, std::max(1U, snapshot.radix()), std::move(living));
  contacts_.clear();
  for (const auto& contact : snapshot.ancestors()) learn(contact);
  look_around();
}

void Membership::look_around() {
  ancestors_ = tree_.path(self_);
  if (!ancestors_.empty()) ancestors_.pop_back();
  children_ = tree_.children(self_);
  subtree_ = tree_.subtree(self_);
  std::erase_if(contacts_, [this](const auto& entry) {
    return self_ == kHeadRank ? !has(entry.first)
                              : std::ranges::find(ancestors_, entry.first) == ancestors_.end();
  });
}

}  // namespace tide::core
