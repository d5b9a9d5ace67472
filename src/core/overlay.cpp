#include "core/overlay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace tide::core {

Overlay::Overlay(OverlayConfig config, OverlayListener& listener, TimerBook& timers, Actions& out)
    : config_(config),
      listener_(listener),
      timers_(timers),
      out_(out),
      notes_(out, config.verbosity),
      membership_(config.self, config.radix),
      reducer_(config.message_limit),
      joined_(config.self == kHeadRank) {}

std::optional<Rank> Overlay::parent_peer() const {
  if (!parent_link_) return std::nullopt;
  return links_.at(*parent_link_).peer;
}

std::vector<Rank> Overlay::adopted_children() const {
  std::vector<Rank> out;
  for (const auto& [rank, link] : children_) out.push_back(rank);
  return out;
}

void Overlay::send(LinkId link, wire::LinkMessage message, Bytes payload) {
  const auto message_class = class_of(message);
  out_.emplace_back(Send{link, message_class, std::move(message), std::move(payload)});
}

void Overlay::send_resync(LinkId link) {
  wire::LinkMessage resync;
  resync.mutable_resync();
  send(link, std::move(resync));
}

void Overlay::close(LinkId link, wire::GoodbyeReason reason, std::string text) {
  out_.emplace_back(CloseLink{link, reason, std::move(text)});
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  const auto child = children_.find(found->second.peer);
  const bool was_child = child != children_.end() && child->second == link;
  if (was_child) forget_child(child);
  links_.erase(found);
}

// ---- links come and go ----

void Overlay::join(std::vector<wire::Endpoint> head, wire::Report report) {
  report_ = std::move(report);
  head_endpoints_ = std::move(head);
  connect_to(kHeadRank);
}

void Overlay::connect_to(Rank peer) {
  connecting_.insert(peer);
  const Contact* contact = membership_.contact(peer);
  Connect connect{peer, {}};
  if (peer == kHeadRank) {
    connect.endpoints = head_endpoints_;
  } else if (contact != nullptr) {
    connect.endpoints = contact->endpoints;
  }
  out_.emplace_back(std::move(connect));
}

void Overlay::handle(const LinkUp& event) {
  if (!event.outgoing) {
    on_incoming_link(event);
    return;
  }
  const bool asked_for = connecting_.contains(event.peer);
  // While nobody answers several are asked. The first is taken, and later only a better one.
  const bool way_out = leave_from_ && leave_from_->parent == event.peer;
  const bool better = membership_.parent() == event.peer || way_out;
  if (!asked_for || (!adrift() && !better)) {
    connecting_.erase(event.peer);
    out_.emplace_back(CloseLink{event.link, wire::GOODBYE_MOVED, "not wanted any more"});
    return;
  }
  const Contact* contact = membership_.contact(event.peer);
  const bool expected = way_out ? leave_from_->incarnation == event.incarnation
                                : contact != nullptr && contact->incarnation == event.incarnation;
  const bool another_life = joined_ && event.peer != kHeadRank && !expected;
  if (another_life) {
    out_.emplace_back(CloseLink{event.link, wire::GOODBYE_REFUSED, "another incarnation"});
    handle(ConnectFailed{event.peer, true, "another incarnation answers at its address"});
    return;
  }
  connecting_.erase(event.peer);
  links_[event.link] = Link{.peer = event.peer, .incarnation = event.incarnation, .outgoing = true};
  if (joined_) {
    parent_gained(event.link);
    return;
  }
  links_[event.link].role = Role::kJoining;
  wire::LinkMessage message;
  *message.mutable_report() = report_;
  send(event.link, std::move(message));
  for (auto& failure : std::exchange(launch_failures_, {})) send(event.link, std::move(failure));
}

void Overlay::tell_launch_failed(Rank rank, std::string text) {
  if (joined_) return;
  wire::LinkMessage message;
  message.mutable_launch_failed()->set_rank(rank.value());
  message.mutable_launch_failed()->set_text(std::move(text));
  for (const auto& [id, link] : links_) {
    if (link.role == Role::kJoining) return send(id, std::move(message));
  }
  launch_failures_.push_back(std::move(message));
}

void Overlay::keep_waiting(LinkId link) {
  const auto found = links_.find(link);
  if (found != links_.end()) found->second.role = Role::kUnneeded;
}

void Overlay::send_home(LinkId link, std::string why) {
  if (links_.contains(link)) close(link, wire::GOODBYE_MOVED, std::move(why));
}

void Overlay::on_incoming_link(const LinkUp& event) {
  const bool known = membership_.has(event.peer) && event.peer != kHeadRank;
  // The head knows the incarnations of all. A rank has one life, so elsewhere it is enough to know
  // that this is not over.
  const Contact* contact = membership_.contact(event.peer);
  const bool another_life = contact != nullptr && contact->incarnation != event.incarnation;
  // A rank below the span that is no member is about to leave, gone, or of a grow that others have
  // overtaken: the head knows by its book, a daemon when it hears which operations the other has.
  const bool departs_still = departs(event.peer);
  const bool stranger = !known && !departs_still && is_head() && !listener_.on_stranger(event);
  if (known ? another_life : stranger && membership_.departed(event.peer)) {
    out_.emplace_back(
        CloseLink{event.link, wire::GOODBYE_DECLARED_DEAD,
                  fmt::format("rank {} of this life was given up", event.peer.value())});
    return;
  }
  if (stranger) {
    out_.emplace_back(
        CloseLink{event.link, wire::GOODBYE_REFUSED, "the launch ticket is not valid"});
    return;
  }
  links_[event.link] = Link{.peer = event.peer, .incarnation = event.incarnation};
  if (!timers_.armed(TimerKind::kPendingLinks)) {
    out_.emplace_back(timers_.arm(TimerKind::kPendingLinks, config_.pending_link_ms));
  }
}

// Two sweeps give every link at least one whole period to say what it is for.
void Overlay::sweep_pending_links() {
  std::vector<LinkId> late;
  bool waiting = false;
  for (auto& [id, link] : links_) {
    // The head waits for strangers under its own start deadline.
    if (link.role != Role::kPending || (is_head() && !membership_.has(link.peer))) continue;
    if (link.overdue) late.push_back(id);
    link.overdue = waiting = true;
  }
  for (const LinkId id : late) close(id, wire::GOODBYE_REFUSED, "the link was never put to use");
  if (waiting) out_.emplace_back(timers_.arm(TimerKind::kPendingLinks, config_.pending_link_ms));
}

void Overlay::handle(const LinkDown& event) {
  const auto found = links_.find(event.link);
  if (found == links_.end()) return;
  const Link link = found->second;
  links_.erase(found);
  if (own_order_ && !shutting_down_) return on_leaving_link_down(link, event);
  switch (link.role) {
    case Role::kParent:
      parent_link_.reset();
      if (shutting_down_) return;
      if (event.end == LinkEnd::kDeclaredDead) {
        listener_.on_cut_off(fmt::format("the DVM gave this daemon up: {}", event.text));
      } else {
        lost_parent_ = Suspicion{link.peer, event.text, event.end == LinkEnd::kSilent};
        parent_lost(event.text);
      }
      return;
    case Role::kJoining:
      if (joined_) return;
      if (event.end == LinkEnd::kMoved) {
        listener_.on_sent_home(event.text);
      } else {
        listener_.on_cut_off(fmt::format("the head ended the connection: {}", event.text));
      }
      return;
    case Role::kUnneeded:
      return;
    case Role::kChild:
    case Role::kPending:
      drop_child(event.link, link, event);
      return;
  }
}

void Overlay::drop_child(LinkId id, const Link& link, const LinkDown& event) {
  const auto child = children_.find(link.peer);
  const bool current = child != children_.end() && child->second == id;
  if (current) forget_child(child);
  if (shutting_down_ && is_head()) {
    return listener_.on_left(link.peer, event.end == LinkEnd::kSilent);
  }
  if (shutting_down_ || event.end == LinkEnd::kMoved) return;
  if (departs(link.peer)) {
    if (current) listener_.on_departed(link.peer, link.let_go);
  } else if (membership_.has(link.peer)) {
    // A pending link of a member matters at the head only, where it is the one it joined by.
    if (current || (link.role == Role::kPending && is_head())) {
      listener_.on_suspect({link.peer, event.text, event.end == LinkEnd::kSilent});
    }
  } else if (is_head()) {
    listener_.on_stranger_lost(link.peer, event.text, event.end == LinkEnd::kSilent);
  }
}

// ---- lost ways ----

void Overlay::forget_child(std::map<Rank, LinkId>::iterator child) {
  note_ways_lost_with(child->first);
  children_.erase(child);
}

// By the tree a child leads to all below it, also to those who have left it for one of our children
// in between, if it hangs higher than it should. What went to them by it is lost with it, and they
// don't know: their own way up has not changed.
void Overlay::note_ways_lost_with(Rank child) {
  for (const Rank between : membership_.tree().path(child)) {
    if (between != child && children_.contains(between)) lost_ways_.insert(between);
  }
  if (lost_ways_.empty() || timers_.armed(TimerKind::kLostWays)) return;
  out_.emplace_back(timers_.arm(TimerKind::kLostWays, config_.lost_ways_ms));
}

// Before the change is applied: the tree after it has no place for them any more.
void Overlay::note_ways_lost_with_those_who_leave(const wire::MembershipChange& change) {
  const auto leaving = RankSet::from_wire(change.left());
  for (const auto& [rank, link] : children_) {
    if (leaving.contains(rank)) note_ways_lost_with(rank);
  }
}

void Overlay::ask_lost_ways_again() {
  for (const Rank way : std::exchange(lost_ways_, {})) {
    const auto child = children_.find(way);
    if (child != children_.end()) send_resync(child->second);
  }
}

// ---- orphans ----

std::set<Rank> Overlay::missing_children() const {
  std::set<Rank> out;
  for (const Rank child : membership_.children()) {
    if (!children_.contains(child)) out.insert(child);
  }
  return out;
}

// Whoever lost its parent hangs on nobody until it finds its new one, which is us: if it can't
// (frozen, cut off), no link tells anybody, so it is for us to miss it.
void Overlay::expect_orphans() {
  if (shutting_down_ || timers_.armed(TimerKind::kMissingChildren)) return;
  missed_ = missing_children();
  if (missed_.empty()) return;
  out_.emplace_back(timers_.arm(TimerKind::kMissingChildren, config_.missing_child_ms));
}

// Missed at two looks, it had a whole period to come. One that hangs elsewhere is heard there.
void Overlay::look_for_missing_children() {
  if (shutting_down_) return;
  auto missing = missing_children();
  for (const Rank child : missing) {
    if (missed_.contains(child))
      listener_.on_suspect({child, "it did not come to its new parent", false, true});
  }
  missed_ = std::move(missing);
  if (missed_.empty()) return;
  out_.emplace_back(timers_.arm(TimerKind::kMissingChildren, config_.missing_child_ms));
}

// ---- the way up ----

void Overlay::seek_parent() {
  if (is_head() || shutting_down_ || !joined_) return;
  const auto wanted = membership_.parent();
  if (!wanted || connecting_.contains(*wanted) || parent_peer() == wanted) return;
  for (const auto& [id, link] : links_) {
    if (link.role == Role::kJoining && link.peer == *wanted) {
      parent_gained(id);
      return;
    }
  }
  connect_to(*wanted);
}

void Overlay::parent_gained(LinkId id) {
  const auto old = parent_link_;
  // To come back at once would mean to lose the way again: by then it has found one, or has ended.
  const auto return_ms = old && way_lost_ ? config_.reattach_timeout_ms : config_.return_retry_ms;
  links_[id].role = Role::kParent;
  const Rank peer = links_[id].peer;
  parent_link_ = id;
  way_lost_ = false;
  timers_.cancel(TimerKind::kReattach);
  timers_.cancel(TimerKind::kOwnWay);
  ancestors_left_.clear();
  wire::LinkMessage message;
  message.mutable_attach()->set_applied(membership_.serial().value());
  message.mutable_attach()->set_acknowledged(acknowledged_.value());
  message.mutable_attach()->set_moves(++moves_);
  send(id, std::move(message));
  std::vector<LinkId> replaced;
  for (const auto& [other, link] : links_) {
    if (other != id && (other == old || link.role == Role::kJoining)) replaced.push_back(other);
  }
  for (const LinkId other : replaced) close(other, wire::GOODBYE_MOVED, "moved in the tree");
  notes_.add(Subsystem::kRouted, 2, "attached to rank {}", peer.value());
  for (const auto& [rank, link] : children_) send_resync(link);
  listener_.on_path_changed();
  if (lost_parent_ && lost_parent_->rank != peer && membership_.has(lost_parent_->rank)) {
    listener_.on_suspect(*lost_parent_);
  }
  lost_parent_.reset();
  if (own_order_) {
    leave_from_.reset();
    update_acknowledgement();
  } else if (membership_.parent() != peer) {
    out_.emplace_back(timers_.arm(TimerKind::kReturnToParent, return_ms));
  }
}

void Overlay::parent_lost(const std::string& reason) {
  lost_reason_ = reason;
  notes_.add(Subsystem::kRouted, 1, "lost the link to the parent: {}", reason);
  if (!timers_.armed(TimerKind::kReattachDeadline)) {
    out_.emplace_back(timers_.arm(TimerKind::kReattachDeadline, config_.reattach_timeout_ms));
  }
  ask_all_ancestors();
}

// ---- a lost way ----

void Overlay::tell_way(LinkId child) {
  wire::LinkMessage message;
  message.mutable_way()->set_lost(way_lost_);
  send(child, std::move(message));
}

void Overlay::on_way(const wire::Way& way) {
  if (!way.lost()) return timers_.cancel(TimerKind::kReattachDeadline);
  if (way_lost_) return;
  if (!timers_.armed(TimerKind::kReattachDeadline)) {
    out_.emplace_back(timers_.arm(TimerKind::kReattachDeadline, config_.reattach_timeout_ms));
  }
  out_.emplace_back(timers_.arm(TimerKind::kOwnWay, config_.reattach_timeout_ms / 2));
  way_is_lost();
}

// Those below us hear it at once, however many levels there are: without a head all of them end
// when we do, and not each level a whole time-out after the one above.
void Overlay::way_is_lost() {
  if (std::exchange(way_lost_, true)) return;
  notes_.add(Subsystem::kRouted, 1, "no way to the head: {}", why_adrift());
  for (const auto& [rank, link] : children_) tell_way(link);
}

void Overlay::way_is_found() {
  way_lost_ = false;
  timers_.cancel(TimerKind::kReattachDeadline);
  timers_.cancel(TimerKind::kReattach);
  timers_.cancel(TimerKind::kOwnWay);
  ancestors_left_.clear();
}

std::string Overlay::why_adrift() const {
  if (parent_link_) return fmt::format("rank {} above has none either", parent_peer()->value());
  return fmt::format("the link to the parent ended: {}", lost_reason_);
}

// The parent may be the only one that can't get there. It had half of the time, so that the repair
// of a tree does not bring everybody to the head; who is above it has probably no way either.
void Overlay::seek_own_way() {
  if (!parent_link_ || !adrift() || shutting_down_) return;
  ancestors_left_ = membership_.ancestors();
  std::erase(ancestors_left_, *parent_peer());
  std::reverse(ancestors_left_.begin(), ancestors_left_.end());
  try_next_ancestor();
}

void Overlay::ask_all_ancestors() {
  ancestors_left_ = membership_.ancestors();
  try_next_ancestor();
}

// One that does not answer at once must not use up the time in which we have to be heard of: the
// next is asked as well. After the last a new round begins.
void Overlay::try_next_ancestor() {
  if (!adrift() || shutting_down_) return;
  auto wait_ms = config_.reattach_retry_ms;
  while (!ancestors_left_.empty()) {
    const Rank next = ancestors_left_.back();
    ancestors_left_.pop_back();
    if (connecting_.contains(next)) continue;
    connect_to(next);
    wait_ms = config_.reattach_patience_ms;
    break;
  }
  out_.emplace_back(timers_.arm(TimerKind::kReattach, wait_ms));
}

void Overlay::handle(const ConnectFailed& event) {
  if (connecting_.erase(event.peer) == 0) return;
  if (!joined_) {
    listener_.on_cut_off(fmt::format("cannot connect to the head: {}", event.text));
    return;
  }
  if (leave_from_ && leave_from_->parent == event.peer) {
    leave_from_.reset();  // then from where we are
    return update_acknowledgement();
  }
  if (!parent_link_) {
    if (timers_.armed(TimerKind::kReattachDeadline)) {
      try_next_ancestor();
    } else {  // the old parent has left and the new one does not answer
      parent_lost(event.text);
    }
    return;
  }
  if (timers_.armed(TimerKind::kReattach)) try_next_ancestor();
  if (membership_.parent() != event.peer) return;
  if (membership_.has(event.peer)) {
    listener_.on_suspect({event.peer, fmt::format("cannot be reached: {}", event.text)});
  }
  out_.emplace_back(timers_.arm(TimerKind::kReturnToParent, config_.return_retry_ms));
}

bool Overlay::handle_timer(TimerKind kind) {
  switch (kind) {
    case TimerKind::kReattach:
      if (!adrift()) return true;
      if (!ancestors_left_.empty()) {
        try_next_ancestor();
      } else if (parent_link_) {
        seek_own_way();
      } else {
        way_is_lost();
        ask_all_ancestors();
      }
      return true;
    case TimerKind::kOwnWay:
      seek_own_way();
      return true;
    case TimerKind::kReattachDeadline:
      if (adrift() && !shutting_down_) {
        listener_.on_cut_off(fmt::format("no path to the head for {} ms; {}",
                                         config_.reattach_timeout_ms, why_adrift()));
      }
      return true;
    case TimerKind::kReturnToParent:
      seek_parent();
      return true;
    case TimerKind::kPendingLinks:
      sweep_pending_links();
      return true;
    case TimerKind::kMissingChildren:
      look_for_missing_children();
      return true;
    case TimerKind::kLeaving:
      departing_ ? listener_.on_let_go(*departing_)
                 : depart(fmt::format("ordered to leave {} ms ago", config_.leave_timeout_ms));
      return true;
    case TimerKind::kLostWays:
      ask_lost_ways_again();
      return true;
    case TimerKind::kReduction:
      for (auto& reduction : reducer_.take_all()) {
        wire::LinkMessage message;
        *message.mutable_reduction() = std::move(reduction);
        send_up(std::move(message), {});
      }
      return true;
    default:
      return false;
  }
}

}  // namespace tide::core
