// What daemons report about jobs, what flows between them and the owner, and how jobs end.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"
#include "core/job_board.hpp"
#include "say/ending.hpp"
#include "say/running.hpp"
#include "wire/exit_status.hpp"

namespace tide::core {

// ---- reports of daemons ----

bool JobBoard::hosts(const Job& job, Rank daemon, std::uint32_t rank) {
  return rank < job.placements.size() && job.placements[rank].daemon == daemon;
}

void JobBoard::on_reduction(const wire::Reduction& reduction) {
  if (reduction.id().kind() == wire::ReductionId::FILES_TAKEN ||
      reduction.id().kind() == wire::ReductionId::FILES_REMOVED) {
    files_.on_reduction(reduction);
    run_transitions();
    if (Job* job = find(JobId(reduction.id().job()))) let_go_of_client(*job);
    return;
  }
  Job* job = find(JobId(reduction.id().job()));
  if (job == nullptr) return;
  if (reduction.id().kind() == wire::ReductionId::REGISTERED) return on_registered(*job, reduction);
  if (reduction.id().kind() == wire::ReductionId::READY_FOR_DEBUG) {
    return on_ready_for_debug(*job, reduction);
  }
  const bool final = reduction.id().kind() == wire::ReductionId::ENDED;
  std::size_t forked = 0;
  for (const auto& contribution : reduction.contributions()) {
    const Rank daemon{contribution.rank()};
    const auto share = job->shares.find(daemon);
    if (share == job->shares.end()) continue;
    const bool repeated = final ? share->second.ended : share->second.launched;
    wire::LocalReport local;
    if (repeated || !local.ParseFromString(contribution.data())) continue;
    share->second.launched = true;
    if (final) {
      share->second.ended = true;
      give_back_slots(*job, daemon);
      daemons_.on_share_ended(daemon, job->nspace);
    }
    for (const auto& report : local.procs()) {
      if (report.pid() != 0) ++forked;
      take_report(*job, daemon, report, final);
    }
  }
  const bool all_launched = std::all_of(job->shares.begin(), job->shares.end(),
                                        [](const auto& share) { return share.second.launched; });
  if (forked > 0) go(*job, JobState::kStarted, "the first processes run");
  if (all_launched) go(*job, JobState::kRunning, "every process runs");
  check_registered(*job);
  check_ready_for_debug(*job);
  run_transitions();
  if (Job* still = find(JobId(reduction.id().job()))) check_complete(*still);
  run_transitions();
}

void JobBoard::on_registered(Job& job, const wire::Reduction& reduction) {
  for (const auto& contribution : reduction.contributions()) {
    const auto share = job.shares.find(Rank(contribution.rank()));
    if (share != job.shares.end()) share->second.registered = true;
  }
  check_registered(job);
  run_transitions();
}

// row:L13 every process has called PMIx_Init; this may be heard before all are known to run
void JobBoard::check_registered(const Job& job) {
  const bool all = std::ranges::all_of(job.shares, [](const auto& entry) {
    return entry.second.registered && entry.second.launched;
  });
  if (all && !job.was_registered)
    go(job, JobState::kRegistered, "every process has called PMIx_Init");
}

// A process may give up its own job, or others that it names.
void JobBoard::on_aborted(Rank daemon, const wire::ProcAborted& aborted) {
  Job* job = find(JobId(aborted.job()));
  if (job == nullptr || !hosts(*job, daemon, aborted.rank())) return;
  const int status = aborted.status() & 0xFF;
  const auto text = say::process_aborted(job->nspace, aborted.rank(), place(daemon),
                                         aborted.status(), aborted.message());
  std::set<std::string> whom;
  for (const auto& name : aborted.whom().names()) whom.insert(name.nspace());
  if (whom.empty()) whom.insert(job->nspace);
  for (const auto& nspace : whom) {
    if (Job* one = find_nspace(nspace)) {
      fail(*one, JobState::kAborted, status == 0 ? kExitFailure : status, text, SIGTERM);
    }
  }
  run_transitions();
}

// ---- where processes are ----

const JobBoard::Job* JobBoard::find_nspace(std::string_view nspace) const {
  const auto number = parse_int(nspace.substr(nspace.rfind('@') + 1));  // open_job() made the name
  if (!number || *number < 0 || *number > UINT32_MAX) return nullptr;
  const auto found = jobs_.find(JobId(static_cast<std::uint32_t>(*number)));
  return found != jobs_.end() && found->second.nspace == nspace ? &found->second : nullptr;
}

JobBoard::Job* JobBoard::find_nspace(std::string_view nspace) {
  return const_cast<Job*>(std::as_const(*this).find_nspace(nspace));
}

std::optional<std::set<Rank>> JobBoard::hosts_of(const wire::ProcNames& procs) const {
  std::set<Rank> out;
  for (const auto& name : procs.names()) {
    const Job* job = find_nspace(name.nspace());
    // Of one that waits for its files there is nobody yet who could take part.
    if (job == nullptr || !job->scattered) return std::nullopt;
    if (name.rank() == kAllRanks) {
      for (const auto& [rank, share] : job->shares) out.insert(rank);
    } else if (name.rank() < job->placements.size()) {
      out.insert(job->placements[name.rank()].daemon);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

bool JobBoard::any_ended(const wire::ProcNames& procs) const {
  return std::ranges::any_of(procs.names(), [this](const wire::ProcName& name) {
    const Job* job = find_nspace(name.nspace());
    if (job == nullptr) return true;
    if (name.rank() == kAllRanks) {
      return std::ranges::any_of(job->shares, [](const auto& share) { return share.second.ended; });
    }
    return name.rank() >= job->placements.size() ||
           job->shares.at(job->placements[name.rank()].daemon).ended;
  });
}

void JobBoard::take_report(Job& job, Rank daemon, const wire::ProcReport& report, bool final) {
  if (!hosts(job, daemon, report.rank()) || report.rank() >= job.procs.size()) return;
  if (report.signal() < 0 || report.signal() >= NSIG) return;
  Proc& proc = job.procs[report.rank()];
  const auto state = static_cast<ProcState>(report.state());
  if (report.pid() != 0) proc.pid = report.pid();
  count_restarts(job, report);
  const bool failed = is_error(state) || report.exit_code() != 0 || report.signal() != 0;
  const bool was_failed = is_error(proc.state);
  // The daemon's last word stands, and a failure is news in whatever state it comes: a process may
  // close its output before it fails. Else a process is only ever reported further on.
  if (!final && (!failed || was_failed) && !proc_may_go(proc.state, state)) return;
  proc.state = failed && !is_error(state) ? ProcState::kAborted : state;
  proc.exit_code = report.exit_code();
  proc.signal = report.signal();
  if (!failed || was_failed) return;
  const auto error =
      state == ProcState::kFailedToStart ? JobState::kFailedToStart : JobState::kAborted;
  const int status =
      report.signal() != 0 ? exit_status_of_signal(report.signal()) : report.exit_code();
  const std::string text = describe_failure(job, daemon, report);
  if (!tolerates(job, report)) return fail(job, error, status, text, SIGTERM);
  tolerate(job, status, text, proc.released ? 0 : 1);
  tell_the_others(job, report.rank(), report);
}

std::string JobBoard::place(Rank daemon) const {
  const auto node = roster_.nodes().find(daemon);
  return node == roster_.nodes().end() ? "a lost node" : "node " + node->second.name;
}

std::string JobBoard::describe_failure(const Job& job, Rank daemon,
                                       const wire::ProcReport& report) const {
  const std::string where = place(daemon);
  if (!report.error().empty()) {
    return say::process_not_started(job.nspace, report.rank(), where, report.error());
  }
  if (report.signal() != 0 && report.signal() == job.procs[report.rank()].requested_signal) {
    return say::process_ended_on_request(job.nspace, report.rank(), report.pid(), where,
                                         report.signal());
  }
  if (report.signal() != 0) {
    return say::process_signalled(job.nspace, report.rank(), report.pid(), where, report.signal());
  }
  return say::process_exited(job.nspace, report.rank(), report.pid(), where, report.exit_code());
}

void JobBoard::on_proc_failed(Rank daemon, const wire::ProcReport& report) {
  Job* job = find(JobId(report.job()));
  if (job == nullptr || !job->shares.contains(daemon)) return;
  take_report(*job, daemon, report, false);
  run_transitions();
}

void JobBoard::on_output_complete(Rank daemon, JobId id) {
  Job* job = find(id);
  if (job == nullptr) return;
  const auto share = job->shares.find(daemon);
  if (share == job->shares.end()) return;
  share->second.output_complete = true;
  if (job->traces && job->traces->awaited.erase(daemon) > 0) check_traces(*job);
  check_complete(*job);
  run_transitions();
}

void JobBoard::on_node_lost(const Node& node, const std::string& reason) {
  files_.on_node_lost(node.rank);
  for (auto& [id, job] : jobs_) {
    const auto share = job.shares.find(node.rank);
    if (share == job.shares.end() || share->second.settled()) continue;
    if (fence_.parks(id)) continue;  // it has nothing there yet, and will be mapped anew
    std::vector<std::uint32_t> lost;
    std::size_t news = 0;
    for (const auto rank : share->second.ranks) {
      Proc& proc = job.procs[rank];
      if (!is_alive(proc.state)) continue;
      proc.state = ProcState::kCommFailed;
      lost.push_back(rank);
      if (!proc.released) ++news;
    }
    share->second.launched = share->second.ended = share->second.output_complete = true;
    const std::string text = say::node_lost(job.nspace, node.name, lost, reason, config_.one_shot);
    if (job.spec.runtime().recoverable() && runs(job)) {
      tolerate(job, kExitNodeLost, text, news);
      for (const auto rank : lost) tell_the_others(job, rank, {});
      check_ready_for_debug(job);
    } else {
      fail(job, JobState::kAborted, kExitNodeLost, text, SIGTERM);
      cut_traces_short(job, SIGTERM);
    }
    check_complete(job);
  }
  run_transitions();
}

// ---- between the processes and the owner ----

void JobBoard::on_stream(Rank daemon, const wire::StreamChunk& chunk, const Bytes& data) {
  Job* job = find(JobId(chunk.job()));
  if (job == nullptr || !hosts(*job, daemon, chunk.rank()) ||
      !wire::Stream_IsValid(chunk.stream())) {
    return;
  }
  const bool credited = send_to_tools(*job, chunk, data);
  if (!job->owner) {  // nobody reads: the bytes are dropped, and the process must not stall
    if (!credited) {
      give_credit(*job, {chunk.rank(), chunk.stream()}, static_cast<std::uint32_t>(data.size()));
    }
    return;
  }
  if (!data.empty()) job->watch.untaken[{chunk.rank(), chunk.stream()}] += data.size();
  wire::ClientReply output;
  output.mutable_output()->set_job(chunk.job());
  output.mutable_output()->set_rank(chunk.rank());
  output.mutable_output()->set_stream(chunk.stream());
  reply(*job, std::move(output), data);
}

void JobBoard::credit(ClientId client, const wire::ClientCredit& credit) {
  Job* job = find(JobId(credit.job()));
  if (job == nullptr || job->owner != client) return;
  const auto untaken = job->watch.untaken.find({credit.rank(), credit.stream()});
  if (untaken != job->watch.untaken.end()) {
    untaken->second -= std::min<std::uint64_t>(untaken->second, credit.bytes());
  }
  grant(*job, credit);
}

void JobBoard::grant(const Job& job, const wire::ClientCredit& credit) {
  if (credit.rank() >= job.placements.size()) return;
  const Rank daemon = job.placements[credit.rank()].daemon;
  const auto share = job.shares.find(daemon);
  if (share == job.shares.end() || share->second.settled()) return;
  wire::DownBody body;
  auto* down = body.mutable_credit();
  down->set_job(credit.job());
  down->set_rank(credit.rank());
  down->set_stream(credit.stream());
  down->set_bytes(credit.bytes());
  daemons_.scatter({{daemon, std::move(body)}}, nullptr, {});
}

void JobBoard::input(ClientId client, const wire::ClientInput& input, const Bytes& data) {
  const Job* job = find(JobId(input.job()));
  if (job != nullptr && job->owner == client) send_input(*job, input.eof(), data);
}

void JobBoard::send_input(const Job& job, bool eof, const Bytes& data) {
  if (!job.scattered || job.spec.stdin_rank() < 0) return;
  const auto rank = static_cast<std::uint32_t>(job.spec.stdin_rank());
  if (rank >= job.placements.size()) return;
  wire::DownBody body;
  body.mutable_input()->set_job(job.id.value());
  body.mutable_input()->set_rank(rank);
  body.mutable_input()->set_eof(eof);
  daemons_.scatter({{job.placements[rank].daemon, std::move(body)}}, nullptr, data);
}

void JobBoard::on_input_credit(Rank daemon, const wire::InputCredit& credit) {
  Job* job = find(JobId(credit.job()));
  if (job == nullptr || job->spec.stdin_rank() < 0) return;
  if (!hosts(*job, daemon, static_cast<std::uint32_t>(job->spec.stdin_rank()))) return;
  job->input_credit += credit.bytes();
  answer_pushers(*job);
  wire::ClientReply grant;
  grant.mutable_input_credit()->set_job(credit.job());
  grant.mutable_input_credit()->set_bytes(credit.bytes());
  reply(*job, std::move(grant));
}

// ---- endings ----

Status JobBoard::kill(const wire::KillJob& order) {
  Job* job = find(order.job());
  if (job == nullptr) {
    const auto name = order.job().ref_case() == wire::JobRef::kNumber
                          ? std::to_string(order.job().number())
                          : order.job().nspace();
    return say::no_such_job(name);
  }
  if (order.signal() <= 0 || order.signal() >= NSIG) {
    return say::not_a_signal(order.signal());
  }
  if (!order.terminate()) {
    if (!job->scattered) return say::job_has_no_processes(job->nspace, job->id.value());
    order_end(*job, order.signal(), false);
    return ok_status();
  }
  if (is_error(job->state)) {
    order_end(*job, order.signal(), true);
  } else {
    fail(*job, JobState::kKilledByCmd, exit_status_of_signal(order.signal()),
         say::ended_on_request(job->nspace, order.signal()), order.signal());
  }
  run_transitions();
  return ok_status();
}

void JobBoard::client_gone(ClientId client) {
  for (auto& [id, job] : jobs_) {
    if (job.owner != client) continue;
    job.owner.reset();
    unended_.erase(client);
    fail(job, JobState::kKilledByCmd, exit_status_of_signal(SIGTERM),
         say::ended_without_client(job.nspace), SIGTERM);
    cut_traces_short(job, SIGTERM);
  }
  run_transitions();
}

void JobBoard::end_all(const std::string& reason, bool force, std::uint32_t grace_ms) {
  closed_ = true;
  for (auto& [id, job] : jobs_) {
    const int signal = force ? SIGKILL : SIGTERM;
    if (is_error(job.state) && force) order_end(job, SIGKILL, true);
    if (!is_error(job.state)) job.end_grace_ms = grace_ms;
    fail(job, JobState::kKilledByCmd, exit_status_of_signal(signal),
         say::ended_because(job.nspace, reason), signal);
    cut_traces_short(job, signal);
  }
  run_transitions();
}

void JobBoard::abandon_all() {
  for (auto& [id, job] : jobs_) {
    files_.abandon(id);
    if (!job.scattered) {
      check_complete(job);
      continue;
    }
    job.messages.push_back(say::processes_did_not_end(job.nspace));
    for (auto& [rank, share] : job.shares) {
      if (!share.ended) give_back_slots(job, rank);
      share.launched = share.ended = share.output_complete = true;
    }
    check_complete(job);
  }
  run_transitions();
}

// Only the first failure decides how the job ended; what follows from it is not news.
void JobBoard::fail(Job& job, JobState error, int exit_status, const std::string& message,
                    int signal) {
  if (job.exit_status || job.state >= JobState::kUnterminated) return;
  fence_.forget(job.id);
  job.end_state = error;
  job.exit_status = exit_status;
  job.messages.push_back(message);
  notes_.add(Subsystem::kErrmgr, 1, "{}", say::first_line(message));
  go(job, error, std::string(say::first_line(message)));
  if (signal != 0 && !job.traces) order_end(job, signal, true);
  answer_spawner(job);
  if (!job.traces) end_children(job);
}

void JobBoard::order_end(Job& job, int signal, bool terminate) {
  if (!job.scattered) return;
  if (terminate) {
    leave_traces(job);
    job.watch.ordered_signal = signal;
    job.watch.ordered_ms = now_ms_;
  }
  DaemonPort::Slices list;
  for (const auto& [rank, share] : job.shares) {
    if (share.ended) continue;
    wire::DownBody body;
    body.mutable_signal()->set_job(job.id.value());
    body.mutable_signal()->set_signal(signal);
    body.mutable_signal()->set_terminate(terminate);
    body.mutable_signal()->set_grace_ms(job.end_grace_ms);
    list.emplace_back(rank, std::move(body));
  }
  if (!list.empty()) daemons_.scatter(std::move(list), nullptr, {});
}

void JobBoard::check_complete(Job& job) {
  const bool over =
      !job.scattered || std::all_of(job.shares.begin(), job.shares.end(),
                                    [](const auto& share) { return share.second.settled(); });
  const bool goes_on = !is_error(job.state) && !runs(job);
  if (!over || goes_on || !files_.remove(job.id)) return;
  leave_traces(job);
  if (is_error(job.state)) {
    if (!job.scattered) {  // what was claimed for a launch that never happened
      for (const auto& [rank, share] : job.shares) give_back_slots(job, rank);
      job.shares.clear();
    }
    go(job, JobState::kNotifyCompleted, "nothing of it is left");
  } else {
    go(job, JobState::kTerminated, "every process ended");
  }
}

void JobBoard::give_back_slots(const Job& job, Rank daemon) {
  Node* node = roster_.find(daemon);
  if (node == nullptr || !takes_slots(job)) return;
  const auto count = static_cast<std::uint32_t>(job.shares.at(daemon).ranks.size());
  TIDE_CHECK(node->used >= count);
  node->used -= count;
}

bool JobBoard::handle_timer(TimerKind kind, std::uint32_t subject) {
  if (files_.handle_timer(kind, subject)) {
    run_transitions();
    return true;
  }
  const bool of_job = kind == TimerKind::kJobTimeout || kind == TimerKind::kSpawnTimeout ||
                      kind == TimerKind::kTraces;
  if (!of_job) return false;
  if (Job* job = find(JobId(subject))) {
    kind == TimerKind::kTraces ? give_up_late_traces(*job) : end_by_timeout(*job, kind);
    run_transitions();
  }
  return true;
}

// ---- to see inside ----

std::string JobBoard::command_of(const wire::JobSpec& spec) {
  std::string out;
  for (const auto& app : spec.apps()) {
    if (!out.empty()) out += " : ";
    for (const auto& arg : app.argv()) out += (out.empty() || out.back() == ' ' ? "" : " ") + arg;
  }
  constexpr std::size_t kShown = 200;
  if (out.size() > kShown) out = out.substr(0, kShown) + "…";
  return out;
}

wire::JobStatus JobBoard::status_of(const Job& job, std::uint64_t now_ms) const {
  wire::JobStatus out;
  out.set_number(job.id.value());
  out.set_nspace(job.nspace);
  out.set_state(std::string(
      job_state_name(job.state >= JobState::kUnterminated ? job.end_state : job.state)));
  out.set_processes(static_cast<std::uint32_t>(job.placements.size()));
  const auto running = std::count_if(job.procs.begin(), job.procs.end(), [](const Proc& proc) {
    return is_alive(proc.state) && proc.pid != 0;
  });
  out.set_running(static_cast<std::uint32_t>(running));
  out.set_command(command_of(job.spec));
  out.set_age_ms(now_ms > job.submitted_ms ? now_ms - job.submitted_ms : 0);
  out.set_exit_status(job.exit_status.value_or(kExitSuccess));
  for (const auto& message : job.messages) out.add_messages(message);
  const bool usual = job.sessions.size() == 1 && job.sessions.contains(kDefaultSession);
  for (const auto& id : job.sessions) {
    if (!usual && id != kDefaultSession) out.mutable_targets()->add_allocations(id);
  }
  if (!usual) out.mutable_targets()->set_default_session(job.sessions.contains(kDefaultSession));
  describe_watch(job, now_ms, out);
  return out;
}

void JobBoard::describe(wire::StatusReply& status, std::uint32_t history,
                        std::uint64_t now_ms) const {
  for (const auto& [id, job] : jobs_) *status.add_jobs() = status_of(job, now_ms);
  std::size_t skip = history_.size() > history ? history_.size() - history : 0;
  for (; skip < history_.size(); ++skip) *status.add_jobs() = history_[skip];
}

}  // namespace tide::core
