// The processes of all jobs on one daemon: started, watched, drained, reported, ended.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/actions.hpp"
#include "core/hosted_jobs.hpp"
#include "core/job_state.hpp"
#include "core/notes.hpp"
#include "core/timers.hpp"

namespace tide::core {

// Where a job finds the files that it brought.
inline std::string job_directory(const std::string& files_root, JobId job) {
  return files_root + "/" + std::to_string(job.value());
}

struct LocalJobsConfig {
  Rank self;
  std::string node;
  std::string files_root;                 // directories of jobs are below it
  std::uint32_t kill_grace_ms = 2'000;    // between SIGTERM, SIGKILL and giving up
  std::uint32_t drain_grace_ms = 1'000;   // output of an ended process held open and silent
  std::uint32_t sweep_period_ms = 5'000;  // half of the time for the end of what a job left
  std::uint32_t input_window_bytes = 65'536;
  Verbosity verbosity{};
};

class LocalJobs final : public HostedJobs {
 public:
  LocalJobs(LocalJobsConfig config, HeadPath& head, TimerBook& timers, Actions& out);

  // Idempotent by (job, attempt). Kept back until operation `mapped_at` is applied.
  void launch(const wire::LaunchCommon& common, const wire::LaunchSlice& slice, Serial applied);
  void on_applied(Serial applied);
  void signal(const wire::SignalJob& order);
  void grant(const wire::StreamCredit& credit);
  void input(const wire::InputChunk& chunk, const Bytes& data);
  void forget(JobId id);
  void trace(const wire::TraceJob& order);
  // A new path to the head: contributions that it has not released go again.
  void contribute_again();

  void handle(const ProcSpawned& event);
  void handle(const ProcSpawnFailed& event);
  void handle(const ProcExited& event);
  void handle(const ProcOutput& event);
  void handle(const ProcOutputClosed& event);
  void handle(const ProcInputTaken& event);
  void handle(const JobSwept& event);
  void handle(const JobRegistered& event);
  void handle(const ProcRegistered& event);
  void handle(const ProcAborted& event);
  void handle(const ProcTraced& event);
  // A process says that it waits for a debugger. False if it is none of a job that is to be held.
  bool on_ready_for_debug(const wire::EventNotice& notice);
  // True if the timer was one of these.
  bool handle_timer(TimerKind kind, std::uint32_t subject);

  [[nodiscard]] std::size_t size() const { return jobs_.size(); }
  [[nodiscard]] const wire::LaunchCommon* launch_of(std::string_view nspace) const override;
  bool write_for(const wire::ProcName& who, wire::Stream stream, const Bytes& data) override;
  [[nodiscard]] const wire::LaunchCommon* launch_of(JobId id) const;

 private:
  struct Stream {
    bool open = true;
    std::int64_t credit = 0;   // granted and not yet used
    bool silent = false;       // nothing came since the last look
    std::uint32_t beside = 0;  // sent for the process and not by it; what is granted pays it first
  };
  struct Proc {
    wire::LaunchProc launch;
    ProcState state = ProcState::kInit;
    std::uint32_t pid = 0;
    bool exited = false;
    bool ended = false;
    int exit_code = 0;
    int signal = 0;
    std::string error;
    std::array<Stream, 2> streams;
    bool registered = false;
    bool waits_for_debugger = false;
    std::uint32_t restarts = 0;
  };
  struct Traces {  // under way
    std::set<ProcRank> awaited;
    std::uint32_t left_out = 0;
    std::uint32_t failed = 0;
    std::string reason;  // of the first that failed
  };
  enum class Registration : std::uint8_t { kNone, kAsked, kDone };  // with the local server
  enum class Step : std::uint8_t { kNone, kAsked, kTerm, kKill, kGiveUp };
  struct Job {
    std::shared_ptr<const wire::LaunchCommon> common;
    std::map<ProcRank, Proc> procs;
    std::size_t attempted = 0;
    std::size_t ended = 0;
    Step step = Step::kNone;
    bool failure_reported = false;
    bool held = false;        // waits for the operation it was mapped at
    bool over = false;        // all have ended; what they left behind is being swept
    bool sweep_seen = false;  // at the last look
    Registration registration = Registration::kNone;
    std::optional<wire::Reduction> launched;
    std::optional<wire::Reduction> registered;
    std::optional<wire::Reduction> ready_for_debug;
    std::string breakpoint;  // where its processes say that they wait
    std::optional<wire::Reduction> finished;
    bool traced = false;  // a debugger was, or is, attached to its processes
    std::optional<Traces> traces;
  };

  void start(JobId id, Job& job);
  void spawn_all(JobId id, const Job& job);
  SpawnProc spawn_request(JobId id, const Job& job, const Proc& proc) const;
  [[nodiscard]] std::shared_ptr<const Program> program_of(JobId id,
                                                          const wire::LaunchApp& app) const;
  void attempted(JobId id, Job& job);
  static bool may_restart(const Job& job, const Proc& proc);
  void restart(JobId id, Job& job, Proc& proc);
  void restarted(JobId id, const Proc& proc);
  void settle(JobId id, Job& job, Proc& proc);
  void finish(JobId id, Job& job);
  void watch_sweeps();
  void end_late_sweeps();
  void conclude(JobId id, Job& job);
  void fail_early(JobId id, Job& job, const Proc& proc);
  void hold(JobId id, Job& job, Proc& proc);
  void check_held(JobId id, Job& job);
  void let_go(JobId id, Job& job, const wire::SignalJob& order);
  void complete_traces(JobId id, const Traces& traces);
  void stop_traces(JobId id, Job& job);
  void give_back_input(const ProcKey& key, std::uint32_t bytes);
  void send_output(const ProcKey& key, Stream& state, wire::Stream stream, const Bytes& data);
  void escalate(JobId id, Job& job);
  void give_up(JobId id, Job& job);
  void signal_one(JobId id, const Job& job, ProcRank rank, int signal);
  void signal_all(JobId id, const Job& job, int signal);
  void cancel_starts(JobId id, const Job& job);
  void drain(JobId id, Job& job);
  void cancel_before_start(JobId id, Job& job);
  void fail_all(JobId id, Job& job, const Error& error);
  wire::ProcReport report(JobId id, const Proc& proc) const;
  wire::Reduction reduction(JobId id, const Job& job, wire::ReductionId::Kind kind) const;
  Proc* find(const ProcKey& key, Job** job = nullptr);

  LocalJobsConfig config_;
  HeadPath& head_;
  TimerBook& timers_;
  Actions& out_;
  Notes notes_;
  std::map<JobId, Job> jobs_;
};

}  // namespace tide::core
