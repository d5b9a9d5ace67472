#include "daemon/daemon_program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <asio/post.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/dvm_directory.hpp"
#include "base/log.hpp"
#include "base/next_step.hpp"
#include "exec/descriptor_limit.hpp"
#include "exec/machine_identity.hpp"
#include "exec/orphans.hpp"
#include "exec/topology.hpp"
#include "exec/warden.hpp"
#include "launch/daemon_blob.hpp"
#include "rim/settings.hpp"

namespace tide::daemon {

namespace {

// After an order to end: how long killed processes may take to vanish. The warden sees to the rest.
constexpr std::uint64_t kExitPatienceMs = 2000;
constexpr std::uint32_t kExitLookMs = 5;
// Who was killed is gone when the kernel comes to it.
constexpr auto kHolderEndsWithin = std::chrono::milliseconds(2000);
// For the warden, which has nothing to end any more, to remove the run directory.
constexpr auto kWardenEndsWithin = std::chrono::milliseconds(2000);
constexpr auto kWardenPoll = std::chrono::milliseconds(1);

core::DaemonConfig daemon_config(const wire::DaemonBlob& blob, const Params& params) {
  core::DaemonConfig config;
  config.overlay = rim::overlay_config(params, Rank(blob.rank()));
  config.dvm_id = blob.dvm_id();
  config.jobs = rim::local_jobs_config(params, Rank(blob.rank()), blob.node());
  config.jobs.files_root = exec::files_directory(blob.run_directory(), getpid());
  for (const auto& seed : blob.below()) config.below.push_back(launch::target_of(seed));
  return config;
}

net::LinkConfig link_config(const wire::DaemonBlob& blob, const Params& params) {
  auto config = rim::link_config(params);
  config.dvm_id = blob.dvm_id();
  config.key = blob.key();
  config.node = blob.node();
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

exec::StackTracerConfig tracer_config(const wire::DaemonBlob& blob) {
  exec::StackTracerConfig config;
  config.dvm_id = blob.dvm_id();
  return config;
}

// Another DVM may have come to this place by the time it is removed: the name is this daemon's
// alone.
std::string pmix_directory(const wire::DaemonBlob& blob) {
  return blob.run_directory() + "/pmix." + blob.node() + "." + std::to_string(getpid());
}

// Beside this program.
std::string unpacker() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "tide-unpack";
}

// Nodes that are machines of their own but for their processors: set by whoever makes them.
bool shares_processors() {
  const char* const value = getenv("TIDE_SHARED_HOST");  // NOLINT(concurrency-mt-unsafe): start-up
  return value != nullptr && std::string_view(value) == "1";
}

pmix::ServerConfig server_config(const wire::DaemonBlob& blob, exec::Hardware* hardware) {
  pmix::ServerConfig config;
  config.nspace = blob.dvm_id();
  config.rank = blob.rank();
  config.node = blob.node();
  config.hwloc_topology = hardware == nullptr ? nullptr : hardware->hwloc_topology();
  config.shared_host = blob.shared_host();
  config.shared_processors = shares_processors();
  return config;
}

}  // namespace

DaemonProgram::DaemonProgram(const wire::DaemonBlob& blob, const Params& params,
                             Failpoints failpoints, exec::UniqueFd joined)
    : joined_(std::move(joined)),
      core_(daemon_config(blob, params)),
      host_(io_, core_, *this, std::move(failpoints),
            static_cast<std::size_t>(params.get_int("tide_recorder_events")), counters_),
      timers_(io_, [this](core::TimerFired fired) { host_.post(fired); }),
      links_(io_, link_config(blob, params), counters_,
             [this](rim::LinkEvent event) { on_link_event(std::move(event)); }),
      processes_(std::make_unique<exec::ProcessTable>(
          io_, static_cast<exec::ProcessHandler&>(*this), table_config(blob))),
      tracer_(io_, tracer_config(blob),
              {[this](core::ProcKey proc) { return processes_->pid_of(proc); },
               [this](core::ProcTraced event) { host_.post(std::move(event)); },
               [this](pid_t pid, std::function<void(int)> ended) {
                 processes_->watch_child(pid, std::move(ended));
               }}),
      files_(io_, exec::files_directory(blob.run_directory(), getpid()), unpacker(),
             {[this](core::FileStaged event) { host_.post(std::move(event)); },
              [this](JobId job) { host_.post(core::FilesRemoved{job}); },
              [this](pid_t pid, std::function<void(int)> ended) {
                processes_->watch_child(pid, std::move(ended));
              }}),
      services_(
          io_,
          [this](core::ServiceEvent event) {
            std::visit([this](auto&& e) { host_.post(std::forward<decltype(e)>(e)); },
                       std::move(event));
          },
          pmix_directory(blob)),
      endings_(
          io_, [this](core::ProcKey proc, int number) { end_client(proc, number); },
          [this](std::function<void()> then) { services_.when_settled(std::move(then)); }),
      signals_(io_, SIGINT, SIGHUP),
      exit_timer_(io_),
      on_its_own_(blob.own_directory() && !blob.attached()) {
  // In a scheduler's step whoever started us hears that one, and decides.
  if (blob.in_step()) {
    std::signal(SIGTERM, SIG_IGN);  // NOLINT(cert-err33-c): can't fail for this
  } else {
    signals_.add(SIGTERM);
  }
  if (blob.below_size() > 0) prepare_launches(blob, params);
}

// Now, because the key is wiped from our own blob when the links have it.
void DaemonProgram::prepare_launches(const wire::DaemonBlob& blob, const Params& params) {
  auto config = launch::ssh_launcher_config(params);
  config.command = blob.remote_command();
  config.attached = blob.attached();
  config.node = blob.node();
  config.version = TIDE_VERSION;
  config.watch_child = [this](pid_t pid, std::function<void(int)> ended) {
    processes_->watch_child(pid, std::move(ended));
  };
  launcher_ = std::make_unique<launch::SshLauncher>(io_, std::move(config),
                                                    static_cast<launch::LaunchHandler&>(*this));
  for (const auto& seed : blob.below()) {
    const Rank rank(seed.rank());
    below_[rank] =
        launch::LaunchItem{rank, seed.node(), launch::blob_for(seed, blob).SerializeAsString(),
                           seed.host(), seed.user()};
  }
}

void DaemonProgram::launch_daemons(const core::LaunchDaemons& action) {
  const Status started = launcher_ ? launcher_->start() : ok_status();
  std::vector<launch::LaunchItem> items;
  for (const auto& target : action.targets) {
    auto item = below_.extract(target.rank);
    if (item.empty() || !started) {
      host_.post(core::DaemonLaunchFailed{target.rank, started ? "" : started.error().message});
    } else {
      items.push_back(std::move(item.mapped()));
    }
  }
  if (!items.empty()) launcher_->launch(std::move(items));
}

Result<std::vector<wire::Endpoint>> DaemonProgram::open_door(const wire::DaemonBlob& blob,
                                                             const Params& params) {
  const auto addresses = rim::listen_addresses(params, blob.several_machines(), blob.node());
  if (!addresses) return addresses.error();
  return links_.listen(*addresses);
}

int DaemonProgram::run(const wire::DaemonBlob& blob, const Params& params) {
  auto directory = DvmDirectory::open(blob.run_directory());
  const std::string dump = blob.run_directory() + "/logs/" + blob.node() + ".crash";
  if (auto installed = install_crash_dump(&host_.recorder(), dump); !installed) {
    log_warning(installed.error().message);
  }
  auto endpoints = open_door(blob, params);
  if (!endpoints) {
    // Not by the log, which would make one line of it: people get to see what to try, too.
    std::fprintf(stderr, "prted: %s\n", endpoints.error().message.c_str());
    return 1;
  }
  wire::Report report;
  report.set_node(blob.node());
  report.set_pid(static_cast<std::uint32_t>(getpid()));
  for (const auto& endpoint : *endpoints) *report.add_endpoints() = endpoint;
  if (!blob.shared_host()) {
    report.set_machine(exec::machine_identity());
    report.set_host_name(short_host_name());
  }
  if (blob.own_directory() && !blob.attached()) {
    report.set_log(dvm_log_path(blob.run_directory(), blob.node()));
  }
  auto hardware = exec::Hardware::discover();
  if (hardware) {
    *report.mutable_topology() = hardware->topology();
  } else {
    log_warning("the hardware is unknown, one slot is assumed: " + hardware.error().message);
    report.mutable_topology()->set_cores(1);
  }
  if (auto started = services_.start(server_config(blob, hardware ? &*hardware : nullptr));
      !started) {
    log_error("processes get no PMIx: " + started.error().message);
  }
  report.set_service_uri(services_.uri());
  wait_for_signals();
  host_.perform_all(core_.start({blob.head().begin(), blob.head().end()}, std::move(report)));
  io_.run();
  services_.stop();
  files_.remove_all();
  remove_crash_dump();
  if (directory) clean_up(blob, *directory);
  if (last_one_) dismiss_warden();
  return exit_status_;
}

// It ends what came to it and removes the run directory, where our log is, too.
void DaemonProgram::dismiss_warden() const {
  if (getppid() != warden_ || kill(warden_, exec::kLastOneSignal) != 0) return;
  const auto deadline = std::chrono::steady_clock::now() + kWardenEndsWithin;
  while (getppid() == warden_ && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kWardenPoll);
  }
}

// Without its holder this falls to whoever is left: the warden may be killed before it comes to
// that. Where the holder lives nothing happens.
void DaemonProgram::clean_up(const wire::DaemonBlob& blob, DvmDirectory& directory) const {
  // A warden that ends us lives, and waits for us: to wait for it would cost us both that time.
  const bool warden_lives = getppid() == warden_;
  const bool holder_lost = blob.own_directory() ? warden_lost_ && !warden_lives : head_lost_;
  // With the directory goes what tells the next start whose processes are to be ended, so they are
  // ended before: those of a daemon that was killed together with head and warden. In a directory
  // of its own there is no other daemon. A head that only we have lost lives, and its jobs go on.
  const auto end_processes = [&] {
    if (head_lost_ && !blob.own_directory()) exec::kill_processes_of_dvm(blob.dvm_id());
  };
  const auto patience = holder_lost ? kHolderEndsWithin : std::chrono::milliseconds{};
  if (auto removed = directory.remove_if_abandoned(patience, end_processes); !removed) {
    log_error(removed.error().message);
  }
}

void DaemonProgram::on_link_event(rim::LinkEvent event) {
  const auto* const up = std::get_if<core::LinkUp>(&event);
  if (up != nullptr && up->outgoing && joined_.is_open()) {
    // Nobody may be there to read it any more.
    [[maybe_unused]] const ssize_t written = write(joined_.get(), "J", 1);
    joined_.reset();
  }
  std::visit([this](auto&& e) { host_.post(std::forward<decltype(e)>(e)); }, std::move(event));
}

void DaemonProgram::wait_for_signals() {
  signals_.async_wait([this](std::error_code error, int number) {
    // A signal that came just before the wait was cancelled is reported all the same.
    if (error || exiting_) return;
    signalled_ = true;
    warden_lost_ = warden_lost_ || number == exec::kOrphanedSignal;
    head_lost_ = head_lost_ || warden_lost_;
    wait_for_signals();  // first: the event may end the program and cancel it
    host_.post(core::EndRequested{number == exec::kOrphanedSignal
                                      ? "its warden was lost"
                                      : std::string("signal ") + strsignal(number)});
  });
}

// ---- actions ----

void DaemonProgram::perform(core::Action action) {
  std::visit(
      [this](auto&& a) {
        using T = std::decay_t<decltype(a)>;
        if constexpr (requires { links_.perform(std::forward<decltype(a)>(a)); }) {
          links_.perform(std::forward<decltype(a)>(a));
        } else if constexpr (requires { services_.perform(a); }) {
          services_.perform(a);
        } else if constexpr (std::is_same_v<T, core::StartTimer>) {
          timers_.start(a);
        } else if constexpr (std::is_same_v<T, core::Note>) {
          log_note(rim::subsystem_name(a.subsystem), a.verbosity, a.text);
        } else if constexpr (std::is_same_v<T, core::ReleaseFailpoint>) {
          host_.release(a.name);
        } else if constexpr (std::is_same_v<T, core::LaunchDaemons>) {
          launch_daemons(a);
        } else if constexpr (std::is_same_v<T, core::Exit>) {
          begin_exit(a);
        } else if (processes_ == nullptr) {
          return;
        } else if constexpr (std::is_same_v<T, core::StageFile>) {
          files_.take(std::forward<decltype(a)>(a));
        } else if constexpr (std::is_same_v<T, core::StopStaging>) {
          files_.stop(a.job);
        } else if constexpr (std::is_same_v<T, core::RemoveJobFiles>) {
          files_.remove(a.job);
        } else if constexpr (std::is_same_v<T, core::SpawnProc>) {
          spawn(std::forward<decltype(a)>(a));
        } else if constexpr (std::is_same_v<T, core::SignalProc>) {
          signal(a);
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
        } else if constexpr (std::is_same_v<T, core::TraceProcs>) {
          tracer_.trace(a);
        } else if constexpr (std::is_same_v<T, core::StopTraces>) {
          tracer_.stop(a.job);
        } else {
          log_error("a daemon's core asked for " + core::short_name<T>());
        }
      },
      std::move(action));
}

void DaemonProgram::signal(const core::SignalProc& request) {
  if (services_.ends_client(request.proc, request.signal)) {
    endings_.push(request.proc, request.signal);
  } else {
    processes_->signal(request.proc, request.signal);
  }
}

void DaemonProgram::end_client(core::ProcKey proc, int signal) {
  if (processes_ == nullptr) return;
  services_.client_is_being_ended(proc);
  processes_->signal(proc, signal);
}

void DaemonProgram::spawn(core::SpawnProc request) {
  if (auto prepared = services_.prepare(request); !prepared) {
    host_.post(core::ProcSpawnFailed{request.proc, prepared.error()});
    return;
  }
  processes_->spawn(request);
}

void DaemonProgram::fail(core::Action action) {
  if (const auto* spawn = std::get_if<core::SpawnProc>(&action)) {
    host_.post(core::ProcSpawnFailed{spawn->proc, Error{ErrorCode::kSystem, "failpoint"}});
  } else if (const auto* file = std::get_if<core::StageFile>(&action)) {
    host_.post(core::FileStaged{file->job, file->chunk.number(),
                                Error{ErrorCode::kSystem, "failpoint"},
                                file->chunk.begins().name()});
  } else if (const auto* trace = std::get_if<core::TraceProcs>(&action)) {
    for (const ProcRank rank : trace->ranks) {
      const core::ProcKey proc{trace->job, rank};
      host_.post(core::ProcTraced{.proc = proc,
                                  .pid = static_cast<std::uint32_t>(processes_->pid_of(proc)),
                                  .status = Error{ErrorCode::kSystem, "failpoint"}});
    }
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
  services_.process_ended(proc);
  endings_.ended(proc);
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

// ---- daemons below ----

void DaemonProgram::on_daemon_started(Rank rank, pid_t pid) {
  host_.post(core::DaemonStarted{rank, static_cast<std::uint32_t>(pid)});
}
void DaemonProgram::on_daemon_launch_failed(Rank rank, std::string text) {
  host_.post(core::DaemonLaunchFailed{rank, std::move(text)});
}
void DaemonProgram::on_daemon_exited(Rank rank, std::string text) {
  host_.post(core::DaemonExited{rank, std::move(text)});
}
// Where sessions stay, ours does too, and brings it on its way.
void DaemonProgram::on_daemon_output(Rank /*rank*/, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// ---- the end ----
//
// Whoever asked for the end of one that is on its own takes a closed link for the end of all that
// was on this machine. So what it has begun to start ends first, then its processes, the PMIx
// server and the files, then the warden with the run directory, and the process itself closes the
// links. Where nobody asked, neighbours hear of it first.

void DaemonProgram::begin_exit(const core::Exit& exit) {
  exiting_ = true;
  exit_status_ = exit.status;
  head_lost_ = head_lost_ || exit.status != 0;
  log_note("errmgr", exit.status == 0 ? 1 : 0, "ending: " + exit.reason);
  host_.stop();
  timers_.cancel_all();
  last_one_ = on_its_own_ && exit.status == 0 && !signalled_;
  // This is what people hear of the loss of the node.
  if (!last_one_) {
    links_.shutdown(fmt::format("its daemon ended: {}", say::first_line(exit.reason)));
  }
  endings_.stop();
  tracer_.stop_all();
  processes_->kill_all();
  exit_deadline_ms_ = rim::steady_ms() + kExitPatienceMs;
  if (last_one_ && launcher_) {
    asio::post(io_, [this] { launcher_->shutdown(); });  // we may be inside one of its reports
  } else {
    asio::post(io_, [this] { launcher_.reset(); });
    await_last_process();
  }
}

void DaemonProgram::on_shutdown_done() {
  asio::post(io_, [this] {
    launcher_.reset();
    exit_deadline_ms_ = rim::steady_ms() + kExitPatienceMs;
    await_last_process();
  });
}

// When the last process is gone nothing keeps the loop going but links that still flush; those that
// stay open are left when nothing is queued. Orphans are ended here, too: there may be no warden
// any more that would.
void DaemonProgram::await_last_process() {
  const bool nobody_left = processes_->kill_orphans() == 0 && processes_->live() == 0;
  const bool done = nobody_left && (!last_one_ || links_.queued_bytes() == 0);
  if (done || rim::steady_ms() >= exit_deadline_ms_) {
    processes_.reset();
    signals_.cancel();
    if (last_one_) io_.stop();
    return;
  }
  exit_timer_.expires_after(std::chrono::milliseconds(kExitLookMs));
  exit_timer_.async_wait([this](std::error_code error) {
    if (!error) await_last_process();
  });
}

}  // namespace tide::daemon
