// The head's book of daemons: given a rank, launched, reported, up, suspected, ordered to leave,
// gone. Only here is a daemon declared dead. Daemons that are started together become members
// together, or not at all: those of the first start, and those of each grow.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "core/launch_book.hpp"
#include "core/notes.hpp"
#include "core/overlay.hpp"
#include "core/timers.hpp"
#include "say/mapping.hpp"

namespace tide::core {

struct RosterConfig {
  std::uint32_t start_timeout_ms = 60'000;
  std::uint32_t gather_ms = 10'000;    // for the others, once a node has failed at the start
  std::uint32_t rollback_ms = 10'000;  // for daemons of a failed grow to end
  bool tree_launch = false;            // daemons start those below them, not the head all
  std::uint32_t suspect_grace_ms = 5'000;
  std::uint32_t silence_ms = 10'000;    // a daemon whose way here is dead notices so late
  std::uint32_t probe_again_ms = 250;   // the port of one that dies is open a little longer
  std::string default_slots = "cores";  // cores, sockets, hwthreads or a number
  bool orders_fail = false;             // for tests: no order to leave can be sent
  Verbosity verbosity{};
};

enum class NodeState : std::uint8_t {
  kLaunching,
  kReported,
  kWiring,  // a member, but not everybody has acknowledged so
  kUp,
  kSuspect,
  kLeaving,    // to be released: nothing is placed there any more
  kDeparting,  // ordered to leave, and not gone yet
};

// It has a daemon, and is not on its way out. One that is suspected may come back.
constexpr bool is_up(NodeState state) {
  return state == NodeState::kUp || state == NodeState::kSuspect;
}

// Why a change of the DVM's size came to nothing.
enum class ChangeFailure : std::uint8_t { kCannotStart, kLost, kTimeLimit, kResources, kEnding };

inline constexpr CampaignId kFirstStart{1};

struct Node {
  Rank rank;
  std::string name;
  Incarnation incarnation;
  CampaignId campaign = kFirstStart;  // it was started by
  std::string allocation{};           // it came with; empty: the DVM was started with it
  std::string session{};              // the reservation it is in; empty: the default session
  std::string manager{};              // that granted it; empty: not known
  NodeState state = NodeState::kLaunching;
  bool watched = true;  // its launcher tells when it ends
  bool over = false;    // there is no process: it ended while the DVM started, or never was
  std::vector<std::string> aliases{};  // other names and addresses of the same machine
  std::uint32_t asked_slots = 0;
  std::uint32_t slots = 0;
  std::uint32_t max_slots = 0;  // processes it takes at most, also where slots may be exceeded
  say::SlotSource slot_source = say::SlotSource::kGiven;
  std::uint32_t used = 0;  // processes placed and not yet ended
  std::uint32_t pid = 0;
  std::optional<LinkId> link{};  // the one it joined by
  wire::Report report{};
  std::string suspicion{};   // why, for the message if it proves true
  bool silent = false;       // nothing was heard of it for long when it was suspected
  bool port_open = false;    // when it was probed last
  bool to_be_ended = false;  // if it answers the probe that is under way
  std::uint64_t suspected_ms = 0;
  std::uint64_t suspect_until_ms = 0;
  Serial order{};      // of one that is departing
  Rank leaves_with{};  // … whose closed link stands for all of this group

  [[nodiscard]] bool is_up() const { return core::is_up(state); }
};

// What follows from changes in the book.
class RosterListener {
 public:
  virtual ~RosterListener() = default;
  virtual void on_daemons_launched() = 0;
  virtual void on_daemons_reported() = 0;
  virtual void on_ready() = 0;  // wired: every daemon knows every daemon
  virtual void on_start_failed(const std::string& reason) = 0;
  virtual void on_node_lost(const Node& node, const std::string& reason) = 0;

  virtual void on_node_reported(CampaignId campaign, const Node& node) = 0;

  // ---- of a grow ----
  // Wired: every daemon, old and new, has acknowledged the new membership.
  virtual void on_grown(CampaignId campaign) = 0;
  // It can't succeed any more; what else is wrong may become known for so long before it fails.
  virtual void on_grow_failing(CampaignId campaign, std::uint32_t gather_ms) = 0;
  // Its nodes are out of the book; on_rolled_back follows when their daemons have ended.
  virtual void on_grow_failed(CampaignId campaign, ChangeFailure cause,
                              const std::string& reason) = 0;
  virtual void on_rolled_back(CampaignId campaign) = 0;

  // One that had reported is not waited for any more, but not lost: rolled back, or ordered to
  // leave.
  virtual void on_withdrawn(const Node& node) = 0;
  // Of one that was ordered to leave: its daemon has ended.
  virtual void on_departed(const Node& node) = 0;
};

class Roster {
 public:
  Roster(RosterConfig config, Overlay& overlay, RosterListener& listener, TimerBook& timers,
         Actions& out);

  void start(const StartDvm& request);
  // More nodes, within `limit_ms`; kept apart from all others by `campaign`, which is new.
  void grow(CampaignId campaign, const std::vector<NodeRequest>& nodes, std::uint32_t limit_ms);
  // Not under way any more, whatever is still to come of it.
  void give_up(CampaignId campaign, ChangeFailure cause, const std::string& reason);
  // Ends the start if it is still under way; afterwards departures are expected.
  void enter_shutdown();

  void on_daemon_started(const DaemonStarted& event);
  void on_launch_failed(const DaemonLaunchFailed& event);
  // The same, as told by the daemon that was to start it.
  void on_launch_failed(Rank by, const wire::LaunchFailed& failed);
  void on_daemon_exited(const DaemonExited& event);
  void on_probe(const ProbeAnswered& event);
  bool admit(const LinkUp& up);
  // `silent`: nobody there answers any more.
  void on_stranger_lost(Rank rank, const std::string& reason, bool silent);
  void on_report(LinkId link, Rank rank, const wire::Report& report);
  void on_operations_complete(Serial serial);

  // ---- leaving ----
  // Nothing is placed on these any more.
  void set_apart(const std::set<Rank>& ranks);
  // They are as before.
  void take_back(const std::set<Rank>& ranks);
  // All of them were set apart. An error if the order can't be sent; then nothing has changed.
  Status order_to_leave(const std::set<Rank>& ranks);
  // A neighbour's word that the link of `rank` is closed.
  void on_departed(Rank rank, bool let_go);
  // They have had their time: their launcher ends them.
  void end_departing(const std::set<Rank>& ranks);
  // … and they are not waited for any longer.
  void give_up_departing(const std::set<Rank>& ranks);
  // Who is suspected from now on and has to be heard of within the grace period: with one that says
  // nothing also those below it, who are asked at the same time and not each after the one above.
  std::vector<Rank> suspect(const Suspicion& suspicion, std::uint64_t now_ms);
  // True if it was under suspicion and is not any more.
  bool heard_from(Rank rank);
  // While the DVM ends: the link of this daemon is gone, and with it all that hung on it. A silent
  // one may not have heard that it is to end.
  void on_left(Rank rank, bool silent);
  bool handle_timer(TimerKind kind, std::uint32_t subject, std::uint64_t now_ms);

  [[nodiscard]] const std::map<Rank, Node>& nodes() const { return nodes_; }
  [[nodiscard]] bool is_shutting_down() const { return shutting_down_; }
  [[nodiscard]] Node* find(Rank rank);
  // By a name that it is known by.
  [[nodiscard]] const Node* find(const std::string& name) const;
  [[nodiscard]] bool ready() const { return ready_; }
  // A start or grow that is under way: nodes that were not heard of.
  [[nodiscard]] std::vector<std::string> silent_of(CampaignId campaign) const;
  // … and those because of which it will fail.
  [[nodiscard]] std::vector<LaunchBook::Failure> failures_of(CampaignId campaign) const;
  // One that is being wired: whose acknowledgement is missing. It speaks for all below it, so it
  // may be one of them that holds it up.
  struct Unwired {
    std::string node;
    bool speaks_for_others = false;
  };
  [[nodiscard]] std::vector<Unwired> unwired_of(CampaignId campaign) const;
  // Neither in the book nor one of a failed grow that has not ended yet.
  [[nodiscard]] bool is_gone(Rank rank) const {
    return !nodes_.contains(rank) && !rolled_back_.contains(rank);
  }
  [[nodiscard]] Serial serial() const { return overlay_.membership().serial(); }
  [[nodiscard]] std::uint32_t total_slots() const;
  [[nodiscard]] bool all_reported(CampaignId campaign) const;
  [[nodiscard]] std::vector<std::string> suspected() const;
  // While the DVM ends: those that have not ended yet will not be waited for.
  void give_up_the_unwatched();
  // While the DVM ends: nodes that have not ended yet; those and the ones that were given up.
  [[nodiscard]] std::vector<std::string> remaining() const;
  [[nodiscard]] std::vector<std::string> unreached() const;

 private:
  struct Start {  // of daemons that become members together
    LaunchBook book;
    std::optional<Serial> wired_at{};
    std::vector<std::pair<LinkId, std::string>> unneeded{};  // links of those who go home, and why
    std::uint32_t limit_ms = 0;
    ChangeFailure cause = ChangeFailure::kCannotStart;  // of the first failure
  };

  struct RolledBack {  // a daemon of a failed grow that has not ended yet
    CampaignId campaign;
    Incarnation incarnation;
    bool watched = true;
    bool launcher_tells = false;              // of its end, or of that of its session
    std::optional<LinkId> link{};             // over which its report is to come
    std::vector<wire::Endpoint> endpoints{};  // that are asked until nobody answers
    bool port_open = false;                   // when it was probed last

    [[nodiscard]] bool is_awaited() const {
      return launcher_tells || link.has_value() || !endpoints.empty();
    }
  };

  // ---- starting ----
  void launch(CampaignId campaign, const std::vector<NodeRequest>& nodes, std::uint32_t limit_ms);
  Start* start_of(const Node& node);
  void node_failed(const Node& node, ChangeFailure cause, const std::string& reason);
  void check_reports(CampaignId campaign);
  void fail_start(CampaignId campaign, ChangeFailure cause, const std::string& reason);
  void on_start_timer(CampaignId campaign);
  void unite_with_same_machine(const Node& node);
  void send_home(Start& start);
  void wire_up(CampaignId campaign);
  void complete(CampaignId campaign);
  void roll_back(CampaignId campaign, const LaunchBook& book);
  [[nodiscard]] static std::optional<RolledBack> undone(const Node& node, const LaunchBook& book);
  bool admit_undone(const LinkUp& up);
  bool on_report_of_undone(LinkId link, Rank rank, const wire::Report& report);
  void probe(Rank rank, RolledBack& daemon);
  void check_undone(Rank rank);
  void end_rollback(CampaignId campaign);
  void check_rolled_back(CampaignId campaign);
  void set_slots(Node& node) const;

  // ---- suspicion and death ----
  bool suspect_one(const Suspicion& suspicion, std::uint64_t now_ms, std::uint64_t until_ms);
  void declare_dead(const std::vector<std::pair<Rank, std::string>>& dead);
  void tell_of_dead(const RankSet& ranks);
  void check_suspects(std::uint64_t now_ms);
  [[nodiscard]] static bool is_probed(const Node& node);
  void probe(Node& node);
  void probe_again_later();
  void probe_again();
  void arm_suspects(std::uint64_t now_ms);

  void note_departure(Rank rank);
  void note_early_departure(Rank rank);

  // ---- the book ----
  // Again if it has other names than before.
  void index(const Node& node);
  Node take_out(Rank rank);

  RosterConfig config_;
  Overlay& overlay_;
  RosterListener& listener_;
  TimerBook& timers_;
  Actions& out_;
  Notes notes_;
  std::map<Rank, Node> nodes_;
  std::map<std::string, std::set<Rank>> by_name_;  // or another name of the same machine
  std::set<Rank> departing_;                       // nodes in that state
  std::uint32_t next_rank_ = 1;
  std::map<CampaignId, Start> starts_;
  std::map<Rank, RolledBack> rolled_back_;
  std::map<Rank, std::string> given_up_;  // names of nodes that said nothing while the DVM ended
  bool ready_ = false;
  bool shutting_down_ = false;
};

}  // namespace tide::core
