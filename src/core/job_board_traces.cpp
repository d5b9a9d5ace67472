// The stacks of a job's processes, when its time is over: they are asked for at once, and the end
// of the processes is ordered when they have come, or something else wants it.
#include <algorithm>
#include <csignal>
#include <utility>

#include "core/job_board.hpp"
#include "say/debugging.hpp"
#include "wire/limits.hpp"

namespace tide::core {

namespace {

// What people read, and what the head keeps for a client that reads slowly, is bounded by these.
constexpr std::uint32_t kMostPerNode = 16;
constexpr std::uint32_t kMostPerJob = 256;

}  // namespace

// Without an owner there is nobody to show them to.
bool JobBoard::wants_traces(const Job& job) {
  return job.spec.runtime().get_stack_traces() && job.owner && job.scattered && !job.exit_status &&
         job.state < JobState::kUnterminated;
}

void JobBoard::order_traces(Job& job) {
  Traces traces;
  DaemonPort::Slices list;
  std::uint32_t left = kMostPerJob;
  for (const auto& [rank, share] : job.shares) {
    if (share.ended || share.output_complete) continue;
    const auto processes = static_cast<std::uint32_t>(share.ranks.size());
    const auto most = std::min({kMostPerNode, processes, left});
    left -= most;
    if (most == 0) {
      traces.left_out += processes;
      continue;
    }
    wire::DownBody body;
    body.mutable_trace_job()->set_job(job.id.value());
    body.mutable_trace_job()->set_most(most);
    list.emplace_back(rank, std::move(body));
    traces.awaited.insert(rank);
  }
  if (list.empty()) return;
  job.traces = std::move(traces);
  out_.emplace_back(timers_.arm(TimerKind::kTraces, config_.trace_patience_ms, job.id.value()));
  daemons_.scatter(std::move(list), nullptr, {});
}

void JobBoard::tell_trace(const Job& job, std::string text) {
  wire::ClientReply shown;
  shown.mutable_trace()->set_job(job.id.value());
  shown.mutable_trace()->set_text(std::move(text));
  reply(job, std::move(shown));
}

void JobBoard::on_stack_trace(Rank daemon, const wire::StackTrace& trace, const Bytes& text) {
  Job* job = find(JobId(trace.job()));
  if (job == nullptr || !job->traces || !job->traces->awaited.contains(daemon)) return;
  auto& told = job->traces->told;
  if (!hosts(*job, daemon, trace.rank()) || told.size() >= kMostPerJob) return;
  if (!told.insert(trace.rank()).second) return;
  const auto stacks = text.view().substr(0, kMaxStackTraceBytes);
  tell_trace(*job, say::stack_trace(job->nspace, trace.rank(), place(daemon), trace.pid(), stacks,
                                    trace.cut()));
}

void JobBoard::on_traces_complete(Rank daemon, const wire::TracesComplete& complete) {
  Job* job = find(JobId(complete.job()));
  if (job == nullptr || !job->traces || job->traces->awaited.erase(daemon) == 0) return;
  job->traces->left_out += complete.left_out();
  if (complete.failed() > 0) {
    tell_trace(*job, say::no_stack_traces(job->nspace, complete.failed(), place(daemon),
                                          complete.reason()));
  }
  check_traces(*job);
  run_transitions();  // jobs that it spawned may end with it
}

void JobBoard::check_traces(Job& job) {
  if (!job.traces || !job.traces->awaited.empty()) return;
  if (const auto count = job.traces->left_out; count > 0) {
    tell_trace(job, say::stack_traces_left_out(job.nspace, count, kMostPerNode, kMostPerJob));
  }
  order_end(job, SIGTERM, true);
}

void JobBoard::give_up_late_traces(Job& job) {
  if (!job.traces) return;
  std::vector<std::string> nodes;
  for (const Rank daemon : job.traces->awaited) nodes.push_back(node_name(job, daemon));
  tell_trace(job, say::stack_traces_are_late(job.nspace, nodes, config_.trace_patience_ms));
  order_end(job, SIGTERM, true);
}

void JobBoard::cut_traces_short(Job& job, int signal) {
  if (job.traces) order_end(job, signal, true);
}

// What was kept until now follows: jobs that it spawned may be what its processes waited for.
void JobBoard::leave_traces(Job& job) {
  if (!job.traces) return;
  job.traces.reset();
  timers_.cancel(TimerKind::kTraces, job.id.value());
  end_children(job);
}

}  // namespace tide::core
