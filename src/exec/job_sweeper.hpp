// Ends what jobs left behind: processes that got away from the group of the process that started
// them. They have become children of this program, which is a subreaper.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "base/ids.hpp"
#include "exec/orphans.hpp"

namespace tide::exec {

// Whose an orphan is says the namespace in its environment. One without a namespace that we know
// may belong to any job that had processes here when it was first seen, and lives until the last
// of these is over. An orphan is left alone while its job runs here.
class JobSweeper {
 public:
  struct Callbacks {
    std::function<bool(pid_t)> is_leader;            // a process that the table started itself
    std::function<std::set<JobId>()> running;        // jobs that are not over here
    std::function<void(JobId, std::uint32_t)> done;  // nothing is left, but for so many
  };
  JobSweeper(asio::io_context& io, std::string dvm_id, Callbacks callbacks);

  // To be called when the job is over here; answered by `done`, from the io_context. What does not
  // end in some time is reported as left and looked after nevertheless, until it is gone.
  void sweep(JobId job);
  // A child that is no leader was reaped. Its own children, if it had any, are ours now.
  void orphan_ended(pid_t pid);

 private:
  using Clock = SweepPace::Clock;
  struct Orphan {
    std::optional<JobId> owner;
    std::set<JobId> possible_owners;  // where the owner is not known
    bool looked_at = false;
    bool killed = false;
  };
  struct Left {
    std::map<JobId, std::uint32_t> of;  // orphans whose job is known, and over
    std::uint32_t of_nobody = 0;        // whose job is not known, and over
  };

  void look_soon();
  void look();
  void reaped(pid_t pid);
  Left end_orphans();
  bool end_unless_wanted(pid_t pid, Orphan& orphan, const std::set<JobId>& running);
  void read_owner(pid_t pid, Orphan& orphan) const;
  void report(const Left& left);
  void wait();

  asio::io_context& io_;
  std::string marker_;  // what namespaces of this DVM begin with
  Callbacks callbacks_;
  asio::steady_timer timer_;
  SweepPace pace_;
  std::set<JobId> pending_;  // asked for and not answered
  Clock::time_point last_progress_;
  std::unordered_map<pid_t, Orphan> orphans_;  // seen, and not reaped yet
  bool look_posted_ = false;
  std::shared_ptr<const bool> lifetime_ = std::make_shared<const bool>(true);
};

}  // namespace tide::exec
