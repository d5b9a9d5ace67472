// Leaving in order. Closing goes from the top, ending from the bottom:
//
// The order goes down before anybody acts on it. Those who stay take it for a change of the tree
// and find new parents if theirs leaves. Who leaves relays on until its children have acknowledged,
// if they leave, or have moved, if they stay; then it acknowledges, and its parent lets it go. It
// lets its own children go, waits until their links are closed, and ends. So a closed link stands
// for all who left below it. That is so by the tree before the order: whoever is on its way to its
// parent by that tree when the order comes goes on to it, and leaves from there.
#include <algorithm>
#include <utility>

#include "core/overlay.hpp"

namespace tide::core {

bool Overlay::fits(const wire::Operation& operation) const {
  const auto moved = membership_.completed(operation.membership());
  return operation.ByteSizeLong() + moved.ByteSizeLong() <= config_.message_limit;
}

// Kept until all whom it names have ended: whoever missed it can still be told.
std::optional<Serial> Overlay::order_to_leave(Rank rank) const {
  for (const auto& operation : log_) {
    const auto& change = operation.membership();
    if (change.orderly() && RankSet::from_wire(change.left()).contains(rank)) {
      return Serial(operation.serial());
    }
  }
  return std::nullopt;
}

bool Overlay::departs(Rank rank) const {
  return membership_.departed(rank) && order_to_leave(rank).has_value();
}

Serial Overlay::stable_up_to(Serial serial) const {
  for (const auto& [order, kept] : kept_) serial = std::min(serial, kept.acknowledged);
  return serial;
}

// Before an order is applied: afterwards we know of no parent.
std::optional<Overlay::LeaveFrom> Overlay::way_to_proper_parent() const {
  const auto parent = membership_.parent();
  if (!parent_link_ || !parent || !connecting_.contains(*parent)) return std::nullopt;
  const Contact* contact = membership_.contact(*parent);
  return LeaveFrom{*parent, contact == nullptr ? Incarnation{} : contact->incarnation};
}

void Overlay::begin_to_leave(const std::vector<Rank>& children,
                             const std::optional<LeaveFrom>& way) {
  own_order_ = membership_.serial();
  leave_from_ = way;
  for (const Rank child : children) {
    if (departs(child)) leave_below_us_.insert(child);
  }
  notes_.add(Subsystem::kRouted, 1, "ordered to leave");
  out_.emplace_back(timers_.arm(TimerKind::kLeaving, config_.leave_timeout_ms));
}

// What holds for all below us who leave, also for one that is looking for us at the moment, if
// those who stay have gone elsewhere.
Serial Overlay::leaving_acknowledged() const {
  Serial low = membership_.serial();
  const auto consider = [&](Rank child) {
    const auto known = child_acknowledged_.find(child);
    low = std::min(low, known == child_acknowledged_.end() ? Serial{0} : known->second);
  };
  for (const Rank child : leave_below_us_) consider(child);
  for (const auto& [child, link] : children_) {
    if (membership_.has(child)) return Serial{0};
    consider(child);
  }
  return low;
}

// By the tree before it was ordered to leave it stood above others, and relays for them still.
bool Overlay::stood_above(Rank peer, Rank origin) const {
  const auto order = order_to_leave(peer);
  const auto kept = order ? kept_.find(*order) : kept_.end();
  return kept != kept_.end() && kept->second.tree.is_ancestor_or_self(peer, origin);
}

void Overlay::let_go_if_acknowledged(LinkId child) {
  Link& link = links_.at(child);
  if (membership_.has(link.peer)) return;  // every acknowledgement comes by here
  const auto order = order_to_leave(link.peer);
  if (own_order_ || link.let_go || !order || child_acknowledged_[link.peer] < *order) return;
  let_go(child);
}

void Overlay::let_go(LinkId child) {
  links_.at(child).let_go = true;
  wire::LinkMessage message;
  message.mutable_let_go();
  send(child, std::move(message));
}

void Overlay::depart(const std::string& reason) {
  if (departing_) return;
  departing_ = reason;
  leave_from_.reset();
  out_.emplace_back(timers_.arm(TimerKind::kLeaving, config_.leave_timeout_ms));
  bool waits = false;
  for (const auto& [child, link] : children_) {
    if (!departs(child)) continue;
    waits = true;
    let_go(link);
  }
  if (!waits) listener_.on_let_go(reason);
}

// The first connection that is lost ends us, and whose it was is nobody's failure. One that was
// moved by its other end is not lost.
void Overlay::on_leaving_link_down(const Link& link, const LinkDown& event) {
  if (link.role == Role::kParent) parent_link_.reset();
  const auto child = children_.find(link.peer);
  const bool was_child = child != children_.end() && !links_.contains(child->second);
  if (was_child) children_.erase(child);
  if (event.end == LinkEnd::kMoved) return update_acknowledgement();
  if (!departing_) return depart("the connection to a neighbour ended: " + event.text);
  const bool waits =
      std::ranges::any_of(children_, [this](const auto& entry) { return departs(entry.first); });
  if (!waits) listener_.on_let_go(*departing_);
}

}  // namespace tide::core
