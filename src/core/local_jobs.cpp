#include "core/local_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/proc_variables.hpp"
#include "core/rank_set.hpp"

namespace tide::core {

namespace {

constexpr std::size_t kMaxAbortText = 16UL << 10U;  // it is for people

}  // namespace

LocalJobs::LocalJobs(LocalJobsConfig config, HeadPath& head, TimerBook& timers, Actions& out)
    : config_(std::move(config)),
      head_(head),
      timers_(timers),
      out_(out),
      notes_(out, config_.verbosity) {}

LocalJobs::Proc* LocalJobs::find(const ProcKey& key, Job** job) {
  const auto found = jobs_.find(key.job);
  if (found == jobs_.end()) return nullptr;
  const auto proc = found->second.procs.find(key.rank);
  if (proc == found->second.procs.end()) return nullptr;
  if (job != nullptr) *job = &found->second;
  return &proc->second;
}

// ---- start ----

void LocalJobs::launch(const wire::LaunchCommon& common, const wire::LaunchSlice& slice,
                       Serial applied) {
  const JobId id{slice.job()};
  const auto known = jobs_.find(id);
  if (known != jobs_.end() && known->second.common->attempt() >= slice.attempt()) return;
  const bool sound =
      std::all_of(slice.procs().begin(), slice.procs().end(), [&](const wire::LaunchProc& proc) {
        return proc.app() < static_cast<std::uint32_t>(common.apps_size());
      });
  if (!sound) {
    notes_.add(Subsystem::kOdls, 0, "job {}: a launch without its programs is ignored", id.value());
    return;
  }
  forget(id);
  Job& job = jobs_[id];
  job.common = std::make_shared<const wire::LaunchCommon>(common);
  for (const auto& launch : slice.procs()) {
    Proc proc;
    proc.launch = launch;
    for (auto& stream : proc.streams) stream.credit = common.window_bytes();
    proc.streams[wire::STDERR].open = !common.merge_output();
    job.procs.emplace(ProcRank(launch.rank()), std::move(proc));
  }
  job.held = applied.value() < common.mapped_at();
  notes_.add(Subsystem::kOdls, 1, "job {}: request {}, {} of its {} processes are for this node",
             common.nspace(), common.correlation(), slice.procs_size(), common.size());
  if (!job.held) start(id, job);
}

void LocalJobs::on_applied(Serial applied) {
  for (auto& [id, job] : jobs_) {
    if (job.held && applied.value() >= job.common->mapped_at()) {
      job.held = false;
      start(id, job);
    }
  }
}

// The server has to know the processes before they ask it.
void LocalJobs::start(JobId id, Job& job) {
  job.registration = Registration::kAsked;
  out_.emplace_back(RegisterJob{id, job.common});
}

void LocalJobs::handle(const JobRegistered& event) {
  const auto found = jobs_.find(event.job);
  if (found == jobs_.end()) return;
  auto& [id, job] = *found;
  if (job.registration != Registration::kAsked || job.common->attempt() != event.attempt) return;
  job.registration = Registration::kDone;
  if (event.status) {
    spawn_all(id, job);
  } else {
    fail_all(id, job, event.status.error());
  }
}

std::shared_ptr<const Program> LocalJobs::program_of(JobId id, const wire::LaunchApp& app) const {
  Program program{{app.argv().begin(), app.argv().end()},
                  {app.environment().begin(), app.environment().end()},
                  app.working_directory()};
  const auto directory = job_directory(config_.files_root, id);
  if (app.in_job_directory()) program.working_directory = directory;
  if (!app.preloaded().empty() && !program.argv.empty()) {
    program.argv[0] = directory + "/" + app.preloaded();
  }
  return std::make_shared<const Program>(std::move(program));
}

void LocalJobs::spawn_all(JobId id, const Job& job) {
  std::vector<std::shared_ptr<const Program>> programs;
  for (const auto& app : job.common->apps()) programs.push_back(program_of(id, app));
  for (const auto& [rank, proc] : job.procs) {
    auto spawn = spawn_request(id, job, proc);
    spawn.program = programs.at(proc.launch.app());
    out_.emplace_back(std::move(spawn));
  }
}

SpawnProc LocalJobs::spawn_request(JobId id, const Job& job, const Proc& proc) const {
  SpawnProc spawn;
  spawn.proc = ProcKey{id, ProcRank(proc.launch.rank())};
  const std::string files =
      job.common->has_directory() ? job_directory(config_.files_root, id) : std::string();
  spawn.environment = variables_of(*job.common, proc.launch, job.procs.size(), config_.node, files);
  spawn.output_window_bytes = job.common->window_bytes();
  spawn.merge_output = job.common->merge_output();
  spawn.stop_on_exec = job.common->stop_at() == wire::STOP_ON_EXEC;
  spawn.wants_input = job.common->stdin_rank() >= 0 &&
                      static_cast<std::uint32_t>(job.common->stdin_rank()) == proc.launch.rank();
  return spawn;
}

void LocalJobs::handle(const ProcSpawned& event) {
  Job* job = nullptr;
  Proc* proc = find(event.proc, &job);
  if (proc == nullptr || proc->state != ProcState::kInit) return;
  proc->pid = event.pid;
  notes_.add(Subsystem::kOdls, 1, "job {}: process {} runs, pid {}", job->common->nspace(),
             event.proc.rank.value(), event.pid);
  proc->state = ProcState::kRunning;
  // Ending was ordered while it was being started: it must not be missed by that.
  if (job->step != Step::kNone) out_.emplace_back(SignalProc{event.proc, SIGKILL});
  if (proc->restarts > 0) return restarted(event.proc.job, *proc);
  if (job->common->stop_at() == wire::STOP_ON_EXEC) hold(event.proc.job, *job, *proc);
  if (job->common->stdin_rank() >= 0 &&
      event.proc.rank == ProcRank(static_cast<std::uint32_t>(job->common->stdin_rank()))) {
    give_back_input(event.proc, config_.input_window_bytes);
  }
  attempted(event.proc.job, *job);
}

void LocalJobs::handle(const ProcSpawnFailed& event) {
  Job* job = nullptr;
  Proc* proc = find(event.proc, &job);
  if (proc == nullptr || proc->state != ProcState::kInit) return;
  proc->state = ProcState::kFailedToStart;
  proc->error = event.error.message;
  proc->exit_code = event.error.code == ErrorCode::kNotFound ? 127 : 126;
  proc->exited = true;
  for (auto& stream : proc->streams) stream.open = false;
  fail_early(event.proc.job, *job, *proc);
  settle(event.proc.job, *job, *proc);
  if (proc->restarts == 0) attempted(event.proc.job, *job);
}

void LocalJobs::handle(const ProcRegistered& event) {
  Job* job = nullptr;
  Proc* proc = find(event.proc, &job);
  if (proc == nullptr || std::exchange(proc->registered, true)) return;
  if (proc->state == ProcState::kRunning) proc->state = ProcState::kRegistered;
  const bool all =
      std::ranges::all_of(job->procs, [](const auto& entry) { return entry.second.registered; });
  if (!all) return;
  job->registered = reduction(event.proc.job, *job, wire::ReductionId::REGISTERED);
  head_.contribute(*job->registered);
}

void LocalJobs::handle(const ProcAborted& event) {
  if (find(event.proc) == nullptr) return;
  wire::UpBody body;
  auto* aborted = body.mutable_proc_aborted();
  aborted->set_job(event.proc.job.value());
  aborted->set_rank(event.proc.rank.value());
  aborted->set_status(event.status);
  aborted->set_message(event.message.substr(0, kMaxAbortText));
  *aborted->mutable_whom() = event.whom;
  head_.send_to_head(std::move(body), {});
}

const wire::LaunchCommon* LocalJobs::launch_of(std::string_view nspace) const {
  for (const auto& [id, job] : jobs_) {
    if (job.common->nspace() == nspace) return job.common.get();
  }
  return nullptr;
}

const wire::LaunchCommon* LocalJobs::launch_of(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second.common.get();
}

void LocalJobs::attempted(JobId id, Job& job) {
  if (++job.attempted < job.procs.size()) return;
  notes_.add(Subsystem::kState, 1, "job {}: {}", job.common->nspace(),
             job_state_name(JobState::kLocalLaunchComplete));
  job.launched = reduction(id, job, wire::ReductionId::LAUNCHED);
  head_.contribute(*job.launched);
  finish(id, job);
}

// ---- output, input, end ----

void LocalJobs::handle(const ProcOutput& event) {
  Proc* proc = find(event.proc);
  if (proc == nullptr) return;
  auto& stream = proc->streams.at(static_cast<std::size_t>(event.stream));
  stream.silent = false;
  send_output(event.proc, stream, event.stream, event.data);
}

void LocalJobs::send_output(const ProcKey& key, Stream& state, wire::Stream stream,
                            const Bytes& data) {
  state.credit -= static_cast<std::int64_t>(data.size());
  wire::UpBody body;
  auto* chunk = body.mutable_stream();
  chunk->set_job(key.job.value());
  chunk->set_rank(key.rank.value());
  chunk->set_stream(stream);
  head_.send_to_head(std::move(body), data);
}

bool LocalJobs::write_for(const wire::ProcName& who, wire::Stream stream, const Bytes& data) {
  const auto* launch = launch_of(who.nspace());
  const ProcKey key{JobId(launch == nullptr ? 0 : launch->job()), ProcRank(who.rank())};
  Proc* proc = find(key);
  const auto index = static_cast<std::size_t>(stream);
  if (proc == nullptr || proc->ended || index >= proc->streams.size()) return false;
  proc->streams.at(index).beside += static_cast<std::uint32_t>(data.size());
  send_output(key, proc->streams.at(index), stream, data);
  return true;
}

void LocalJobs::handle(const ProcOutputClosed& event) {
  Job* job = nullptr;
  Proc* proc = find(event.proc, &job);
  if (proc == nullptr) return;
  auto& stream = proc->streams.at(static_cast<std::size_t>(event.stream));
  if (!stream.open) return;
  stream.open = false;
  const bool all_closed = !proc->streams[0].open && !proc->streams[1].open;
  if (all_closed && !proc->exited) proc->state = ProcState::kIofComplete;
  settle(event.proc.job, *job, *proc);
}

void LocalJobs::handle(const ProcExited& event) {
  Job* job = nullptr;
  Proc* proc = find(event.proc, &job);
  if (proc == nullptr || proc->exited) return;
  proc->exited = true;
  proc->exit_code = event.exit_code;
  proc->signal = event.signal;
  if (proc->state != ProcState::kIofComplete) proc->state = ProcState::kWaitpidFired;
  const bool failed = event.exit_code != 0 || event.signal != 0;
  if (failed && !may_restart(*job, *proc)) fail_early(event.proc.job, *job, *proc);
  settle(event.proc.job, *job, *proc);
  if (!proc->ended && !timers_.armed(TimerKind::kDrain, event.proc.job.value())) {
    for (auto& stream : proc->streams) stream.silent = true;
    out_.emplace_back(
        timers_.arm(TimerKind::kDrain, config_.drain_grace_ms, event.proc.job.value()));
  }
}

// Only the first failure decides how a job ends, so only the first is worth hurrying for; unless
// the job goes on and others are told of each.
void LocalJobs::fail_early(JobId id, Job& job, const Proc& proc) {
  const bool reported = std::exchange(job.failure_reported, true);
  if (reported && !job.common->report_each_failure()) return;
  wire::UpBody body;
  *body.mutable_proc_failed() = report(id, proc);
  head_.send_to_head(std::move(body), {});
}

// row L15 in one place: ended means collected and drained.
void LocalJobs::settle(JobId id, Job& job, Proc& proc) {
  if (proc.ended || !proc.exited || proc.streams[0].open || proc.streams[1].open) return;
  if (may_restart(job, proc)) return restart(id, job, proc);
  proc.ended = true;
  notes_.add(Subsystem::kOdls, 1, "job {}: process {} ended, status {}, signal {}",
             job.common->nspace(), proc.launch.rank(), proc.exit_code, proc.signal);
  if (!is_error(proc.state)) {
    const bool abnormal = proc.exit_code != 0 || proc.signal != 0;
    proc.state = abnormal ? ProcState::kAborted : ProcState::kTerminated;
  }
  ++job.ended;
  check_held(id, job);
  finish(id, job);
}

void LocalJobs::finish(JobId id, Job& job) {
  if (job.over || job.ended < job.procs.size() || job.attempted < job.procs.size()) return;
  job.over = true;
  stop_traces(id, job);
  timers_.cancel(TimerKind::kEscalate, id.value());
  timers_.cancel(TimerKind::kDrain, id.value());
  for (const auto& [rank, proc] : job.procs) out_.emplace_back(ForgetProc{ProcKey{id, rank}});
  wire::UpBody body;
  notes_.add(Subsystem::kIof, 1, "job {}: its output here is complete", job.common->nspace());
  body.mutable_output_complete()->set_job(id.value());
  head_.send_to_head(std::move(body), {});
  // The head hears of the end when nothing is left, and within a bound in any case.
  out_.emplace_back(SweepJob{id});
  watch_sweeps();
}

void LocalJobs::handle(const JobSwept& event) {
  const auto found = jobs_.find(event.job);
  if (found == jobs_.end() || !found->second.over) return;
  if (event.left_over > 0) {
    notes_.add(Subsystem::kErrmgr, 0, "job {}: {} of its processes can't be ended on node {}",
               found->second.common->nspace(), event.left_over, config_.node);
  }
  conclude(found->first, found->second);
}

// One timer for all jobs: they may end by the hundred a second, and are swept in no time.
void LocalJobs::watch_sweeps() {
  if (timers_.armed(TimerKind::kSweep)) return;
  out_.emplace_back(timers_.arm(TimerKind::kSweep, config_.sweep_period_ms));
}

// Found at two looks, it had a whole period.
void LocalJobs::end_late_sweeps() {
  bool waiting = false;
  for (auto& [id, job] : jobs_) {
    if (!job.over || job.finished) continue;
    if (!std::exchange(job.sweep_seen, true)) {
      waiting = true;
      continue;
    }
    notes_.add(Subsystem::kErrmgr, 0, "job {}: what it left on node {} does not end",
               job.common->nspace(), config_.node);
    conclude(id, job);
  }
  if (waiting) watch_sweeps();
}

void LocalJobs::conclude(JobId id, Job& job) {
  if (job.finished) return;
  job.finished = reduction(id, job, wire::ReductionId::ENDED);
  head_.contribute(*job.finished);
}

void LocalJobs::grant(const wire::StreamCredit& credit) {
  const ProcKey key{JobId(credit.job()), ProcRank(credit.rank())};
  Proc* proc = find(key);
  const auto index = static_cast<std::size_t>(credit.stream());
  if (proc == nullptr || index >= proc->streams.size()) return;
  auto& stream = proc->streams.at(index);
  const std::uint32_t paid = std::min(stream.beside, credit.bytes());
  stream.beside -= paid;
  stream.credit += credit.bytes();
  stream.silent = false;  // what waited for credit gets its time to come
  // Nobody may be there to take it; it is kept for who is started again in this place.
  const bool starts_again = proc->restarts > 0 && proc->state == ProcState::kInit;
  if (credit.bytes() > paid && stream.open && !starts_again) {
    out_.emplace_back(GrantOutput{key, credit.stream(), credit.bytes() - paid});
  }
}

void LocalJobs::input(const wire::InputChunk& chunk, const Bytes& data) {
  const ProcKey key{JobId(chunk.job()), ProcRank(chunk.rank())};
  const Proc* proc = find(key);
  if (proc == nullptr || proc->exited) return;
  if (proc->restarts > 0) return give_back_input(key, static_cast<std::uint32_t>(data.size()));
  if (!data.empty()) out_.emplace_back(WriteInput{key, data});
  if (chunk.eof()) out_.emplace_back(CloseInput{key});
}

void LocalJobs::handle(const ProcInputTaken& event) {
  if (find(event.proc) != nullptr) give_back_input(event.proc, event.bytes);
}

void LocalJobs::give_back_input(const ProcKey& key, std::uint32_t bytes) {
  if (bytes == 0) return;
  wire::UpBody body;
  auto* credit = body.mutable_input_credit();
  credit->set_job(key.job.value());
  credit->set_rank(key.rank.value());
  credit->set_bytes(bytes);
  head_.send_to_head(std::move(body), {});
}

// ---- ending by order ----

void LocalJobs::signal(const wire::SignalJob& order) {
  const JobId id{order.job()};
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  if ((job.held || job.registration == Registration::kAsked) && order.terminate()) {
    cancel_before_start(id, job);
    return;
  }
  if (!order.ranks().empty()) {
    for (const auto rank : order.ranks()) signal_one(id, job, ProcRank(rank), order.signal());
    return;
  }
  if (order.terminate()) stop_traces(id, job);
  signal_all(id, job, order.signal());
  let_go(id, job, order);
  if (!order.terminate() || job.over) return;
  if (job.step == Step::kNone) cancel_starts(id, job);
  const Step reached = order.signal() == SIGKILL   ? Step::kKill
                       : order.signal() == SIGTERM ? Step::kTerm
                                                   : Step::kAsked;
  if (reached <= job.step) return;
  job.step = reached;
  const bool longer = reached == Step::kTerm && order.grace_ms() > 0;
  const auto grace_ms = longer ? order.grace_ms() : config_.kill_grace_ms;
  out_.emplace_back(timers_.arm(TimerKind::kEscalate, grace_ms, id.value()));
}

void LocalJobs::signal_one(JobId id, const Job& job, ProcRank rank, int signal) {
  const auto proc = job.procs.find(rank);
  if (proc == job.procs.end() || proc->second.state == ProcState::kInit) return;
  if (!proc->second.ended) out_.emplace_back(SignalProc{ProcKey{id, rank}, signal});
}

void LocalJobs::signal_all(JobId id, const Job& job, int signal) {
  for (const auto& [rank, proc] : job.procs) signal_one(id, job, rank, signal);
}

// What waits to be started is not started any more.
void LocalJobs::cancel_starts(JobId id, const Job& job) {
  for (const auto& [rank, proc] : job.procs) {
    if (proc.state == ProcState::kInit) out_.emplace_back(SignalProc{ProcKey{id, rank}, SIGKILL});
  }
}

void LocalJobs::cancel_before_start(JobId id, Job& job) {
  job.held = false;
  if (job.registration == Registration::kAsked) job.registration = Registration::kDone;
  fail_all(id, job, Error{ErrorCode::kUnavailable, "ended before it was started"});
}

void LocalJobs::fail_all(JobId id, Job& job, const Error& error) {
  for (auto& [rank, proc] : job.procs) handle(ProcSpawnFailed{ProcKey{id, rank}, error});
}

// Not even SIGKILL ended them: the kernel holds them. The job must not wait for that.
void LocalJobs::give_up(JobId id, Job& job) {
  for (auto& [rank, proc] : job.procs) {
    if (proc.ended || proc.state == ProcState::kInit) continue;
    for (auto& stream : proc.streams) stream.open = false;
    if (!proc.exited) proc.error = fmt::format("does not end on node {}", config_.node);
    proc.exited = true;
    if (proc.signal == 0) proc.signal = SIGKILL;
    settle(id, job, proc);
  }
}

void LocalJobs::escalate(JobId id, Job& job) {
  switch (job.step) {
    case Step::kNone:
      return;
    case Step::kAsked:
      job.step = Step::kTerm;
      signal_all(id, job, SIGTERM);
      break;
    case Step::kTerm:
      job.step = Step::kKill;
      signal_all(id, job, SIGKILL);
      break;
    case Step::kKill:
      job.step = Step::kGiveUp;
      signal_all(id, job, SIGKILL);
      break;
    case Step::kGiveUp:
      give_up(id, job);
      if (job.over) return;
      break;  // some are still being started, and are killed when they are
  }
  out_.emplace_back(timers_.arm(TimerKind::kEscalate, config_.kill_grace_ms, id.value()));
}

// The process is gone, its output is neither closed nor flowing, and not for want of credit:
// somebody it left behind holds the pipe. Its group is ended, and the pipe with it.
void LocalJobs::drain(JobId id, Job& job) {
  bool waiting = false;
  for (auto& [rank, proc] : job.procs) {
    if (!proc.exited || proc.ended) continue;
    waiting = true;
    bool stuck = false;
    bool starved =
        false;  // giving up one stream gives up the other, which may only wait for credit
    for (auto& stream : proc.streams) {
      stuck = stuck || (stream.open && stream.silent);
      starved = starved || (stream.open && stream.credit <= 0);
    }
    const ProcKey key{id, rank};
    if (stuck && !starved) out_.emplace_back(SignalProc{key, SIGKILL});
    for (auto& stream : proc.streams) stream.silent = true;
  }
  if (waiting) {
    out_.emplace_back(timers_.arm(TimerKind::kDrain, config_.drain_grace_ms, id.value()));
  }
}

bool LocalJobs::handle_timer(TimerKind kind, std::uint32_t subject) {
  if (kind == TimerKind::kSweep) {
    end_late_sweeps();
    return true;
  }
  if (kind != TimerKind::kEscalate && kind != TimerKind::kDrain) return false;
  const auto found = jobs_.find(JobId(subject));
  if (found == jobs_.end() || found->second.over) return true;
  auto& [id, job] = *found;
  kind == TimerKind::kEscalate ? escalate(id, job) : drain(id, job);
  return true;
}

// The head forgets a job whose end it could not wait for, too: its processes go with it.
void LocalJobs::forget(JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  timers_.cancel(TimerKind::kEscalate, id.value());
  timers_.cancel(TimerKind::kDrain, id.value());
  Job& job = found->second;
  stop_traces(id, job);
  if (!job.over && job.registration == Registration::kDone) {
    for (const auto& [rank, proc] : job.procs) out_.emplace_back(ForgetProc{ProcKey{id, rank}});
  }
  if (job.registration != Registration::kNone) out_.emplace_back(DeregisterJob{id});
  jobs_.erase(found);
}

// ---- reports ----

wire::ProcReport LocalJobs::report(JobId id, const Proc& proc) const {
  wire::ProcReport out;
  out.set_job(id.value());
  out.set_rank(proc.launch.rank());
  out.set_pid(proc.pid);
  out.set_state(static_cast<std::uint32_t>(proc.state));
  out.set_exit_code(proc.exit_code);
  out.set_signal(proc.signal);
  out.set_error(proc.error);
  out.set_restarts(proc.restarts);
  return out;
}

wire::Reduction LocalJobs::reduction(JobId id, const Job& job, wire::ReductionId::Kind kind) const {
  wire::Reduction out;
  out.mutable_id()->set_kind(kind);
  out.mutable_id()->set_job(id.value());
  out.mutable_id()->set_attempt(job.common->attempt());
  wire::RankSet participants;
  if (participants.ParseFromString(job.common->participants())) {
    *out.mutable_participants() = std::move(participants);
  }
  wire::LocalReport local;
  if (kind == wire::ReductionId::READY_FOR_DEBUG) local.set_breakpoint(job.breakpoint);
  bool explained = false;  // one reason is enough, and a hundred thousand are too long a message
  for (const auto& [rank, proc] : job.procs) {
    auto* entry = local.add_procs();
    *entry = report(id, proc);
    if (may_restart(job, proc)) {  // it waits for the rest of its output only: nothing has failed
      entry->set_state(static_cast<std::uint32_t>(ProcState::kInit));
      entry->clear_exit_code();
      entry->clear_signal();
    }
    if (explained) entry->clear_error();
    explained = explained || !proc.error.empty();
  }
  auto* contribution = out.add_contributions();
  contribution->set_rank(config_.self.value());
  contribution->set_data(local.SerializeAsString());
  return out;
}

void LocalJobs::contribute_again() {
  for (const auto& [id, job] : jobs_) {
    if (job.launched) head_.contribute(*job.launched);
    if (job.registered) head_.contribute(*job.registered);
    if (job.ready_for_debug) head_.contribute(*job.ready_for_debug);
    if (job.finished) head_.contribute(*job.finished);
  }
}

}  // namespace tide::core
