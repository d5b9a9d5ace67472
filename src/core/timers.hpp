// Timer numbers of the cores: a kind, and what it is for (a job, or nothing).
#pragma once

#include <cstdint>
#include <map>

#include "core/actions.hpp"

namespace tide::core {

enum class TimerKind : std::uint32_t {
  kReattach = 1,      // overlay: try the next ancestor
  kReattachDeadline,  // overlay: give up and end
  kReturnToParent,    // overlay: hanging on an ancestor, try the proper parent again
  kPendingLinks,      // overlay: links that never said what they are for
  kMissingChildren,   // overlay: orphans that did not come to their new parent
  kAckFlush,          // channels: acknowledge what nothing else acknowledged
  kReduction,         // reductions: forward what has arrived
  kSuspects,          // head: grace periods of suspected daemons
  kStart,             // head: the first start must be complete
  kShutdown,          // head: daemons must be gone
  kJobTimeout,        // head, by job: the user's limit
  kEscalate,          // daemon, by job: the next step of ending it
  kDrain,             // daemon, by job: output held open by somebody who is not of the job
  kSweep,             // daemon: ends of jobs wait no longer for what these left behind
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
