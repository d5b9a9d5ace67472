// A virtual world for the real cores: one head and its daemons on a virtual network, with virtual
// launchers, processes and clients. A scenario determines every step of it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/daemon_core.hpp"
#include "core/driver.hpp"
#include "core/head_core.hpp"
#include "sim/journal.hpp"
#include "sim/network.hpp"
#include "sim/scenario.hpp"
#include "sim/schedule.hpp"

namespace tide::sim {

class Changes;
class Checks;
class Clients;
class Processes;
class Services;
class StagedFiles;

// Configurations of the real cores for a world.
core::HeadConfig head_config(const Scenario& scenario, bool with_notes);

class World final : private Hosts {
 public:
  World(Scenario scenario, Journal& journal);
  ~World() override;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  World(World&&) = delete;
  World& operator=(World&&) = delete;

  // Everything of the scenario, then quiet, then the end of the DVM. Throws BrokenPromise.
  void run();
  // Those of the scenario that could not be applied: nobody was left, or the DVM had ended.
  [[nodiscard]] std::vector<Fault> faults_left() const;

  // ---- where interleavings are explored ----
  // A fault here and now.
  struct Strike {
    FaultKind kind = FaultKind::kCut;
    HostId host = kHeadHost;
    std::uint64_t which = 0;                  // a link, for a cut; a number, for a lie
    std::uint32_t other = Fault::kEverybody;  // as in a fault, but a host
    std::uint64_t for_ms = 0;
  };
  [[nodiscard]] std::vector<Strike> possible_strikes(const FaultClasses& classes) const;
  // False: it makes no difference now.
  bool strike(const Strike& strike);
  [[nodiscard]] std::uint64_t state_hash() const;

  // ---- for the parts of the world ----
  struct Host {
    HostId id = 0;
    Identity identity;
    std::string node;
    bool alive = true;
    bool powered = true;
    bool silent = false;              // it never connects
    std::optional<FaultKind> doom{};  // how it ends as soon as it has connected
    bool foreign = false;             // with a stolen ticket: not started by our launcher
    HostId started_by = 0;
    bool on_its_own = false;  // it has reached the DVM, and whoever started it has let go
    unsigned frozen = 0;
    std::deque<std::function<void()>> held;  // while it stands still
    std::unique_ptr<core::DaemonCore> core;  // none at the head
    std::unique_ptr<core::Effects> effects;
    std::unique_ptr<core::StepObserver<core::DaemonEvent>> observer;
    std::unique_ptr<core::Driver<core::DaemonCore>> driver;
  };

  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] Schedule& schedule() { return schedule_; }
  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] std::uint64_t now_ms() const { return schedule_.now_ms(); }
  [[nodiscard]] Journal& journal() { return journal_; }
  [[nodiscard]] const core::HeadCore& head() const { return *head_core_; }
  [[nodiscard]] bool head_exited() const { return head_exited_; }
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] const std::map<HostId, Host>& hosts() const { return hosts_; }
  [[nodiscard]] const Processes& processes() const { return *processes_; }
  Processes& processes() { return *processes_; }
  [[nodiscard]] const StagedFiles& files() const { return *files_; }
  [[nodiscard]] const Clients& clients() const { return *clients_; }
  [[nodiscard]] const Changes& changes() const { return *changes_; }
  [[nodiscard]] Changes& changes() { return *changes_; }
  [[nodiscard]] Services& services() { return *services_; }
  [[nodiscard]] const Services& services() const { return *services_; }
  [[nodiscard]] const JobPlan& plan_of(JobId job) const;
  [[nodiscard]] bool knows_plan_of(JobId job) const;
  [[nodiscard]] bool down_requested() const;
  // Where the daemon of this rank lives, or the head.
  [[nodiscard]] std::optional<HostId> living_host(Rank rank) const;
  [[nodiscard]] HostId pick_host(std::uint32_t number) const { return choose_living(number); }
  [[nodiscard]] Chance chance(std::uint64_t purpose) const { return chance_.of(purpose); }
  [[nodiscard]] bool is_alive(HostId host) const { return alive(host); }
  // Struck so hard that nothing can be said about it.
  [[nodiscard]] bool is_excused(Rank rank) const;
  [[nodiscard]] std::uint64_t last_fault_ms() const;
  [[nodiscard]] std::uint64_t messages() const { return network_.messages(); }
  void post_to_head(core::HeadEvent event);
  void post_to_daemon(HostId host, core::DaemonEvent event);
  void wake(HostId host, std::function<void()> action) { when_awake(host, std::move(action)); }
  // As soon as it can listen.
  void tell(HostId host, core::DaemonEvent event);
  // The process has done what it wanted of the services, and may end.
  void done_with_services(HostId host, core::ProcKey who);

 private:
  class HeadEffects;
  class DaemonEffects;
  class HeadObserver;
  class DaemonObserver;

  // Hosts
  [[nodiscard]] bool alive(HostId host) const override;
  [[nodiscard]] bool powered(HostId host) const override;
  [[nodiscard]] bool frozen(HostId host) const override;
  [[nodiscard]] Identity identity(HostId host) const override;
  void when_awake(HostId host, std::function<void()> action) override;
  void post(HostId host, core::DaemonEvent event) override;

  void perform_common(HostId self, core::Action& action);
  void start_timer(HostId host, const core::StartTimer& timer);

  // the launcher
  void launch(const core::LaunchTarget& target, HostId by);
  HostId make_host(const core::LaunchTarget& target, bool foreign);
  void start_daemon(const core::LaunchTarget& target, HostId by, bool silent,
                    std::optional<FaultKind> doom);
  template <class Event>
  void tell_starter(HostId starter, Event event);
  [[nodiscard]] std::string machine_of(const Host& host) const;
  void end_sessions_of(HostId starter);
  void end_session(HostId host, const std::string& why);
  void started(HostId host);
  void end_daemon(Rank rank);
  void meet_doom(HostId host, core::DaemonEvent event);
  void stop_host(HostId host, const std::string& how, bool told);
  const Fault* launch_fault(Rank rank) const;

  // faults
  void plan_faults();
  bool apply(const Fault& fault);
  void note_applied(FaultKind kind);
  [[nodiscard]] std::vector<HostId> living() const;
  [[nodiscard]] HostId choose_living(std::uint32_t target) const;
  void freeze(HostId host, std::uint64_t for_ms);
  void thaw(HostId host);
  void part(const Strike& fault);
  bool lie(std::uint32_t number);
  bool lie_from(HostId host, Chance chance);

  void request_down();
  void expect_quiet(std::uint64_t from_ms);

  Scenario scenario_;
  Journal& journal_;
  Chance chance_;
  Schedule schedule_;
  Network network_;
  std::map<HostId, Host> hosts_;
  std::map<Rank, bool> launch_cancelled_;
  std::set<std::size_t> applied_;  // faults of the scenario, by their place in it
  std::unique_ptr<core::HeadCore> head_core_;
  std::unique_ptr<HeadEffects> head_effects_;
  std::unique_ptr<HeadObserver> head_observer_;
  std::unique_ptr<core::Driver<core::HeadCore>> head_driver_;
  std::unique_ptr<Processes> processes_;
  std::unique_ptr<StagedFiles> files_;
  std::unique_ptr<Clients> clients_;
  std::unique_ptr<Changes> changes_;
  std::unique_ptr<Services> services_;
  std::unique_ptr<Checks> checks_;
  bool ready_ = false;
  bool head_exited_ = false;
};

}  // namespace tide::sim
