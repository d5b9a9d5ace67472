// The processes of jobs, one row each, in answers of bounded size.
#include <algorithm>
#include <utility>

#include "core/job_board.hpp"
#include "say/watching.hpp"

namespace tide::core {

namespace {

constexpr std::size_t kRowsPerAnswer = 2000;
constexpr std::size_t kJobsPerAnswer = 500;

// Of a job that has ended: these rows of what was kept, with the names they need.
void copy_rows(const wire::JobProcs& all, std::uint32_t first, wire::JobProcs& out) {
  out.set_number(all.number());
  out.set_nspace(all.nspace());
  out.set_ended(true);
  *out.mutable_nodes() = all.nodes();
  *out.mutable_states() = all.states();
  if (first >= static_cast<std::uint32_t>(all.rows_size())) return;
  const int last = static_cast<int>(
      std::min<std::size_t>(std::size_t{first} + kRowsPerAnswer, std::size_t(all.rows_size())));
  for (int row = static_cast<int>(first); row < last; ++row) *out.add_rows() = all.rows(row);
}

}  // namespace

// As daemons have reported them.
void JobBoard::list_processes(const Job& job, std::uint32_t first, std::size_t most,
                              wire::JobProcs& out) const {
  out.set_number(job.id.value());
  out.set_nspace(job.nspace);
  std::map<Rank, std::uint32_t> places;
  std::map<ProcState, std::uint32_t> states;
  const std::size_t last = std::min(job.procs.size(), first + most);
  for (std::size_t rank = first; rank < last; ++rank) {
    const Rank daemon = job.placements[rank].daemon;
    const auto [place, fresh] = places.emplace(daemon, static_cast<std::uint32_t>(places.size()));
    if (fresh) out.add_nodes(node_name(job, daemon));
    const Proc& proc = job.procs[rank];
    const auto share = job.shares.find(daemon);
    // Who has called PMIx_Init is known by node: when all there have.
    const bool registered =
        share != job.shares.end() && share->second.registered && proc.state == ProcState::kRunning;
    const ProcState shown = registered ? ProcState::kRegistered : proc.state;
    const auto [state, unnamed] = states.emplace(shown, static_cast<std::uint32_t>(states.size()));
    if (unnamed) out.add_states(std::string(proc_state_name(shown)));
    auto* row = out.add_rows();
    row->set_rank(static_cast<std::uint32_t>(rank));
    row->set_node(place->second);
    row->set_pid(proc.pid);
    row->set_state(state->second);
    row->set_ended(!is_alive(shown));
    row->set_exit_code(proc.exit_code);
    row->set_signal(proc.signal);
  }
}

Result<wire::ProcsReply> JobBoard::processes(const wire::ProcsQuery& query) const {
  const bool one = query.has_job();
  const bool by_name = query.job().ref_case() == wire::JobRef::kNspace;
  const Job* named = by_name ? find_nspace(query.job().nspace()) : nullptr;
  const JobId wanted = by_name ? (named == nullptr ? JobId(0) : named->id)
                               : JobId(one ? query.job().number() : query.first_job());
  wire::ProcsReply out;
  std::size_t rows = 0;
  auto at = jobs_.lower_bound(wanted);
  if (one && (at == jobs_.end() || at->first != wanted)) return past_processes(query);
  for (; at != jobs_.end() && (!one || at->first == wanted); ++at) {
    const bool resumed = at->first == JobId(query.first_job());
    const std::uint32_t first = resumed ? query.first_rank() : 0;
    auto& list = *out.add_jobs();
    list_processes(at->second, first, kRowsPerAnswer - rows, list);
    rows += static_cast<std::size_t>(list.rows_size());
    const bool whole = first + std::size_t(list.rows_size()) >= at->second.procs.size();
    const bool last = one || std::next(at) == jobs_.end();
    const bool full = rows >= kRowsPerAnswer || std::size_t(out.jobs_size()) >= kJobsPerAnswer;
    if (whole && (last || !full)) continue;
    out.set_more(true);
    out.set_next_job(whole ? std::next(at)->first.value() : at->first.value());
    out.set_next_rank(whole ? 0 : first + static_cast<std::uint32_t>(list.rows_size()));
    break;
  }
  return out;
}

Result<wire::ProcsReply> JobBoard::past_processes(const wire::ProcsQuery& query) const {
  const wire::JobStatus* status = find_past(query.job());
  if (status == nullptr) return unknown_job(query.job());
  const auto past = past_.find(JobId(status->number()));
  wire::JobProcs all;
  if (past != past_.end()) all.ParseFromString(past->second.processes);
  if (all.rows_size() == 0 && status->processes() > 0) {
    return say::processes_forgotten(std::to_string(status->number()));
  }
  all.set_number(status->number());
  all.set_nspace(status->nspace());
  wire::ProcsReply out;
  copy_rows(all, query.first_rank(), *out.add_jobs());
  const auto next = query.first_rank() + static_cast<std::uint32_t>(out.jobs(0).rows_size());
  out.set_more(next < static_cast<std::uint32_t>(all.rows_size()));
  out.set_next_job(status->number());
  out.set_next_rank(next);
  return out;
}

}  // namespace tide::core
