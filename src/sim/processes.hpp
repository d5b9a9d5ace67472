// The virtual processes of jobs, on all hosts: they run, write, read, end, or don't.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "core/actions.hpp"
#include "sim/network.hpp"
#include "sim/scenario.hpp"

namespace tide::sim {

class World;

class Processes {
 public:
  explicit Processes(World& world) : world_(world) {}

  void spawn(HostId host, const core::SpawnProc& request);
  void signal(HostId host, const core::SignalProc& order);
  void grant(HostId host, const core::GrantOutput& grant);
  void write(HostId host, const core::WriteInput& input);
  void forget(HostId host, core::ProcKey key);
  void sweep(HostId host, JobId job);
  // Whoever waits for a debugger in PMIx_Init goes on.
  void release(HostId host, JobId job);
  void trace(HostId host, const core::TraceProcs& order);
  void register_job(HostId host, const core::RegisterJob& wish);
  // It has nothing more to ask of the services.
  void on_done(HostId host, core::ProcKey key);
  // The warden has ended everything that the host's daemon left.
  void host_gone(HostId host);

  [[nodiscard]] bool any_on(HostId host) const;
  void add_to(Hash& hash) const;
  // What processes of the job that have ended left behind on the host.
  [[nodiscard]] std::uint64_t runaways(HostId host, JobId job) const;
  // What the processes that had this place have written.
  [[nodiscard]] std::uint64_t written(core::ProcKey key) const;
  // What the process of this job and rank writes, if it is left alone.
  static std::uint64_t planned_output(const Scenario& scenario, const JobPlan& plan,
                                      std::uint32_t job, std::uint32_t rank);

 private:
  struct Process {
    std::uint64_t left = 0;  // bytes still to be written to standard output
    std::uint64_t written = 0;
    std::uint64_t credit = 0;
    bool exited = false;
    bool closed = false;
    bool stubborn = false;
    bool quiet = false;  // its other stream is closed
    bool tired = false;  // has run for as long as it was to
    Trouble trouble = Trouble::kNone;
    std::uint64_t run_us = 0;
    HeldAt held_at = HeldAt::kNowhere;
    int pending_signal = 0;  // for when it goes on
    Chance chance{0};
  };
  using Key = std::pair<HostId, core::ProcKey>;

  void begin(HostId host, core::ProcKey key, const JobPlan& plan, std::uint64_t window);
  void run(HostId host, core::ProcKey key);
  void say_that_it_waits(HostId host, core::ProcKey key);
  void take_signal(HostId host, core::ProcKey key, int number);
  void pump(HostId host, core::ProcKey key);
  void step_output(HostId host, core::ProcKey key);
  void end(HostId host, core::ProcKey key, int exit_code, int signal);
  void fail(HostId host, core::ProcKey key, int exit_code, int signal);
  enum class Step : std::uint8_t {
    kSpawn,
    kEnd,
    kFail,
    kOutput,
    kSignal,
    kInput,
    kSweep,
    kRegister,
    kHold,
    kTrace
  };
  void after(HostId host, std::uint64_t delay_us, core::ProcKey key, Step step,
             std::function<void()> what);

  World& world_;
  std::map<Key, Process> running_;
  std::map<Key, std::uint32_t> begun_;              // how often
  std::map<core::ProcKey, std::uint64_t> written_;  // by all of them
  std::map<std::pair<HostId, JobId>, std::uint64_t> runaways_;
};

}  // namespace tide::sim
