#include "sim/world.hpp"

#include <fmt/format.h>

#include <csignal>
#include <utility>

namespace tide::sim {

using core::ProcKey;

namespace {
constexpr std::uint64_t kSilenceMs = 500;  // after so long a link to somebody frozen is given up
}  // namespace

struct World::Process {
  bool merged = false;
  std::uint64_t left = 0;  // bytes still to be written to standard output
  std::uint64_t written = 0;
  std::uint64_t credit = 0;
  bool exited = false;
  bool closed = false;
};

class World::DaemonEffects : public core::Effects {
 public:
  DaemonEffects(World& world, Rank self) : world_(world), self_(self) {}
  void perform(core::Action action) override;

 private:
  World& world_;
  Rank self_;
};

struct World::Daemon {
  Daemon(World& world, const core::LaunchTarget& target, const core::DaemonConfig& config)
      : incarnation(target.incarnation),
        campaign(target.campaign),
        node(target.node),
        core(config),
        effects(world, target.rank),
        driver(core, effects, [&world] { return world.now_ms(); }) {}
  Incarnation incarnation;
  std::uint32_t campaign;
  std::string node;
  bool alive = true;
  bool frozen = false;
  std::map<ProcKey, Process> processes;
  std::map<JobId, std::uint32_t> runaways;  // left by processes that have ended
  core::DaemonCore core;
  DaemonEffects effects;
  core::Driver<core::DaemonCore> driver;
};

class World::HeadEffects : public core::Effects {
 public:
  explicit HeadEffects(World& world) : world_(world) {}
  void perform(core::Action action) override;

 private:
  World& world_;
};

void World::HeadEffects::perform(core::Action action) {
  if (auto* launch = std::get_if<core::LaunchDaemons>(&action)) {
    for (const auto& target : launch->targets) world_.launch(target);
  } else if (auto* end = std::get_if<core::EndDaemon>(&action)) {
    world_.end_daemon(end->rank, "ended by the launcher");
  } else if (auto* probe = std::get_if<core::Probe>(&action)) {
    const Rank rank = probe->rank;
    world_.at(world_.now_ms() + world_.delay(), [this, rank] {
      world_.head_driver_->post(core::ProbeAnswered{rank, !world_.alive(rank)});
    });
  } else if (auto* reply = std::get_if<core::Reply>(&action)) {
    world_.on_reply(*reply);
  } else if (std::holds_alternative<core::AnnounceReady>(action)) {
    world_.ready_ = true;
  } else if (auto* exit = std::get_if<core::Exit>(&action)) {
    world_.trace("head exits: " + exit->reason);
    world_.head_exited_ = true;
  } else {
    world_.perform_common(kHeadRank, action);
  }
}

void World::DaemonEffects::perform(core::Action action) {
  auto& daemon = *world_.daemons_.at(self_);
  if (!world_.responsive(self_)) return;
  if (auto* spawn = std::get_if<core::SpawnProc>(&action)) {
    world_.spawn(self_, *spawn);
  } else if (auto* signal = std::get_if<core::SignalProc>(&action)) {
    const ProcKey key = signal->proc;
    if (daemon.processes.contains(key)) {
      world_.at(world_.now_ms() + world_.delay(), [this, key, number = signal->signal] {
        world_.end_process(self_, key, 0, number);
      });
    }
  } else if (auto* grant = std::get_if<core::GrantOutput>(&action)) {
    const auto found = daemon.processes.find(grant->proc);
    if (found != daemon.processes.end() && grant->stream == wire::STDOUT) {
      found->second.credit += grant->bytes;
      world_.pump_output(self_, grant->proc);
    }
  } else if (auto* forget = std::get_if<core::ForgetProc>(&action)) {
    daemon.processes.erase(forget->proc);
  } else if (auto* sweep = std::get_if<core::SweepJob>(&action)) {
    world_.sweep(self_, sweep->job);
  } else if (auto* exit = std::get_if<core::Exit>(&action)) {
    const std::string reason = exit->reason;
    world_.at(world_.now_ms() + world_.delay(),
              [this, reason] { world_.end_daemon(self_, reason); });
  } else {
    world_.perform_common(self_, action);
  }
}

World::World(WorldConfig config) : config_(config), rng_(config.seed) {
  head_core_ = std::make_unique<core::HeadCore>(head_config());
  head_effects_ = std::make_unique<HeadEffects>(*this);
  // Records what the head is told, for replay.
  class Recorder : public core::StepObserver<core::HeadEvent> {
   public:
    explicit Recorder(World& world) : world_(world) {}
    void on_step(const core::HeadEvent& event, const core::Actions&, std::uint64_t now) override {
      world_.head_events_.emplace_back(event, now);
    }

   private:
    World& world_;
  };
  recorder_ = std::make_unique<Recorder>(*this);
  head_driver_ = std::make_unique<core::Driver<core::HeadCore>>(
      *head_core_, *head_effects_, [this] { return now_ms_; }, recorder_.get());
}

World::~World() = default;

core::HeadConfig World::head_config() const {
  core::HeadConfig config;
  config.dvm_id = "sim";
  config.dvm_name = "sim";
  config.overlay.radix = config_.radix;
  config.roster.suspect_grace_ms = 1000;
  config.jobs.dvm_id = "sim";
  config.jobs.stream_window_bytes = config_.window_bytes;
  config.overlay.verbosity.fill(2);
  config.roster.verbosity.fill(2);
  config.jobs.verbosity.fill(2);
  return config;
}

void World::trace(const std::string& line) {
  trace_.push_back(fmt::format("{} {}", now_ms_, line));
}

void World::at(std::uint64_t when_ms, std::function<void()> what) {
  queue_.push(Pending{when_ms, order_++, std::move(what)});
}

bool World::run(std::uint64_t until_ms) {
  while (!queue_.empty()) {
    if (queue_.top().when_ms > until_ms) return false;
    Pending next = queue_.top();
    queue_.pop();
    now_ms_ = next.when_ms;
    next.what();
  }
  return true;
}

bool World::alive(Rank rank) const {
  if (rank == kHeadRank) return !head_exited_;
  const auto found = daemons_.find(rank);
  return found != daemons_.end() && found->second->alive;
}

bool World::responsive(Rank rank) const {
  return alive(rank) && (rank == kHeadRank || !daemons_.at(rank)->frozen);
}

// ---- the network ----

void World::post_link_event(Rank to, core::DaemonEvent event) {
  if (!responsive(to)) return;
  if (to != kHeadRank) {
    daemons_.at(to)->driver.post(std::move(event));
    return;
  }
  std::visit(
      [this](auto&& e) {
        if constexpr (std::is_constructible_v<core::HeadEvent, decltype(e)>) {
          head_driver_->post(std::forward<decltype(e)>(e));
        }
      },
      std::move(event));
}

// Whoever does not know the address of the peer does not reach it.
void World::connect(Rank from, const core::Connect& request) {
  const Rank to = request.peer;
  const bool known = request.endpoints.size() == 1 && request.endpoints[0].port() == to.value();
  const auto answered_after = alive(to) && !responsive(to) ? kSilenceMs : delay();
  at(now_ms_ + answered_after, [this, from, to, known] {
    if (!responsive(from)) return;
    if (alive(to) && !responsive(to)) {
      post_link_event(from, core::ConnectFailed{to, false, "no answer"});
      return;
    }
    if (!alive(to) || !known) {
      post_link_event(from, core::ConnectFailed{to, true, "connection refused"});
      return;
    }
    const LinkId here{next_link_++};
    const LinkId there{next_link_++};
    ends_[here] = End{.id = here, .other = there, .owner = from};
    ends_[there] = End{.id = there, .other = here, .owner = to};
    const auto incarnation_of = [this](Rank rank) {
      return rank == kHeadRank ? Incarnation{} : daemons_.at(rank)->incarnation;
    };
    const auto campaign = from == kHeadRank ? 0 : daemons_.at(from)->campaign;
    post_link_event(to, core::LinkUp{there, from, incarnation_of(from), campaign, false});
    post_link_event(from, core::LinkUp{here, to, incarnation_of(to), 0, true});
  });
}

void World::send(LinkId from, const core::Send& message) {
  const auto found = ends_.find(from);
  if (found == ends_.end()) return;
  End& end = found->second;
  const bool bulk = message.message_class == core::MessageClass::kBulk;
  auto& last = bulk ? end.last_bulk_ms : end.last_control_ms;
  // One wire for both: control may overtake bulk, never the other way round.
  last = std::max({last, now_ms_ + delay(), bulk ? end.last_control_ms : 0});
  at(last, [this, to = end.other, text = message.message, payload = message.payload] {
    const auto target = ends_.find(to);
    if (target == ends_.end()) return;
    post_link_event(target->second.owner, core::MessageIn{to, text, payload});
  });
}

void World::close(LinkId from, core::LinkEnd end, const std::string& text) {
  const auto found = ends_.find(from);
  if (found == ends_.end()) return;
  const LinkId to = found->second.other;
  const auto when = std::max(found->second.last_control_ms, found->second.last_bulk_ms);
  ends_.erase(found);
  at(std::max(when, now_ms_ + 1), [this, to, end, text] {
    const auto target = ends_.find(to);
    if (target == ends_.end()) return;
    const Rank owner = target->second.owner;
    ends_.erase(target);
    post_link_event(owner, core::LinkDown{to, end, text});
  });
}

// What was on its way may arrive up to the moment at which the peer notices, and nothing after.
void World::break_links_of(Rank rank, std::uint64_t noticed_after_ms, const std::string& text) {
  std::vector<LinkId> mine;
  for (const auto& [id, end] : ends_) {
    if (end.owner == rank) mine.push_back(id);
  }
  for (const LinkId id : mine) {
    const LinkId to = ends_.at(id).other;
    ends_.erase(id);
    at(now_ms_ + noticed_after_ms, [this, to, text] {
      const auto target = ends_.find(to);
      if (target == ends_.end()) return;
      const Rank owner = target->second.owner;
      ends_.erase(target);
      post_link_event(owner, core::LinkDown{to, core::LinkEnd::kClosed, text});
    });
  }
}

void World::perform_common(Rank self, core::Action& action) {
  if (auto* connect_to = std::get_if<core::Connect>(&action)) {
    connect(self, *connect_to);
  } else if (auto* message = std::get_if<core::Send>(&action)) {
    send(message->link, *message);
  } else if (auto* closing = std::get_if<core::CloseLink>(&action)) {
    const auto end = closing->reason == wire::GOODBYE_DECLARED_DEAD ? core::LinkEnd::kDeclaredDead
                     : closing->reason == wire::GOODBYE_MOVED       ? core::LinkEnd::kMoved
                     : closing->reason == wire::GOODBYE_REFUSED     ? core::LinkEnd::kRefused
                                                                    : core::LinkEnd::kClosed;
    close(closing->link, end, closing->text);
  } else if (auto* timer = std::get_if<core::StartTimer>(&action)) {
    at(now_ms_ + timer->after_ms,
       [this, self, fired = core::TimerFired{timer->timer, timer->generation}] {
         post_link_event(self, fired);
       });
  } else if (auto* note = std::get_if<core::Note>(&action)) {
    trace(fmt::format("[{}] {}", self.value(), note->text));
  }
}

// ---- daemons ----

void World::launch(const core::LaunchTarget& target) {
  at(now_ms_ + delay(), [this, target] {
    core::DaemonConfig config;
    config.overlay.self = target.rank;
    config.overlay.radix = config_.radix;
    config.overlay.verbosity.fill(2);
    config.jobs.self = target.rank;
    config.jobs.node = target.node;
    auto& daemon = daemons_[target.rank];
    daemon = std::make_unique<Daemon>(*this, target, config);
    wire::Report report;
    report.set_node(target.node);
    report.set_pid(1000 + target.rank.value());
    report.mutable_topology()->set_cores(config_.slots);
    report.add_endpoints()->set_port(target.rank.value());
    wire::Endpoint head;
    head.set_port(kHeadRank.value());
    head_driver_->post(core::DaemonStarted{target.rank, report.pid()});
    for (auto& action : daemon->core.start({head}, report))
      daemon->effects.perform(std::move(action));
  });
}

void World::end_daemon(Rank rank, const std::string& how) {
  if (!alive(rank)) return;
  trace(fmt::format("rank {} ends: {}", rank.value(), how));
  daemons_.at(rank)->alive = false;
  break_links_of(rank, delay(), "connection reset");
  at(now_ms_ + delay(), [this, rank, how] {
    if (!head_exited_) head_driver_->post(core::DaemonExited{rank, how});
  });
}

// ---- processes ----

std::uint64_t World::expected_output(std::uint32_t job, std::uint32_t rank) const {
  const std::uint64_t mixed = (config_.seed * 31 + job) * 131 + rank;
  return mixed * 2654435761U % (config_.max_output_bytes + 1);
}

void World::spawn(Rank rank, const core::SpawnProc& request) {
  const ProcKey key = request.proc;
  at(now_ms_ + delay(),
     [this, rank, key, window = request.output_window_bytes, merged = request.merge_output] {
       if (!responsive(rank)) return;
       auto& daemon = *daemons_.at(rank);
       auto& process = daemon.processes[key];
       process.left = expected_output(key.job.value(), key.rank.value());
       process.credit = window;
       process.merged = merged;
       outcomes_.at(key.job.value() - 1).placed_on[key.rank.value()] = daemon.node;
       if (config_.failing_rank == key.rank.value()) process.left = 0;
       daemon.driver.post(core::ProcSpawned{key, 5000 + key.rank.value()});
       pump_output(rank, key);
       if (config_.failing_rank) {
         if (config_.failing_rank == key.rank.value()) fail_process(rank, key);
         return;
       }
       at(now_ms_ + 1 + random(config_.max_process_ms),
          [this, rank, key] { end_process(rank, key, 0, 0); });
     });
}

// Each byte tells its position, so that the reader notices loss, doubling and reordering.
void World::pump_output(Rank rank, ProcKey key) {
  at(now_ms_ + delay(), [this, rank, key] {
    if (!responsive(rank)) return;
    auto& daemon = *daemons_.at(rank);
    const auto found = daemon.processes.find(key);
    if (found == daemon.processes.end() || found->second.closed) return;
    auto& process = found->second;
    const auto size = std::min({process.left, process.credit, 1 + random(300)});
    if (size > 0) {
      std::string data;
      for (std::uint64_t i = 0; i < size; ++i) {
        data += static_cast<char>((process.written + i) % 251);
      }
      process.left -= size;
      process.written += size;
      process.credit -= size;
      daemon.driver.post(core::ProcOutput{key, wire::STDOUT, Bytes(std::move(data))});
      pump_output(rank, key);
    } else if (process.left == 0 && process.exited && !process.closed) {
      process.closed = true;
      daemon.driver.post(core::ProcOutputClosed{key, wire::STDOUT});
      if (!process.merged) daemon.driver.post(core::ProcOutputClosed{key, wire::STDERR});
    }
  });
}

void World::fail_process(Rank rank, ProcKey key) {
  at(now_ms_ + random(config_.max_delay_ms), [this, rank, key] {
    if (!responsive(rank)) return;
    auto& daemon = *daemons_.at(rank);
    const auto found = daemon.processes.find(key);
    if (found == daemon.processes.end() || found->second.closed) return;
    found->second.closed = true;
    daemon.driver.post(core::ProcOutputClosed{key, wire::STDOUT});
    daemon.driver.post(core::ProcOutputClosed{key, wire::STDERR});
    at(now_ms_ + random(config_.max_delay_ms),
       [this, rank, key] { end_process(rank, key, kFailedStatus, 0); });
  });
}

void World::end_process(Rank rank, ProcKey key, int exit_code, int signal) {
  if (!responsive(rank)) return;
  auto& daemon = *daemons_.at(rank);
  const auto found = daemon.processes.find(key);
  if (found == daemon.processes.end() || found->second.exited) return;
  found->second.exited = true;
  daemon.runaways[key.job] += static_cast<std::uint32_t>(random(3));
  if (signal != 0) found->second.left = 0;
  daemon.driver.post(core::ProcExited{key, exit_code, signal});
  pump_output(rank, key);
}

void World::sweep(Rank rank, JobId job) {
  if (config_.sweeps_hang) return;
  at(now_ms_ + delay(), [this, rank, job] {
    if (!alive(rank)) return;
    auto& daemon = *daemons_.at(rank);
    daemon.runaways.erase(job);
    daemon.driver.post(core::JobSwept{job, 0});
  });
}

std::uint32_t World::runaways_of(std::uint32_t job) const {
  std::uint32_t sum = 0;
  for (const auto& [rank, daemon] : daemons_) {
    const auto found = daemon->runaways.find(JobId(job));
    if (daemon->alive && found != daemon->runaways.end()) sum += found->second;
  }
  return sum;
}

// ---- clients and faults ----

void World::start_dvm() {
  core::StartDvm start;
  for (std::uint32_t i = 1; i <= config_.nodes; ++i) {
    start.nodes.push_back(
        core::NodeRequest{fmt::format("v{}", i), config_.slots, Incarnation(rng_())});
  }
  at(now_ms_, [this, start] { head_driver_->post(start); });
}

std::uint32_t World::submit(std::uint32_t processes) {
  const auto index = static_cast<std::uint32_t>(outcomes_.size());
  outcomes_.emplace_back();
  core::ClientMessage message{ClientId(index + 1), {}, {}};
  message.request.set_request(index);
  auto* job = message.request.mutable_submit()->mutable_job();
  job->set_stdin_rank(-1);
  job->set_oversubscribe(true);
  job->set_merge_output(index % 2 == 1);  // whose processes have one pipe to close
  auto* app = job->add_apps();
  app->add_argv("virtual");
  app->set_processes(processes);
  head_driver_->post(std::move(message));
  return index;
}

void World::submit_at(std::uint64_t at_ms, std::uint32_t processes) {
  at(at_ms, [this, processes] { submit(processes); });
}

void World::crash_at(std::uint64_t at_ms, Rank rank) {
  at(at_ms, [this, rank] { end_daemon(rank, "crashed"); });
}

void World::freeze_at(std::uint64_t at_ms, Rank rank) {
  at(at_ms, [this, rank] {
    if (!alive(rank)) return;
    trace(fmt::format("rank {} freezes", rank.value()));
    daemons_.at(rank)->frozen = true;
    break_links_of(rank, kSilenceMs, "nothing heard");
  });
}

void World::cut_link_at(std::uint64_t at_ms, Rank rank) {
  at(at_ms, [this, rank] {
    std::vector<LinkId> found;
    for (const auto& [id, end] : ends_) {
      const auto other = ends_.find(end.other);
      if (end.owner == rank && other != ends_.end() && other->second.owner < rank)
        found.push_back(id);
    }
    for (const LinkId id : found) {
      const LinkId other = ends_.at(id).other;
      const Rank peer = ends_.at(other).owner;
      ends_.erase(id);
      ends_.erase(other);
      post_link_event(rank, core::LinkDown{id, core::LinkEnd::kClosed, "cut"});
      post_link_event(peer, core::LinkDown{other, core::LinkEnd::kClosed, "cut"});
    }
  });
}

void World::take_down_at(std::uint64_t at_ms) {
  at(at_ms, [this] {
    core::ClientMessage message{ClientId(1'000'000), {}, {}};
    message.request.mutable_down();
    head_driver_->post(std::move(message));
  });
}

void World::on_reply(const core::Reply& reply) {
  if (reply.client.value() > outcomes_.size()) return;
  auto& outcome = outcomes_[reply.client.value() - 1];
  if (reply.reply.has_accepted()) {
    outcome.number = reply.reply.accepted().job();
  } else if (reply.reply.has_output()) {
    auto& seen = outcome.output_bytes[reply.reply.output().rank()];
    for (const char byte : reply.payload.view()) {
      if (byte != static_cast<char>(seen++ % 251)) outcome.output_in_order = false;
    }
    core::ClientMessage credit{reply.client, {}, {}};
    auto* body = credit.request.mutable_credit();
    body->set_job(reply.reply.output().job());
    body->set_rank(reply.reply.output().rank());
    body->set_stream(reply.reply.output().stream());
    body->set_bytes(static_cast<std::uint32_t>(reply.payload.size()));
    at(now_ms_ + delay(), [this, credit] {
      if (!head_exited_) head_driver_->post(credit);
    });
  } else if (reply.reply.has_ended()) {
    outcome.ended = true;
    ++outcome.answers;
    outcome.runaways_at_end = runaways_of(outcome.number);
    outcome.exit_status = reply.reply.ended().exit_status();
    for (const auto& message : reply.reply.ended().messages()) outcome.messages.push_back(message);
  }
}

std::string World::check_converged() const {
  const auto& members = head_core_->overlay().membership();
  if (head_core_->overlay().completed() != members.serial()) return "an operation is not complete";
  for (const auto& [rank, daemon] : daemons_) {
    if (!daemon->alive) {
      if (members.find(rank) != nullptr)
        return fmt::format("dead rank {} is a member", rank.value());
      continue;
    }
    const auto& overlay = daemon->core.overlay();
    if (overlay.membership().snapshot().SerializeAsString() !=
        members.snapshot().SerializeAsString()) {
      return fmt::format("rank {} has another membership", rank.value());
    }
    if (overlay.parent_peer() != members.tree().parent(rank)) {
      return fmt::format("rank {} hangs on the wrong parent", rank.value());
    }
    if (overlay.adopted_children() != members.tree().children(rank)) {
      return fmt::format("rank {} has the wrong children", rank.value());
    }
    if (daemon->core.jobs().size() != 0) return fmt::format("rank {} keeps a job", rank.value());
  }
  return {};
}

}  // namespace tide::sim
