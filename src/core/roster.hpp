// The head's book of daemons: given a rank, launched, reported, up, suspected, gone. Only here is a
// daemon declared dead.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "core/notes.hpp"
#include "core/overlay.hpp"
#include "core/timers.hpp"
#include "say/mapping.hpp"

namespace tide::core {

struct RosterConfig {
  std::uint32_t start_timeout_ms = 60'000;
  std::uint32_t suspect_grace_ms = 5'000;
  std::string default_slots = "cores";  // cores, sockets, hwthreads or a number
  Verbosity verbosity{};
};

enum class NodeState : std::uint8_t { kLaunching, kReported, kUp, kSuspect };

struct Node {
  Rank rank;
  std::string name;
  Incarnation incarnation;
  std::uint32_t campaign = 0;
  NodeState state = NodeState::kLaunching;
  std::uint32_t asked_slots = 0;
  std::uint32_t slots = 0;
  say::SlotSource slot_source = say::SlotSource::kGiven;
  std::uint32_t used = 0;  // processes placed and not yet ended
  std::uint32_t pid = 0;
  std::optional<LinkId> link{};  // the one it joined by
  wire::Report report{};
  std::string suspicion{};  // why, for the message if it proves true
  std::uint64_t suspect_until_ms = 0;
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
};

class Roster {
 public:
  Roster(RosterConfig config, Overlay& overlay, RosterListener& listener, TimerBook& timers,
         Actions& out);

  void start(const StartDvm& request);
  // Ends the start if it is still under way; afterwards departures are expected.
  void enter_shutdown();

  void on_daemon_started(const DaemonStarted& event);
  void on_launch_failed(const DaemonLaunchFailed& event);
  void on_daemon_exited(const DaemonExited& event);
  void on_probe(const ProbeAnswered& event);
  bool admit(const LinkUp& up);
  void on_stranger_lost(Rank rank, const std::string& reason);
  void on_report(LinkId link, Rank rank, const wire::Report& report);
  void on_operations_complete(Serial serial);
  // True if the daemon is suspected from now on: it has to be heard of within the grace period.
  bool suspect(Rank rank, const std::string& reason, std::uint64_t now_ms);
  // True if it was under suspicion and is not any more.
  bool heard_from(Rank rank);
  bool handle_timer(TimerKind kind, std::uint64_t now_ms);

  [[nodiscard]] const std::map<Rank, Node>& nodes() const { return nodes_; }
  [[nodiscard]] Node* find(Rank rank);
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] Serial serial() const { return overlay_.membership().serial(); }
  [[nodiscard]] std::uint32_t total_slots() const;

 private:
  void fail_start(const std::string& reason);
  void wire_up();
  void declare_dead(Rank rank, std::string reason);
  void check_suspects(std::uint64_t now_ms);
  void arm_suspects(std::uint64_t now_ms);
  void set_slots(Node& node) const;

  RosterConfig config_;
  Overlay& overlay_;
  RosterListener& listener_;
  TimerBook& timers_;
  Actions& out_;
  Notes notes_;
  std::map<Rank, Node> nodes_;
  std::uint32_t next_rank_ = 1;
  std::uint32_t campaign_ = 0;
  std::size_t reported_ = 0;
  std::optional<Serial> wired_at_;
  bool starting_ = false;
  bool ready_ = false;
  bool shutting_down_ = false;
};

}  // namespace tide::core
