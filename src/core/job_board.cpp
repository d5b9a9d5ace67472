// Submission and the state machine of jobs.
#include "core/job_board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/check.hpp"
#include "core/slot_advice.hpp"
#include "wire/exit_status.hpp"
#include "wire/limits.hpp"

namespace tide::core {

namespace {

constexpr std::size_t kBufferPerJobBytes = std::size_t{64} << 20U;
constexpr std::size_t kLeastWindowBytes = 8192;  // a reader gives credit back in smaller pieces

Status check_spec(const wire::JobSpec& spec) {
  if (spec.apps().empty()) return say::job_without_program();
  std::uint64_t total = 0;
  for (const auto& app : spec.apps()) {
    if (app.argv().empty() || app.argv(0).empty()) return say::job_without_program();
    total += app.processes();
    for (const auto& directive : app.environment()) {
      if (directive.name().empty() || directive.name().find('=') != std::string::npos) {
        return say::job_with_bad_variable(directive.name());
      }
    }
  }
  if (total > kMaxProcessesPerJob) return say::job_too_large(total, kMaxProcessesPerJob);
  return ok_status();
}

bool names_host(const wire::JobSpec& spec, const std::string& node) {
  return std::any_of(spec.apps().begin(), spec.apps().end(), [&](const wire::AppSpec& app) {
    return std::any_of(app.hosts().begin(), app.hosts().end(),
                       [&](const wire::HostRequest& host) { return host.node() == node; });
  });
}

}  // namespace

JobBoard::JobBoard(JobBoardConfig config, Roster& roster, DaemonPort& daemons, TimerBook& timers,
                   Actions& out)
    : config_(std::move(config)),
      roster_(roster),
      daemons_(daemons),
      timers_(timers),
      out_(out),
      notes_(out, config_.verbosity) {}

JobBoard::Job* JobBoard::find(JobId id) {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

JobBoard::Job* JobBoard::find(const wire::JobRef& ref) {
  if (ref.ref_case() == wire::JobRef::kNumber) return find(JobId(ref.number()));
  for (auto& [id, job] : jobs_) {
    if (job.nspace == ref.nspace()) return &job;
  }
  return nullptr;
}

void JobBoard::reply(const Job& job, wire::ClientReply reply, Bytes payload) {
  if (!job.owner) return;
  reply.set_request(job.request);
  out_.emplace_back(Reply{*job.owner, std::move(reply), std::move(payload)});
}

void JobBoard::submit(ClientId client, std::uint32_t request, wire::JobSpec spec) {
  Status acceptable = check_spec(spec);
  const auto jobs = unended_.find(client);
  if (acceptable && jobs != unended_.end() && jobs->second >= kMaxJobsPerClient) {
    acceptable = say::too_many_jobs_of_client(jobs->second);
  }
  if (!acceptable) {
    wire::ClientReply refusal;
    refusal.set_request(request);
    refusal.mutable_error()->set_code(static_cast<std::uint32_t>(acceptable.error().code));
    refusal.mutable_error()->set_message(acceptable.error().message);
    out_.emplace_back(Reply{client, std::move(refusal), {}});
    return;
  }
  ++unended_[client];
  const JobId id{next_job_++};
  Job& job = jobs_[id];
  job.id = id;
  job.nspace = fmt::format("{}@{}", config_.dvm_id, id.value());
  job.owner = client;
  job.request = request;
  job.spec = std::move(spec);
  job.submitted_ms = now_ms_;
  notes_.add(Subsystem::kPlm, 1, "job {}: request {} of client {}", job.nspace,
             job.spec.correlation(), client.value());
  enter(job);
  run_transitions();
}

// ---- the state machine ----

void JobBoard::go(const Job& job, JobState state, std::string cause) {
  transitions_.push_back(Transition{job.id, state, std::move(cause)});
}

void JobBoard::run_transitions() {
  if (running_transitions_) return;
  running_transitions_ = true;
  while (!transitions_.empty()) {
    const Transition next = std::move(transitions_.front());
    transitions_.pop_front();
    Job* job = find(next.job);
    // A job that failed meanwhile does not go on: its pending steps are void.
    if (job == nullptr || !job_may_go(job->state, next.state)) continue;
    notes_.add(Subsystem::kState, 1, "job {}: {} -> {} ({})", job->nspace,
               job_state_name(job->state), job_state_name(next.state), next.cause);
    job->state = next.state;
    enter(*job);
  }
  running_transitions_ = false;
}

void JobBoard::enter(Job& job) {
  switch (job.state) {
    case JobState::kInit:
      return setup_job(job);
    case JobState::kInitComplete:
      return request_allocation(job);
    case JobState::kAllocate:
      return allocate(job);
    case JobState::kAllocationComplete:
      return choose_daemons(job);
    case JobState::kLaunchDaemons:
      return local_launch_daemons(job);
    case JobState::kDaemonsReported:
      return set_slots(job);
    case JobState::kVmReady:
      return admit_to_mapping(job);
    case JobState::kMap:
      return map_job(job);
    case JobState::kMapComplete:
      return claim_slots(job);
    case JobState::kSystemPrep:
      return prepare_environment(job);
    case JobState::kLaunchApps:
      return assemble_launch(job);
    case JobState::kSendLaunchMsg:
      return scatter_launch(job);
    case JobState::kTerminated:
      return wrap_up(job);
    case JobState::kNotifyCompleted:
      return notify_owner(job);
    case JobState::kNotified:
      return clean_up(job);
    default:
      return check_complete(job);  // STARTED, RUNNING and the errors: is it over?
  }
}

void JobBoard::request_allocation(const Job& job) {
  go(job, JobState::kAllocate, "a job may bring nodes of its own");
}

void JobBoard::allocate(const Job& job) {
  go(job, JobState::kAllocationComplete, "the DVM's nodes");
}

void JobBoard::choose_daemons(const Job& job) {
  go(job, JobState::kLaunchDaemons, "allocated");
}

// Every node of the DVM has its daemon.
void JobBoard::local_launch_daemons(const Job& job) {
  go(job, JobState::kDaemonsReported, "no new daemon is needed");
}

// They were set when the daemon reported.
void JobBoard::set_slots(const Job& job) {
  go(job, JobState::kVmReady, "slots are set");
}

void JobBoard::admit_to_mapping(const Job& job) {
  go(job, JobState::kMap, "admitted");
}

void JobBoard::setup_job(Job& job) {
  wire::ClientReply accepted;
  accepted.mutable_accepted()->set_job(job.id.value());
  accepted.mutable_accepted()->set_nspace(job.nspace);
  reply(job, std::move(accepted));
  if (job.spec.timeout_ms() > 0) {
    out_.emplace_back(timers_.arm(TimerKind::kJobTimeout, job.spec.timeout_ms(), job.id.value()));
  }
  if (roster_.ready()) {
    go(job, JobState::kInitComplete, "identified");
  } else {
    early_.push_back(job.id);
  }
}

void JobBoard::release_early_jobs() {
  for (const JobId id : std::exchange(early_, {})) {
    if (const Job* job = find(id)) go(*job, JobState::kInitComplete, "the DVM is ready");
  }
  run_transitions();
}

void JobBoard::map_undecided_jobs() {
  for (const JobId id : std::exchange(undecided_, {})) {
    Job* job = find(id);
    if (job != nullptr && job->state == JobState::kMap) map_job(*job);
  }
  run_transitions();
}

void JobBoard::map_job(Job& job) {
  std::vector<MapNode> candidates;
  std::vector<MapNode> with_doubtful;
  std::vector<std::string> unheard;
  for (const auto& [rank, node] : roster_.nodes()) {
    // A suspected node gets nothing that could go elsewhere, and stays a node for whoever names it.
    const bool named = node.state == NodeState::kSuspect && names_host(job.spec, node.name);
    with_doubtful.push_back(MapNode{rank, node.name, node.slots, node.used, node.slot_source});
    if (node.state == NodeState::kUp || named) {
      candidates.push_back(with_doubtful.back());
    } else if (node.state == NodeState::kSuspect) {
      unheard.push_back(node.name);
    }
  }
  auto result = core::map_job(job.spec, candidates);
  const bool failed = result.verdict != MapVerdict::kPlaced;
  if (failed && !unheard.empty() &&
      core::map_job(job.spec, with_doubtful).verdict == MapVerdict::kPlaced) {
    // Soon they are either back or lost: a link that broke for a moment must not fail a job.
    notes_.add(Subsystem::kRmaps, 1, "job {}: waits for nodes under suspicion", job.nspace);
    undecided_.push_back(job.id);
    return;
  }
  if (failed) {
    auto reason = explain_map_failure(job.spec, candidates, *result.failure, std::move(unheard));
    fail(job, JobState::kMapFailed, kExitMapFailed, reason, 0);
    return;
  }
  job.placements = std::move(result.placements);
  if (job.spec.stdin_rank() >= static_cast<std::int64_t>(job.placements.size())) {
    fail(job, JobState::kMapFailed, kExitMapFailed,
         say::no_process_for_stdin(job.spec.stdin_rank(), job.placements.size()), 0);
    return;
  }
  go(job, JobState::kMapComplete, fmt::format("{} processes placed", job.placements.size()));
}

void JobBoard::claim_slots(Job& job) {
  job.procs.resize(job.placements.size());
  for (const auto& placement : job.placements) {
    job.shares[placement.daemon].ranks.push_back(placement.rank.value());
    notes_.add(Subsystem::kRmaps, 5, "job {}: process {} on node {}", job.nspace,
               placement.rank.value(), roster_.find(placement.daemon)->name);
    ++roster_.find(placement.daemon)->used;
  }
  go(job, JobState::kSystemPrep, fmt::format("on {} nodes", job.shares.size()));
}

// The slots once more, and what every process of an app context is given.
void JobBoard::prepare_environment(Job& job) {
  for (const auto& [rank, share] : job.shares) {
    const Node* node = roster_.find(rank);
    if (!job.spec.oversubscribe() && node->used > node->slots) {
      fail(job, JobState::kCannotLaunch, kExitMapFailed,
           say::node_is_too_full(node->name, node->slots, node->used), 0);
      return;
    }
  }
  job.launch = std::make_shared<wire::LaunchCommon>();
  for (const auto& app : job.spec.apps()) {
    auto* launch = job.launch->add_apps();
    *launch->mutable_argv() = app.argv();
    *launch->mutable_environment() = app.environment();
    launch->set_working_directory(app.working_directory());
  }
  go(job, JobState::kLaunchApps, "prepared");
}

// The windows of all streams together bound what the head keeps for a client that does not read.
std::uint32_t JobBoard::window_for(std::size_t processes) const {
  const auto share = kBufferPerJobBytes / (2 * std::max<std::size_t>(processes, 1));
  const auto least = std::min<std::size_t>(kLeastWindowBytes, config_.stream_window_bytes);
  return static_cast<std::uint32_t>(
      std::clamp<std::size_t>(share, least, config_.stream_window_bytes));
}

void JobBoard::assemble_launch(Job& job) {
  auto& launch = *job.launch;
  launch.set_job(job.id.value());
  launch.set_attempt(1);
  launch.set_nspace(job.nspace);
  launch.set_correlation(job.spec.correlation());
  launch.set_mapped_at(roster_.serial().value());
  launch.set_size(static_cast<std::uint32_t>(job.placements.size()));
  launch.set_stdin_rank(job.spec.stdin_rank());
  launch.set_merge_output(job.spec.merge_output());
  launch.set_window_bytes(window_for(job.placements.size()));
  RankSet participants;
  for (const auto& [rank, share] : job.shares) participants.insert(rank);
  launch.set_participants(participants.to_wire().SerializeAsString());
  go(job, JobState::kSendLaunchMsg, fmt::format("for {} daemons", job.shares.size()));
}

void JobBoard::scatter_launch(Job& job) {
  std::map<Rank, wire::DownBody> slices;
  for (const auto& placement : job.placements) {
    auto* slice = slices[placement.daemon].mutable_launch();
    slice->set_job(job.id.value());
    slice->set_attempt(job.launch->attempt());
    auto* proc = slice->add_procs();
    proc->set_rank(placement.rank.value());
    proc->set_app(placement.app);
    proc->set_local_rank(placement.local_rank);
  }
  DaemonPort::Slices list;
  list.reserve(slices.size());
  for (auto& [rank, body] : slices) list.emplace_back(rank, std::move(body));
  job.scattered = true;
  daemons_.scatter(std::move(list), job.launch, {});
}

void JobBoard::wrap_up(const Job& job) {
  go(job, JobState::kNotifyCompleted, "nothing of it is left");
}

void JobBoard::notify_owner(Job& job) {
  timers_.cancel(TimerKind::kJobTimeout, job.id.value());
  wire::ClientReply ended;
  auto* body = ended.mutable_ended();
  body->set_job(job.id.value());
  body->set_state(static_cast<std::uint32_t>(job.end_state));
  body->set_exit_status(job.exit_status.value_or(kExitSuccess));
  for (const auto& message : job.messages) body->add_messages(message);
  reply(job, std::move(ended));
  go(job, JobState::kNotified, job.owner ? "the owner was told" : "nobody is left to tell");
}

void JobBoard::clean_up(const Job& job) {
  DaemonPort::Slices list;
  for (const auto& [rank, share] : job.shares) {
    wire::DownBody body;
    body.mutable_forget()->set_job(job.id.value());
    if (job.scattered && roster_.find(rank) != nullptr) list.emplace_back(rank, std::move(body));
  }
  if (!list.empty()) daemons_.scatter(std::move(list), nullptr, {});
  if (const auto jobs = job.owner ? unended_.find(*job.owner) : unended_.end();
      jobs != unended_.end() && --jobs->second == 0) {
    unended_.erase(jobs);
  }
  auto status = status_of(job, now_ms_);
  status.set_ended(true);
  history_.push_back(std::move(status));
  while (history_.size() > config_.history_jobs) history_.pop_front();
  const JobId id = job.id;
  jobs_.erase(id);
}

}  // namespace tide::core
