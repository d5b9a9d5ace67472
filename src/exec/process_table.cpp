#include "exec/process_table.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "exec/input_pipe.hpp"
#include "exec/output_pipe.hpp"
#include "exec/process_group.hpp"

namespace tide::exec {
namespace {

// So long processes are started before other work of the thread gets its turn: some five of them.
constexpr auto kStartSlice = std::chrono::milliseconds(2);

constexpr std::array kStreams = {wire::STDOUT, wire::STDERR};

std::size_t index_of(wire::Stream stream) {
  return stream == wire::STDERR ? 1 : 0;
}

}  // namespace

struct ProcessTable::Process {
  core::SpawnProc request;
  std::array<std::shared_ptr<OutputPipe>, kStreams.size()> outputs;
  std::shared_ptr<InputPipe> input;
  ProcessGroup group;
  std::vector<int> early_signals;  // came before it was started
  bool queued = true;
  bool cancelled = false;
  bool exited = false;
  bool killed = false;  // its group got SIGKILL from us
};

ProcessTable::ProcessTable(asio::io_context& io, ProcessHandler& handler, ProcessTableConfig config)
    : io_(io),
      handler_(handler),
      spawner_(config.node, config.descriptor_limit),
      environments_(std::move(config.environment)),
      node_(config.node),
      null_input_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      child_signals_(io),
      sweeper_(io, std::move(config.dvm_id), sweeper_callbacks()) {
  TIDE_CHECK(null_input_.is_open());
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  // What can't be written is told by write(), to this daemon and not by its end.
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c): can't fail for SIGPIPE
  std::signal(SIGXFSZ, SIG_IGN);  // NOLINT(cert-err33-c): nor for SIGXFSZ
  asio::error_code error;
  child_signals_.add(SIGCHLD, error);
  TIDE_CHECK(!error);
  wait_for_children();
}

ProcessTable::~ProcessTable() {
  for (auto& [key, process] : processes_) drop(*process);
}

JobSweeper::Callbacks ProcessTable::sweeper_callbacks() {
  return {.is_leader = [this](pid_t pid) { return is_known(pid); },
          .running =
              [this] {
                std::set<JobId> jobs;
                for (const auto& [key, process] : processes_) jobs.insert(jobs.end(), key.job);
                return jobs;
              },
          .done = [this](JobId job, std::uint32_t left) { handler_.on_swept(job, left); }};
}

std::size_t ProcessTable::kill_orphans() {
  return end_children_unless([this](pid_t pid) { return is_known(pid); });
}

bool ProcessTable::is_known(pid_t pid) const {
  return leaders_.contains(pid) || watched_.contains(pid);
}

void ProcessTable::watch_child(pid_t pid, std::function<void(int)> ended) {
  watched_.emplace(pid, std::move(ended));
}

ProcessTable::ProcessPtr ProcessTable::find(core::ProcKey proc) const {
  const auto found = processes_.find(proc);
  return found == processes_.end() ? nullptr : found->second;
}

void ProcessTable::spawn(const core::SpawnProc& request) {
  TIDE_CHECK(!processes_.contains(request.proc));
  auto process = std::make_shared<Process>();
  process->request = request;
  const core::ProcKey key = request.proc;
  for (const wire::Stream stream : kStreams) {
    OutputPipe::Callbacks callbacks;
    callbacks.on_data = [this, key, stream](Bytes data) {
      handler_.on_output(key, stream, std::move(data));
    };
    callbacks.on_closed = [this, key, stream] { handler_.on_output_closed(key, stream); };
    process->outputs[index_of(stream)] =
        std::make_shared<OutputPipe>(io_, request.output_window_bytes, std::move(callbacks));
  }
  process->input = std::make_shared<InputPipe>(
      io_, [this, key](std::uint32_t bytes) { handler_.on_input_taken(key, bytes); });
  processes_.emplace(key, process);
  queue_.push_back(std::move(process));
  schedule_starts();
}

void ProcessTable::schedule_starts() {
  if (starts_scheduled_ || queue_.empty()) return;
  starts_scheduled_ = true;
  asio::post(io_, [this, alive = std::weak_ptr(lifetime_)] {
    if (!alive.expired()) start_some();
  });
}

void ProcessTable::start_some() {
  starts_scheduled_ = false;
  const std::weak_ptr alive = lifetime_;
  const auto slice_end = std::chrono::steady_clock::now() + kStartSlice;
  while (!queue_.empty() && std::chrono::steady_clock::now() < slice_end) {
    const ProcessPtr process = std::move(queue_.front());
    queue_.pop_front();
    process->queued = false;
    start(process);  // a handler may empty the queue, or end the table
    if (alive.expired()) return;
  }
  schedule_starts();
}

void ProcessTable::start(const ProcessPtr& process) {
  const core::ProcKey key = process->request.proc;
  auto spawned = launch(*process);
  if (!spawned) {
    drop(*process);
    processes_.erase(key);
    handler_.on_spawn_failed(key, spawned.error());
    return;
  }
  const pid_t pid = spawned->pid;
  leaders_.emplace(pid, process);
  process->group = ProcessGroup(pid, std::move(spawned->pidfd));
  // What was needed to start it is needed no more, and may be large.
  process->request = core::SpawnProc{};
  process->request.proc = key;
  for (const int number : process->early_signals) signal_group(*process, number);
  for (const auto& output : process->outputs) output->start();
  process->input->start();
  handler_.on_spawned(key, pid);
}

Result<SpawnedProcess> ProcessTable::launch(Process& process) {
  const core::SpawnProc& request = process.request;
  const auto failed = [this](Error error) {
    error.message = "cannot start a process on node " + node_ + ": " + error.message;
    return error;
  };
  if (process.cancelled) {
    return failed(Error{ErrorCode::kUnavailable, "it was ended before it was started"});
  }
  std::array<UniqueFd, 3> theirs;
  std::array<int, 3> stdio{null_input_.get(), -1, -1};
  if (request.wants_input) {
    auto end = process.input->open();
    if (!end) return failed(Error{ErrorCode::kOutOfResources, end.error().message});
    theirs[0] = std::move(*end);
    stdio[0] = theirs[0].get();
  }
  for (const wire::Stream stream : kStreams) {
    if (stream == wire::STDERR && request.merge_output) {
      stdio[2] = stdio[1];
      continue;
    }
    auto end = process.outputs[index_of(stream)]->open();
    if (!end) return failed(Error{ErrorCode::kOutOfResources, end.error().message});
    theirs[index_of(stream) + 1] = std::move(*end);
    stdio[index_of(stream) + 1] = theirs[index_of(stream) + 1].get();
  }
  std::vector<wire::EnvDirective> directives = request.program->environment;
  directives.insert(directives.end(), request.environment.begin(), request.environment.end());
  const EnvironmentBlock environment = environments_.build(directives);
  return spawner_.spawn(SpawnRequest{.argv = request.program->argv,
                                     .environment = environment,
                                     .working_directory = request.program->working_directory,
                                     .stdio = stdio,
                                     .inherited_fd = -1,
                                     .parent_death_signal = SIGKILL,
                                     .stop_on_exec = request.stop_on_exec});
}

void ProcessTable::signal(core::ProcKey proc, int number) {
  const ProcessPtr process = find(proc);
  if (!process) return;
  if (!process->queued) return signal_group(*process, number);
  if (number == SIGKILL) {
    process->cancelled = true;
    return;
  }
  if (std::ranges::find(process->early_signals, number) == process->early_signals.end()) {
    process->early_signals.push_back(number);
  }
}

void ProcessTable::signal_group(Process& process, int number) {
  process.group.signal(number);
  if (number != SIGKILL) return;
  process.killed = true;
  finish_streams_if_dead(process);
}

// A process that left the group may hold the pipes open for ever. Once the leader is gone and its
// group was killed nobody is waited for any more.
void ProcessTable::finish_streams_if_dead(Process& process) {
  if (!process.killed || !process.exited) return;
  for (const auto& output : process.outputs) output->finish();
  process.input->finish();
}

void ProcessTable::grant_output(core::ProcKey proc, wire::Stream stream, std::uint32_t bytes) {
  if (const ProcessPtr process = find(proc)) process->outputs[index_of(stream)]->grant(bytes);
}

void ProcessTable::write_input(core::ProcKey proc, Bytes data) {
  if (const ProcessPtr process = find(proc)) process->input->write(std::move(data));
}

void ProcessTable::close_input(core::ProcKey proc) {
  if (const ProcessPtr process = find(proc)) process->input->close_after_writing();
}

pid_t ProcessTable::pid_of(core::ProcKey proc) const {
  const ProcessPtr process = find(proc);
  return process && !process->exited ? process->group.leader() : 0;
}

void ProcessTable::drop(Process& process) {
  process.group.signal(SIGKILL);
  for (const auto& output : process.outputs) output->close();
  process.input->close();
}

void ProcessTable::forget(core::ProcKey proc) {
  const ProcessPtr process = find(proc);
  if (!process) return;
  drop(*process);
  processes_.erase(proc);
  if (process->queued) std::erase(queue_, process);
  const auto leader = leaders_.find(process->group.leader());
  if (leader != leaders_.end() && leader->second == process) leader->second = nullptr;
}

void ProcessTable::kill_all() {
  for (auto& [key, process] : processes_) {
    process->cancelled = process->queued;
    if (!process->queued) signal_group(*process, SIGKILL);
  }
}

void ProcessTable::wait_for_children() {
  child_signals_.async_wait(
      [this, alive = std::weak_ptr(lifetime_)](const asio::error_code& error, int) {
        if (error || alive.expired()) return;
        reap();
        if (!alive.expired()) wait_for_children();
      });
}

// One signal may stand for many children. Those we do not know are orphans that came to us
// because the program is a subreaper.
void ProcessTable::reap() {
  const std::weak_ptr alive = lifetime_;
  while (!alive.expired()) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return;
    ended(pid, status);
  }
}

void ProcessTable::ended(pid_t pid, int status) {
  if (const auto watched = watched_.extract(pid)) return watched.mapped()(status);
  const auto leader = leaders_.find(pid);
  if (leader == leaders_.end()) return sweeper_.orphan_ended(pid);
  const ProcessPtr process = std::move(leader->second);
  leaders_.erase(leader);
  if (!process) return;
  process->exited = true;
  process->group.leader_reaped();
  finish_streams_if_dead(*process);
  const int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const int exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  handler_.on_exited(process->request.proc, exit_code, signal_number);
}

}  // namespace tide::exec
