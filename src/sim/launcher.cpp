// The launchers of a world and their faults: one at the head, and where nodes are far away one at
// each daemon that starts others.
//
// Far away a session leads to the daemon that was started: it tells of its end, and takes it along
// when the starter goes, until the daemon has reached the head and the session is let go.
#include <fmt/format.h>

#include <utility>

#include "sim/changes.hpp"
#include "sim/checks.hpp"
#include "sim/processes.hpp"
#include "sim/services.hpp"
#include "sim/staged_files.hpp"
#include "sim/world.hpp"

namespace tide::sim {

namespace {

enum Purpose : std::uint64_t {
  kLaunchPurpose = 100,
  kDeathPurpose = 101,
  kSessionPurpose = 103,
  kDoomPurpose = 104
};

// In the histories of hosts, among the numbers of events.
constexpr std::uint64_t kStopFact = 1000;

constexpr std::uint64_t kStartUs = 20'000;
constexpr std::uint64_t kReapUs = 5'000;
constexpr std::uint64_t kDoomUs = 20'000;
constexpr std::uint64_t kSessionLimitUs = 60'000'000;
constexpr std::uint64_t kSlowUs = 700'000;
constexpr std::uint64_t kLateUs = 90'000'000;  // longer than a start may take

}  // namespace

const Fault* World::launch_fault(Rank rank) const {
  for (const auto& fault : scenario_.faults) {
    const bool of_launcher = class_of(fault.kind) == FaultClass::kLauncher;
    if (of_launcher && fault.target == rank.value()) return &fault;
  }
  return nullptr;
}

void World::launch(const core::LaunchTarget& target, HostId by) {
  Chance chance = chance_.of(kLaunchPurpose).of(target.rank.value());
  auto delay_us = chance.between(1, kStartUs);
  const Fault* fault = launch_fault(target.rank);
  if (fault != nullptr) {
    const auto place = static_cast<std::size_t>(fault - scenario_.faults.data());
    if (applied_.insert(place).second) note_applied(fault->kind);
    if (fault->kind == FaultKind::kSlowStart) delay_us += fault->for_ms * 1000;
    if (fault->kind == FaultKind::kComesLate) delay_us += kLateUs;
    checks_->on_launch_fault(*fault);
  }
  auto kind = fault != nullptr ? fault->kind : FaultKind::kCut;
  if (const auto trouble = changes_->trouble_of(target.node)) {
    kind = *trouble;
    if (kind == FaultKind::kSlowStart) delay_us += kSlowUs;
    checks_->on_grow_fault(target.rank);
  }
  const bool late = kind == FaultKind::kSlowStart || kind == FaultKind::kComesLate;
  const What what{late ? What::Kind::kLateLaunch : What::Kind::kLaunch, by, target.rank.value()};
  schedule_.after(delay_us, what, [this, target, kind, by] {
    if (head_exited_ || !hosts_.at(by).alive) return;
    const bool cancelled = by == kHeadHost && launch_cancelled_[target.rank];
    if (kind == FaultKind::kFailsToStart || cancelled) {
      tell_starter(by, core::DaemonLaunchFailed{target.rank, "cannot be executed"});
      return;
    }
    const bool doomed = kind == FaultKind::kDiesConnected || kind == FaultKind::kDiesReported;
    start_daemon(target, by, kind == FaultKind::kNeverConnects,
                 doomed ? std::optional(kind) : std::nullopt);
    if (kind == FaultKind::kTwin) started(make_host(target, /*foreign=*/true));
  });
}

void World::start_daemon(const core::LaunchTarget& target, HostId by, bool silent,
                         std::optional<FaultKind> doom) {
  const HostId id = make_host(target, /*foreign=*/false);
  hosts_.at(id).doom = doom;
  hosts_.at(id).silent = silent;
  hosts_.at(id).started_by = by;
  tell_starter(by, core::DaemonStarted{target.rank, 1000 + id});
  if (!silent) started(id);
  if (scenario_.far) {
    schedule_.after(kSessionLimitUs, What{What::Kind::kReaped, id, id},
                    [this, id] { end_session(id, "it did not reach the head in time"); });
  }
}

// Before it has reported, or a moment after.
void World::meet_doom(HostId id, core::DaemonEvent event) {
  Host& host = hosts_.at(id);
  const auto doom = std::exchange(host.doom, std::nullopt);
  if (doom == FaultKind::kDiesConnected) return stop_host(id, "dies when it has connected", true);
  host.driver->post(std::move(event));
  Chance chance = chance_.of(kDoomPurpose).of(id);
  schedule_.after(chance.between(1, kDoomUs), What{What::Kind::kReaped, id, id},
                  [this, id] { stop_host(id, "dies when it has reported", true); });
}

void World::end_session(HostId id, const std::string& why) {
  if (!hosts_.at(id).on_its_own) stop_host(id, why, true);
}

template <class Event>
void World::tell_starter(HostId starter, Event event) {
  if (starter == kHeadHost) {
    post_to_head(std::move(event));
  } else {
    post_to_daemon(starter, std::move(event));
  }
}

void World::started(HostId id) {
  Host& host = hosts_.at(id);
  wire::Report report;
  report.set_node(host.node);
  report.set_pid(1000 + id);
  report.mutable_topology()->set_cores(scenario_.slots);
  report.add_endpoints()->set_port(id);
  if (scenario_.far) report.set_machine(machine_of(host));
  wire::Endpoint head;
  head.set_port(kHeadHost);
  for (auto& action : host.core->start({head}, std::move(report))) {
    host.effects->perform(std::move(action));
  }
}

// The last ones are the first ones again, under other names.
std::string World::machine_of(const Host& host) const {
  const auto rank = host.identity.rank.value();
  const auto machines = scenario_.nodes - scenario_.second_names;
  if (rank > scenario_.nodes) return "that of " + host.node;
  return fmt::format("m{}", (rank - 1) % machines + 1);
}

// The launcher makes sure that the rank's processes are gone; one not started yet never starts.
// Far away that goes by the session, where there is one.
void World::end_daemon(Rank rank) {
  launch_cancelled_[rank] = true;
  std::vector<HostId> victims;
  for (const auto& [id, host] : hosts_) {
    const bool ours = !scenario_.far || (host.started_by == kHeadHost && !host.on_its_own);
    if (id != kHeadHost && host.alive && !host.foreign && host.identity.rank == rank && ours)
      victims.push_back(id);
  }
  for (const HostId id : victims) stop_host(id, "ended by the launcher", true);
  if (!scenario_.far || !victims.empty()) return;
  const What what{What::Kind::kReaped, kHeadHost, rank.value()};
  schedule_.after(1, what,
                  [this, rank] { post_to_head(core::DaemonExited{rank, "it has no session"}); });
}

// `told`: the machine lives on, so the launcher and the peers hear of it.
void World::stop_host(HostId id, const std::string& how, bool told) {
  Host& host = hosts_.at(id);
  if (!host.alive) return;
  journal_.line(schedule_.now_us(), id, TraceLine::Kind::kWorld, "ends: " + how);
  schedule_.note(id, kStopFact);
  host.alive = false;
  host.powered = told;
  host.held.clear();
  network_.host_gone(id, told);
  processes_->host_gone(id);
  files_->host_gone(id);
  services_->host_gone(id);
  changes_->host_gone(id);
  if (scenario_.far && told) end_sessions_of(id);
  if (!told || id == kHeadHost || host.foreign || (scenario_.far && host.on_its_own)) return;
  Chance chance = chance_.of(kDeathPurpose).of(id);
  const What what{What::Kind::kReaped, host.started_by, id};
  const auto tell = [this, by = host.started_by, rank = host.identity.rank, how] {
    if (by == kHeadHost || hosts_.at(by).alive) tell_starter(by, core::DaemonExited{rank, how});
  };
  schedule_.after(chance.between(1, kReapUs), what, tell);
}

void World::end_sessions_of(HostId starter) {
  for (const auto& [id, host] : hosts_) {
    if (id == kHeadHost || host.foreign || !host.alive || host.started_by != starter) continue;
    Chance chance = chance_.of(kSessionPurpose).of(id);
    schedule_.after(chance.between(1, kReapUs), What{What::Kind::kReaped, id, id},
                    [this, each = id] { end_session(each, "whoever started it is gone"); });
  }
}

}  // namespace tide::sim
