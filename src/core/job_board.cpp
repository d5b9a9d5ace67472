// Submission and the state machine of jobs.
#include "core/job_board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/check.hpp"
#include "core/placing.hpp"
#include "core/pmix_words.hpp"
#include "say/campaigns.hpp"
#include "say/debugging.hpp"
#include "say/reservations.hpp"
#include "say/running.hpp"
#include "wire/exit_status.hpp"
#include "wire/limits.hpp"

namespace tide::core {

namespace {

constexpr std::size_t kBufferPerJobBytes = std::size_t{64} << 20U;
constexpr std::size_t kLeastWindowBytes = 8192;  // a reader gives credit back in smaller pieces

}  // namespace

JobBoard::JobBoard(JobBoardConfig config, Roster& roster, Sessions& sessions, DaemonPort& daemons,
                   TimerBook& timers, EventLog& events, Actions& out)
    : config_(std::move(config)),
      roster_(roster),
      sessions_(sessions),
      daemons_(daemons),
      timers_(timers),
      events_(events),
      out_(out),
      notes_(out, config_.verbosity),
      files_(config_.files, config_.verbosity, roster, daemons, timers, *this, out) {}

Status JobBoard::check_spec(const wire::JobSpec& spec) {
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
  if (spec.runtime().stop_at() != wire::STOP_NOWHERE && spec.runtime().max_restarts() > 0) {
    return say::job_held_and_restarted();
  }
  if (!spec.beside().empty() && (spec.apps_size() != 1 || spec.per_node() == 0)) {
    return say::beside_without_number();
  }
  if (total > kMaxProcessesPerJob) return say::job_too_large(total, kMaxProcessesPerJob);
  return check_files(spec);
}

JobBoard::Job* JobBoard::find(JobId id) {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

JobBoard::Job* JobBoard::find(const wire::JobRef& ref) {
  if (ref.ref_case() == wire::JobRef::kNumber) return find(JobId(ref.number()));
  return find_nspace(ref.nspace());
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
  auto sessions = sessions_.targets(
      {.nspace = sessions_.user(), .by_tool = true, .by_command = true}, spec.targets());
  if (acceptable && !sessions) acceptable = sessions.error();
  if (!acceptable) {
    wire::ClientReply refusal;
    refusal.set_request(request);
    refusal.mutable_error()->set_code(static_cast<std::uint32_t>(acceptable.error().code));
    refusal.mutable_error()->set_message(acceptable.error().message);
    out_.emplace_back(Reply{client, std::move(refusal), {}});
    return;
  }
  ++unended_[client];
  Job& job = open_job(std::move(spec), {}, std::move(*sessions));
  job.owner = client;
  job.request = request;
  notes_.add(Subsystem::kPlm, 1, "job {}: request {} of client {}", job.nspace,
             job.spec.correlation(), client.value());
  const JobId id = job.id;
  note_passage(job, "submitted");
  enter(job);
  run_transitions();
  if (Job* living = find(id)) let_go_of_client(*living);
}

JobBoard::Job& JobBoard::open_job(wire::JobSpec spec, const wire::ProcName& parent,
                                  std::set<std::string> sessions) {
  const JobId id{next_job_++};
  Job& job = jobs_[id];
  job.id = id;
  job.nspace = fmt::format("{}@{}", config_.dvm_id, id.value());
  job.spec = std::move(spec);
  job.parent = parent;
  job.aimed = job.spec.has_targets();
  job.sessions = std::move(sessions);
  job.submitted_ms = now_ms_;
  sessions_.on_job(job.nspace, parent.nspace(), job.sessions);
  return job;
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
    note_passage(*job, next.cause);
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
    case JobState::kDaemonsLaunched:
      return await_daemons(job);
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
    case JobState::kStarted:
      notify_event(job, kEventJobStart);
      return check_complete(job);
    case JobState::kRunning:
      timers_.cancel(TimerKind::kSpawnTimeout, job.id.value());
      answer_spawner(job);
      return check_complete(job);
    case JobState::kRegistered:
      job.was_registered = true;
      return check_complete(job);
    case JobState::kReadyForDebug:
      return tell_that_it_is_held(job);
    case JobState::kWaitingForDaemons:
      return;  // until end_change()
    case JobState::kTerminated:
      return wrap_up(job);
    case JobState::kNotifyCompleted:
      return notify_owner(job);
    case JobState::kNotified:
      return clean_up(job);
    default:
      return check_complete(job);  // the errors: is it over?
  }
}

void JobBoard::request_allocation(const Job& job) {
  go(job, JobState::kAllocate, "a job may bring nodes of its own");
}

void JobBoard::allocate(Job& job) {
  const bool asks = !job.spec.add_hosts().empty() || job.spec.has_activate();
  if (asks && !job.spec.runtime().do_not_launch()) return daemons_.extend_for(job.id);
  check_hosts(job);
}

namespace {

// To a job a node of another session is not there; to whoever named it, it is.
std::optional<std::string> named_elsewhere(const wire::JobSpec& spec, const Roster& roster,
                                           const std::set<std::string>& sessions) {
  for (const auto& app : spec.apps()) {
    for (const auto* hosts : {&app.hostfile(), &app.hosts()}) {
      for (const auto& host : *hosts) {
        const Node* node = host.excluded() ? nullptr : roster.find(host.node());
        if (node == nullptr || !node->is_up() || sessions.contains(node->session)) continue;
        return say::node_is_of_another_session(node->name, node->session);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void JobBoard::check_hosts(Job& job) {
  if (names_hosts(job.spec)) {
    wire::JobSpec chosen = job.spec;
    const auto there = choose_nodes(chosen, nodes_to_map(job), Suspects::kAlways);
    if (!there) {
      return fail(
          job, JobState::kAllocFailed, kExitMapFailed,
          named_elsewhere(job.spec, roster_, sessions_of(job)).value_or(there.error().message), 0);
    }
  }
  go(job, JobState::kAllocationComplete, "the DVM's nodes");
}

void JobBoard::choose_daemons(const Job& job) {
  if (job.spec.runtime().do_not_launch()) {
    return go(job, JobState::kDaemonsReported, "only its map is wanted");
  }
  go(job, JobState::kLaunchDaemons, "allocated");
}

// row:L5 every node of the DVM has its daemon
void JobBoard::local_launch_daemons(const Job& job) {
  if (!job.awaited_grows.empty()) {
    return go(job, JobState::kDaemonsLaunched, "the DVM grows by what it asked for");
  }
  go(job, JobState::kDaemonsReported, "no new daemon is needed");
}

// They were set when the daemon reported.
void JobBoard::set_slots(const Job& job) {
  go(job, JobState::kVmReady, "slots are set");
}

void JobBoard::setup_job(Job& job) {
  wire::ClientReply accepted;
  accepted.mutable_accepted()->set_job(job.id.value());
  accepted.mutable_accepted()->set_nspace(job.nspace);
  if (const Job* parent = find_nspace(job.parent.nspace())) {
    accepted.mutable_accepted()->set_parent(parent->id.value());
  }
  reply(job, std::move(accepted));
  if (job.spec.timeout_ms() > 0) {
    out_.emplace_back(timers_.arm(TimerKind::kJobTimeout, job.spec.timeout_ms(), job.id.value()));
  }
  if (const auto limit_ms = job.spec.runtime().spawn_timeout_ms(); limit_ms > 0) {
    out_.emplace_back(timers_.arm(TimerKind::kSpawnTimeout, limit_ms, job.id.value()));
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
    run_transitions();  // one by one: the next must see the slots that this one takes
  }
}

void JobBoard::map_undecided_jobs() {
  for (const JobId id : std::exchange(undecided_, {})) {
    Job* job = find(id);
    if (job != nullptr && job->state == JobState::kMap) map_job(*job);
    run_transitions();
  }
}

// row:R1 what it has from its parent may be over; then it is one of the default session
std::set<std::string> JobBoard::sessions_of(const Job& job) const {
  auto there = sessions_.existing(job.sessions);
  if (there.empty() && !job.aimed) there.insert(kDefaultSession);
  return there;
}

// row:R7
std::vector<MapNode> JobBoard::nodes_to_map(const Job& job) const {
  const bool by_name = names_hosts(job.spec);  // else it needs none, and there may be very many
  const auto sessions = sessions_of(job);
  std::vector<MapNode> nodes;
  for (const auto& [rank, node] : roster_.nodes()) {
    if (!node.is_up()) continue;
    if (!sessions.contains(node.session)) continue;
    nodes.push_back(MapNode{rank, node.name, node.slots, node.used, node.slot_source,
                            node.max_slots, node.state == NodeState::kSuspect,
                            by_name ? node.aliases : std::vector<std::string>()});
  }
  return nodes;
}

void JobBoard::map_job(Job& job) {
  if (!(job.spec.beside().empty() ? place_on_nodes(job) : place_beside(job))) return;
  if (!has_its_files(job)) return;
  if (job.spec.stdin_rank() >= static_cast<std::int64_t>(job.placements.size())) {
    fail(job, JobState::kMapFailed, kExitMapFailed,
         say::no_process_for_stdin(job.spec.stdin_rank(), job.placements.size()), 0);
    return;
  }
  go(job, JobState::kMapComplete, fmt::format("{} processes placed", job.placements.size()));
}

// False: it has failed, or waits.
bool JobBoard::place_on_nodes(Job& job) {
  auto nodes = nodes_to_map(job);
  if (files_.knows(job.id)) {  // a node that has joined since has none of them
    std::erase_if(nodes, [&](const MapNode& node) { return !files_.has_all(job.id, node.rank); });
  }
  auto placing = place_job(job.spec, nodes, Suspects::kIfNamed);
  if (!placing.placed() && !placing.unheard.empty() &&
      place_job(job.spec, nodes, Suspects::kAlways).placed()) {
    // Soon they are either back or lost: a link that broke for a moment must not fail a job.
    notes_.add(Subsystem::kRmaps, 1, "job {}: waits for nodes under suspicion", job.nspace);
    undecided_.push_back(job.id);
    return false;
  }
  if (!placing.placed()) {
    const bool none_now = config_.elastic && nodes.empty();
    fail(job, JobState::kMapFailed, kExitMapFailed,
         sessions_of(job).empty() ? say::reservations_are_over()
         : none_now               ? say::no_nodes_now()
                                  : explain_failure(job.spec, std::move(placing)),
         0);
    return false;
  }
  job.placements = std::move(placing.result.placements);
  return true;
}

void JobBoard::claim_slots(Job& job) {
  show_map(job);
  if (job.spec.runtime().do_not_launch()) {
    return go(job, JobState::kTerminated, "mapped, and not to be launched");
  }
  job.procs.resize(job.placements.size());
  for (const auto& placement : job.placements) {
    job.shares[placement.daemon].ranks.push_back(placement.rank.value());
    notes_.add(Subsystem::kRmaps, 5, "job {}: process {} on node {}", job.nspace,
               placement.rank.value(), roster_.find(placement.daemon)->name);
    if (takes_slots(job)) ++roster_.find(placement.daemon)->used;
  }
  go(job, JobState::kSystemPrep, fmt::format("on {} nodes", job.shares.size()));
}

// The slots once more, and what every process of an app context is given.
void JobBoard::prepare_environment(Job& job) {
  for (const auto& [rank, share] : job.shares) {
    const Node* node = roster_.find(rank);
    if (takes_slots(job) && !job.spec.oversubscribe() && node->used > node->slots) {
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
    launch->set_preloaded(app.preloaded());
    launch->set_in_job_directory(app.in_job_directory());
  }
  for (const auto& placement : job.placements) {
    auto& app = *job.launch->mutable_apps(static_cast<int>(placement.app));
    if (app.size() == 0) app.set_first_rank(placement.rank.value());
    app.set_size(app.size() + 1);
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
  if (is_held_before_launch(job)) return;
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
  launch.set_universe_size(roster_.total_slots());
  launch.set_parent_nspace(job.parent.nspace());
  launch.set_parent_rank(job.parent.rank());
  launch.set_has_directory(brings_files(job.spec));
  const auto& runtime = job.spec.runtime();
  launch.set_report_each_failure(runtime.recoverable() || runtime.nonzero_is_no_error());
  launch.set_max_restarts(runtime.max_restarts());
  launch.set_ompi_variables(job.spec.ompi_variables());
  launch.set_stop_at(runtime.stop_at());
  launch.set_beside(job.spec.beside());
  if (config_.launch_with_map) {
    std::string cpuset;  // of the one before: most nodes are alike
    for (auto& host : where_processes_are(job)) {
      const Node* node = roster_.find(Rank(host.daemon()));
      const auto& own = node == nullptr ? cpuset : node->report.topology().cpuset();
      if (own != cpuset) host.set_cpuset(cpuset = own);
      *launch.add_hosts() = std::move(host);
    }
  }
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
  // What is common to all and what is for one may each have half of a message.
  std::size_t bytes = job.launch->ByteSizeLong();
  for (const auto& [rank, body] : slices) bytes = std::max(bytes, body.ByteSizeLong());
  if (bytes > config_.message_limit / 2) {
    const auto why = say::launch_too_large(bytes, config_.message_limit / 2);
    return fail(job, JobState::kCannotLaunch, kExitJobFailed, why, 0);
  }
  DaemonPort::Slices list;
  list.reserve(slices.size());
  for (auto& [rank, body] : slices) list.emplace_back(rank, std::move(body));
  job.scattered = true;
  ++launches_;
  sessions_.on_job_launched(job.nspace, sessions_of(job));
  daemons_.scatter(std::move(list), job.launch, {});
}

void JobBoard::wrap_up(Job& job) {
  if (job.restarts > 0) job.messages.push_back(say::processes_restarted(job.nspace, job.restarts));
  if (job.tolerated) {
    job.exit_status = job.tolerated;
    if (job.more_tolerated > 0) {
      job.messages.push_back(say::more_processes_failed(job.nspace, job.more_tolerated));
    }
  }
  go(job, JobState::kNotifyCompleted, "nothing of it is left");
}

void JobBoard::notify_owner(Job& job) {
  timers_.cancel(TimerKind::kJobTimeout, job.id.value());
  timers_.cancel(TimerKind::kSpawnTimeout, job.id.value());
  wire::ClientReply ended;
  auto* body = ended.mutable_ended();
  body->set_job(job.id.value());
  body->set_state(static_cast<std::uint32_t>(job.end_state));
  body->set_exit_status(job.exit_status.value_or(kExitSuccess));
  for (const auto& message : job.messages) body->add_messages(message);
  reply(job, std::move(ended));
  answer_spawner(job);
  notify_event(job, kEventJobEnd);
  go(job, JobState::kNotified,
     job.owner || job.notify ? "the owner was told" : "nobody is left to tell");
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
  note_past(job);
  for (const auto& pusher : job.pushers) {
    answer(daemons_, pusher, say::job_reads_no_more(job.nspace));
  }
  const JobId id = job.id;
  const std::string nspace = job.nspace;
  jobs_.erase(id);
  daemons_.on_job_gone(nspace);
}

}  // namespace tide::core
