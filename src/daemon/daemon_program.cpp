#include "daemon/daemon_program.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/dvm_directory.hpp"
#include "base/log.hpp"
#include "exec/descriptor_limit.hpp"
#include "exec/orphans.hpp"
#include "exec/topology.hpp"
#include "exec/warden.hpp"
#include "rim/settings.hpp"

namespace tide::daemon {

namespace {

// After an order to end: how long killed processes may take to vanish. The warden sees to the rest.
constexpr std::uint64_t kExitPatienceMs = 2000;
constexpr std::uint32_t kExitLookMs = 5;
// A head that was killed is gone when the kernel comes to it.
constexpr auto kHeadEndsWithin = std::chrono::milliseconds(2000);

core::DaemonConfig daemon_config(const wire::DaemonBlob& blob, const Params& params) {
  core::DaemonConfig config;
  config.overlay = rim::overlay_config(params, Rank(blob.rank()));
  config.jobs = rim::local_jobs_config(params, Rank(blob.rank()), blob.node());
  return config;
}

net::LinkConfig link_config(const wire::DaemonBlob& blob, const Params& params) {
  auto config = rim::link_config(params);
  config.dvm_id = blob.dvm_id();
  config.key = blob.key();
  config.rank = Rank(blob.rank());
  config.incarnation = Incarnation(blob.incarnation());
  config.campaign = blob.campaign();
  return config;
}

exec::ProcessTableConfig table_config(const wire::DaemonBlob& blob) {
  exec::ProcessTableConfig config;
  config.node = blob.node();
  config.dvm_id = blob.dvm_id();
  if (auto limit = exec::raise_descriptor_limit()) {
    config.descriptor_limit = *limit;
  } else {
    log_warning(limit.error().message);
  }
  return config;
}

}  // namespace

DaemonProgram::DaemonProgram(const wire::DaemonBlob& blob, const Params& params,
                             Failpoints failpoints)
    : core_(daemon_config(blob, params)),
      host_(io_, core_, *this, std::move(failpoints),
            static_cast<std::size_t>(params.get_int("tide_recorder_events")), counters_),
      timers_(io_, [this](core::TimerFired fired) { host_.post(fired); }),
      links_(io_, link_config(blob, params), counters_,
             [this](rim::LinkEvent event) {
               std::visit([this](auto&& e) { host_.post(std::forward<decltype(e)>(e)); },
                          std::move(event));
             }),
      processes_(std::make_unique<exec::ProcessTable>(
          io_, static_cast<exec::ProcessHandler&>(*this), table_config(blob))),
      signals_(io_, SIGTERM, SIGINT, SIGHUP),
      exit_timer_(io_) {}

int DaemonProgram::run(const wire::DaemonBlob& blob, const Params& params) {
  auto directory = DvmDirectory::open(blob.run_directory());
  const std::string dump = blob.run_directory() + "/logs/" + blob.node() + ".crash";
  if (auto installed = install_crash_dump(&host_.recorder(), dump); !installed) {
    log_warning(installed.error().message);
  }
  auto endpoints = links_.listen(rim::listen_address(params));
  if (!endpoints) {
    log_error("cannot listen: " + endpoints.error().message);
    return 1;
  }
  wire::Report report;
  report.set_node(blob.node());
  report.set_pid(static_cast<std::uint32_t>(getpid()));
  for (const auto& endpoint : *endpoints) *report.add_endpoints() = endpoint;
  if (auto topology = exec::discover_topology()) {
    *report.mutable_topology() = *topology;
  } else {
    log_warning("the hardware is unknown, one slot is assumed: " + topology.error().message);
    report.mutable_topology()->set_cores(1);
  }
  wait_for_signals();
  host_.perform_all(core_.start({blob.head().begin(), blob.head().end()}, std::move(report)));
  io_.run();
  remove_crash_dump();
  // Without a head this falls to whoever is left: the warden may be killed before it comes to that.
  // Where the head lives it holds the directory, and nothing happens.
  // With the directory goes what tells the next start whose processes are to be ended, so they are
  // ended before: those of a daemon that was killed together with head and warden.
  if (head_lost_) exec::kill_processes_of_dvm(blob.dvm_id());
  if (!directory) return exit_status_;
  const auto patience = head_lost_ ? kHeadEndsWithin : std::chrono::milliseconds{};
  if (auto removed = directory->remove_if_abandoned(patience); !removed) {
    log_error(removed.error().message);
  }
  return exit_status_;
}

void DaemonProgram::wait_for_signals() {
  signals_.async_wait([this](std::error_code error, int number) {
    // A signal that came just before the wait was cancelled is reported all the same.
    if (error || exiting_) return;
    head_lost_ = head_lost_ || number == exec::kOrphanedSignal;
    wait_for_signals();  // first: the event may end the program and cancel it
    host_.post(core::EndRequested{std::string("signal ") + strsignal(number)});
  });
}

// ---- actions ----

void DaemonProgram::perform(core::Action action) {
  std::visit(
      [this](auto&& a) {
        using T = std::decay_t<decltype(a)>;
        if constexpr (requires { links_.perform(std::forward<decltype(a)>(a)); }) {
          links_.perform(std::forward<decltype(a)>(a));
        } else if constexpr (std::is_same_v<T, core::StartTimer>) {
          timers_.start(a);
        } else if constexpr (std::is_same_v<T, core::Note>) {
          log_note(rim::subsystem_name(a.subsystem), a.verbosity, a.text);
        } else if constexpr (std::is_same_v<T, core::ReleaseFailpoint>) {
          host_.release(a.name);
        } else if constexpr (std::is_same_v<T, core::Exit>) {
          begin_exit(a);
        } else if (processes_ == nullptr) {
          return;
        } else if constexpr (std::is_same_v<T, core::SpawnProc>) {
          processes_->spawn(a);
        } else if constexpr (std::is_same_v<T, core::SignalProc>) {
          processes_->signal(a.proc, a.signal);
        } else if constexpr (std::is_same_v<T, core::GrantOutput>) {
          processes_->grant_output(a.proc, a.stream, a.bytes);
        } else if constexpr (std::is_same_v<T, core::WriteInput>) {
          processes_->write_input(a.proc, a.data);
        } else if constexpr (std::is_same_v<T, core::CloseInput>) {
          processes_->close_input(a.proc);
        } else if constexpr (std::is_same_v<T, core::ForgetProc>) {
          processes_->forget(a.proc);
        } else if constexpr (std::is_same_v<T, core::SweepJob>) {
          processes_->sweep(a.job);
        } else {
          log_error("a daemon's core asked for " + core::short_name<T>());
        }
      },
      std::move(action));
}

void DaemonProgram::fail(core::Action action) {
  if (const auto* spawn = std::get_if<core::SpawnProc>(&action)) {
    host_.post(core::ProcSpawnFailed{spawn->proc, Error{ErrorCode::kSystem, "failpoint"}});
  } else if (const auto* connect = std::get_if<core::Connect>(&action)) {
    host_.post(core::ConnectFailed{connect->peer, false, "failpoint"});
  }
}

// ---- processes ----

void DaemonProgram::on_spawned(core::ProcKey proc, pid_t pid) {
  host_.post(core::ProcSpawned{proc, static_cast<std::uint32_t>(pid)});
}
void DaemonProgram::on_spawn_failed(core::ProcKey proc, Error error) {
  host_.post(core::ProcSpawnFailed{proc, std::move(error)});
}
void DaemonProgram::on_exited(core::ProcKey proc, int exit_code, int signal) {
  host_.post(core::ProcExited{proc, exit_code, signal});
}
void DaemonProgram::on_output(core::ProcKey proc, wire::Stream stream, Bytes data) {
  host_.post(core::ProcOutput{proc, stream, std::move(data)});
}
void DaemonProgram::on_output_closed(core::ProcKey proc, wire::Stream stream) {
  host_.post(core::ProcOutputClosed{proc, stream});
}
void DaemonProgram::on_input_taken(core::ProcKey proc, std::uint32_t bytes) {
  host_.post(core::ProcInputTaken{proc, bytes});
}
void DaemonProgram::on_swept(JobId job, std::uint32_t left_over) {
  host_.post(core::JobSwept{job, left_over});
}

// ---- the end ----

void DaemonProgram::begin_exit(const core::Exit& exit) {
  exiting_ = true;
  exit_status_ = exit.status;
  head_lost_ = head_lost_ || exit.status != 0;
  log_note("errmgr", exit.status == 0 ? 1 : 0, "ending: " + exit.reason);
  host_.stop();
  timers_.cancel_all();
  links_.shutdown();
  processes_->kill_all();
  exit_deadline_ms_ = rim::steady_ms() + kExitPatienceMs;
  await_last_process();
}

// When the last process is gone nothing keeps the loop going but links that still flush. Orphans
// are ended here, too: there may be no warden any more that would.
void DaemonProgram::await_last_process() {
  const bool nobody_left = processes_->kill_orphans() == 0 && processes_->live() == 0;
  if (nobody_left || rim::steady_ms() >= exit_deadline_ms_) {
    processes_.reset();
    signals_.cancel();
    return;
  }
  exit_timer_.expires_after(std::chrono::milliseconds(kExitLookMs));
  exit_timer_.async_wait([this](std::error_code error) {
    if (!error) await_last_process();
  });
}

}  // namespace tide::daemon
