// Processes that wait for a debugger: when all of a job do, on this daemon, and how they go on.
#include <algorithm>
#include <csignal>
#include <utility>

#include "core/local_jobs.hpp"
#include "core/pmix_words.hpp"
#include "core/proc_names.hpp"

namespace tide::core {

bool LocalJobs::on_ready_for_debug(const wire::EventNotice& notice) {
  const auto* launch = launch_of(notice.source().nspace());
  if (launch == nullptr) return false;
  const auto stop = launch->stop_at();
  if (stop != wire::STOP_IN_INIT && stop != wire::STOP_IN_APP) return false;
  const JobId id{launch->job()};
  Job& job = jobs_.at(id);
  if (job.breakpoint.empty()) job.breakpoint = notice.breakpoint();
  bool known = false;
  for (auto& [rank, proc] : job.procs) {
    if (notice.source().rank() != kAllRanks && notice.source().rank() != rank.value()) continue;
    known = true;
    hold(id, job, proc);
  }
  return known;
}

void LocalJobs::hold(JobId id, Job& job, Proc& proc) {
  if (proc.exited || std::exchange(proc.waits_for_debugger, true)) return;
  notes_.add(Subsystem::kState, 1, "job {}: process {}: {} -> {}", job.common->nspace(),
             proc.launch.rank(), proc_state_name(proc.state),
             proc_state_name(ProcState::kReadyForDebug));
  proc.state = ProcState::kReadyForDebug;
  check_held(id, job);
}

// One that has ended holds up nobody, and where all have there is nobody to debug.
void LocalJobs::check_held(JobId id, Job& job) {
  if (job.common->stop_at() == wire::STOP_NOWHERE || job.ready_for_debug) return;
  const auto waits = [](const auto& entry) {
    return entry.second.waits_for_debugger && !entry.second.ended;
  };
  const bool all = std::ranges::all_of(
      job.procs, [&](const auto& entry) { return entry.second.ended || waits(entry); });
  if (!all || std::ranges::none_of(job.procs, waits)) return;
  job.ready_for_debug = reduction(id, job, wire::ReductionId::READY_FOR_DEBUG);
  head_.contribute(*job.ready_for_debug);
}

// What stops on exec takes no signal before it goes on, nor does what a debugger leaves stopped
// that is killed while it attaches; and what ends it should not have to be SIGKILL. For who waits
// by PMIx, to go on is an event; of the DVM, because libpmix tells none to whom it comes from.
void LocalJobs::let_go(JobId id, Job& job, const wire::SignalJob& order) {
  const auto stop = job.common->stop_at();
  const bool may_be_stopped = stop == wire::STOP_ON_EXEC || job.traced;
  if (may_be_stopped && order.terminate() && order.signal() != SIGKILL) {
    signal_all(id, job, SIGCONT);
  }
  const bool waits_by_pmix = stop == wire::STOP_IN_INIT || stop == wire::STOP_IN_APP;
  if (!waits_by_pmix || order.signal() != SIGCONT) return;
  wire::EventNotice notice;
  notice.set_code(kEventDebuggerRelease);
  notice.set_range(wire::RANGE_CUSTOM);
  *notice.mutable_targets()->add_names() = proc_name(job.common->nspace(), kAllRanks);
  auto* fact = notice.add_facts();
  fact->set_key(kFactNonDefault);
  fact->set_flag(true);
  out_.emplace_back(DeliverEvent{std::move(notice)});
}

}  // namespace tide::core
