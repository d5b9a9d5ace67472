// A process that failed is started again in its place, as often as its job allows.
#include <utility>

#include "core/local_jobs.hpp"

namespace tide::core {

// Not one that never ran, and none of a job that is being ended.
bool LocalJobs::may_restart(const Job& job, const Proc& proc) {
  const bool failed = proc.exit_code != 0 || proc.signal != 0;
  return failed && !is_error(proc.state) && job.step == Step::kNone &&
         proc.restarts < job.common->max_restarts();
}

// All that it wrote is on its way, and it is collected: nothing of the old process is left here.
void LocalJobs::restart(JobId id, Job& job, Proc& proc) {
  const ProcKey key{id, ProcRank(proc.launch.rank())};
  ++proc.restarts;
  notes_.add(Subsystem::kErrmgr, 1,
             "job {}: process {} failed, status {}, signal {}, and is started again ({} of {})",
             job.common->nspace(), proc.launch.rank(), proc.exit_code, proc.signal, proc.restarts,
             job.common->max_restarts());
  proc.state = ProcState::kInit;
  proc.pid = 0;
  proc.exited = false;
  proc.exit_code = proc.signal = 0;
  for (auto& stream : proc.streams) stream.open = true;
  proc.streams[wire::STDERR].open = !job.common->merge_output();
  out_.emplace_back(ForgetProc{key});
  auto spawn = spawn_request(id, job, proc);
  spawn.program = program_of(id, job.common->apps(static_cast<int>(proc.launch.app())));
  spawn.output_window_bytes = 0;  // what is left of the old one's is granted when it runs
  spawn.wants_input = false;      // the old one may have read it
  spawn.again = true;
  out_.emplace_back(std::move(spawn));
}

void LocalJobs::restarted(JobId id, const Proc& proc) {
  const ProcKey key{id, ProcRank(proc.launch.rank())};
  for (const auto stream : {wire::STDOUT, wire::STDERR}) {
    const Stream& state = proc.streams.at(static_cast<std::size_t>(stream));
    if (!state.open || state.credit <= 0) continue;
    out_.emplace_back(GrantOutput{key, stream, static_cast<std::uint32_t>(state.credit)});
  }
  wire::UpBody body;
  *body.mutable_proc_failed() = report(id, proc);
  head_.send_to_head(std::move(body), {});
}

}  // namespace tide::core
