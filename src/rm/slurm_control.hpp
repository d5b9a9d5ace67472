// What can be asked of Slurm. Each answer comes later, from the event loop.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "rm/slurm_job.hpp"

namespace tide::rm {

// A new job for more nodes.
struct SlurmWish {
  std::uint32_t count = 0;           // nodes in all
  std::vector<std::string> names{};  // these among them
  std::vector<std::string> without{};
  bool whole_nodes = false;   // each with all it has
  std::uint32_t cores = 0;    // else on each of them; 0: as the partition gives
  std::uint32_t minutes = 0;  // 0: as the partition likes
  std::string partition{};    // these empty: Slurm's own choice
  std::string account{};
  std::string qos{};
  std::string job_name{};
};

// A request for a job, and then the job: both last as long as this. Whoever held it and is no more,
// however it ended, has given it back.
class SlurmHold {
 public:
  // None but the last comes after it was dropped.
  struct Events {
    std::function<void(const std::string& job)> waits;  // it is in the queue; at most once
    std::function<void(SlurmJob)> granted;              // its end is not known yet
    std::function<void(Error)> refused;                 // in place of that
    // It was dropped, and Slurm does not know: the job has to be cancelled.
    std::function<void(const std::string& job)> left;
  };
  SlurmHold() = default;
  SlurmHold(const SlurmHold&) = delete;
  SlurmHold& operator=(const SlurmHold&) = delete;
  SlurmHold(SlurmHold&&) = delete;
  SlurmHold& operator=(SlurmHold&&) = delete;
  virtual ~SlurmHold() = default;

  // Of one that was granted, who is told that the job is over, or is not held any more.
  virtual void on_over(std::function<void()> then) = 0;
};

// Whether what was shown of a job is that it is over. That nothing could be shown is not.
inline bool shows_end(const Result<SlurmJob>& shown) {
  return shown ? shown->life == SlurmLife::kOver : shown.error().code == ErrorCode::kNotFound;
}

class SlurmControl {
 public:
  template <class T>
  using Then = std::function<void(T)>;

  SlurmControl() = default;
  SlurmControl(const SlurmControl&) = delete;
  SlurmControl& operator=(const SlurmControl&) = delete;
  SlurmControl(SlurmControl&&) = delete;
  SlurmControl& operator=(SlurmControl&&) = delete;
  virtual ~SlurmControl() = default;

  // What is known of a job, in detail: an error that is kNotFound says that there is none. Of all
  // jobs of this user, a line each.
  virtual void show(const std::string& job, Then<Result<SlurmJob>> then) = 0;
  virtual void list(Then<Result<std::vector<SlurmRow>>> then) = 0;
  virtual std::unique_ptr<SlurmHold> allocate(const SlurmWish& wish, SlurmHold::Events events) = 0;
  // The job keeps these nodes only. The code of an error is kUnavailable when Slurm was not
  // reached: it may succeed later.
  virtual void resize(const std::string& job, std::span<const std::string> staying,
                      Then<Status> then) = 0;
  virtual void prolong(const std::string& job, std::uint32_t minutes, Then<Status> then) = 0;
  // Only if it has this name: numbers are given again when Slurm has lost its memory.
  virtual void cancel(const std::string& job, const std::string& name, Then<Status> then) = 0;
  // `then` comes when nothing is under way any more, or when the time is over; whether nothing is.
  virtual void settle(std::uint32_t limit_ms, Then<bool> then) = 0;
  // Whether this is a process that gives jobs back, now or when we are no more.
  [[nodiscard]] virtual bool gives_back(pid_t pid) const = 0;
};

}  // namespace tide::rm
