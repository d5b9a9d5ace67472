#include "sim/processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "core/pmix_words.hpp"
#include "core/proc_names.hpp"
#include "sim/clients.hpp"
#include "sim/services.hpp"
#include "sim/staged_files.hpp"
#include "sim/world.hpp"

namespace tide::sim {

using core::ProcKey;

namespace {

constexpr std::uint64_t kPurpose = 0x70726F63;
constexpr std::uint64_t kSpawnUs = 1'000;
constexpr std::uint64_t kPieceBytes = 500;
constexpr std::uint64_t kStepUs = 700;
constexpr std::uint64_t kLongTraceUs = 60'000'000;  // longer than the head waits

Chance chance_of(const World& world, ProcKey key) {
  return world.chance(kPurpose).of(key.job.value()).of(key.rank.value());
}

}  // namespace

std::uint64_t Processes::planned_output(const Scenario& scenario, const JobPlan& plan,
                                        std::uint32_t job, std::uint32_t rank) {
  Chance chance = Chance(scenario.seed).of(kPurpose + 1).of(job).of(rank);
  return chance.below(std::uint64_t{plan.max_output_bytes} + 1);
}

// Only if the host still lives then, and as soon as it can act.
void Processes::after(HostId host, std::uint64_t delay_us, ProcKey key, Step step,
                      std::function<void()> what) {
  const std::uint64_t lane = std::uint64_t{key.job.value()} << 32U | key.rank.value();
  const What name{What::Kind::kProcess, host, lane << 4U | static_cast<std::uint64_t>(step)};
  world_.schedule().after(delay_us, name,
                          [this, host, what = std::move(what)] { world_.wake(host, what); });
}

void Processes::register_job(HostId host, const core::RegisterJob& wish) {
  world_.services().on_registered(host, *wish.launch);
  Chance chance = world_.chance(kPurpose + 2).of(wish.job.value()).of(host);
  after(host, chance.between(1, kSpawnUs), {wish.job, ProcRank(0)}, Step::kRegister,
        [this, host, done = core::JobRegistered{wish.job, wish.launch->attempt()}] {
          world_.post_to_daemon(host, done);
        });
}

void Processes::spawn(HostId host, const core::SpawnProc& request) {
  const ProcKey key = request.proc;
  Chance chance = chance_of(world_, key);
  after(host, chance.between(1, kSpawnUs), key, Step::kSpawn,
        [this, host, key, window = request.output_window_bytes] {
          const JobPlan& plan = world_.plan_of(key.job);
          if (plan.misfit != Misfit::kNone) {
            throw BrokenPromise("a job without a place starts nothing", "a process was started");
          }
          if (plan.only_map) {
            throw BrokenPromise("a job that is only shown starts nothing", "a process was started");
          }
          world_.files().require_all(host, key.job);
          if (plan.trouble == Trouble::kNotStarted && plan.trouble_rank == key.rank.value()) {
            world_.post_to_daemon(
                host, core::ProcSpawnFailed{key, Error{ErrorCode::kNotFound, "no such program"}});
            return;
          }
          begin(host, key, plan, window);
        });
}

void Processes::begin(HostId host, ProcKey key, const JobPlan& plan, std::uint64_t window) {
  const bool added = running_.try_emplace({host, key}).second;
  if (!added) throw BrokenPromise("a process is started once", "twice on one daemon");
  Process& process = running_[{host, key}];
  process.left = planned_output(world_.scenario(), plan, key.job.value(), key.rank.value());
  process.credit = window;
  process.chance = chance_of(world_, key).of(host);
  process.written = written_[key];
  const bool recovers = plan.restarts > 0 && plan.fails_at_first();
  const bool is_over = begun_[{host, key}]++ >= plan.failures && recovers;
  process.run_us = process.chance.between(1, std::uint64_t{plan.max_run_ms} * 1000);
  const bool troubled = plan.trouble_rank == key.rank.value() && !is_over;
  process.trouble = troubled ? plan.trouble : Trouble::kNone;
  process.stubborn = process.trouble == Trouble::kStubborn;
  process.held_at = plan.held_at;
  world_.post_to_daemon(host, core::ProcSpawned{key, 5000 + key.rank.value()});
  if (plan.held_at == HeldAt::kInit) return say_that_it_waits(host, key);
  if (plan.held_at == HeldAt::kNowhere) run(host, key);
}

void Processes::say_that_it_waits(HostId host, ProcKey key) {
  Chance& chance = running_.at({host, key}).chance;
  after(host, chance.between(1, kSpawnUs), key, Step::kHold, [this, host, key] {
    if (!running_.contains({host, key})) return;
    core::EventRaised event;
    event.notice.set_code(core::kEventReadyForDebug);
    *event.notice.mutable_source() =
        core::proc_name(fmt::format("sim@{}", key.job.value()), key.rank.value());
    world_.post_to_daemon(host, event);
  });
}

void Processes::release(HostId host, JobId job) {
  for (auto& [key, process] : running_) {
    const bool waits = process.held_at == HeldAt::kInit && !process.exited;
    if (key.first != host || key.second.job != job || !waits) continue;
    process.held_at = HeldAt::kNowhere;
    after(host, process.chance.between(1, kStepUs), key.second, Step::kHold,
          [this, host, proc = key.second] {
            const auto found = running_.find({host, proc});
            if (found != running_.end() && !found->second.exited) run(host, proc);
          });
  }
}

void Processes::run(HostId host, ProcKey key) {
  const JobPlan& plan = world_.plan_of(key.job);
  Process& process = running_.at({host, key});
  const Trouble trouble = process.trouble;
  world_.services().on_begun(host, key);
  pump(host, key);
  // When one fails some of the others would go on for ever if the job were not ended.
  const bool is_ended = plan.fails_at_first() && !plan.ends_well() && !plan.recoverable;
  const bool waits =
      is_ended && plan.trouble_rank != key.rank.value() && process.chance.percent(50);
  if (waits || trouble == Trouble::kHang || trouble == Trouble::kStubborn) return;
  const int exit_code = trouble == Trouble::kExitCode ? 3 : 0;
  const int signal = trouble == Trouble::kCrash ? SIGSEGV : 0;
  after(host, process.run_us, key, Step::kEnd, [this, host, key, exit_code, signal] {
    if (exit_code != 0 || signal != 0) return fail(host, key, exit_code, signal);
    const auto found = running_.find({host, key});
    if (found == running_.end()) return;
    found->second.tired = true;
    if (!world_.services().is_busy(key)) end(host, key, 0, 0);
  });
}

void Processes::on_done(HostId host, ProcKey key) {
  const auto found = running_.find({host, key});
  if (found != running_.end() && found->second.tired) end(host, key, 0, 0);
}

void Processes::forget(HostId host, ProcKey key) {
  if (running_.erase({host, key}) > 0) world_.services().on_ended(host, key);
}

// Now and then it closes its output a good while before it fails.
void Processes::fail(HostId host, ProcKey key, int exit_code, int signal) {
  const auto found = running_.find({host, key});
  if (found == running_.end() || found->second.exited) return;
  if (found->second.chance.percent(50)) return end(host, key, exit_code, signal);
  found->second.closed = found->second.quiet = true;
  after(host, found->second.chance.between(1, 10 * kSpawnUs), key, Step::kFail,
        [this, host, key, exit_code, signal] { end(host, key, exit_code, signal); });
  world_.post_to_daemon(host, core::ProcOutputClosed{key, wire::STDOUT});
  world_.post_to_daemon(host, core::ProcOutputClosed{key, wire::STDERR});
}

void Processes::pump(HostId host, ProcKey key) {
  const auto found = running_.find({host, key});
  if (found == running_.end()) return;
  after(host, found->second.chance.between(1, kStepUs), key, Step::kOutput,
        [this, host, key] { step_output(host, key); });
}

// Each byte tells its position, so that the reader notices loss, doubling and reordering.
void Processes::step_output(HostId host, ProcKey key) {
  const auto found = running_.find({host, key});
  if (found == running_.end() || found->second.closed) return;
  Process& process = found->second;
  const auto size =
      std::min({process.left, process.credit, process.chance.between(1, kPieceBytes)});
  if (size > 0) {
    std::string data(size, '\0');
    for (std::uint64_t i = 0; i < size; ++i) {
      data[i] = static_cast<char>((process.written + i) % Clients::kByteCycle);
    }
    process.left -= size;
    process.written += size;
    written_[key] += size;
    process.credit -= size;
    pump(host, key);
    world_.post_to_daemon(host, core::ProcOutput{key, wire::STDOUT, Bytes(std::move(data))});
  } else if (process.left == 0 && process.exited) {
    process.closed = true;
    world_.post_to_daemon(host, core::ProcOutputClosed{key, wire::STDOUT});
  }
}

void Processes::end(HostId host, ProcKey key, int exit_code, int signal) {
  const auto found = running_.find({host, key});
  if (found == running_.end() || found->second.exited) return;
  found->second.exited = true;
  world_.services().on_ended(host, key);
  if (signal != 0) found->second.left = 0;
  pump(host, key);
  // The other stream is empty: it ends with the process, in no certain order.
  const core::ProcExited exited{key, exit_code, signal};
  const core::ProcOutputClosed closed{key, wire::STDERR};
  const bool closed_first = found->second.chance.percent(50);
  const bool quiet = found->second.quiet;
  runaways_[{host, key.job}] += found->second.chance.below(3);
  if (closed_first && !quiet) world_.post_to_daemon(host, closed);
  world_.post_to_daemon(host, exited);
  if (!closed_first && !quiet) world_.post_to_daemon(host, closed);
}

void Processes::signal(HostId host, const core::SignalProc& order) {
  const ProcKey key = order.proc;
  Chance chance = chance_of(world_, key).of(static_cast<std::uint64_t>(order.signal));
  after(host, chance.between(1, kStepUs), key, Step::kSignal,
        [this, host, key, number = order.signal] {
          if (running_.contains({host, key})) take_signal(host, key, number);
        });
}

void Processes::take_signal(HostId host, ProcKey key, int number) {
  Process& process = running_.at({host, key});
  const bool stopped = process.held_at == HeldAt::kExec && !process.exited;
  if (stopped && number != SIGKILL && number != SIGCONT) {
    process.pending_signal = number;
    return;
  }
  if (number == SIGCONT) {
    if (!stopped) return;
    process.held_at = HeldAt::kNowhere;
    run(host, key);
    if (process.pending_signal == 0) return;
    number = process.pending_signal;
  }
  if (process.exited && number == SIGKILL) {
    process.left = 0;
    pump(host, key);
  }
  if (!process.stubborn || number == SIGKILL) end(host, key, 0, number);
}

void Processes::grant(HostId host, const core::GrantOutput& grant) {
  const auto found = running_.find({host, grant.proc});
  if (found == running_.end() || grant.stream != wire::STDOUT) return;
  found->second.credit += grant.bytes;
  pump(host, grant.proc);
}

void Processes::write(HostId host, const core::WriteInput& input) {
  const auto found = running_.find({host, input.proc});
  if (found == running_.end()) return;
  const auto bytes = static_cast<std::uint32_t>(input.data.size());
  after(host, found->second.chance.between(1, kStepUs), input.proc, Step::kInput,
        [this, host, key = input.proc, bytes] {
          if (running_.contains({host, key}))
            world_.post_to_daemon(host, core::ProcInputTaken{key, bytes});
        });
}

void Processes::host_gone(HostId host) {
  std::erase_if(running_, [host](const auto& entry) { return entry.first.first == host; });
  std::erase_if(runaways_, [host](const auto& entry) { return entry.first.first == host; });
}

void Processes::sweep(HostId host, JobId job) {
  Chance chance = world_.chance(kPurpose).of(job.value()).of(host);
  if (world_.plan_of(job).trouble == Trouble::kUnendable) return;
  after(host, chance.between(1, 3 * kStepUs), ProcKey{job, {}}, Step::kSweep, [this, host, job] {
    runaways_.erase({host, job});
    world_.post_to_daemon(host, core::JobSwept{job, 0});
  });
}

// Now and then gdb fails, takes its time or is not heard of again. Nothing stops it: answers that
// nobody wants any more have to do no harm.
void Processes::trace(HostId host, const core::TraceProcs& order) {
  for (const ProcRank rank : order.ranks) {
    const ProcKey key{order.job, rank};
    Chance chance = world_.chance(kPurpose + 3).of(order.job.value()).of(host).of(rank.value());
    if (chance.percent(10)) continue;
    const bool fails = chance.percent(20);
    const auto takes_us = chance.between(1, chance.percent(80) ? 50 * kSpawnUs : kLongTraceUs);
    after(host, takes_us, key, Step::kTrace, [this, host, key, fails] {
      const auto found = running_.find({host, key});
      const bool ended = found == running_.end() || found->second.exited;
      core::ProcTraced traced{.proc = key, .pid = ended ? 0 : 5000 + key.rank.value()};
      if (fails) traced.status = Error{ErrorCode::kSystem, "no leave to trace"};
      traced.text = "#0 main ()";
      world_.post_to_daemon(host, std::move(traced));
    });
  }
}

std::uint64_t Processes::runaways(HostId host, JobId job) const {
  const auto found = runaways_.find({host, job});
  return found == runaways_.end() ? 0 : found->second;
}

void Processes::add_to(Hash& hash) const {
  for (const auto& [key, process] : running_) {
    hash.add(key.first);
    hash.add(std::uint64_t{key.second.job.value()} << 32U | key.second.rank.value());
    for (const auto value : {process.left, process.written, process.credit}) hash.add(value);
    hash.add((process.exited ? 1U : 0U) + (process.closed ? 2U : 0U));
    hash.add(static_cast<std::uint64_t>(process.held_at));
  }
}

std::uint64_t Processes::written(ProcKey key) const {
  const auto found = written_.find(key);
  return found == written_.end() ? 0 : found->second;
}

bool Processes::any_on(HostId host) const {
  const auto first = running_.lower_bound({host, ProcKey{}});
  return first != running_.end() && first->first.first == host;
}

}  // namespace tide::sim
