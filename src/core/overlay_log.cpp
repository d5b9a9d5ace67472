// The part of the overlay that moves messages: the log of operations, acknowledgements, relaying.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "core/bulk.hpp"
#include "core/overlay.hpp"

namespace tide::core {

MessageClass class_of(const wire::LinkMessage& message) {
  if (message.has_up()) {
    const auto& body = message.up().body();
    return is_bulk(body) ? MessageClass::kBulk : MessageClass::kControl;
  }
  if (message.has_down() && message.down().entries_size() > 0) {
    return is_bulk(message.down().entries(0).body()) ? MessageClass::kBulk : MessageClass::kControl;
  }
  return MessageClass::kControl;
}

void Overlay::handle(const MessageIn& event) {
  const auto found = links_.find(event.link);
  if (found == links_.end()) return;
  const Role role = found->second.role;
  const Rank peer = found->second.peer;
  if (event.message.has_attach()) {
    if (role == Role::kPending || role == Role::kChild)
      on_attach(event.link, event.message.attach());
    return;
  }
  switch (role) {
    case Role::kJoining:
      if (event.message.has_snapshot()) on_snapshot(event.message.snapshot());
      return;
    case Role::kParent:
      on_parent_message(event);
      return;
    case Role::kChild:
      on_child_message(event.link, event);
      return;
    case Role::kPending:
      // It waits to be adopted, and says this once: as good as said when it attached.
      if (auto& attach = found->second.attach; attach && event.message.has_operation_ack())
        attach->set_acknowledged(event.message.operation_ack().serial());
      if (event.message.has_up() || event.message.has_reduction()) found->second.unheard = true;
      if (is_head() && event.message.has_launch_failed()) {
        return listener_.on_launch_failed(peer, event.message.launch_failed());
      }
      if (!is_head() || !event.message.has_report()) return;
      if (membership_.has(peer)) {
        close(event.link, wire::GOODBYE_REFUSED, "the launch ticket was used before");
      } else {
        listener_.on_report(event.link, peer, event.message.report());
      }
      return;
    case Role::kUnneeded:
      if (event.message.has_launch_failed()) {
        listener_.on_launch_failed(peer, event.message.launch_failed());
      }
      return;
  }
}

void Overlay::on_parent_message(const MessageIn& event) {
  switch (event.message.body_case()) {
    case wire::LinkMessage::kOperation:
      on_operation(event.message.operation());
      return;
    case wire::LinkMessage::kWay:
      on_way(event.message.way());
      return;
    case wire::LinkMessage::kLetGo:
      if (own_order_) depart("released");
      return;
    case wire::LinkMessage::kResync:
      way_is_found();
      for (const auto& [rank, link] : children_) send(link, event.message);
      listener_.on_path_changed();
      return;
    case wire::LinkMessage::kDown:
      relay_down(event.message.down(), event.payload);
      return;
    default:
      return;
  }
}

// Heard through another child: if it moved there, what still went to its old link here would be
// lost after the request to send again. What it said before it came here may arrive late by its old
// path.
void Overlay::forget_if_moved(Rank origin, std::uint32_t moves) {
  const auto child = children_.find(origin);
  if (child != children_.end() && links_.at(child->second).moves < moves) forget_child(child);
}

void Overlay::on_child_message(LinkId id, const MessageIn& event) {
  switch (event.message.body_case()) {
    case wire::LinkMessage::kOperationAck: {
      auto& known = child_acknowledged_[links_.at(id).peer];
      known = std::max(known, Serial(event.message.operation_ack().serial()));
      let_go_if_acknowledged(id);
      update_acknowledgement();
      return;
    }
    case wire::LinkMessage::kUp: {
      const Rank origin{event.message.up().origin()};
      if (!may_speak_for(links_.at(id).peer, origin)) {
        note_lie(id, fmt::format("speaks for rank {}", origin.value()));
        return;
      }
      if (origin != links_.at(id).peer) forget_if_moved(origin, event.message.up().moves());
      if (is_head()) {
        listener_.on_up(event.message.up(), event.payload);
      } else {
        send_up(event.message, event.payload);
      }
      return;
    }
    case wire::LinkMessage::kReduction:
      on_child_reduction(id, event.message.reduction());
      return;
    default:
      return;
  }
}

// Relays merge what they are given, so one false contribution must not cost the others.
void Overlay::on_child_reduction(LinkId id, const wire::Reduction& reduction) {
  if (!is_head()) return contribute(reduction);
  const Rank peer = links_.at(id).peer;
  wire::Reduction honest = reduction;
  auto& all = *honest.mutable_contributions();
  for (int i = all.size() - 1; i >= 0; --i) {
    if (may_speak_for(peer, Rank(all.Get(i).rank()))) continue;
    note_lie(id, fmt::format("contributes for rank {}", all.Get(i).rank()));
    all.DeleteSubrange(i, 1);
  }
  if (!all.empty()) listener_.on_reduction(honest);
}

// A daemon speaks for itself and for those below it. The head can tell: whoever relays for somebody
// was above it in some earlier tree, and stays so while both live. A relay may know less of the
// tree than its children do, and leaves the decision to the head.
bool Overlay::may_speak_for(Rank peer, Rank origin) const {
  return !is_head() || membership_.tree().is_ancestor_or_self(peer, origin) ||
         !membership_.has(origin) || stood_above(peer, origin);
}

void Overlay::note_lie(LinkId id, const std::string& what) {
  Link& link = links_.at(id);
  if (std::exchange(link.lied, true)) return;
  notes_.add(Subsystem::kErrmgr, 0, "rank {} {}, which is not below it; this is ignored",
             link.peer.value(), what);
}

// ---- attaching ----

void Overlay::on_attach(LinkId id, const wire::Attach& attach) {
  Link& link = links_.at(id);
  // One that is ordered to leave has missed the order and has to hear it, or leaves from here.
  if (membership_.has(link.peer) || departs(link.peer)) {
    adopt(id, attach);
  } else if (membership_.departed(link.peer) && attach.applied() <= membership_.serial().value()) {
    close(id, wire::GOODBYE_DECLARED_DEAD, "this rank has left the DVM");
  } else {
    link.attach = attach;  // it knows of a membership change that is still on its way to us
  }
}

void Overlay::adopt(LinkId id, const wire::Attach& attach) {
  Link& link = links_.at(id);
  const auto older = children_.find(link.peer);
  if (older != children_.end() && older->second != id) {
    close(older->second, wire::GOODBYE_MOVED, "replaced by a newer link");
  }
  if (is_head() && attach.applied() > membership_.serial().value()) {
    close(id, wire::GOODBYE_REFUSED, "it claims operations that never were");
    return;
  }
  const bool missed_too_much = attach.applied() < membership_.serial().value() &&
                               (log_.empty() || log_.front().serial() > attach.applied() + 1);
  if (missed_too_much) {
    close(id, wire::GOODBYE_REFUSED, "operations that it missed are gone");
    return;
  }
  link.role = Role::kChild;
  link.sent = Serial(attach.applied());
  link.moves = attach.moves();
  link.attach.reset();
  children_[link.peer] = id;
  auto& known = child_acknowledged_[link.peer];
  known = std::max(known, Serial(attach.acknowledged()));
  notes_.add(Subsystem::kRouted, 2, "adopted rank {}", link.peer.value());
  if (is_head()) listener_.on_adopted(link.peer);
  tell_way(id);
  if (departing_ && departs(link.peer)) let_go(id);
  if (std::exchange(link.unheard, false)) send_resync(id);
  forward_operations();
  update_acknowledgement();
}

void Overlay::adopt_pending() {
  std::vector<std::pair<LinkId, wire::Attach>> ready;
  for (const auto& [id, link] : links_) {
    if (link.role == Role::kPending && link.attach) ready.emplace_back(id, *link.attach);
  }
  for (const auto& [id, attach] : ready) on_attach(id, attach);
}

void Overlay::welcome(LinkId link) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  wire::LinkMessage message;
  *message.mutable_snapshot() = membership_.snapshot_for(found->second.peer);
  send(link, std::move(message));
}

void Overlay::on_snapshot(const wire::Snapshot& snapshot) {
  if (joined_) return;
  if (!Membership::plausible(snapshot)) {
    listener_.on_cut_off("the head described a DVM that can't be");
    return;
  }
  membership_.load(snapshot);
  joined_ = true;
  adopt_pending();
  update_acknowledgement();
  seek_parent();
}

// ---- the log of operations ----

Serial Overlay::broadcast(wire::Operation operation) {
  TIDE_CHECK(is_head());
  operation.set_serial(membership_.serial().value() + 1);
  operation.set_stable(stable_up_to(acknowledged_).value());
  if (operation.has_membership()) {
    *operation.mutable_membership() =
        membership_.completed(std::move(*operation.mutable_membership()));
  }
  const Serial serial{operation.serial()};
  apply_and_forward(operation);
  return serial;
}

void Overlay::on_operation(const wire::Operation& operation) {
  // Each path delivers in order, but two paths may be open while a daemon moves.
  if (operation.serial() != membership_.serial().value() + 1) return;
  if (!Membership::plausible(operation.membership())) {
    listener_.on_cut_off("an operation describes a DVM that can't be");
    return;
  }
  apply_and_forward(operation);
}

void Overlay::apply_and_forward(const wire::Operation& operation) {
  log_.push_back(operation);
  if (operation.membership().orderly()) {
    note_ways_lost_with_those_who_leave(operation.membership());
    forward_operations();  // those below us are to know also if it ends us
    const auto children = membership_.children();
    const auto way = way_to_proper_parent();
    membership_.apply(operation);
    if (membership_.departed(config_.self) && !own_order_) begin_to_leave(children, way);
    listener_.on_operation(operation);
    after_membership_change(true);
    for (const auto& [rank, link] : children_) let_go_if_acknowledged(link);  // it may know already
  } else if (operation.has_membership()) {
    note_ways_lost_with_those_who_leave(operation.membership());
    membership_.apply(operation);
    listener_.on_operation(operation);
    forward_operations();
    after_membership_change(operation.membership().left().ranges_size() > 0);
    // One that leaves as ordered is no member either, and hears of others until it is let go.
    if (membership_.departed(config_.self) && !own_order_) {
      shutting_down_ = true;
      return listener_.on_cut_off("the DVM gave this daemon up: this rank has left the DVM");
    }
  } else {
    membership_.apply(operation);
    forward_operations();
    listener_.on_operation(operation);
  }
  trim_log(Serial(operation.stable()));
  update_acknowledgement();
}

void Overlay::forward_operations() {
  for (const auto& [rank, id] : children_) {
    Link& link = links_.at(id);
    for (const auto& operation : log_) {
      if (operation.serial() <= link.sent.value()) continue;
      wire::LinkMessage message;
      *message.mutable_operation() = operation;
      send(id, std::move(message));
      link.sent = Serial(operation.serial());
      notes_.add(Subsystem::kRouted, 2, "operation {} goes down to rank {}", operation.serial(),
                 rank.value());
    }
  }
}

void Overlay::after_membership_change(bool somebody_left) {
  if (somebody_left) {
    notes_.add(Subsystem::kRouted, 1, "the tree is repaired, {} times by now",
               membership_.repairs());
  }
  std::vector<LinkId> departed;
  for (const auto& [id, link] : links_) {
    const bool no_member = link.role == Role::kJoining || link.role == Role::kUnneeded;
    // Of a grow that this one has overtaken; what it says next will tell.
    const bool newcomer = link.role == Role::kPending &&
                          (!link.attach || link.attach->applied() > membership_.serial().value());
    if (no_member || newcomer || departs(link.peer)) continue;
    if (membership_.departed(link.peer)) departed.push_back(id);
  }
  std::erase_if(child_acknowledged_, [this](const auto& entry) {
    return membership_.departed(entry.first) && !departs(entry.first);
  });
  const bool parent_departed =
      parent_link_ && std::find(departed.begin(), departed.end(), *parent_link_) != departed.end();
  if (parent_departed) parent_link_.reset();
  for (const LinkId id : departed) {
    close(id, wire::GOODBYE_DECLARED_DEAD, "this rank has left the DVM");
  }
  adopt_pending();
  std::erase_if(connecting_, [this](Rank peer) {
    return membership_.departed(peer) && !(leave_from_ && leave_from_->parent == peer);
  });
  seek_parent();
  if (somebody_left) expect_orphans();
  emit_reductions();
}

void Overlay::update_acknowledgement() {
  if (!joined_ || leave_from_) return;  // on the way to the one that lets us go
  Serial low = membership_.serial();
  for (const Rank child : membership_.children()) {
    const auto known = child_acknowledged_.find(child);
    low = std::min(low, known == child_acknowledged_.end() ? Serial{0} : known->second);
  }
  // An older acknowledgement of a child speaks for the subtree it had then, not for those who moved
  // below it since: nothing counts that is older than the last change of the tree.
  if (own_order_) low = std::min(low, leaving_acknowledged());
  if (low <= acknowledged_ || low < membership_.changed_at()) return;
  acknowledged_ = low;
  if (is_head()) {
    trim_log(stable_up_to(low));
    listener_.on_operations_complete(low);
  } else if (parent_link_) {
    wire::LinkMessage message;
    message.mutable_operation_ack()->set_serial(low.value());
    send(*parent_link_, std::move(message));
  }
}

// As for update_acknowledgement(): what is older than the tree counts for nothing.
std::vector<Rank> Overlay::not_acknowledged(Serial serial) const {
  const Serial needed = std::max(serial, membership_.changed_at());
  std::vector<Rank> out;
  for (const Rank child : membership_.children()) {
    const auto known = child_acknowledged_.find(child);
    if (known == child_acknowledged_.end() || known->second < needed) out.push_back(child);
  }
  return out;
}

void Overlay::trim_log(Serial stable) {
  while (!log_.empty() && log_.front().serial() <= stable.value()) log_.pop_front();
}

// ---- relaying ----

void Overlay::send_up(wire::LinkMessage message, Bytes payload) {
  if (parent_link_) send(*parent_link_, std::move(message), std::move(payload));
}

std::optional<LinkId> Overlay::next_hop(Rank destination) const {
  const auto path = membership_.tree().path(destination);
  for (auto at = path.rbegin(); at != path.rend() && *at != config_.self; ++at) {
    const auto child = children_.find(*at);
    if (child != children_.end()) return child->second;
  }
  return std::nullopt;
}

void Overlay::send_down(wire::DownScatter scatter, const Bytes& payload) {
  if (scatter.entries_size() == 1) {
    if (const auto hop = next_hop(Rank(scatter.entries(0).destination()))) {
      wire::LinkMessage message;
      *message.mutable_down() = std::move(scatter);
      send(*hop, std::move(message), payload);
    }
    return;
  }
  std::map<LinkId, wire::DownScatter> by_hop;
  for (auto& entry : *scatter.mutable_entries()) {
    if (const auto hop = next_hop(Rank(entry.destination()))) {
      *by_hop[*hop].add_entries() = std::move(entry);
    }
  }
  for (auto& [hop, part] : by_hop) {
    if (scatter.has_launch()) *part.mutable_launch() = scatter.launch();
    wire::LinkMessage message;
    *message.mutable_down() = std::move(part);
    send(hop, std::move(message), payload);
  }
}

void Overlay::relay_down(const wire::DownScatter& scatter, const Bytes& payload) {
  wire::DownScatter further;
  for (const auto& entry : scatter.entries()) {
    if (Rank(entry.destination()) == config_.self) {
      listener_.on_down(entry, scatter.launch(), payload);
    } else {
      *further.add_entries() = entry;
    }
  }
  if (further.entries_size() == 0) return;
  if (scatter.has_launch()) *further.mutable_launch() = scatter.launch();
  send_down(std::move(further), payload);
}

// ---- reductions ----

void Overlay::contribute(const wire::Reduction& reduction) {
  reducer_.add(reduction);
  emit_reductions();
  if (!reducer_.empty() && !timers_.armed(TimerKind::kReduction)) {
    out_.emplace_back(timers_.arm(TimerKind::kReduction, config_.reduction_patience_ms));
  }
}

void Overlay::emit_reductions() {
  for (auto& reduction : reducer_.take_complete(membership_)) {
    wire::LinkMessage message;
    *message.mutable_reduction() = std::move(reduction);
    send_up(std::move(message), {});
  }
}

}  // namespace tide::core
