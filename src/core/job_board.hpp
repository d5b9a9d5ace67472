// The head's jobs: each goes through its own state machine, from submission to the last word to
// whoever asked for it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "core/daemon_port.hpp"
#include "core/job_state.hpp"
#include "core/mapper.hpp"
#include "core/notes.hpp"
#include "core/rank_set.hpp"
#include "core/roster.hpp"
#include "core/timers.hpp"

namespace tide::core {

struct JobBoardConfig {
  std::string dvm_id;
  std::uint32_t stream_window_bytes = 256 * 1024;
  std::uint32_t history_jobs = 1000;
  Verbosity verbosity{};
};

class JobBoard {
 public:
  JobBoard(JobBoardConfig config, Roster& roster, DaemonPort& daemons, TimerBook& timers,
           Actions& out);

  // ---- clients ----
  // What time it is, before anything else in a step.
  void set_now(std::uint64_t now_ms) { now_ms_ = now_ms; }
  void submit(ClientId client, std::uint32_t request, wire::JobSpec spec);
  Status kill(const wire::KillJob& order);
  // Of a job that is not the client's: ignored.
  void credit(ClientId client, const wire::ClientCredit& credit);
  void input(ClientId client, const wire::ClientInput& input, const Bytes& data);
  void client_gone(ClientId client);

  // ---- daemons; what one says about processes that it does not host is ignored ----
  void on_proc_failed(Rank daemon, const wire::ProcReport& report);
  void on_stream(Rank daemon, const wire::StreamChunk& chunk, const Bytes& data);
  void on_output_complete(Rank daemon, JobId id);
  void on_input_credit(Rank daemon, const wire::InputCredit& credit);
  void on_reduction(const wire::Reduction& reduction);
  void on_node_lost(const Node& node, const std::string& reason);

  // The DVM is ready: jobs that came early go on.
  void release_early_jobs();
  // A node under suspicion is back or lost: jobs that waited for the outcome are mapped.
  void map_undecided_jobs();
  // Ends every job, with SIGKILL at once if forced.
  void end_all(const std::string& reason, bool force);
  // The DVM ends and cannot wait any longer: jobs that are still there are given up.
  void abandon_all();
  bool handle_timer(TimerKind kind, std::uint32_t subject);

  [[nodiscard]] bool idle() const { return jobs_.empty(); }
  [[nodiscard]] std::uint64_t submitted() const { return next_job_ - 1; }
  void describe(wire::StatusReply& status, std::uint32_t history, std::uint64_t now_ms) const;

 private:
  struct Share {  // of one daemon in one job
    std::vector<std::uint32_t> ranks;
    bool launched = false;
    bool ended = false;
    bool output_complete = false;
    [[nodiscard]] bool settled() const { return ended && output_complete; }
  };
  struct Proc {
    ProcState state = ProcState::kInit;
    std::uint32_t pid = 0;
    int exit_code = 0;
    int signal = 0;
  };
  struct Job {
    JobId id;
    std::string nspace;
    std::optional<ClientId> owner;
    std::uint32_t request = 0;
    wire::JobSpec spec;
    JobState state = JobState::kInit;
    JobState end_state = JobState::kTerminated;  // how it ended, or will be said to have
    std::uint64_t submitted_ms = 0;
    std::vector<Placement> placements;
    std::vector<Proc> procs;
    std::map<Rank, Share> shares;
    std::shared_ptr<wire::LaunchCommon> launch;
    std::optional<int> exit_status;
    std::vector<std::string> messages;
    bool scattered = false;
  };
  struct Transition {
    JobId job;
    JobState state;
    std::string cause;
  };

  // ---- the state machine: one handler per state, named as in job_state_table() ----
  void go(const Job& job, JobState state, std::string cause);
  void run_transitions();
  void enter(Job& job);
  void setup_job(Job& job);
  void request_allocation(const Job& job);
  void allocate(const Job& job);
  void choose_daemons(const Job& job);
  void local_launch_daemons(const Job& job);
  void set_slots(const Job& job);
  void admit_to_mapping(const Job& job);
  void map_job(Job& job);
  void claim_slots(Job& job);
  void prepare_environment(Job& job);
  void assemble_launch(Job& job);
  void scatter_launch(Job& job);
  [[nodiscard]] std::uint32_t window_for(std::size_t processes) const;
  void wrap_up(const Job& job);
  void notify_owner(Job& job);
  void clean_up(const Job& job);

  // ---- endings ----
  void fail(Job& job, JobState error, int exit_status, const std::string& message, int signal);
  void order_end(const Job& job, int signal, bool terminate);
  void check_complete(Job& job);
  void take_report(Job& job, Rank daemon, const wire::ProcReport& report, bool final);
  [[nodiscard]] std::string describe_failure(const Job& job, Rank daemon,
                                             const wire::ProcReport& report) const;
  void give_back_slots(const Job& job, Rank daemon);
  static bool hosts(const Job& job, Rank daemon, std::uint32_t rank);
  void grant(const Job& job, const wire::ClientCredit& credit);

  Job* find(JobId id);
  Job* find(const wire::JobRef& ref);
  [[nodiscard]] wire::JobStatus status_of(const Job& job, std::uint64_t now_ms) const;
  void reply(const Job& job, wire::ClientReply reply, Bytes payload = {});

  JobBoardConfig config_;
  Roster& roster_;
  DaemonPort& daemons_;
  TimerBook& timers_;
  Actions& out_;
  Notes notes_;
  std::map<JobId, Job> jobs_;
  std::deque<wire::JobStatus> history_;  // newest last
  std::deque<Transition> transitions_;
  std::map<ClientId, std::uint32_t> unended_;  // jobs by owner
  std::vector<JobId> early_;                   // arrived before the DVM was ready
  std::vector<JobId> undecided_;               // would fit on nodes under suspicion
  bool running_transitions_ = false;
  std::uint32_t next_job_ = 1;
  std::uint64_t now_ms_ = 0;
};

}  // namespace tide::core
