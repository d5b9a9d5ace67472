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
  std::uint32_t reduction_patience_ms = 50;
  Verbosity verbosity{};
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
  virtual void on_suspect(Rank rank, const std::string& reason) = 0;
  // At the head: a member hangs on us from now on, so it lives.
  virtual void on_adopted(Rank rank) = 0;
  // At the head: a started daemon introduces itself.
  virtual void on_report(LinkId link, Rank rank, const wire::Report& report) = 0;
  // At the head: a link from somebody who is no member. Return false to turn it away.
  virtual bool on_stranger(const LinkUp& up) = 0;
  // At the head: the link of a daemon that has reported but is no member yet went down.
  virtual void on_stranger_lost(Rank rank, const std::string& reason) = 0;
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
  // Head: a reported daemon is a member now: give it the state it starts from.
  void welcome(LinkId link);

  // Towards the head; dropped without a path, because a new path makes its owner send again.
  void send_up(wire::LinkMessage message, Bytes payload);
  // Towards the destinations of the entries, split by next hop; dropped where no path is known.
  void send_down(wire::DownScatter scatter, const Bytes& payload);
  // Adds to a reduction; it travels when the subtree is complete or patience ends.
  void contribute(const wire::Reduction& reduction);

 private:
  enum class Role : std::uint8_t { kPending, kChild, kParent, kJoining };
  struct Link {
    Rank peer;
    Incarnation incarnation;
    Role role = Role::kPending;
    bool outgoing = false;
    Serial sent{0};                        // operations forwarded on it, for a child
    std::uint32_t moves = 0;               // of the child, when it came
    std::optional<wire::Attach> attach{};  // arrived before the peer's membership was known
    bool overdue = false;                  // pending since before the last sweep
    bool lied = false;                     // and that was said once
  };

  void send(LinkId link, wire::LinkMessage message, Bytes payload = {});
  void close(LinkId link, wire::GoodbyeReason reason, std::string text);

  void on_incoming_link(const LinkUp& event);
  void on_child_message(LinkId id, const MessageIn& event);
  void on_child_reduction(LinkId id, const wire::Reduction& reduction);
  [[nodiscard]] bool may_speak_for(Rank peer, Rank origin) const;
  void note_lie(LinkId id, const std::string& what);
  void on_parent_message(const MessageIn& event);
  void forget_if_moved(Rank origin, std::uint32_t moves);
  void note_way_of(Rank origin, LinkId child);
  void ask_detours_again();
  void drop_child(LinkId id, const Link& link, const LinkDown& event);
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
  void update_acknowledgement();
  void trim_log(Serial stable);

  void seek_parent();
  void parent_gained(LinkId id);
  void parent_lost(const std::string& reason);
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
  std::map<Rank, LinkId> detours_;   // heard by another child than the one that leads to them
  std::optional<LinkId> parent_link_;
  std::set<Rank> connecting_;         // Connects that are under way
  std::vector<Rank> ancestors_left_;  // of this round of re-attaching, next one last
  std::optional<Rank> lost_parent_;   // to be reported once a path is found
  std::string lost_reason_;
  std::deque<wire::Operation> log_;  // not yet known to be everywhere
  std::map<Rank, Serial> child_acknowledged_;
  Serial acknowledged_{0};  // by this daemon and its whole subtree
  Reducer reducer_;
  wire::Report report_;
  std::vector<wire::Endpoint> head_endpoints_;  // the head is in no membership operation
  std::uint32_t moves_ = 0;
  bool joined_ = false;
  bool shutting_down_ = false;
};

}  // namespace tide::core
