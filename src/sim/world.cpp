#include "sim/world.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/describe.hpp"
#include "sim/changes.hpp"
#include "sim/checks.hpp"
#include "sim/clients.hpp"
#include "sim/processes.hpp"
#include "sim/services.hpp"
#include "sim/session_sight.hpp"
#include "sim/staged_files.hpp"

namespace tide::sim {

namespace {

enum Purpose : std::uint64_t { kNetworkPurpose = 1, kIncarnationPurpose, kTimerPurpose };

constexpr HostId kForeignHosts = 500'000;

// Virtual time is free; a world that is still busy after all this will be busy for ever.
constexpr std::uint64_t kPatienceMs = 600'000;
constexpr std::uint64_t kMaxSteps = 5'000'000;
// One world in so many is elastic and does not change.
constexpr std::uint64_t kElasticEvery = 2;

NetworkConfig network_config(const Scenario& scenario) {
  NetworkConfig config;
  config.latency = scenario.latency;
  config.latency_us = scenario.latency_us;
  return config;
}

core::DaemonConfig daemon_config(const Scenario& scenario, const core::LaunchTarget& target,
                                 bool with_notes) {
  core::DaemonConfig config;
  config.overlay.self = config.jobs.self = target.rank;
  config.overlay.radix = scenario.radix;
  config.jobs.node = target.node;
  config.below = target.below;
  config.dvm_id = "sim";
  const std::uint8_t verbosity = with_notes ? 2 : 0;
  config.overlay.verbosity.fill(verbosity);
  config.jobs.verbosity.fill(verbosity);
  return config;
}

}  // namespace

core::HeadConfig head_config(const Scenario& scenario, bool with_notes) {
  core::HeadConfig config;
  config.dvm_id = config.dvm_name = config.jobs.dvm_id = "sim";
  config.overlay.radix = scenario.radix;
  config.overlay.message_limit = kMessageLimit;
  config.roster.tree_launch = scenario.far;
  config.jobs.stream_window_bytes = scenario.window_bytes;
  config.elastic.enabled = scenario.changes_size() || scenario.seed % kElasticEvery == 0;
  if (scenario.reserves()) config.elastic.scheduler_key = kSchedulerKey;
  config.roster.orders_fail = scenario.orders_fail();
  config.elastic.managers.assign(kManagers.begin(), kManagers.end());
  const std::uint8_t verbosity = with_notes ? 2 : 0;
  config.overlay.verbosity.fill(verbosity);
  config.roster.verbosity.fill(verbosity);
  config.jobs.verbosity.fill(verbosity);
  return config;
}

// ---- what the cores want done ----

class World::HeadEffects final : public core::Effects {
 public:
  explicit HeadEffects(World& world) : world_(world) {}

  void perform(core::Action action) override {
    if (auto* launch = std::get_if<core::LaunchDaemons>(&action)) {
      for (const auto& target : launch->targets) world_.launch(target, kHeadHost);
    } else if (auto* end = std::get_if<core::EndDaemon>(&action)) {
      world_.end_daemon(end->rank);
    } else if (auto* probe = std::get_if<core::Probe>(&action)) {
      if (probe->endpoints.size() != 1) return;
      world_.network_.probe(kHeadHost, probe->endpoints[0].port(),
                            [this, rank = probe->rank](bool refused) {
                              world_.post_to_head(core::ProbeAnswered{rank, refused});
                            });
    } else if (auto* reply = std::get_if<core::Reply>(&action)) {
      if (world_.changes_->on_reply(*reply)) return;
      world_.clients_->on_reply(*reply);
      if (reply->reply.has_ended()) world_.checks_->on_job_ended(JobId(reply->reply.ended().job()));
    } else if (std::holds_alternative<core::AnnounceReady>(action)) {
      world_.ready_ = true;
    } else if (auto* exit = std::get_if<core::Exit>(&action)) {
      world_.journal_.line(world_.schedule_.now_us(), kHeadHost, TraceLine::Kind::kWorld,
                           "the head exits: " + exit->reason);
      world_.head_exited_ = true;
      world_.stop_host(kHeadHost, "the head's exit", true);
    } else if (!world_.changes_->perform(action) && !world_.services_->perform(kHeadHost, action)) {
      world_.perform_common(kHeadHost, action);
    }
  }

 private:
  World& world_;
};

class World::DaemonEffects final : public core::Effects {
 public:
  DaemonEffects(World& world, HostId self) : world_(world), self_(self) {}

  void perform(core::Action action) override {
    if (!world_.alive(self_)) return;
    Processes& processes = *world_.processes_;
    if (auto* spawn = std::get_if<core::SpawnProc>(&action)) {
      processes.spawn(self_, *spawn);
    } else if (auto* signal = std::get_if<core::SignalProc>(&action)) {
      processes.signal(self_, *signal);
    } else if (auto* grant = std::get_if<core::GrantOutput>(&action)) {
      processes.grant(self_, *grant);
    } else if (auto* input = std::get_if<core::WriteInput>(&action)) {
      processes.write(self_, *input);
    } else if (auto* forget = std::get_if<core::ForgetProc>(&action)) {
      processes.forget(self_, forget->proc);
    } else if (auto* sweep = std::get_if<core::SweepJob>(&action)) {
      processes.sweep(self_, sweep->job);
    } else if (auto* trace = std::get_if<core::TraceProcs>(&action)) {
      processes.trace(self_, *trace);
    } else if (auto* wish = std::get_if<core::RegisterJob>(&action)) {
      processes.register_job(self_, *wish);
    } else if (auto* launch = std::get_if<core::LaunchDaemons>(&action)) {
      for (const auto& target : launch->targets) world_.launch(target, self_);
    } else if (auto* exit = std::get_if<core::Exit>(&action)) {
      world_.stop_host(self_, exit->reason, true);
    } else if (!world_.files_->perform(self_, action) &&
               !world_.services_->perform(self_, action)) {
      world_.perform_common(self_, action);
    }
  }

 private:
  World& world_;
  HostId self_;
};

class World::HeadObserver final : public core::StepObserver<core::HeadEvent> {
 public:
  explicit HeadObserver(World& world) : world_(world) {}
  void on_step(const core::HeadEvent& event, const core::Actions& actions,
               std::uint64_t now_ms) override {
    if (world_.schedule_.explores()) world_.schedule_.note(kHeadHost, event.index());
    if (world_.journal_.keeps_lines()) write_down(event, actions);
    world_.changes_->on_head_step(event);
    world_.checks_->on_head_step(event, actions, now_ms);
    world_.services_->on_head_step(actions);
  }

 private:
  void write_down(const core::HeadEvent& event, const core::Actions& actions) {
    const auto now = world_.schedule_.now_us();
    world_.journal_.line(now, kHeadHost, TraceLine::Kind::kEvent, describe(event));
    for (const auto& action : actions) {
      world_.journal_.line(now, kHeadHost, TraceLine::Kind::kAction, describe(action));
    }
  }
  World& world_;
};

class World::DaemonObserver final : public core::StepObserver<core::DaemonEvent> {
 public:
  DaemonObserver(World& world, HostId self) : world_(world), self_(self) {}
  void on_step(const core::DaemonEvent& event, const core::Actions& actions,
               std::uint64_t /*now_ms*/) override {
    if (world_.schedule_.explores()) world_.schedule_.note(self_, event.index());
    if (world_.journal_.keeps_lines()) {
      const auto now = world_.schedule_.now_us();
      world_.journal_.line(now, self_, TraceLine::Kind::kEvent, describe(event));
      for (const auto& action : actions) {
        world_.journal_.line(now, self_, TraceLine::Kind::kAction, describe(action));
      }
    }
    world_.checks_->on_daemon_step(self_, event, actions);
  }

 private:
  World& world_;
  HostId self_;
};

World::World(Scenario scenario, Journal& journal)
    : scenario_(std::move(scenario)),
      journal_(journal),
      chance_(scenario_.seed),
      network_(network_config(scenario_), schedule_, *this, chance_.of(kNetworkPurpose)),
      processes_(std::make_unique<Processes>(*this)),
      files_(std::make_unique<StagedFiles>(*this)),
      clients_(std::make_unique<Clients>(*this)),
      changes_(std::make_unique<Changes>(*this)),
      services_(std::make_unique<Services>(*this)),
      checks_(std::make_unique<Checks>(*this)) {
  hosts_[kHeadHost].node = "head";
  head_core_ = std::make_unique<core::HeadCore>(head_config(scenario_, journal.keeps_lines()));
  head_effects_ = std::make_unique<HeadEffects>(*this);
  head_observer_ = std::make_unique<HeadObserver>(*this);
  head_driver_ = std::make_unique<core::Driver<core::HeadCore>>(
      *head_core_, *head_effects_, [this] { return schedule_.now_ms(); }, head_observer_.get());
}

World::~World() = default;

// ---- hosts ----

HostId World::make_host(const core::LaunchTarget& target, bool foreign) {
  const HostId id = target.rank.value() + (foreign ? kForeignHosts : 0);
  Host& host = hosts_[id];
  host.id = id;
  host.identity = Identity{target.rank, target.incarnation, target.campaign};
  host.node = target.node;
  host.foreign = foreign;
  host.core =
      std::make_unique<core::DaemonCore>(daemon_config(scenario_, target, journal_.keeps_lines()));
  host.effects = std::make_unique<DaemonEffects>(*this, id);
  host.observer = std::make_unique<DaemonObserver>(*this, id);
  host.driver = std::make_unique<core::Driver<core::DaemonCore>>(
      *host.core, *host.effects, [this] { return schedule_.now_ms(); }, host.observer.get());
  return id;
}

bool World::alive(HostId host) const {
  const auto found = hosts_.find(host);
  return found != hosts_.end() && found->second.alive && !found->second.silent;
}

bool World::powered(HostId host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() || found->second.powered;
}

bool World::frozen(HostId host) const {
  return hosts_.at(host).frozen > 0;
}

Identity World::identity(HostId host) const {
  return hosts_.at(host).identity;
}

void World::when_awake(HostId id, std::function<void()> action) {
  const auto found = hosts_.find(id);
  if (found == hosts_.end() || !found->second.alive) return;
  Host& host = found->second;
  if (host.frozen > 0 || !host.held.empty()) {
    host.held.push_back(std::move(action));
  } else {
    action();
  }
}

void World::post(HostId host, core::DaemonEvent event) {
  if (host != kHeadHost) return post_to_daemon(host, std::move(event));
  std::visit(
      [this](auto&& e) {
        if constexpr (std::is_constructible_v<core::HeadEvent, decltype(e)>) {
          post_to_head(std::forward<decltype(e)>(e));
        }
      },
      std::move(event));
}

void World::post_to_head(core::HeadEvent event) {
  when_awake(kHeadHost, [this, event = std::move(event)]() mutable {
    if (!head_exited_) head_driver_->post(std::move(event));
  });
}

void World::post_to_daemon(HostId id, core::DaemonEvent event) {
  if (!alive(id)) return;
  Host& host = hosts_.at(id);
  if (std::holds_alternative<core::LinkUp>(event)) {
    host.on_its_own = true;
    if (host.doom) return meet_doom(id, std::move(event));
  }
  host.driver->post(std::move(event));
}

void World::tell(HostId host, core::DaemonEvent event) {
  if (host == kHeadHost) return post(host, std::move(event));
  when_awake(host, [this, host, event = std::move(event)]() mutable {
    post_to_daemon(host, std::move(event));
  });
}

std::optional<HostId> World::living_host(Rank rank) const {
  if (rank == kHeadRank) return kHeadHost;
  for (const auto& [id, host] : hosts_) {
    if (id != kHeadHost && host.alive && host.identity.rank == rank) return id;
  }
  return std::nullopt;
}

bool World::is_excused(Rank rank) const {
  return checks_->is_excused(rank);
}

std::uint64_t World::last_fault_ms() const {
  return checks_->last_fault_ms();
}

bool World::down_requested() const {
  return clients_->down_requested();
}

const JobPlan& World::plan_of(JobId job) const {
  const JobPlan* spawned = services_->plan_of(job);
  return spawned != nullptr ? *spawned : clients_->plan_of(job);
}

bool World::knows_plan_of(JobId job) const {
  return services_->plan_of(job) != nullptr || clients_->knows(job);
}

void World::done_with_services(HostId host, core::ProcKey who) {
  processes_->on_done(host, who);
}

void World::perform_common(HostId self, core::Action& action) {
  if (auto* connect = std::get_if<core::Connect>(&action)) {
    network_.connect(self, *connect);
  } else if (auto* message = std::get_if<core::Send>(&action)) {
    network_.send(*message);
  } else if (auto* closing = std::get_if<core::CloseLink>(&action)) {
    network_.close(*closing);
  } else if (auto* timer = std::get_if<core::StartTimer>(&action)) {
    start_timer(self, *timer);
  } else if (auto* note = std::get_if<core::Note>(&action)) {
    journal_.line(schedule_.now_us(), self, TraceLine::Kind::kNote, note->text);
  }
}

// Timers are never early and now and then late.
void World::start_timer(HostId self, const core::StartTimer& timer) {
  const What what{What::Kind::kTimer, self, 0, timer.timer};
  if (schedule_.explores()) schedule_.drop_timer(self, timer.timer);
  Chance chance = chance_.of(kTimerPurpose).of(self).of(timer.generation);
  const auto drawn_us = chance.percent(10) ? chance.below(20'000) : chance.below(300);
  const auto late_us = schedule_.explores() ? 0 : drawn_us;
  const core::TimerFired fired{timer.timer, timer.generation};
  schedule_.after(std::uint64_t{timer.after_ms} * 1000 + late_us, what, [this, self, fired] {
    when_awake(self, [this, self, fired] { post(self, fired); });
  });
}

// ---- the whole run ----

void World::run() {
  core::StartDvm start;
  Chance incarnations = chance_.of(kIncarnationPurpose);
  for (std::uint32_t i = 1; i <= scenario_.nodes; ++i) {
    start.nodes.push_back(core::NodeRequest{fmt::format("v{}", i), scenario_.slots,
                                            Incarnation(incarnations.next()), 0, !scenario_.far});
    start.nodes.back().manager = kManagers[0];
  }
  schedule_.after(0, What{What::Kind::kStart}, [this, start] { post_to_head(start); });
  plan_faults();
  clients_->plan_all();
  changes_->plan_all();
  services_->plan_tools();
  if (scenario_.take_down_ms) {
    schedule_.at_ms(*scenario_.take_down_ms, What{}, [this] { request_down(); });
  }
  expect_quiet(scenario_.calm_ms());
  if (!head_exited_) {
    checks_->when_quiet();
    request_down();
    expect_quiet(schedule_.now_ms());
  }
  checks_->at_the_end();
  Counts& counts = journal_.counts;
  ++counts.lives;
  counts.asked_anew += checks_->asked_anew();
  counts.steps += schedule_.steps();
  counts.messages += network_.messages();
  counts.virtual_ms += schedule_.now_ms();
  if (!ready_) ++counts.failed_starts;
}

// The histories of the hosts determine the cores, because these are deterministic.
std::uint64_t World::state_hash() const {
  Hash hash{schedule_.hash(), head_exited_ ? 1U : 0U, clients_->down_requested() ? 1U : 0U};
  for (const auto& [id, host] : hosts_) {
    hash.add(id);
    hash.add((host.alive ? 1U : 0U) + (host.powered ? 2U : 0U));
    hash.add(host.frozen);
    hash.add(host.held.size());
  }
  network_.add_to(hash);
  processes_->add_to(hash);
  files_->add_to(hash);
  return hash.value();
}

void World::request_down() {
  if (!head_exited_) clients_->request_down();
}

void World::expect_quiet(std::uint64_t from_ms) {
  if (schedule_.run(from_ms + kPatienceMs, kMaxSteps)) return;
  throw BrokenPromise(
      "the world comes to rest",
      fmt::format("something still happens {} s after the last fault", kPatienceMs / 1000));
}

}  // namespace tide::sim
