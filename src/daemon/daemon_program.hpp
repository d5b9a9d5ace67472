// A daemon as a program: the core of a daemon wired to links and processes.
#pragma once

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/counters.hpp"
#include "base/dvm_directory.hpp"
#include "base/params.hpp"
#include "core/daemon_core.hpp"
#include "exec/process_table.hpp"
#include "rim/core_host.hpp"
#include "rim/link_port.hpp"
#include "rim/timer_wheel.hpp"
#include "wire/link.pb.h"

namespace tide::daemon {

class DaemonProgram : private rim::RimEffects, private exec::ProcessHandler {
 public:
  DaemonProgram(const wire::DaemonBlob& blob, const Params& params, Failpoints failpoints);

  // Listens, joins the DVM, serves until the end. Returns the exit status for main().
  int run(const wire::DaemonBlob& blob, const Params& params);

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

  void wait_for_signals();
  void begin_exit(const core::Exit& exit);
  void await_last_process();

  asio::io_context io_;
  Counters counters_;
  core::DaemonCore core_;
  rim::CoreHost<core::DaemonCore> host_;
  rim::TimerWheel timers_;
  rim::LinkPort links_;
  std::unique_ptr<exec::ProcessTable> processes_;
  asio::signal_set signals_;
  asio::steady_timer exit_timer_;
  std::uint64_t exit_deadline_ms_ = 0;
  bool exiting_ = false;
  int exit_status_ = 0;
  bool head_lost_ = false;
};

}  // namespace tide::daemon
