#include "core/job_state.hpp"

#include <algorithm>
#include <array>

namespace tide::core {

namespace {

struct JobName {
  JobState state;
  std::string_view name;
};
constexpr std::array kJobNames = {
    JobName{JobState::kInit, "PRTE_JOB_STATE_INIT"},
    JobName{JobState::kInitComplete, "PRTE_JOB_STATE_INIT_COMPLETE"},
    JobName{JobState::kAllocate, "PRTE_JOB_STATE_ALLOCATE"},
    JobName{JobState::kAllocationComplete, "PRTE_JOB_STATE_ALLOCATION_COMPLETE"},
    JobName{JobState::kMap, "PRTE_JOB_STATE_MAP"},
    JobName{JobState::kMapComplete, "PRTE_JOB_STATE_MAP_COMPLETE"},
    JobName{JobState::kSystemPrep, "PRTE_JOB_STATE_SYSTEM_PREP"},
    JobName{JobState::kLaunchDaemons, "PRTE_JOB_STATE_LAUNCH_DAEMONS"},
    JobName{JobState::kDaemonsLaunched, "PRTE_JOB_STATE_DAEMONS_LAUNCHED"},
    JobName{JobState::kDaemonsReported, "PRTE_JOB_STATE_DAEMONS_REPORTED"},
    JobName{JobState::kVmReady, "PRTE_JOB_STATE_VM_READY"},
    JobName{JobState::kLaunchApps, "PRTE_JOB_STATE_LAUNCH_APPS"},
    JobName{JobState::kSendLaunchMsg, "PRTE_JOB_STATE_SEND_LAUNCH_MSG"},
    JobName{JobState::kRunning, "PRTE_JOB_STATE_RUNNING"},
    JobName{JobState::kRegistered, "PRTE_JOB_STATE_REGISTERED"},
    JobName{JobState::kWaitingForDaemons, "PRTE_JOB_STATE_WAITING_FOR_DAEMONS"},
    JobName{JobState::kLocalLaunchComplete, "PRTE_JOB_STATE_LOCAL_LAUNCH_COMPLETE"},
    JobName{JobState::kReadyForDebug, "PRTE_JOB_STATE_READY_FOR_DEBUG"},
    JobName{JobState::kStarted, "PRTE_JOB_STATE_STARTED"},
    JobName{JobState::kTerminated, "PRTE_JOB_STATE_TERMINATED"},
    JobName{JobState::kNotifyCompleted, "PRTE_JOB_STATE_NOTIFY_COMPLETED"},
    JobName{JobState::kNotified, "PRTE_JOB_STATE_NOTIFIED"},
    JobName{JobState::kAllJobsComplete, "PRTE_JOB_STATE_ALL_JOBS_COMPLETE"},
    JobName{JobState::kDaemonsTerminated, "PRTE_JOB_STATE_DAEMONS_TERMINATED"},
    JobName{JobState::kKilledByCmd, "PRTE_JOB_STATE_KILLED_BY_CMD"},
    JobName{JobState::kAborted, "PRTE_JOB_STATE_ABORTED"},
    JobName{JobState::kFailedToStart, "PRTE_JOB_STATE_FAILED_TO_START"},
    JobName{JobState::kNeverLaunched, "PRTE_JOB_STATE_NEVER_LAUNCHED"},
    JobName{JobState::kForcedExit, "PRTE_JOB_STATE_FORCED_EXIT"},
    JobName{JobState::kFilesPosnFailed, "PRTE_JOB_STATE_FILES_POSN_FAILED"},
    JobName{JobState::kAllocFailed, "PRTE_JOB_STATE_ALLOC_FAILED"},
    JobName{JobState::kMapFailed, "PRTE_JOB_STATE_MAP_FAILED"},
    JobName{JobState::kCannotLaunch, "PRTE_JOB_STATE_CANNOT_LAUNCH"},
};

struct ProcName {
  ProcState state;
  std::string_view name;
};
constexpr std::array kProcNames = {
    ProcName{ProcState::kInit, "PRTE_PROC_STATE_INIT"},
    ProcName{ProcState::kRunning, "PRTE_PROC_STATE_RUNNING"},
    ProcName{ProcState::kRegistered, "PRTE_PROC_STATE_REGISTERED"},
    ProcName{ProcState::kIofComplete, "PRTE_PROC_STATE_IOF_COMPLETE"},
    ProcName{ProcState::kWaitpidFired, "PRTE_PROC_STATE_WAITPID_FIRED"},
    ProcName{ProcState::kReadyForDebug, "PRTE_PROC_STATE_READY_FOR_DEBUG"},
    ProcName{ProcState::kTerminated, "PRTE_PROC_STATE_TERMINATED"},
    ProcName{ProcState::kKilledByCmd, "PRTE_PROC_STATE_KILLED_BY_CMD"},
    ProcName{ProcState::kAborted, "PRTE_PROC_STATE_ABORTED"},
    ProcName{ProcState::kFailedToStart, "PRTE_PROC_STATE_FAILED_TO_START"},
    ProcName{ProcState::kCommFailed, "PRTE_PROC_STATE_COMM_FAILED"},
};

// The function that acts on each state: of JobBoard, for the daemons' own job of HeadCore, and for
// LOCAL_LAUNCH_COMPLETE of LocalJobs. LAUNCH_DAEMONS belongs to the launcher.
constexpr std::array kTable = {
    JobStateRow{JobState::kInit, "setup_job"},
    JobStateRow{JobState::kInitComplete, "request_allocation"},
    JobStateRow{JobState::kAllocate, "allocate"},
    JobStateRow{JobState::kAllocationComplete, "choose_daemons"},
    JobStateRow{JobState::kLaunchDaemons, "local_launch_daemons"},
    JobStateRow{JobState::kDaemonsLaunched, "on_daemons_launched"},
    JobStateRow{JobState::kDaemonsReported, "set_slots"},
    JobStateRow{JobState::kVmReady, "admit_to_mapping"},
    JobStateRow{JobState::kWaitingForDaemons, "end_change"},
    JobStateRow{JobState::kMap, "map_job"},
    JobStateRow{JobState::kMapComplete, "claim_slots"},
    JobStateRow{JobState::kSystemPrep, "prepare_environment"},
    JobStateRow{JobState::kLaunchApps, "assemble_launch"},
    JobStateRow{JobState::kSendLaunchMsg, "scatter_launch"},
    JobStateRow{JobState::kStarted, "check_complete"},
    JobStateRow{JobState::kLocalLaunchComplete, "attempted"},
    JobStateRow{JobState::kRunning, "check_complete"},
    JobStateRow{JobState::kRegistered, "check_complete"},
    JobStateRow{JobState::kReadyForDebug, "tell_that_it_is_held"},
    JobStateRow{JobState::kTerminated, "wrap_up"},
    JobStateRow{JobState::kNotifyCompleted, "notify_owner"},
    JobStateRow{JobState::kNotified, "clean_up"},
    JobStateRow{JobState::kAllJobsComplete, "progress_end"},
    JobStateRow{JobState::kDaemonsTerminated, "finish"},
    JobStateRow{JobState::kForcedExit, "check_complete"},
};

struct Edge {
  JobState from;
  JobState to;
};
constexpr std::array kEdges = {
    Edge{JobState::kInit, JobState::kInitComplete},
    Edge{JobState::kInitComplete, JobState::kAllocate},
    Edge{JobState::kAllocate, JobState::kAllocationComplete},
    Edge{JobState::kAllocationComplete, JobState::kLaunchDaemons},
    Edge{JobState::kAllocationComplete, JobState::kDaemonsReported},
    Edge{JobState::kLaunchDaemons, JobState::kDaemonsLaunched},
    Edge{JobState::kLaunchDaemons, JobState::kDaemonsReported},
    Edge{JobState::kDaemonsLaunched, JobState::kDaemonsReported},
    Edge{JobState::kDaemonsLaunched, JobState::kWaitingForDaemons},
    Edge{JobState::kWaitingForDaemons, JobState::kDaemonsReported},
    Edge{JobState::kDaemonsReported, JobState::kVmReady},
    Edge{JobState::kVmReady, JobState::kMap},
    Edge{JobState::kVmReady, JobState::kWaitingForDaemons},
    Edge{JobState::kWaitingForDaemons, JobState::kVmReady},
    Edge{JobState::kWaitingForDaemons, JobState::kMap},
    Edge{JobState::kLaunchApps, JobState::kWaitingForDaemons},
    Edge{JobState::kWaitingForDaemons, JobState::kLaunchApps},
    Edge{JobState::kMap, JobState::kMapComplete},
    Edge{JobState::kMapComplete, JobState::kSystemPrep},
    Edge{JobState::kMapComplete, JobState::kTerminated},
    Edge{JobState::kSystemPrep, JobState::kLaunchApps},
    Edge{JobState::kLaunchApps, JobState::kSendLaunchMsg},
    Edge{JobState::kSendLaunchMsg, JobState::kStarted},
    Edge{JobState::kStarted, JobState::kRunning},
    Edge{JobState::kRunning, JobState::kTerminated},
    Edge{JobState::kRunning, JobState::kRegistered},
    Edge{JobState::kRegistered, JobState::kTerminated},
    Edge{JobState::kRunning, JobState::kReadyForDebug},
    Edge{JobState::kRegistered, JobState::kReadyForDebug},
    Edge{JobState::kReadyForDebug, JobState::kRegistered},
    Edge{JobState::kReadyForDebug, JobState::kTerminated},
    Edge{JobState::kTerminated, JobState::kNotifyCompleted},
    Edge{JobState::kNotifyCompleted, JobState::kNotified},
};

}  // namespace

std::string_view job_state_name(JobState state) {
  for (const auto& row : kJobNames) {
    if (row.state == state) return row.name;
  }
  return "PRTE_JOB_STATE_UNKNOWN";
}

std::string_view proc_state_name(ProcState state) {
  for (const auto& row : kProcNames) {
    if (row.state == state) return row.name;
  }
  return "PRTE_PROC_STATE_UNKNOWN";
}

std::span<const JobStateRow> job_state_table() {
  return kTable;
}

bool job_may_go(JobState from, JobState to) {
  if (is_error(to)) return from < JobState::kUnterminated;
  if (is_error(from)) return to == JobState::kNotifyCompleted;
  return std::any_of(kEdges.begin(), kEdges.end(),
                     [&](const Edge& edge) { return edge.from == from && edge.to == to; });
}

bool proc_may_go(ProcState from, ProcState to) {
  if (!is_alive(from)) return false;
  return is_error(to) || to > from;
}

}  // namespace tide::core
