// Timer numbers of the cores: a kind, and what it is for (a job, or nothing).
#pragma once

#include <cstdint>
#include <map>

#include "core/actions.hpp"

namespace tide::core {

enum class TimerKind : std::uint32_t {
  kReattach = 1,      // overlay: try the next ancestor
  kReattachDeadline,  // overlay: give up and end
  kOwnWay,            // overlay: the parent has had time to find a way to the head
  kReturnToParent,    // overlay: hanging on an ancestor, try the proper parent again
  kPendingLinks,      // overlay: links that never said what they are for
  kMissingChildren,   // overlay: orphans that did not come to their new parent
  kLostWays,          // overlay: ask those again whose old way is gone
  kAckFlush,          // channels: acknowledge what nothing else acknowledged
  kReduction,         // reductions: forward what has arrived
  kSuspects,          // head: grace periods of suspected daemons
  kProbeAgain,        // head: suspected daemons whose port was open
  kStart,             // head: the first start must be complete
  kShutdown,          // head: daemons must be gone
  kEndingNews,        // head: who waits for the end is told what it waits for
  kJobTimeout,        // head, by job: the user's limit
  kSpawnTimeout,      // head, by job: the user's limit for its launch
  kEscalate,          // daemon, by job: the next step of ending it
  kDrain,             // daemon, by job: output held open by somebody who is not of the job
  kSweep,             // daemon: ends of jobs wait no longer for what these left behind
  kCollective,        // daemon, by number: the time-out that a process gave its collective
  kModex,             // daemon, by token: the time-out that a process gave its question
  kRequest,           // daemon, by token: the time-out that a process or tool gave its request
  kFiles,             // head, by job: its files have to get on
  kRollback,          // head, by campaign: daemons of a failed grow must be gone
  kChange,            // head, by campaign: its present phase must be over
  kGrant,             // head, by number: a resource manager must have answered
  kLeaving,           // overlay: ordered to leave, and nobody lets us go
  kLease,             // head, by number: an allocation's warning, or its end
  kTraces,            // head, by job: stacks that have not come are not waited for any more
};

// Generations of all timers of one core: an armed timer makes every earlier firing stale.
class TimerBook {
 public:
  [[nodiscard]] StartTimer arm(TimerKind kind, std::uint32_t after_ms, std::uint32_t subject = 0) {
    const auto id = number(kind, subject);
    armed_[id] = ++generation_;
    return StartTimer{id, generation_, after_ms};
  }
  void cancel(TimerKind kind, std::uint32_t subject = 0) { armed_.erase(number(kind, subject)); }
  [[nodiscard]] bool armed(TimerKind kind, std::uint32_t subject = 0) const {
    return armed_.contains(number(kind, subject));
  }
  // True, once, if this firing is the one that was asked for last.
  bool take(const TimerFired& fired) {
    const auto found = armed_.find(fired.timer);
    if (found == armed_.end() || found->second != fired.generation) return false;
    armed_.erase(found);
    return true;
  }
  static TimerKind kind(const TimerFired& fired) {
    return static_cast<TimerKind>(fired.timer >> 32U);
  }
  static std::uint32_t subject(const TimerFired& fired) {
    return static_cast<std::uint32_t>(fired.timer);
  }

 private:
  static std::uint64_t number(TimerKind kind, std::uint32_t subject) {
    return (static_cast<std::uint64_t>(kind) << 32U) | subject;
  }
  std::map<std::uint64_t, std::uint64_t> armed_;
  std::uint64_t generation_ = 0;
};

}  // namespace tide::core
