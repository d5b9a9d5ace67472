// Jobs that are held for a debugger: when all their processes wait, and who is told.
#include <algorithm>
#include <utility>

#include "core/job_board.hpp"
#include "core/pmix_words.hpp"
#include "say/debugging.hpp"
#include "say/mapping.hpp"
#include "wire/exit_status.hpp"
#include "wire/limits.hpp"

namespace tide::core {

namespace {

std::string usual_breakpoint(wire::StopAt stop) {
  switch (stop) {
    case wire::STOP_ON_EXEC:
      return "exec";
    case wire::STOP_IN_INIT:
      return "pmix-init";
    default:
      return "application";
  }
}

}  // namespace

// Its processes have been started and not all have ended.
bool JobBoard::runs(const Job& job) {
  return job.state == JobState::kRunning || job.state == JobState::kRegistered ||
         job.state == JobState::kReadyForDebug;
}

// On each node where the other job still has processes.
bool JobBoard::place_beside(Job& job) {
  const std::string& nspace = job.spec.beside();
  const Job* other = find_nspace(nspace);
  const auto refuse = [&](const std::string& why) {
    fail(job, JobState::kMapFailed, kExitMapFailed, why, 0);
    return false;
  };
  if (other == nullptr || !other->scattered) return refuse(say::no_job_to_be_beside(nspace));
  const std::uint64_t most = std::uint64_t{job.spec.per_node()} * other->shares.size();
  if (most > kMaxProcessesPerJob) {
    return refuse(say::job_too_large(most, kMaxProcessesPerJob).message);
  }
  for (const auto& [daemon, share] : other->shares) {
    const Node* node = roster_.find(daemon);
    if (share.ended || node == nullptr || node->state == NodeState::kLeaving) continue;
    for (std::uint32_t i = 0; i < job.spec.per_node(); ++i) {
      const ProcRank rank{static_cast<std::uint32_t>(job.placements.size())};
      job.placements.push_back(Placement{rank, 0, daemon, i});
    }
  }
  if (job.placements.empty()) return refuse(say::no_job_to_be_beside(nspace));
  return true;
}

void JobBoard::on_ready_for_debug(Job& job, const wire::Reduction& reduction) {
  if (job.spec.runtime().stop_at() == wire::STOP_NOWHERE) return;
  for (const auto& contribution : reduction.contributions()) {
    const Rank daemon{contribution.rank()};
    const auto share = job.shares.find(daemon);
    wire::LocalReport local;
    if (share == job.shares.end() || !local.ParseFromString(contribution.data())) continue;
    if (std::exchange(share->second.ready_for_debug, true)) continue;
    if (job.breakpoint.empty()) job.breakpoint = local.breakpoint();
    for (const auto& report : local.procs()) take_report(job, daemon, report, false);
  }
  check_ready_for_debug(job);
  run_transitions();
}

// row:L14 only daemons that host the job are waited for, and those not where it has ended
void JobBoard::check_ready_for_debug(const Job& job) {
  if (job.was_ready_for_debug) return;
  const bool all = std::ranges::all_of(job.shares, [](const auto& entry) {
    const Share& share = entry.second;
    return share.ended || (share.ready_for_debug && share.launched);
  });
  const bool any = std::ranges::any_of(job.shares, [](const auto& entry) {
    return entry.second.ready_for_debug && !entry.second.ended;
  });
  if (all && any) go(job, JobState::kReadyForDebug, "every process waits for a debugger");
}

void JobBoard::tell_that_it_is_held(Job& job) {
  job.was_ready_for_debug = true;
  const auto stop = job.spec.runtime().stop_at();
  if (job.breakpoint.empty()) job.breakpoint = usual_breakpoint(stop);
  if (job.debugger) {
    auto event = event_of(job, kEventReadyForDebug, *job.debugger);
    auto* fact = event.add_facts();
    fact->set_key(kFactBreakpoint);
    fact->set_text(job.breakpoint);
    send_event(*job.debugger, std::move(event));
  } else if (job.owner) {
    const auto lines = process_lines(job);
    wire::ClientReply held;
    held.mutable_held()->set_job(job.id.value());
    held.mutable_held()->set_text(say::job_is_held(job.nspace, job.id.value(), job.breakpoint,
                                                   lines, job.procs.size() - lines.size()));
    reply(job, std::move(held));
  }
  check_complete(job);
}

}  // namespace tide::core
