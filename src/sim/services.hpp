// The PMIx servers of all hosts and the processes that use them: what processes ask for, one step
// after the other, and what comes back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/actions.hpp"
#include "sim/event_watch.hpp"
#include "sim/gatherings.hpp"
#include "sim/published.hpp"
#include "sim/reservations.hpp"
#include "sim/service_plan.hpp"
#include "sim/tools.hpp"

namespace tide::sim {

class World;

// What somebody who waited was given.
struct Given {
  Status status = ok_status();
  Bytes data;
  std::uint64_t context = 0;
  wire::ServiceAnswer answer;
  wire::ProcName name;
};

class Services {
 public:
  static constexpr char kLogByte = '\xFF';  // of what processes log; never of what they write

  explicit Services(World& world);

  // ---- what the cores want done ----
  // False: it is nothing of the services.
  bool perform(HostId host, const core::Action& action);
  void on_head_step(const core::Actions& actions) { events_.on_head_step(actions); }

  // ---- what processes do ----
  void on_registered(HostId host, const wire::LaunchCommon& launch);
  void on_begun(HostId host, core::ProcKey who);
  void on_ended(HostId host, core::ProcKey who);
  // It has not done all that it wants, and will say when it has.
  [[nodiscard]] bool is_busy(core::ProcKey who) const;
  void host_gone(HostId host);
  void plan_tools() { tools_.plan_all(); }

  // ---- promises ----
  void when_quiet() const;

  // Of a job that a process or a tool spawned; nullptr: it is none of these.
  [[nodiscard]] const JobPlan* plan_of(JobId job) const;
  // How many bytes of the process were taken to be logged.
  [[nodiscard]] std::uint64_t logged(core::ProcKey who) const;

  // ---- for its parts ----
  using Then = std::function<void(const Given&)>;
  struct Spawn {
    JobPlan plan;
    std::optional<core::ProcKey> parent;  // none: a tool
    JobId job{0};                         // 0: not known yet
  };

  [[nodiscard]] World& world() { return world_; }
  [[nodiscard]] const World& world() const { return world_; }
  [[nodiscard]] Reservations& reservations() { return reservations_; }
  // `must`: it has to be answered as long as the host lives.
  std::uint64_t ticket(HostId host, bool must, Then then);
  // Whoever waited there has gone.
  void excuse(std::uint64_t ticket);
  void later(HostId host, std::uint64_t most_us, std::function<void()> what);
  void proceed(core::ProcKey who, bool well);
  std::uint64_t ask(HostId host, bool must, wire::ServiceRequest request, Then then);
  // A number for the job, by which it is known again.
  std::string note_spawn(JobPlan plan, std::optional<core::ProcKey> parent);
  // Of a job that was spawned, by its name.
  [[nodiscard]] std::optional<std::string> correlation_of(const std::string& nspace) const;
  [[nodiscard]] JobId job_with(const std::string& correlation) const;
  // Of the job whose process spawned this one; "": none did.
  [[nodiscard]] std::string parent_of(const std::string& correlation) const;
  void on_spawned(const std::string& correlation, const Given& given);
  static JobId job_of(const std::string& nspace);
  static core::ProcKey key_of(const wire::ProcName& name) {
    return {job_of(name.nspace()), ProcRank(name.rank())};
  }
  static void describe(const JobPlan& plan, wire::JobSpec& spec);

  [[nodiscard]] HostId host_of(core::ProcKey who) const;
  [[nodiscard]] bool is_on(core::ProcKey who, HostId host) const;
  [[nodiscard]] bool is_over(core::ProcKey who) const;
  // It can't take part in anything any more, or the head thinks so.
  [[nodiscard]] bool is_lost(core::ProcKey who) const;
  [[nodiscard]] bool is_known_on(const std::string& nspace, HostId host) const;
  [[nodiscard]] Rank daemon_of(HostId host) const;

 private:
  struct Member {
    Rank daemon;
    std::optional<HostId> host;
    bool begun = false;
    bool over = false;
    bool done = false;
    std::size_t at = 0;
    std::uint32_t stage = 0;  // of the step
  };
  struct Job {
    JobId id{0};
    std::string nspace;
    JobPlan plan;
    std::vector<ServiceStep> program;
    std::vector<Member> members;
    std::optional<core::ProcKey> spawner;
  };
  struct Ticket {
    HostId host = kHeadHost;
    bool must = false;
    Then then;
  };
  struct Moment {  // of one process in its program
    Job& job;
    Member& member;
    core::ProcKey who;
    const ServiceStep& step;
  };

  void learn(HostId host, const wire::LaunchCommon& launch);
  [[nodiscard]] const Job* find(JobId job) const;
  [[nodiscard]] const Member* find(core::ProcKey who) const;
  Member* find(core::ProcKey who);
  void advance(core::ProcKey who);
  // True: it waits.
  bool take_step(const Moment& moment);
  [[nodiscard]] static bool deserts(const Moment& moment);
  bool gather(const Moment& moment);
  bool gather_with_child(const Moment& moment);
  bool ask_modex(core::ProcKey who, core::ProcKey whose, std::uint64_t draw);
  bool meet(const Moment& moment);
  bool publish(const Moment& moment);
  bool read(const Moment& moment, const std::string& key, std::uint32_t timeout_ms);
  bool raise(const Moment& moment);
  bool spawn(const Moment& moment);
  bool log(const Moment& moment);
  bool query(const Moment& moment);
  bool allocate(const Moment& moment);
  void again(core::ProcKey who);  // the same step, the next stage
  void fetch(HostId host, const core::FetchModex& wish);
  void answer_fetch(HostId host, core::ProcKey whose, std::uint64_t number);
  void register_guest(HostId host, const std::string& nspace);
  void answered(HostId host, std::uint64_t ticket, const Given& given);
  [[nodiscard]] wire::ProcName name_of(core::ProcKey who) const;
  void check_modex(core::ProcKey whose, std::uint64_t asked_ms, std::uint32_t timeout_ms,
                   const Given& given) const;
  void count(Act act, bool well);

  World& world_;
  Gatherings gatherings_;
  Published published_;
  EventWatch events_;
  Tools tools_;
  Reservations reservations_;
  std::map<JobId, Job> jobs_;
  std::vector<Spawn> spawns_;
  std::map<std::uint64_t, Ticket> tickets_;
  std::map<core::ProcKey, std::vector<std::pair<HostId, std::uint64_t>>> early_fetches_;
  std::map<core::ProcKey, std::string> children_;  // correlation of what was spawned last
  std::map<core::ProcKey, std::uint64_t> logged_;  // bytes
  std::set<std::pair<HostId, std::string>> guests_;
  std::uint64_t last_ticket_ = 0;
  std::uint64_t delays_ = 0;
};

}  // namespace tide::sim
