// The few numbers and keys of the PMIx standard that decisions need; everything else about PMIx is
// in the room of that name.
#pragma once

#include <cstdint>

#include "core/job_state.hpp"

namespace tide::core {

inline constexpr std::int32_t kEventDebuggerRelease = -3;
inline constexpr std::int32_t kEventReadyForDebug = -58;
inline constexpr std::int32_t kEventJobEnd = -145;
inline constexpr std::int32_t kEventGroupMemberFailed = -170;
inline constexpr std::int32_t kEventJobStart = -191;
inline constexpr std::int32_t kEventAllocationWarning = -194;
inline constexpr std::int32_t kEventDvmIsReady = -195;
inline constexpr std::int32_t kEventDvmModFailed = -196;
inline constexpr std::int32_t kEventProcTerminated = -201;
inline constexpr std::int32_t kEventProcAbortedBySignal = -402;
inline constexpr std::int32_t kEventProcExitedNonzero = -404;

inline constexpr std::int32_t kStatusTimeout = -24;
inline constexpr std::int32_t kStatusUnreachable = -25;
inline constexpr std::int32_t kStatusOutOfResource = -29;
inline constexpr std::int32_t kStatusLostConnection = -61;
inline constexpr std::int32_t kStatusFailedToLaunch = -181;

inline constexpr const char* kFactNspace = "pmix.nspace";
inline constexpr const char* kFactAffectedProc = "pmix.evproc";
inline constexpr const char* kFactJobStatus = "pmix.job.term.status";
inline constexpr const char* kFactExitCode = "pmix.exit.code";
inline constexpr const char* kFactText = "pmix.evtext";
inline constexpr const char* kFactGroup = "pmix.grp.id";
inline constexpr const char* kFactBreakpoint = "pmix.brkpnt";
inline constexpr const char* kFactNonDefault = "pmix.evnondef";
inline constexpr const char* kFactAllocation = "pmix.alloc.id";
inline constexpr const char* kFactRequest = "pmix.alloc.reqid";
inline constexpr const char* kFactTimeLeft = "pmix.time.remaining";
inline constexpr const char* kFactNodes = "pmix.alloc.nlist";

// How PMIx calls the end of a job.
constexpr std::int32_t term_status_of(JobState end) {
  switch (end) {
    case JobState::kTerminated:
      return 0;
    case JobState::kKilledByCmd:
      return -183;
    case JobState::kMapFailed:
      return -179;
    case JobState::kFailedToStart:
    case JobState::kNeverLaunched:
    case JobState::kCannotLaunch:
      return -181;
    case JobState::kAllocFailed:
      return -188;
    case JobState::kForcedExit:
      return -180;
    default:
      return -182;
  }
}

}  // namespace tide::core
