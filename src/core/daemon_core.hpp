// All decisions of a daemon: its place in the tree, its channel to the head, its processes.
#pragma once

#include <string>
#include <vector>

#include "core/actions.hpp"
#include "core/channel.hpp"
#include "core/local_files.hpp"
#include "core/local_jobs.hpp"
#include "core/local_services.hpp"
#include "core/overlay.hpp"
#include "core/timers.hpp"

namespace tide::core {

struct DaemonConfig {
  OverlayConfig overlay;
  LocalJobsConfig jobs;
  std::uint32_t ack_flush_ms = 100;
  std::string dvm_id;
  std::vector<LaunchTarget> below;  // to be started by this daemon
};

class DaemonCore : private OverlayListener, private HeadPath {
 public:
  using Event = DaemonEvent;

  explicit DaemonCore(DaemonConfig config);
  DaemonCore(const DaemonCore&) = delete;
  DaemonCore& operator=(const DaemonCore&) = delete;
  DaemonCore(DaemonCore&&) = delete;
  DaemonCore& operator=(DaemonCore&&) = delete;
  ~DaemonCore() override = default;

  // Connects to the head and reports. Call once, before any event.
  Actions start(std::vector<wire::Endpoint> head, wire::Report report);
  Actions on(const Event& event, std::uint64_t now_ms);

  [[nodiscard]] const Overlay& overlay() const { return overlay_; }
  [[nodiscard]] const LocalJobs& jobs() const { return jobs_; }
  [[nodiscard]] const LocalFiles& files() const { return files_; }
  [[nodiscard]] const LocalServices& services() const { return services_; }

 private:
  struct UpItem {
    wire::UpBody body;
    Bytes payload;
  };

  void handle(const TimerFired& event);
  void handle(const EndRequested& event);
  void handle(const ProcExited& event);
  void handle(const JobRegistered& event);
  void handle(const EventRaised& event);
  void handle(const DaemonStarted&) {}
  void handle(const DaemonLaunchFailed& event);
  void handle(const DaemonExited& event);
  template <class T>
  void handle(const T& event) {
    if constexpr (requires { overlay_.handle(event); }) {
      overlay_.handle(event);
    } else if constexpr (requires { files_.handle(event); }) {
      files_.handle(event);
    } else if constexpr (requires { services_.handle(event); }) {
      services_.handle(event);
    } else {
      jobs_.handle(event);
    }
  }

  void on_operation(const wire::Operation& operation) override;
  void on_down(const wire::DownEntry& entry, const wire::LaunchCommon& launch,
               const Bytes& payload) override;
  void on_path_changed() override;
  void on_suspect(const Suspicion& suspicion) override;
  void on_cut_off(const std::string& reason) override;
  void on_operations_complete(Serial) override {}
  void on_adopted(Rank) override {}
  void on_up(const wire::Up&, const Bytes&) override {}
  void on_reduction(const wire::Reduction&) override {}
  void on_report(LinkId, Rank, const wire::Report&) override {}
  bool on_stranger(const LinkUp&) override { return false; }
  void on_stranger_lost(Rank, const std::string&, bool) override {}
  void on_launch_failed(Rank, const wire::LaunchFailed&) override {}
  void on_left(Rank, bool) override {}
  void on_sent_home(const std::string& reason) override { end(0, reason); }
  void on_departed(Rank rank, bool let_go) override;
  void on_let_go(const std::string& reason) override { end(0, reason); }

  void send_to_head(wire::UpBody body, Bytes payload) override;
  void contribute(const wire::Reduction& reduction) override { overlay_.contribute(reduction); }

  void deliver(const wire::DownBody& body, const wire::LaunchCommon& launch, const Bytes& payload);
  void transmit(const SendChannel<UpItem>::Entry& entry);
  wire::LinkMessage up_message();
  void acknowledge_now();
  void forget(JobId job);
  void end(int status, std::string reason);

  DaemonConfig config_;
  Actions out_;
  TimerBook timers_;
  Overlay overlay_;
  LocalJobs jobs_;
  LocalFiles files_;
  LocalServices services_;
  SendChannel<UpItem> control_out_;
  SendChannel<UpItem> bulk_out_;
  ReceiveChannel control_in_;
  ReceiveChannel bulk_in_;
  bool ending_ = false;
};

}  // namespace tide::core
