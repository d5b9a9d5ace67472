// The processes of all jobs on one daemon: started, watched, drained, reported, ended.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "core/job_state.hpp"
#include "core/notes.hpp"
#include "core/timers.hpp"

namespace tide::core {

struct LocalJobsConfig {
  Rank self;
  std::string node;
  std::uint32_t kill_grace_ms = 2'000;    // between SIGTERM, SIGKILL and giving up
  std::uint32_t drain_grace_ms = 1'000;   // output of an ended process held open and silent
  std::uint32_t sweep_period_ms = 5'000;  // half of the time for the end of what a job left
  std::uint32_t input_window_bytes = 65'536;
  Verbosity verbosity{};
};

// The way to the head, as the jobs see it.
class HeadPath {
 public:
  virtual ~HeadPath() = default;
  virtual void send_to_head(wire::UpBody body, Bytes payload) = 0;
  virtual void contribute(const wire::Reduction& reduction) = 0;
};

class LocalJobs {
 public:
  LocalJobs(LocalJobsConfig config, HeadPath& head, TimerBook& timers, Actions& out);

  // Idempotent by (job, attempt). Kept back until operation `mapped_at` is applied.
  void launch(const wire::LaunchCommon& common, const wire::LaunchSlice& slice, Serial applied);
  void on_applied(Serial applied);
  void signal(const wire::SignalJob& order);
  void grant(const wire::StreamCredit& credit);
  void input(const wire::InputChunk& chunk, const Bytes& data);
  void forget(JobId id);
  // A new path to the head: contributions that it has not released go again.
  void contribute_again();

  void handle(const ProcSpawned& event);
  void handle(const ProcSpawnFailed& event);
  void handle(const ProcExited& event);
  void handle(const ProcOutput& event);
  void handle(const ProcOutputClosed& event);
  void handle(const ProcInputTaken& event);
  void handle(const JobSwept& event);
  // True if the timer was one of these.
  bool handle_timer(TimerKind kind, std::uint32_t subject);

  [[nodiscard]] std::size_t size() const { return jobs_.size(); }

 private:
  struct Stream {
    bool open = true;
    std::int64_t credit = 0;  // granted and not yet used
    bool silent = false;      // nothing came since the last look
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
  };
  enum class Step : std::uint8_t { kNone, kAsked, kTerm, kKill, kGiveUp };
  struct Job {
    wire::LaunchCommon common;
    std::map<ProcRank, Proc> procs;
    std::size_t attempted = 0;
    std::size_t ended = 0;
    Step step = Step::kNone;
    bool failure_reported = false;
    bool held = false;        // waits for the operation it was mapped at
    bool over = false;        // all have ended; what they left behind is being swept
    bool sweep_seen = false;  // at the last look
    std::optional<wire::Reduction> launched;
    std::optional<wire::Reduction> finished;
  };

  void start(JobId id, Job& job);
  SpawnProc spawn_request(JobId id, const Job& job, const Proc& proc) const;
  void attempted(JobId id, Job& job);
  void settle(JobId id, Job& job, Proc& proc);
  void finish(JobId id, Job& job);
  void watch_sweeps();
  void end_late_sweeps();
  void conclude(JobId id, Job& job);
  void fail_early(JobId id, Job& job, const Proc& proc);
  void escalate(JobId id, Job& job);
  void give_up(JobId id, Job& job);
  void signal_all(JobId id, const Job& job, int signal);
  void cancel_starts(JobId id, const Job& job);
  void drain(JobId id, Job& job);
  void cancel_held(JobId id, Job& job);
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
