// Stacks of the processes of a job whose time is over, for the head, which waits for them.
#include <algorithm>
#include <utility>

#include "core/local_jobs.hpp"
#include "wire/limits.hpp"

namespace tide::core {

namespace {

constexpr std::size_t kMaxReasonBytes = 1024;  // it is for people

}  // namespace

// Where there is nobody to look at, the head is told at once.
void LocalJobs::trace(const wire::TraceJob& order) {
  const JobId id{order.job()};
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.step != Step::kNone) return complete_traces(id, {});
  Job& job = found->second;
  if (std::exchange(job.traced, true)) return;
  Traces traces;
  for (const auto& [rank, proc] : job.procs) {
    if (proc.exited || proc.state == ProcState::kInit) continue;
    if (traces.awaited.size() < order.most()) {
      traces.awaited.insert(rank);
    } else {
      ++traces.left_out;
    }
  }
  if (traces.awaited.empty()) return complete_traces(id, traces);
  out_.emplace_back(TraceProcs{id, {traces.awaited.begin(), traces.awaited.end()}});
  job.traces = std::move(traces);
}

// One that ended while it was looked at did not fail to be seen: there is nothing to see.
void LocalJobs::handle(const ProcTraced& event) {
  Job* job = nullptr;
  const Proc* proc = find(event.proc, &job);
  if (proc == nullptr || !job->traces || job->traces->awaited.erase(event.proc.rank) == 0) return;
  if (event.pid != 0 && event.status) {
    wire::UpBody body;
    auto* trace = body.mutable_stack_trace();
    trace->set_job(event.proc.job.value());
    trace->set_rank(event.proc.rank.value());
    trace->set_pid(event.pid);
    trace->set_cut(event.cut || event.text.size() > kMaxStackTraceBytes);
    head_.send_to_head(std::move(body), Bytes(event.text.substr(0, kMaxStackTraceBytes)));
  } else if (event.pid != 0 && !proc->exited) {
    if (job->traces->failed++ == 0) {
      job->traces->reason = event.status.error().message.substr(0, kMaxReasonBytes);
    }
  }
  if (!job->traces->awaited.empty()) return;
  complete_traces(event.proc.job, *job->traces);
  job->traces.reset();
}

void LocalJobs::complete_traces(JobId id, const Traces& traces) {
  wire::UpBody body;
  auto* complete = body.mutable_traces_complete();
  complete->set_job(id.value());
  complete->set_left_out(traces.left_out);
  complete->set_failed(traces.failed);
  complete->set_reason(traces.reason);
  head_.send_to_head(std::move(body), {});
}

// The job ends, or its processes have: the head does not wait for them any more.
void LocalJobs::stop_traces(JobId id, Job& job) {
  if (!job.traces) return;
  job.traces.reset();
  out_.emplace_back(StopTraces{id});
}

}  // namespace tide::core
