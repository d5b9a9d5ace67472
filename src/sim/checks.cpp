#include "sim/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "sim/changes.hpp"
#include "sim/clients.hpp"
#include "sim/processes.hpp"
#include "sim/services.hpp"
#include "sim/staged_files.hpp"
#include "sim/world.hpp"
#include "wire/exit_status.hpp"

namespace tide::sim {

namespace {

// One world in so many is replayed: it costs the copies of all events.
constexpr std::uint64_t kReplayEvery = 8;
// And in one in so many all jobs are explained after every step.
constexpr std::uint64_t kWatchEvery = 4;
// Shorter than the grace of a suspected daemon, with room for a lost packet that is sent again.
constexpr std::uint64_t kHarmlessMs = 2'500;
// Faults that follow each other sooner count as one.
constexpr std::uint64_t kRecoveryMs = 6'000;
// A silent death is noticed after the deadline for silence, and what hung on it has to find its
// way.
constexpr std::uint64_t kUnnoticedMs = 25'000;

// Nothing that could end a job that runs nowhere.
bool is_about_daemons(const core::HeadEvent& event) {
  return std::holds_alternative<core::DaemonExited>(event) ||
         std::holds_alternative<core::DaemonLaunchFailed>(event) ||
         std::holds_alternative<core::ProbeAnswered>(event) ||
         std::holds_alternative<core::LinkDown>(event);
}

// For an owner who waited for a node himself, and ended because that was reserved: so did others.
bool reserved_for_a_moment(const std::vector<SessionSight::News>& news) {
  return std::ranges::any_of(news, [&news](const auto& made) {
    return made.kind == core::EventKind::kAllocationMade &&
           std::ranges::any_of(news, [&made](const auto& ended) {
             return ended.kind == core::EventKind::kAllocationEnded && ended.id == made.id;
           });
  });
}

}  // namespace

Checks::Checks(const World& world)
    : world_(world),
      keep_events_(world.scenario().seed % kReplayEvery == 0),
      watchers_(world.scenario().seed % kWatchEvery == 1),
      sessions_("sim@user", world.scenario().orders_fail()) {}

// ---- every step ----

void Checks::on_head_step(const core::HeadEvent& event, const core::Actions& actions,
                          std::uint64_t now_ms) {
  if (keep_events_) head_events_.emplace_back(event, now_ms);
  if (const auto* gone = std::get_if<core::ClientGone>(&event)) gone_clients_.insert(gone->client);
  for (const auto& action : actions) {
    if (const auto* reply = std::get_if<core::Reply>(&action)) check_addressee(*reply);
    if (const auto* send = std::get_if<core::Send>(&action)) check_launch_data(*send);
    if (const auto* launch = std::get_if<core::LaunchDaemons>(&action))
      check_ranks(launch->targets);
  }
  check_lost_nodes(now_ms);
  check_fence();
  trees_.on_head_step(world_.head().overlay().membership());
  if (world_.scenario().reserves()) {
    const auto* before = sessions_.last();
    sessions_.take(look_at_sessions(world_.head(), event, actions, before, events_seen_),
                   world_.down_requested() || !world_.ready());
    if (reserved_for_a_moment(sessions_.last()->news)) losses_ms_.push_back(now_ms);
  }
  asks_.take(look_at_asks(world_.head(), event, actions, asks_.askers()));
  if (world_.scenario().changes_size()) {
    check_size(event);
    const auto campaigns = world_.head().jobs().fence().campaigns().size();
    const bool fewer = campaigns < std::exchange(campaigns_, campaigns);
    if (fewer || std::holds_alternative<core::ReturnAnswered>(event)) {
      world_.changes().check_told(actions);
    }
  }
  watchers_.on_head_step(world_.head());
}

void Checks::check_addressee(const core::Reply& reply) const {
  if (gone_clients_.contains(reply.client)) {
    throw BrokenPromise("who has left is told nothing",
                        fmt::format("client {}", reply.client.value()));
  }
}

// row:E19 nothing is sent to start on a daemon that is not, or no longer, a full member of the DVM.
// What was sent before may go again to whom it did not reach.
void Checks::check_launch_data(const core::Send& send) {
  if (!send.message.has_down()) return;
  for (const auto& entry : send.message.down().entries()) {
    if (!entry.body().has_launch()) continue;
    const auto job = entry.body().launch().job();
    const Rank rank{entry.destination()};
    if (!launches_.emplace(job, rank).second) continue;
    const auto& nodes = world_.head().roster().nodes();
    const auto node = nodes.find(rank);
    // What found no way before may go out when a node is about to leave, to be ended there.
    const bool fresh = world_.head().jobs().launches() != launched_;
    const bool leaves = node != nodes.end() && node->second.state == core::NodeState::kLeaving;
    const bool fit = node != nodes.end() && (node->second.is_up() || (leaves && !fresh));
    const auto what = fmt::format("job {} to rank {}", job, rank.value());
    if (!fit) throw BrokenPromise("launch data goes to ready daemons only", what);
  }
}

void Checks::check_ranks(const std::vector<core::LaunchTarget>& targets) {
  for (const auto& target : targets) {
    if (!ranks_given_.insert(target.rank).second) {
      throw BrokenPromise("no rank is given out twice",
                          fmt::format("rank {}", target.rank.value()));
    }
    check_ranks(target.below);
  }
}

// row:S5 only who was struck may be lost. Who is about to leave or has not arrived yet may go; jobs
// may suffer from that.
void Checks::check_lost_nodes(std::uint64_t now_ms) {
  const auto& nodes = world_.head().roster().nodes();
  if (nodes.size() == members_.size() && world_.scenario().spares == 0) return;
  std::map<Rank, core::NodeState> now;
  for (const auto& [rank, node] : nodes) now.emplace(rank, node.state);
  for (const auto& [rank, state] : members_) {
    const auto found = now.find(rank);
    const bool was_there = core::is_up(state);
    const bool leaves = found != now.end() && found->second >= core::NodeState::kLeaving;
    if (found == now.end() || (leaves && was_there)) losses_ms_.push_back(now_ms);
    // Nobody sees the end of one on another machine that was started in vain.
    const bool in_vain = found == now.end() && state < core::NodeState::kUp;
    if (in_vain && world_.scenario().far) excused_.insert(rank);
    if (found != now.end() || !was_there) continue;
    // Whoever lost its own link while the way up was dead unnoticed may be given up with it.
    const bool excused = excused_.contains(rank) || now_ms < unsure_until_ms_;
    if (world_.ready() && !excused && !world_.clients().down_requested()) {
      throw BrokenPromise("only who was struck is lost", fmt::format("rank {}", rank.value()));
    }
  }
  const bool anybody = std::ranges::any_of(nodes, [](const auto& entry) {
    return entry.second.is_up() && entry.second.session.empty();
  });
  if (!anybody) losses_ms_.push_back(now_ms);  // a job that comes now finds no place
  members_ = std::move(now);
}

// row:E14 row:E10 nobody waits for nothing, and no job is launched as long as a shrink goes on
// row:E1 in a DVM that is not elastic nobody is held but who asked for nodes
void Checks::check_fence() {
  const auto& jobs = world_.head().jobs();
  if (jobs.fence().parked() > 0 && world_.head().elastic().idle()) {
    throw BrokenPromise("no job is parked without a change", "one is");
  }
  if (!world_.head().elastic().enabled() && (jobs.fence().holds_mapping() || jobs.held() > 0)) {
    throw BrokenPromise("a DVM that is not elastic parks nobody", "it does");
  }
  std::set<CampaignId> shrinks;
  for (const auto& [id, kind] : jobs.fence().campaigns()) {
    if (kind == core::CampaignKind::kShrink) shrinks.insert(id);
  }
  // When one ends jobs are launched, and another one may begin because one of these ends at once.
  const bool goes_on = std::ranges::any_of(
      shrinks, [this](const CampaignId& shrink) { return shrinks_.contains(shrink); });
  shrinks_ = std::move(shrinks);
  if (goes_on && jobs.launches() != launched_) {
    throw BrokenPromise("nothing is launched during a shrink", "a job was");
  }
  launched_ = jobs.launches();
}

// row:E2 row:E9 and what else is promised while the size changes
void Checks::check_size(const core::HeadEvent& event) {
  const auto& head = world_.head();
  const auto& fence = head.jobs().fence();
  const bool changes = !fence.campaigns().empty() || sizes_.last() != nullptr;
  if (!changes || world_.down_requested()) return sizes_.rest();
  Sight now = look_at(head, sizes_.last());
  now.orders_fail = world_.scenario().orders_fail();
  // A tool that is lost with its node takes its jobs along.
  const bool one_less = sizes_.last() != nullptr && now.nodes.size() < sizes_.last()->nodes.size();
  now.of_a_job = !is_about_daemons(event) || (one_less && !world_.scenario().tools.empty());
  now.of_a_loss = !std::holds_alternative<core::DaemonLaunchFailed>(event) &&
                  !std::holds_alternative<core::MessageIn>(event);
  for (auto& [id, job] : now.jobs) {
    if (!job.parked) continue;
    const auto first = launches_.lower_bound({id.value(), kHeadRank});
    job.sent = first != launches_.end() && first->first == id.value();
    job.somewhere = std::ranges::any_of(world_.hosts(), [&, each = id](const auto& entry) {
      const auto& [host, there] = entry;
      return there.alive &&
             (world_.processes().runaways(host, each) > 0 || world_.files().any_of(host, each));
    });
  }
  const bool over = fence.campaigns().empty();
  sizes_.take(std::move(now));
  if (over) sizes_.rest();
}

void Checks::on_daemon_step(HostId host, const core::DaemonEvent& event,
                            const core::Actions& actions) {
  const auto& daemon = world_.hosts().at(host);
  const auto& overlay = daemon.core->overlay();
  trees_.on_daemon_step({.host = host,
                         .rank = daemon.identity.rank,
                         .event = event,
                         .actions = actions,
                         .membership = overlay.membership(),
                         .leaving = overlay.leaving()});
}

// row:L17 when the end of a job is told nothing of it is left on the nodes of the DVM
void Checks::on_job_ended(JobId job) const {
  if (world_.clients().down_requested()) return;  // that waits for nobody for ever
  if (!world_.knows_plan_of(job) || world_.plan_of(job).trouble == Trouble::kUnendable) return;
  for (const auto& [id, host] : world_.hosts()) {
    const auto node = world_.head().roster().nodes().find(host.identity.rank);
    if (!host.alive || node == world_.head().roster().nodes().end()) continue;
    if (node->second.state == core::NodeState::kDeparting) continue;  // and takes all along
    if (world_.processes().runaways(id, job) > 0 || world_.files().any_of(id, job)) {
      throw BrokenPromise("nothing of a job is left when its end is told",
                          fmt::format("job {} on host {}", job.value(), id));
    }
  }
}

void Checks::on_struck(HostId host, std::uint64_t for_ms) {
  const Rank rank = world_.hosts().at(host).identity.rank;
  const auto now_ms = world_.now_ms();
  auto& spell = spells_[rank];
  if (now_ms > spell.second + kRecoveryMs) spell = {now_ms, now_ms};
  spell.second = std::max(spell.second, for_ms == UINT64_MAX ? for_ms : now_ms + for_ms);
  if (spell.second - spell.first < kHarmlessMs) return;
  excused_.insert(rank);
  const auto lasts_ms = for_ms == UINT64_MAX ? 0 : for_ms;
  unsure_until_ms_ = std::max(unsure_until_ms_, now_ms + lasts_ms + kUnnoticedMs);
}

void Checks::on_launch_fault(const Fault& fault) {
  if (fault.kind != FaultKind::kSlowStart) start_may_fail_ = true;
  // The one that shows the ticket first is in; the other ends, and for the launcher that is the
  // daemon. And one that dies when it has reported may be a member by then.
  const bool may_be_lost = fault.kind == FaultKind::kTwin || fault.kind == FaultKind::kDiesReported;
  if (may_be_lost) excused_.insert(Rank(fault.target));
}

// A fault excuses a start that is under way, not one that hangs already.
void Checks::on_fault() {
  last_fault_ms_ = world_.now_ms();
  if (world_.ready() || start_may_fail_) return;
  start_may_fail_ = true;
  if (world_.schedule().under_way() || world_.clients().down_requested()) return;
  throw BrokenPromise("a start without faults succeeds",
                      "nothing is under way and it is not ready");
}

// ---- when nothing happens any more ----

void Checks::when_quiet() {
  check_agreement();
  check_jobs_gone();
  if (world_.clients().kills_unanswered() != 0) {
    throw BrokenPromise("one answer per request",
                        fmt::format("{} kills not answered", world_.clients().kills_unanswered()));
  }
  for (const auto& outcome : world_.clients().outcomes()) check_outcome(outcome);
  for (const auto& [number, outcome] : world_.clients().children()) check_child(outcome);
  world_.services().when_quiet();
  world_.changes().when_quiet();
  asks_.when_quiet();
  check_unchanged();
  watchers_.when_quiet(world_.head());
  if (keep_events_) check_replay();
}

// row:E18 elastic or not: without a change of size nobody is held
void Checks::check_unchanged() const {
  const auto& scenario = world_.scenario();
  const bool changes =
      scenario.changes_size() ||
      std::ranges::any_of(scenario.jobs, [](const auto& job) { return job.adds > 0; });
  if (!changes && world_.head().jobs().held() > 0) {
    throw BrokenPromise("without a change nobody is held", "somebody was");
  }
}

// row:S1 every operation has reached everybody
void Checks::check_agreement() const {
  const auto& head = world_.head().overlay();
  const auto& members = head.membership();
  const auto broken = [](const std::string& what) {
    throw BrokenPromise("membership and tree agree everywhere", what);
  };
  if (head.completed() != members.serial()) broken("an operation is not complete");
  for (const auto& [id, host] : world_.hosts()) {
    if (id == kHeadHost) continue;
    const Rank rank = host.identity.rank;
    if (!host.alive) continue;
    if (!members.has(rank)) broken(fmt::format("rank {} lives and is no member", rank.value()));
    const auto& overlay = host.core->overlay();
    check_same_membership(rank, overlay.membership());
    trees_.check_agreement(id, rank, overlay.membership(), members);
    if (overlay.parent_peer() != members.tree().parent(rank)) {
      broken(fmt::format("rank {} hangs on the wrong parent", rank.value()));
    }
    if (overlay.adopted_children() != members.tree().children(rank)) {
      broken(fmt::format("rank {} has the wrong children", rank.value()));
    }
  }
  members.tree().living().for_each(members.span(), [&](Rank rank) {
    const bool lives = std::ranges::any_of(world_.hosts(), [rank](const auto& entry) {
      return entry.first != kHeadHost && entry.second.alive && entry.second.identity.rank == rank;
    });
    if (!lives && rank != kHeadRank)
      broken(fmt::format("rank {} is a member and dead", rank.value()));
  });
}

// A daemon knows who lives, and of its ancestors (but the head) who they are.
void Checks::check_same_membership(Rank rank, const core::Membership& seen) const {
  const auto broken = [rank](const std::string& what) {
    throw BrokenPromise("membership and tree agree everywhere",
                        fmt::format("rank {} {}", rank.value(), what));
  };
  const auto& members = world_.head().overlay().membership();
  const bool same = seen.serial() == members.serial() && seen.span() == members.span() &&
                    seen.radix() == members.radix() &&
                    seen.tree().living() == members.tree().living();
  if (!same) broken("has another membership");
  for (const Rank ancestor : seen.ancestors()) {
    if (ancestor == kHeadRank) continue;
    const auto* known = seen.contact(ancestor);
    if (known == nullptr || known->incarnation != members.contact(ancestor)->incarnation) {
      broken(fmt::format("does not know its ancestor {}", ancestor.value()));
    }
  }
}

void Checks::check_jobs_gone() const {
  const auto broken = [](const std::string& what) {
    throw BrokenPromise("every job comes to its end", what);
  };
  if (!world_.head().jobs().idle()) broken("the head keeps a job");
  for (const auto& [id, host] : world_.hosts()) {
    if (id == kHeadHost || !host.alive) continue;
    if (host.core->jobs().size() != 0) broken(fmt::format("host {} keeps a job", id));
    if (world_.processes().any_on(id)) broken(fmt::format("host {} has a process", id));
    if (world_.files().any_on(id) || host.core->files().size() != 0) {
      broken(fmt::format("host {} has files of a job", id));
    }
  }
  for (const auto& [rank, node] : world_.head().roster().nodes()) {
    if (node.used != 0)
      broken(fmt::format("{} slots of rank {} are in use", node.used, rank.value()));
    if (node.state != core::NodeState::kUp) broken(fmt::format("rank {} is not up", rank.value()));
  }
}

bool Checks::lost_between(std::uint64_t from_ms, std::uint64_t to_ms) const {
  return std::ranges::any_of(losses_ms_, [&](auto at) { return at >= from_ms && at <= to_ms; });
}

bool Checks::must_succeed(const Outcome& outcome) const {
  const auto& plan = outcome.plan;
  return plan.ends_well() && is_left_alone(outcome);
}

bool Checks::is_left_alone(const Outcome& outcome) const {
  const auto& plan = outcome.plan;
  const bool has_time = plan.timeout_ms == 0 && plan.spawn_timeout_ms == 0 && plan.bad_disks == 0;
  const bool clients = plan.client == ClientHabit::kStays || plan.client == ClientHabit::kSlow;
  const bool may_refuse = world_.changes().ever_refused() || world_.scenario().changes_size();
  const bool refused = plan.adds > 0 && may_refuse;
  return has_time && clients && !refused && !outcome.late && !plan.aimed && !members_.empty() &&
         !lost_between(outcome.submitted_ms, outcome.answered_ms);
}

// row:E21 a job succeeds with all its processes or not at all
void Checks::check_outcome(const Outcome& outcome) const {
  const auto broken = [&](std::string_view promise, const std::string& what) {
    throw BrokenPromise(promise, fmt::format("job {}: {}", outcome.number, what));
  };
  if (outcome.left) return;
  if (outcome.answers != 1) broken("every job comes to its end", "its client was not answered");
  if (!outcome.traces.empty() && outcome.exit_status != kExitTimedOut) {
    broken("only a job whose time is over is looked at", fmt::format("{}", outcome.exit_status));
  }
  if (outcome.exit_status == 0) return check_success(outcome);
  if (outcome.messages.empty()) broken("a failure has a reason", "none was given");
  if (must_succeed(outcome)) broken("a job that nothing happened to succeeds", outcome.messages[0]);
  check_misfit(outcome);
  check_recoverable(outcome);
}

// row:L17 and its status says why
void Checks::check_misfit(const Outcome& outcome) const {
  const Misfit misfit = outcome.plan.misfit;
  if (misfit == Misfit::kNone || !is_left_alone(outcome)) return;
  const int status = misfit == Misfit::kTooLarge ? kExitJobFailed : kExitMapFailed;
  if (outcome.exit_status != status) {
    throw BrokenPromise("a job without a place is told so",
                        fmt::format("job {}: {}", outcome.number, outcome.exit_status));
  }
}

// Without the process that failed it has done all it was to do.
void Checks::check_recoverable(const Outcome& outcome) const {
  const auto& plan = outcome.plan;
  const bool runs = plan.misfit == Misfit::kNone;
  if (!runs || !plan.recoverable || !plan.fails_at_first() || !is_left_alone(outcome)) return;
  const int status = plan.trouble == Trouble::kExitCode ? 3 : 128 + SIGSEGV;
  if (outcome.exit_status != status) {
    throw BrokenPromise("a recoverable job has the status of what failed",
                        fmt::format("job {}: {}", outcome.number, outcome.exit_status));
  }
  for (std::uint32_t rank = 0; rank < plan.processes; ++rank) {
    if (rank != plan.trouble_rank) check_output(outcome, rank);
  }
}

void Checks::check_success(const Outcome& outcome) const {
  const auto broken = [&](const std::string& what) {
    throw BrokenPromise("success means that all went well",
                        fmt::format("job {}: {}", outcome.number, what));
  };
  if (!outcome.plan.ends_well()) broken("a process had not");
  if (!outcome.order_kept) broken("its output came in another order");
  for (std::uint32_t rank = 0; rank < outcome.plan.processes && !outcome.plan.only_map; ++rank) {
    check_output(outcome, rank);
  }
}

void Checks::check_output(const Outcome& outcome, std::uint32_t rank) const {
  const auto broken = [&](const std::string& what) {
    throw BrokenPromise("success means that all went well",
                        fmt::format("job {}: {}", outcome.number, what));
  };
  const core::ProcKey key{JobId(outcome.number), ProcRank(rank)};
  const auto seen = outcome.output_bytes.find(rank);
  const auto bytes = seen == outcome.output_bytes.end() ? 0 : seen->second;
  const auto planned =
      outcome.plan.restarts > 0
          ? world_.processes().written(key)
          : Processes::planned_output(world_.scenario(), outcome.plan, outcome.number, rank);
  if (bytes != planned)
    broken(fmt::format("{} of {} bytes of process {} came", bytes, planned, rank));
  const auto beside = outcome.logged_bytes.find(rank);
  const auto logged = world_.services().logged(key);
  if ((beside == outcome.logged_bytes.end() ? 0 : beside->second) != logged)
    broken(fmt::format("what process {} logged did not come", rank));
}

// It is told of like its parent, and does not outlast a parent that failed.
void Checks::check_child(const Outcome& outcome) const {
  if (outcome.left) return;
  const auto broken = [&](std::string_view promise, const std::string& what) {
    throw BrokenPromise(promise, fmt::format("job {}: {}", outcome.number, what));
  };
  if (outcome.answers != 1) broken("every job comes to its end", "its client was not answered");
  if (outcome.exit_status != 0) {
    if (outcome.messages.empty()) broken("a failure has a reason", "none was given");
    return;
  }
  Outcome with_plan = outcome;
  with_plan.plan = world_.plan_of(JobId(outcome.number));
  check_success(with_plan);
  for (const auto& parent : world_.clients().outcomes()) {
    const bool failed = parent.number == outcome.parent && parent.exit_status != 0;
    if (failed && parent.answers > 0 && parent.answered_ms < outcome.answered_ms)
      broken("what a failed job spawned ends with it", "it went on");
  }
}

// The door to a head that survives its own crash.
void Checks::check_replay() const {
  core::HeadCore again(head_config(world_.scenario(), false));
  std::uint64_t now_ms = 0;
  for (const auto& [event, at_ms] : head_events_) {
    again.on(event, at_ms);
    now_ms = at_ms;
  }
  if (again.status(1000, now_ms).SerializeAsString() !=
      world_.head().status(1000, now_ms).SerializeAsString()) {
    throw BrokenPromise("replaying the head's events gives an equal state", "it does not");
  }
}

void Checks::at_the_end() {
  const auto broken = [](const std::string& what) {
    throw BrokenPromise("nothing is left at the end", what);
  };
  if (!world_.head_exited()) broken("the head goes on");
  watchers_.at_the_end(world_.head());
  // row:S8 row:S11 row:E1 whatever becomes of a daemon, the DVM goes on
  if (world_.ready() && !world_.down_requested()) broken("the head has ended by itself");
  world_.changes().at_the_end();
  if (!world_.ready() && !start_may_fail_ && !world_.scenario().take_down_ms) {
    throw BrokenPromise("a start without faults succeeds", "it did not");
  }
  for (const auto& [id, host] : world_.hosts()) {
    if (host.alive) broken(fmt::format("host {} ({}) lives on", id, host.node));
    if (world_.processes().any_on(id)) broken(fmt::format("host {} has a process", id));
  }
  for (const auto& outcome : world_.clients().outcomes()) {
    const bool open = outcome.number != 0 && !outcome.left && outcome.answers != 1;
    if (open) {
      throw BrokenPromise("every job comes to its end",
                          fmt::format("the client of job {} was not answered", outcome.number));
    }
  }
}

}  // namespace tide::sim
