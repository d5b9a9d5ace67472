// What people decide about a job: its map shown, failures that end nothing, time limits, no client.
#include <csignal>
#include <utility>

#include "core/job_board.hpp"
#include "core/pmix_words.hpp"
#include "say/ending.hpp"
#include "say/running.hpp"
#include "wire/exit_status.hpp"

namespace tide::core {

namespace {

constexpr std::size_t kMostProcessesShown = 64;  // of a job that is held, or ran out of time

void add_rank(wire::HostedRanks& host, std::uint32_t rank) {
  const int last = host.ranks_size() - 1;
  if (last >= 0 && host.ranks(last).last() + 1 == rank) {
    host.mutable_ranks(last)->set_last(rank);
    return;
  }
  auto* range = host.add_ranks();
  range->set_first(rank);
  range->set_last(rank);
}

}  // namespace

std::vector<wire::HostedRanks> JobBoard::where_processes_are(const Job& job) const {
  std::map<Rank, wire::HostedRanks> hosts;
  for (const auto& placement : job.placements) {
    add_rank(hosts[placement.daemon], placement.rank.value());
  }
  std::vector<wire::HostedRanks> out;
  for (auto& [rank, host] : hosts) {
    host.set_daemon(rank.value());
    const auto node = roster_.nodes().find(rank);
    if (node != roster_.nodes().end()) host.set_node(node->second.name);
    out.push_back(std::move(host));
  }
  return out;
}

void JobBoard::show_map(const Job& job) {
  const auto& runtime = job.spec.runtime();
  if (!runtime.show_map() && !runtime.do_not_launch()) return;
  wire::ClientReply shown;
  auto* map = shown.mutable_map();
  map->set_job(job.id.value());
  map->set_nspace(job.nspace);
  map->set_processes(static_cast<std::uint32_t>(job.placements.size()));
  for (auto& host : where_processes_are(job)) *map->add_nodes() = std::move(host);
  reply(job, std::move(shown));
}

// Whoever asked has heard what was wrong at once, if anything was.
void JobBoard::let_go_of_client(Job& job) {
  if (!job.spec.runtime().detached() || !job.owner || waits_for_files(job)) return;
  wire::ClientReply done;
  done.mutable_done();
  reply(job, std::move(done));
  const auto jobs = unended_.find(*job.owner);
  if (jobs != unended_.end() && --jobs->second == 0) unended_.erase(jobs);
  job.owner.reset();
}

// ---- failures that end nothing ----

void JobBoard::count_restarts(Job& job, const wire::ProcReport& report) {
  Proc& proc = job.procs[report.rank()];
  if (report.restarts() <= proc.restarts) return;
  job.restarts += report.restarts() - proc.restarts;
  proc.restarts = report.restarts();
}

// A program that cannot be started will not be there later either.
bool JobBoard::tolerates(const Job& job, const wire::ProcReport& report) {
  const auto& runtime = job.spec.runtime();
  if (static_cast<ProcState>(report.state()) == ProcState::kFailedToStart) return false;
  return runtime.recoverable() || (runtime.nonzero_is_no_error() && report.signal() == 0);
}

void JobBoard::tolerate(Job& job, int exit_status, const std::string& message,
                        std::size_t processes) {
  notes_.add(Subsystem::kErrmgr, 1, "{}; the job goes on", say::first_line(message));
  if (job.exit_status) return;  // it is being ended: what follows is no news
  if (job.tolerated) {
    job.more_tolerated += static_cast<std::uint32_t>(processes);
    return;
  }
  job.tolerated = exit_status;
  job.messages.push_back(message);
}

void JobBoard::tell_the_others(const Job& job, std::uint32_t failed,
                               const wire::ProcReport& report) {
  if (!job.spec.runtime().notify_errors() || job.exit_status) return;
  wire::DownBody body;
  auto& event = *body.mutable_event();
  event.set_code(report.signal() != 0      ? kEventProcAbortedBySignal
                 : report.exit_code() != 0 ? kEventProcExitedNonzero
                                           : kEventProcTerminated);
  *event.mutable_source() = proc_name(job.nspace, failed);
  event.set_range(wire::RANGE_CUSTOM);
  *event.mutable_targets()->add_names() = proc_name(job.nspace, kAllRanks);
  auto* fact = event.add_facts();
  fact->set_key(kFactAffectedProc);
  *fact->mutable_proc() = proc_name(job.nspace, failed);
  fact = event.add_facts();
  fact->set_key(kFactExitCode);
  fact->set_status(report.signal() != 0 ? exit_status_of_signal(report.signal())
                                        : report.exit_code());
  DaemonPort::Slices list;
  for (const auto& [rank, share] : job.shares) {
    if (!share.ended) list.emplace_back(rank, body);
  }
  if (!list.empty()) daemons_.scatter(std::move(list), nullptr, {});
}

// ---- time limits ----

std::vector<say::ProcessLine> JobBoard::process_lines(const Job& job) const {
  std::vector<say::ProcessLine> lines;
  for (std::size_t rank = 0; rank < job.procs.size() && rank < kMostProcessesShown; ++rank) {
    const Proc& proc = job.procs[rank];
    lines.push_back({static_cast<std::uint32_t>(rank), place(job.placements[rank].daemon), proc.pid,
                     std::string(proc_state_name(proc.state))});
  }
  return lines;
}

std::string JobBoard::state_at_timeout(const Job& job) const {
  const auto lines = process_lines(job);
  return say::state_at_timeout(job.nspace, job_state_name(job.state), lines,
                               job.procs.size() - lines.size());
}

void JobBoard::end_by_timeout(Job& job, TimerKind kind) {
  const auto& runtime = job.spec.runtime();
  std::string state = runtime.report_state_on_timeout() ? state_at_timeout(job) : "";
  const bool had_ended = job.exit_status.has_value();
  if (wants_traces(job)) order_traces(job);
  if (kind == TimerKind::kSpawnTimeout) {
    fail(job, JobState::kNeverLaunched, kExitTimedOut,
         say::not_launched_in_time(job.nspace, runtime.spawn_timeout_ms()), SIGTERM);
  } else {
    fail(job, JobState::kForcedExit, kExitTimedOut,
         say::ended_by_timeout(job.nspace, job.spec.timeout_ms()), SIGTERM);
  }
  if (!state.empty() && !had_ended) job.messages.push_back(std::move(state));
}

}  // namespace tide::core
