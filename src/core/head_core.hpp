// All decisions of the head: who is in the DVM, which jobs run, who is answered what.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/actions.hpp"
#include "core/channel.hpp"
#include "core/daemon_port.hpp"
#include "core/job_board.hpp"
#include "core/overlay.hpp"
#include "core/roster.hpp"
#include "core/timers.hpp"

namespace tide::core {

struct HeadConfig {
  std::string dvm_id;
  std::string dvm_name;
  OverlayConfig overlay;
  RosterConfig roster;
  JobBoardConfig jobs;
  std::uint32_t shutdown_timeout_ms = 10'000;
  std::uint32_t ack_flush_ms = 100;
  bool one_shot = false;  // ends by itself when the jobs that were submitted have ended
};

class HeadCore : private OverlayListener, private RosterListener, private DaemonPort {
 public:
  using Event = HeadEvent;

  explicit HeadCore(HeadConfig config);
  HeadCore(const HeadCore&) = delete;
  HeadCore& operator=(const HeadCore&) = delete;
  HeadCore(HeadCore&&) = delete;
  HeadCore& operator=(HeadCore&&) = delete;
  ~HeadCore() override = default;

  Actions on(const Event& event, std::uint64_t now_ms);

  [[nodiscard]] const Overlay& overlay() const { return overlay_; }
  [[nodiscard]] const Roster& roster() const { return roster_; }
  [[nodiscard]] const JobBoard& jobs() const { return jobs_; }
  // Everything that can be asked about, without what depends on the time.
  [[nodiscard]] wire::StatusReply status(std::uint32_t history, std::uint64_t now_ms) const;

 private:
  struct DownItem {
    wire::DownBody body;
    std::shared_ptr<const wire::LaunchCommon> launch;
    Bytes payload;
  };
  struct Peer {  // the channels to one daemon
    SendChannel<DownItem> control_out;
    SendChannel<DownItem> bulk_out;
    ReceiveChannel control_in;
    ReceiveChannel bulk_in;
  };
  enum class Phase : std::uint8_t { kStarting, kReady, kEnding, kShuttingDown };

  void handle(const LinkUp& event) { overlay_.handle(event); }
  void handle(const LinkDown& event) { overlay_.handle(event); }
  void handle(const ConnectFailed& event) { overlay_.handle(event); }
  void handle(const MessageIn& event) { overlay_.handle(event); }
  void handle(const TimerFired& event);
  void handle(const StartDvm& event);
  void handle(const DaemonStarted& event) { roster_.on_daemon_started(event); }
  void handle(const DaemonLaunchFailed& event);
  void handle(const DaemonExited& event);
  void handle(const ProbeAnswered& event) { roster_.on_probe(event); }
  void handle(const ClientMessage& event);
  void handle(const ClientGone& event);
  void handle(const EndRequested& event) { begin_end(event.reason, false); }

  // OverlayListener
  void on_operation(const wire::Operation& operation) override;
  void on_operations_complete(Serial serial) override { roster_.on_operations_complete(serial); }
  void on_up(const wire::Up& up, const Bytes& payload) override;
  void on_reduction(const wire::Reduction& reduction) override { jobs_.on_reduction(reduction); }
  void on_suspect(Rank rank, const std::string& reason) override;
  void on_adopted(Rank rank) override { hear(rank); }
  void on_report(LinkId link, Rank rank, const wire::Report& report) override;
  bool on_stranger(const LinkUp& up) override { return roster_.admit(up); }
  void on_stranger_lost(Rank rank, const std::string& reason) override;
  void on_path_changed() override {}
  void on_cut_off(const std::string&) override {}
  void on_down(const wire::DownEntry&, const wire::LaunchCommon&, const Bytes&) override {}

  // RosterListener
  void on_daemons_launched() override;
  void on_daemons_reported() override;
  void on_ready() override;
  void on_start_failed(const std::string& reason) override;
  void on_node_lost(const Node& node, const std::string& reason) override;

  // DaemonPort
  void scatter(Slices slices, std::shared_ptr<const wire::LaunchCommon> launch,
               Bytes payload) override;

  void hear(Rank rank);
  void deliver(Rank origin, const wire::UpBody& body, const Bytes& payload);
  void send_again(Rank rank, Peer& peer);
  void address(wire::DownEntry& entry, Rank rank, Peer& peer, std::uint64_t seq);
  void acknowledge_all();
  void answer(ClientId client, std::uint32_t request, const Status& status);
  void begin_end(const std::string& reason, bool force);
  void progress_end();
  void end_remaining();
  void kill_daemons();
  void finish(int status, std::string reason);
  void go(JobState state, const char* cause);
  void note_table();

  HeadConfig config_;
  Actions out_;
  Notes notes_;
  TimerBook timers_;
  Overlay overlay_;
  Roster roster_;
  JobBoard jobs_;
  std::map<Rank, Peer> peers_;
  Phase phase_ = Phase::kStarting;
  JobState state_ = JobState::kInit;  // of the daemons' own job, number 0
  std::uint64_t started_ms_ = 0;
  std::uint64_t now_ms_ = 0;
  std::vector<std::pair<ClientId, std::uint32_t>> waiting_for_end_;
  std::optional<std::string> failure_;  // why the start failed
  bool forced_ = false;                 // by whoever asked for the end
  bool killed_ = false;                 // the launcher was told to end every daemon
  bool exited_ = false;
};

}  // namespace tide::core
