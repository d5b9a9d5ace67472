// A daemon as a program: the core of a daemon wired to links and processes.
#pragma once

#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/counters.hpp"
#include "base/dvm_directory.hpp"
#include "base/params.hpp"
#include "core/daemon_core.hpp"
#include "exec/process_table.hpp"
#include "exec/stack_tracer.hpp"
#include "exec/staging_area.hpp"
#include "exec/unique_fd.hpp"
#include "launch/ssh_launcher.hpp"
#include "rim/core_host.hpp"
#include "rim/link_port.hpp"
#include "rim/service_port.hpp"
#include "rim/signal_queue.hpp"
#include "rim/timer_wheel.hpp"
#include "wire/link.pb.h"

namespace tide::daemon {

class DaemonProgram : private rim::RimEffects,
                      private exec::ProcessHandler,
                      private launch::LaunchHandler {
 public:
  // `joined` is told when the daemon has found the head; it may be closed.
  DaemonProgram(const wire::DaemonBlob& blob, const Params& params, Failpoints failpoints,
                exec::UniqueFd joined);

  // Listens, joins the DVM, serves until the end. Returns the exit status for main().
  int run(const wire::DaemonBlob& blob, const Params& params);

  // After run(): nothing of the DVM is left on this machine but this process, whose end closes its
  // links. Whoever asked for the end sees so that all has ended: the caller should end it at once.
  [[nodiscard]] bool is_last_one() const { return last_one_; }

 private:
  // RimEffects
  void perform(core::Action action) override;
  void fail(core::Action action) override;

  // exec::ProcessHandler
  void on_spawned(core::ProcKey proc, pid_t pid) override;
  void on_spawn_failed(core::ProcKey proc, Error error) override;
  void on_exited(core::ProcKey proc, int exit_code, int signal) override;
  void on_output(core::ProcKey proc, wire::Stream stream, Bytes data) override;
  void on_output_closed(core::ProcKey proc, wire::Stream stream) override;
  void on_input_taken(core::ProcKey proc, std::uint32_t bytes) override;
  void on_swept(JobId job, std::uint32_t left_over) override;

  // launch::LaunchHandler, for the daemons below this one
  void on_daemon_started(Rank rank, pid_t pid) override;
  void on_daemon_launch_failed(Rank rank, std::string text) override;
  void on_daemon_exited(Rank rank, std::string text) override;
  void on_daemon_output(Rank rank, std::string_view text) override;
  void on_daemon_leaves(Rank /*rank*/) override {}  // steps are the head's alone
  void on_step_lost(const std::string& /*text*/) override {}
  void on_warden_lost(std::string /*text*/) override {}
  void on_shutdown_done() override;

  Result<std::vector<wire::Endpoint>> open_door(const wire::DaemonBlob& blob, const Params& params);
  void prepare_launches(const wire::DaemonBlob& blob, const Params& params);
  void launch_daemons(const core::LaunchDaemons& action);
  void on_link_event(rim::LinkEvent event);
  void spawn(core::SpawnProc request);
  void clean_up(const wire::DaemonBlob& blob, DvmDirectory& directory) const;
  void signal(const core::SignalProc& request);
  void end_client(core::ProcKey proc, int signal);
  void wait_for_signals();
  void begin_exit(const core::Exit& exit);
  void await_last_process();
  void dismiss_warden() const;

  exec::UniqueFd joined_;
  asio::io_context io_;
  Counters counters_;
  core::DaemonCore core_;
  rim::CoreHost<core::DaemonCore> host_;
  rim::TimerWheel timers_;
  rim::LinkPort links_;
  std::unique_ptr<exec::ProcessTable> processes_;
  exec::StackTracer tracer_;
  exec::StagingArea files_;
  rim::ServicePort services_;
  std::unique_ptr<launch::SshLauncher> launcher_;  // where there are daemons below to be started
  std::map<Rank, launch::LaunchItem> below_;       // not yet asked for; they hold the key
  rim::SignalQueue endings_;
  asio::signal_set signals_;
  asio::steady_timer exit_timer_;
  std::uint64_t exit_deadline_ms_ = 0;
  pid_t warden_ = getppid();
  bool on_its_own_ = false;  // nobody here but its warden hears of its end
  bool last_one_ = false;
  bool exiting_ = false;
  int exit_status_ = 0;
  bool head_lost_ = false;
  bool warden_lost_ = false;
  bool signalled_ = false;
};

}  // namespace tide::daemon
