// Jobs while the DVM changes its size: held at one of two places, mapped anew, given up.
#include <algorithm>
#include <csignal>
#include <utility>

#include "core/job_board.hpp"
#include "say/elastic.hpp"
#include "wire/exit_status.hpp"

namespace tide::core {

// row:E2 row:E9 before its files are staged: a held job has nothing anywhere
bool JobBoard::is_held_before_map(const Job& job) {
  if (!fence_.holds_mapping()) return false;
  fence_.park_before_map(job.id);
  ++held_;
  go(job, JobState::kWaitingForDaemons, "the DVM changes its size");
  return true;
}

// row:E10 a grow does not hold it here
bool JobBoard::is_held_before_launch(const Job& job) {
  if (!fence_.holds_launch()) return false;
  fence_.park_before_launch(job.id);
  ++held_;
  go(job, JobState::kWaitingForDaemons, "the DVM shrinks");
  return true;
}

// ---- jobs that ask for nodes ----

const wire::JobSpec* JobBoard::waiting_for_nodes(JobId id) const {
  const auto job = jobs_.find(id);
  const bool waits =
      job != jobs_.end() && job->second.state == JobState::kAllocate && !job->second.exit_status;
  return waits ? &job->second.spec : nullptr;
}

// What it names as its hosts can be looked for at once if no other nodes are to come.
void JobBoard::on_extended(JobId id, std::set<CampaignId> grows) {
  Job* job = find(id);
  if (job == nullptr) return;
  job->awaited_grows = std::move(grows);
  if (job->awaited_grows.empty()) {
    check_hosts(*job);
  } else {
    go(*job, JobState::kAllocationComplete, "nodes are granted");
  }
  run_transitions();
}

void JobBoard::on_not_extended(JobId id, const Error& why) {
  Job* job = find(id);
  if (job == nullptr) return;
  fail(*job, JobState::kAllocFailed, kExitMapFailed,
       say::job_gets_no_nodes(job->nspace, why.message), 0);
  run_transitions();
}

// row:E1 where nobody else is held it is not called parked
void JobBoard::await_daemons(const Job& job) {
  if (!fence_.holds_mapping()) return fence_.hold_alone(job.id, job.awaited_grows);
  fence_.park_before_map(job.id, job.awaited_grows);
  ++held_;
  go(job, JobState::kWaitingForDaemons, "the DVM grows for it");
}

// ---- the end of a change ----

bool JobBoard::keeps_its_map(JobId id) const {
  const auto job = jobs_.find(id);
  return job != jobs_.end() && std::ranges::all_of(job->second.shares, [this](const auto& entry) {
           const auto node = roster_.nodes().find(entry.first);
           return node != roster_.nodes().end() && node->second.is_up();
         });
}

void JobBoard::forget_map(Job& job) {
  for (const auto& [rank, share] : job.shares) give_back_slots(job, rank);
  job.shares.clear();
  job.procs.clear();
  job.placements.clear();
  job.launch.reset();
}

void JobBoard::end_change(CampaignId campaign, const std::optional<std::string>& failure) {
  const auto released =
      fence_.close(campaign, failure.has_value(), [this](JobId job) { return keeps_its_map(job); });
  released_ += released.to_launch.size() + released.to_map.size();
  given_up_ += released.given_up.size();
  for (const JobId id : released.to_map_anew) {
    if (Job* job = find(id)) forget_map(*job);
  }
  for (const JobId id : released.given_up) {
    Job* job = find(id);
    if (job == nullptr) continue;
    const bool asked = job->awaited_grows.contains(campaign);
    fail(*job, JobState::kNeverLaunched, kExitJobFailed,
         asked ? say::job_given_up_with_its_nodes(job->nspace, *failure)
               : say::job_given_up_with_grow(job->nspace, say::first_line(*failure)),
         0);
  }
  for (const JobId id : released.extended) {
    Job* job = find(id);
    if (job == nullptr) continue;
    job->awaited_grows.clear();
    go(*job, JobState::kDaemonsReported, "its nodes are there");
    run_transitions();
  }
  for (const JobId id : released.to_launch) {
    if (const Job* job = find(id)) go(*job, JobState::kLaunchApps, "its nodes have stayed");
  }
  run_transitions();
  for (const JobId id : released.to_map) {
    Job* job = find(id);
    if (job == nullptr) continue;
    const bool waited_for_nodes = !std::exchange(job->awaited_grows, {}).empty();
    // One that is mapped anew has its files where they are, and finds its place there.
    const auto next = waited_for_nodes   ? JobState::kDaemonsReported
                      : files_.knows(id) ? JobState::kMap
                                         : JobState::kVmReady;
    go(*job, next, "the DVM has its new size");
    run_transitions();  // one by one: the next must see the slots that this one takes
  }
}

bool JobBoard::has_something_on(const Job& job, const std::set<Rank>& ranks) {
  return job.scattered && std::ranges::any_of(job.shares, [&](const auto& entry) {
           return ranks.contains(entry.first) && !entry.second.settled();
         });
}

std::size_t JobBoard::note_released(Job& job, const Share& share) {
  std::size_t news = 0;
  for (const auto rank : share.ranks) {
    Proc& proc = job.procs.at(rank);
    if (is_alive(proc.state) && !std::exchange(proc.released, true)) ++news;
  }
  return news;
}

// One that can do without them goes on; of any other nothing is left.
void JobBoard::end_processes_on(const std::set<Rank>& ranks, std::uint32_t grace_ms,
                                const std::string& reason) {
  for (auto& [id, job] : jobs_) {
    if (!has_something_on(job, ranks)) continue;
    std::vector<std::string> names;
    DaemonPort::Slices orders;
    std::size_t news = 0;
    for (const auto& [rank, share] : job.shares) {
      if (!ranks.contains(rank) || share.settled()) continue;
      news += note_released(job, share);
      names.push_back(node_name(job, rank));
      wire::DownBody body;
      body.mutable_signal()->set_job(id.value());
      body.mutable_signal()->set_signal(SIGTERM);
      body.mutable_signal()->set_terminate(true);
      body.mutable_signal()->set_grace_ms(grace_ms);
      orders.emplace_back(rank, std::move(body));
    }
    const auto text = say::node_released_under_job(job.nspace, names, reason);
    if (job.spec.runtime().recoverable() && runs(job)) {
      tolerate(job, kExitNodeLost, text, news);
      daemons_.scatter(std::move(orders), nullptr, {});
    } else {
      job.end_grace_ms = grace_ms;
      fail(job, JobState::kKilledByCmd, kExitNodeLost, text, SIGTERM);
      cut_traces_short(job, SIGTERM);
    }
  }
  run_transitions();
}

std::vector<std::string> JobBoard::jobs_on(const std::set<Rank>& ranks) const {
  std::vector<std::string> out;
  for (const auto& [id, job] : jobs_) {
    if (has_something_on(job, ranks)) out.push_back(job.nspace);
  }
  return out;
}

std::vector<JobBoard::ProcessThere> JobBoard::processes_on(const std::set<Rank>& ranks) const {
  constexpr std::size_t kMost = 256;
  std::vector<ProcessThere> out;
  for (const auto& [id, job] : jobs_) {
    if (!has_something_on(job, ranks)) continue;
    for (const auto& [daemon, share] : job.shares) {
      if (!ranks.contains(daemon)) continue;
      for (const auto rank : share.ranks) {
        const Proc& proc = job.procs.at(rank);
        if (!is_alive(proc.state)) continue;
        out.push_back({id, ProcRank(rank), node_name(job, daemon), proc.pid});
        if (out.size() == kMost) return out;
      }
    }
  }
  return out;
}

}  // namespace tide::core
