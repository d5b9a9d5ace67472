// The states of jobs and processes, with the names and numbers people know from logs and scripts,
// and the table of which job state may follow which.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tide::core {

enum class JobState : std::uint32_t {
  kInit = 1,
  kInitComplete = 2,
  kAllocate = 3,
  kAllocationComplete = 4,
  kMap = 5,
  kMapComplete = 6,
  kSystemPrep = 7,
  kLaunchDaemons = 8,
  kDaemonsLaunched = 9,
  kDaemonsReported = 10,
  kVmReady = 11,
  kLaunchApps = 12,
  kSendLaunchMsg = 13,
  kRunning = 14,
  kRegistered = 16,
  kWaitingForDaemons = 17,
  kLocalLaunchComplete = 18,
  kReadyForDebug = 19,
  kStarted = 20,
  kUnterminated = 30,  // boundary: below it the job is alive
  kTerminated = 31,
  kNotifyCompleted = 32,
  kNotified = 33,
  kAllJobsComplete = 34,
  kDaemonsTerminated = 35,
  kError = 50,  // boundary: at and above it something went wrong
  kKilledByCmd = 51,
  kAborted = 52,
  kFailedToStart = 53,
  kNeverLaunched = 60,
  kForcedExit = 64,
  kFilesPosnFailed = 65,
  kAllocFailed = 68,
  kMapFailed = 69,
  kCannotLaunch = 70,
};

enum class ProcState : std::uint32_t {
  kInit = 1,
  kRunning = 4,
  kRegistered = 5,
  kIofComplete = 6,
  kWaitpidFired = 7,
  kReadyForDebug = 9,
  kUnterminated = 15,  // boundary
  kTerminated = 20,
  kError = 50,  // boundary
  kKilledByCmd = 51,
  kAborted = 52,
  kFailedToStart = 53,
  kCommFailed = 56,  // its daemon was lost
};

// "PRTE_JOB_STATE_RUNNING" and the like; "PRTE_JOB_STATE_UNKNOWN" for a number outside the table.
std::string_view job_state_name(JobState state);
std::string_view proc_state_name(ProcState state);

// One row of the running table: what is done when a job reaches the state.
struct JobStateRow {
  JobState state;
  std::string_view handler;
};
// In the order in which a job meets them, errors last.
std::span<const JobStateRow> job_state_table();

// May a job go from one to the other? Every state below the boundary may end in an error.
bool job_may_go(JobState from, JobState to);
// Processes are reported by daemons: a late or repeated report must not bring one back to life.
bool proc_may_go(ProcState from, ProcState to);

inline bool is_error(JobState state) {
  return state >= JobState::kError;
}
inline bool is_error(ProcState state) {
  return state >= ProcState::kError;
}
inline bool is_alive(ProcState state) {
  return state < ProcState::kUnterminated;
}

}  // namespace tide::core
