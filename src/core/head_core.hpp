// All decisions of the head: who is in the DVM, which jobs run, who is answered what.
#pragma once

#include <deque>
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
#include "core/elastic_desk.hpp"
#include "core/event_log.hpp"
#include "core/job_board.hpp"
#include "core/local_services.hpp"
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
  ElasticConfig elastic;
  std::uint32_t shutdown_timeout_ms = 10'000;
  std::uint32_t ending_news_ms = 3'000;  // an end that takes longer is told what it waits for
  std::uint32_t ack_flush_ms = 100;
  std::uint32_t history_events = 1000;
};

class HeadCore : private OverlayListener,
                 private RosterListener,
                 private DaemonPort,
                 private HeadPath,
                 private HostedJobs {
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
  [[nodiscard]] const ServiceDesk& services() const { return services_; }
  [[nodiscard]] const EventLog& events() const { return events_; }
  [[nodiscard]] const ElasticDesk& elastic() const { return elastic_; }
  // What is said of a job to whoever asks what it waits for.
  [[nodiscard]] Result<wire::ExplainReply> explain(const wire::JobRef& job) const;
  // … or of a change of the DVM's size, or an allocation.
  [[nodiscard]] Result<wire::ExplainReply> explain(const wire::ExplainQuery& query) const;
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
    std::uint64_t asked = 0;  // number of the last ping
  };
  enum class Phase : std::uint8_t { kStarting, kReady, kEnding, kShuttingDown };

  void handle(const LinkUp& event) { overlay_.handle(event); }
  void handle(const LinkDown& event) { overlay_.handle(event); }
  void handle(const ConnectFailed& event) { overlay_.handle(event); }
  void handle(const MessageIn& event) { overlay_.handle(event); }
  void handle(const TimerFired& event);
  void handle(const StartDvm& event);
  template <class Event>
    requires requires(ElasticDesk& desk, const Event& event) { desk.handle(event); }
  void handle(const Event& event) {
    elastic_.handle(event);
  }
  void handle(const DaemonStarted& event) { roster_.on_daemon_started(event); }
  void handle(const DaemonLaunchFailed& event);
  void handle(const DaemonExited& event);
  void handle(const ProbeAnswered& event) { roster_.on_probe(event); }
  void handle(const ClientMessage& event);
  void handle_watcher(const ClientMessage& event);
  void handle(const ClientGone& event);
  void handle(const ServicesStarted& event) { jobs_.set_service_uri(event.uri); }
  void handle(const EndRequested& event) { begin_end(event.reason, false, event.grace_ms); }
  template <class Event>
    requires requires(LocalServices& services, const Event& event) { services.handle(event); }
  void handle(const Event& event) {
    own_services_.handle(event);
  }

  // OverlayListener
  void on_operation(const wire::Operation& operation) override;
  void on_operations_complete(Serial serial) override { roster_.on_operations_complete(serial); }
  void on_up(const wire::Up& up, const Bytes& payload) override;
  void on_reduction(const wire::Reduction& reduction) override;
  void on_suspect(const Suspicion& suspicion) override;
  void on_adopted(Rank rank) override { hear(rank); }
  void on_report(LinkId link, Rank rank, const wire::Report& report) override {
    roster_.on_report(link, rank, report);
  }
  bool on_stranger(const LinkUp& up) override { return roster_.admit(up); }
  void on_stranger_lost(Rank rank, const std::string& reason, bool silent) override;
  void on_launch_failed(Rank by, const wire::LaunchFailed& failed) override;
  void on_left(Rank rank, bool silent) override;
  void on_sent_home(const std::string&) override {}
  void on_departed(Rank rank, bool let_go) override { roster_.on_departed(rank, let_go); }
  void on_let_go(const std::string&) override {}
  void on_path_changed() override {}
  void on_cut_off(const std::string&) override {}
  void on_down(const wire::DownEntry&, const wire::LaunchCommon&, const Bytes&) override {}

  // RosterListener
  void on_daemons_launched() override;
  void on_daemons_reported() override;
  void on_ready() override;
  void on_start_failed(const std::string& reason) override;
  void on_node_lost(const Node& node, const std::string& reason) override;
  void on_node_reported(CampaignId campaign, const Node& node) override;
  void on_grown(CampaignId campaign) override;
  void on_grow_failing(CampaignId campaign, std::uint32_t gather_ms) override {
    elastic_.on_grow_failing(campaign, gather_ms);
  }
  void on_grow_failed(CampaignId campaign, ChangeFailure cause,
                      const std::string& reason) override {
    elastic_.on_grow_failed(campaign, cause, reason);
  }
  void on_rolled_back(CampaignId campaign) override { elastic_.on_rolled_back(campaign); }
  void on_withdrawn(const Node& node) override;
  void on_departed(const Node& node) override;

  // DaemonPort
  void scatter(Slices slices, std::shared_ptr<const wire::LaunchCommon> launch,
               Bytes payload) override;
  void extend_for(JobId job) override { elastic_.extend_for(job); }
  [[nodiscard]] bool is_scheduler(std::string_view key) const override {
    return elastic_.is_scheduler(key);
  }
  void on_job_gone(const std::string& nspace) override { services_.on_job_gone(nspace); }
  void on_share_ended(Rank rank, const std::string& nspace) override {
    services_.collectives().on_share_ended(rank, nspace);
  }
  [[nodiscard]] std::set<Rank> everybody() const override;
  [[nodiscard]] bool reaches(Rank rank) const override {
    return rank == kHeadRank || peers_.contains(rank);
  }

  // For tools that are attached to the head itself: it is its own daemon, without processes.
  void send_to_head(wire::UpBody body, Bytes payload) override;
  void contribute(const wire::Reduction&) override {}
  [[nodiscard]] const wire::LaunchCommon* launch_of(std::string_view) const override {
    return nullptr;
  }
  bool write_for(const wire::ProcName&, wire::Stream, const Bytes&) override { return false; }
  void talk_to_itself();
  void tell_nodes();

  void hear(Rank rank);
  void note_tool(Rank origin, const wire::ProcName& tool);
  void deliver(Rank origin, const wire::UpBody& body, const Bytes& payload);
  void send_again(Rank rank, Peer& peer);
  void address(wire::DownEntry& entry, Rank rank, Peer& peer, std::uint64_t seq);
  void acknowledge_all();
  void answer(ClientId client, std::uint32_t request, const Status& status);
  void begin_end(const std::string& reason, bool force, std::uint32_t grace_ms = 0);
  void progress_end();
  void end_remaining();
  void kill_daemons();
  void arm_end(std::uint32_t grace_ms = 0);
  [[nodiscard]] std::uint64_t end_left_ms() const;
  void tell_what_the_end_waits_for();
  void tell_who_waits(const std::string& text);
  void finish(int status, std::string reason);
  void go(JobState state, const char* cause);
  void note_table();

  HeadConfig config_;
  Actions out_;
  Notes notes_;
  TimerBook timers_;
  Overlay overlay_;
  Roster roster_;
  EventLog events_;
  Sessions sessions_;
  JobBoard jobs_;
  ElasticDesk elastic_;
  ServiceDesk services_;
  LocalServices own_services_;
  std::deque<std::pair<wire::UpBody, Bytes>> to_itself_;
  std::deque<std::pair<wire::DownBody, Bytes>> from_itself_;
  std::map<Rank, Peer> peers_;
  Phase phase_ = Phase::kStarting;
  JobState state_ = JobState::kInit;  // of the daemons' own job, number 0
  std::uint64_t started_ms_ = 0;
  std::uint64_t now_ms_ = 0;
  std::vector<std::pair<ClientId, std::uint32_t>> waiting_for_end_;
  std::optional<std::string> failure_;  // why the start failed
  std::uint64_t end_stage_until_ms_ = 0;
  bool forced_ = false;         // by whoever asked for the end
  bool killed_ = false;         // the launcher was told to end every daemon
  bool nodes_changed_ = false;  // and the rim was not told yet
  bool exited_ = false;
};

}  // namespace tide::core
