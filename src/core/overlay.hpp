// A place in the tree: links to parent and children, the log of operations with its
// acknowledgements, and the relaying of what travels between the head and the daemons. The same
// object serves the head (rank 0, the root) and every daemon; what messages mean is decided by
// whoever listens.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "core/membership.hpp"
#include "core/notes.hpp"
#include "core/reducer.hpp"
#include "core/timers.hpp"

namespace tide::core {

struct OverlayConfig {
  Rank self;
  std::uint32_t radix = 64;
  std::uint32_t reattach_timeout_ms = 10'000;  // without any path to the head for this long: end
  std::uint32_t reattach_retry_ms = 200;       // between rounds over all ancestors
  std::uint32_t reattach_patience_ms = 500;    // for one ancestor, before the next is asked, too
  std::uint32_t return_retry_ms = 500;     // hanging on an ancestor: try the proper parent again
  std::uint32_t pending_link_ms = 10'000;  // an accepted link must say what it is for
  std::uint32_t missing_child_ms = 5'000;  // half of the time in which orphans must find us
  std::uint32_t lost_ways_ms = 200;        // after a repair many leave at once: one request
  std::uint32_t leave_timeout_ms = 5'000;  // ordered to leave: end, whoever does not let us go
  std::uint32_t reduction_patience_ms = 50;
  std::size_t message_limit = kDefaultMessageLimit;  // bytes that one message may carry
  Verbosity verbosity{};
};

struct Suspicion {
  Rank rank;
  std::string reason;
  bool silent = false;   // nothing was heard of it for as long as a link may be silent
  bool missing = false;  // it did not come to its new parent
};

class OverlayListener {
 public:
  virtual ~OverlayListener() = default;
  // The operation was applied to the membership; daemons of the subtree get it too.
  virtual void on_operation(const wire::Operation& operation) = 0;
  // At the head: every living daemon has applied everything up to `serial`.
  virtual void on_operations_complete(Serial serial) = 0;
  // At the head: a message of a daemon, not yet filtered for duplicates.
  virtual void on_up(const wire::Up& up, const Bytes& payload) = 0;
  // At a daemon: a message of the head for this daemon, not yet filtered for duplicates.
  virtual void on_down(const wire::DownEntry& entry, const wire::LaunchCommon& launch,
                       const Bytes& payload) = 0;
  // At the head: contributions that arrived, possibly again.
  virtual void on_reduction(const wire::Reduction& reduction) = 0;
  // A new path to the head: send again what it may have missed.
  virtual void on_path_changed() = 0;
  // A neighbour's link ended without its leaving being known.
  virtual void on_suspect(const Suspicion& suspicion) = 0;
  // At the head: a member hangs on us from now on, so it lives.
  virtual void on_adopted(Rank rank) = 0;
  // At the head: a started daemon introduces itself.
  virtual void on_report(LinkId link, Rank rank, const wire::Report& report) = 0;
  // At the head: a link from somebody who is no member. Return false to turn it away.
  virtual bool on_stranger(const LinkUp& up) = 0;
  // At the head: the link of a daemon that has reported but is no member yet went down.
  virtual void on_stranger_lost(Rank rank, const std::string& reason, bool silent) = 0;
  // At the head: a daemon that is no member yet could not start another.
  virtual void on_launch_failed(Rank by, const wire::LaunchFailed& failed) = 0;
  // At the head, while the DVM ends: a daemon's link is gone.
  virtual void on_left(Rank rank, bool silent) = 0;
  // The link of a neighbour that was ordered to leave is closed. `let_go`: those below it that were
  // ordered to are gone, too.
  virtual void on_departed(Rank rank, bool let_go) = 0;
  // At a daemon that was ordered to leave: nobody needs it any more.
  virtual void on_let_go(const std::string& reason) = 0;
  // At a daemon that is no member: it will not be one, and nothing is wrong.
  virtual void on_sent_home(const std::string& reason) = 0;
  // At a daemon: no path to the head is left, or the head gave this incarnation up.
  virtual void on_cut_off(const std::string& reason) = 0;
};

// Control, or bulk if it carries the bytes of a stream.
MessageClass class_of(const wire::LinkMessage& message);

class Overlay {
 public:
  Overlay(OverlayConfig config, OverlayListener& listener, TimerBook& timers, Actions& out);

  [[nodiscard]] const Membership& membership() const { return membership_; }
  [[nodiscard]] bool is_head() const { return config_.self == kHeadRank; }
  [[nodiscard]] Serial completed() const { return acknowledged_; }
  // How often a parent was found.
  [[nodiscard]] std::uint32_t moves() const { return moves_; }
  [[nodiscard]] bool attached() const { return parent_link_.has_value(); }
  [[nodiscard]] std::optional<Rank> parent_peer() const;
  [[nodiscard]] std::vector<Rank> adopted_children() const;

  // Daemon: connect to the head and say who we are.
  void join(std::vector<wire::Endpoint> head, wire::Report report);
  // Daemon: of no use once it is a member, because then all are that were to be started.
  void tell_launch_failed(Rank rank, std::string text);
  // The DVM ends: lost links mean nothing any more.
  void enter_shutdown() { shutting_down_ = true; }

  void handle(const LinkUp& event);
  void handle(const LinkDown& event);
  void handle(const ConnectFailed& event);
  void handle(const MessageIn& event);
  // True if the timer was one of the overlay's. It must have been taken from the book already.
  bool handle_timer(TimerKind kind);

  // Head: how to reach a daemon that an operation is about to let in.
  void learn(Rank rank, Contact contact) { membership_.learn(rank, std::move(contact)); }
  // Head: appends to the log, applies, forwards. Completion is reported by on_operations_complete.
  Serial broadcast(wire::Operation operation);
  // Head: whether an operation can be sent.
  [[nodiscard]] bool fits(const wire::Operation& operation) const;
  // Head: children that have not acknowledged everything up to `serial`, each for its subtree.
  [[nodiscard]] std::vector<Rank> not_acknowledged(Serial serial) const;
  // Head, before an order to leave: whoever attaches can be told it, and what not all had before
  // it, though all members have it: those whom it names are no members, and may have missed it.
  void keep_for(Serial order) { kept_[order] = Kept{acknowledged_, membership_.tree()}; }
  void need_not_keep(Serial order) { kept_.erase(order); }
  // Ordered to leave.
  [[nodiscard]] bool leaving() const { return own_order_.has_value(); }
  // Head: a reported daemon is a member now: give it the state it starts from.
  void welcome(LinkId link);
  // Head: a reported daemon that will not be a member; its link stays until it is sent home.
  void keep_waiting(LinkId link);
  void send_home(LinkId link, std::string why);

  // Towards the head; dropped without a path, because a new path makes its owner send again.
  void send_up(wire::LinkMessage message, Bytes payload);
  // Towards the destinations of the entries, split by next hop; dropped where no path is known.
  void send_down(wire::DownScatter scatter, const Bytes& payload);
  // Adds to a reduction; it travels when the subtree is complete or patience ends.
  void contribute(const wire::Reduction& reduction);

 private:
  enum class Role : std::uint8_t { kPending, kChild, kParent, kJoining, kUnneeded };
  struct Link {
    Rank peer;
    Incarnation incarnation;
    Role role = Role::kPending;
    bool outgoing = false;
    Serial sent{0};                        // operations forwarded on it, for a child
    std::uint32_t moves = 0;               // of the child, when it came
    std::optional<wire::Attach> attach{};  // arrived before the peer's membership was known
    bool unheard = false;                  // it said something before it was adopted
    bool overdue = false;                  // pending since before the last sweep
    bool lied = false;                     // and that was said once
    bool let_go = false;                   // it was told so
  };

  void send(LinkId link, wire::LinkMessage message, Bytes payload = {});
  void send_resync(LinkId link);
  void close(LinkId link, wire::GoodbyeReason reason, std::string text);

  void on_incoming_link(const LinkUp& event);
  void on_child_message(LinkId id, const MessageIn& event);
  void on_child_reduction(LinkId id, const wire::Reduction& reduction);
  [[nodiscard]] bool may_speak_for(Rank peer, Rank origin) const;
  void note_lie(LinkId id, const std::string& what);
  void on_parent_message(const MessageIn& event);
  void forget_if_moved(Rank origin, std::uint32_t moves);
  void drop_child(LinkId id, const Link& link, const LinkDown& event);
  void forget_child(std::map<Rank, LinkId>::iterator child);
  void note_ways_lost_with(Rank child);
  void note_ways_lost_with_those_who_leave(const wire::MembershipChange& change);
  void ask_lost_ways_again();
  void sweep_pending_links();
  [[nodiscard]] std::set<Rank> missing_children() const;
  void expect_orphans();
  void look_for_missing_children();
  void on_attach(LinkId id, const wire::Attach& attach);
  void adopt(LinkId id, const wire::Attach& attach);
  void on_snapshot(const wire::Snapshot& snapshot);
  void on_operation(const wire::Operation& operation);
  void apply_and_forward(const wire::Operation& operation);
  void forward_operations();
  void after_membership_change(bool somebody_left);
  void adopt_pending();
  // ---- orderly leaving ----
  [[nodiscard]] std::optional<Serial> order_to_leave(Rank rank) const;
  [[nodiscard]] bool departs(Rank rank) const;
  [[nodiscard]] bool stood_above(Rank peer, Rank origin) const;
  struct LeaveFrom {
    Rank parent;
    Incarnation incarnation;
  };
  [[nodiscard]] std::optional<LeaveFrom> way_to_proper_parent() const;
  void begin_to_leave(const std::vector<Rank>& children, const std::optional<LeaveFrom>& way);
  void let_go_if_acknowledged(LinkId child);
  void let_go(LinkId child);
  void depart(const std::string& reason);
  void on_leaving_link_down(const Link& link, const LinkDown& event);
  [[nodiscard]] Serial leaving_acknowledged() const;
  [[nodiscard]] Serial stable_up_to(Serial serial) const;
  void update_acknowledgement();
  void trim_log(Serial stable);

  void seek_parent();
  void parent_gained(LinkId id);
  void parent_lost(const std::string& reason);
  // No parent, or one that has no way to the head either.
  [[nodiscard]] bool adrift() const { return !is_head() && (!parent_link_ || way_lost_); }
  void tell_way(LinkId child);
  void on_way(const wire::Way& way);
  void way_is_lost();
  void way_is_found();
  void seek_own_way();
  [[nodiscard]] std::string why_adrift() const;
  void ask_all_ancestors();
  void try_next_ancestor();
  void connect_to(Rank peer);
  [[nodiscard]] std::optional<LinkId> next_hop(Rank destination) const;
  void relay_down(const wire::DownScatter& scatter, const Bytes& payload);
  void emit_reductions();

  OverlayConfig config_;
  OverlayListener& listener_;
  TimerBook& timers_;
  Actions& out_;
  Notes notes_;

  Membership membership_;
  std::map<LinkId, Link> links_;
  std::map<Rank, LinkId> children_;  // adopted, also those that only hang here for a while
  std::set<Rank> missed_;            // proper children that were not here at the last look
  std::set<Rank> lost_ways_;         // children that may have somebody whose old way is lost
  std::optional<LinkId> parent_link_;
  std::set<Rank> connecting_;             // Connects that are under way
  std::vector<Rank> ancestors_left_;      // of this round of re-attaching, next one last
  std::optional<Suspicion> lost_parent_;  // to be reported once a path is found
  std::string lost_reason_;
  bool way_lost_ = false;            // and those below us know
  std::deque<wire::Operation> log_;  // not yet known to be everywhere
  std::map<Rank, Serial> child_acknowledged_;
  Serial acknowledged_{0};  // by this daemon and its whole subtree
  Reducer reducer_;
  wire::Report report_;
  std::vector<wire::LinkMessage> launch_failures_;  // for the head, when the link is there
  std::vector<wire::Endpoint> head_endpoints_;      // the head is in no membership operation
  std::uint32_t moves_ = 0;
  struct Kept {
    Serial acknowledged;  // by all, before it
    RoutingTree tree;     // before it
  };
  std::map<Serial, Kept> kept_;           // at the head, by orders to leave whose targets live
  std::optional<Serial> own_order_;       // to leave
  std::set<Rank> leave_below_us_;         // … and who has to have it before we acknowledge it
  std::optional<LeaveFrom> leave_from_;   // whom we were going to, and who waits for us
  std::optional<std::string> departing_;  // why we end as soon as those below us have
  bool joined_ = false;
  bool shutting_down_ = false;
};

}  // namespace tide::core
