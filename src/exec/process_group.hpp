// The process group of a process that we started: it and what it started in turn.
#pragma once

#include <sys/types.h>

#include "exec/unique_fd.hpp"

namespace tide::exec {

// A group is known to the kernel by the pid of its leader, and a pid is given to somebody else once
// the leader has been reaped and the group is empty. So after that moment the bare number is not
// signalled: newer kernels (6.9) signal a group through the pidfd of its leader, which can't be
// mistaken; on older ones the number is used only while the leader has not been reaped, or when
// members of the group are found among our descendants.
class ProcessGroup {
 public:
  ProcessGroup() = default;
  ProcessGroup(pid_t leader, UniqueFd leader_pidfd);

  // To every process in the group, and to the leader if it left its own group. None left: nothing.
  void signal(int number) const;

  // To be called right after waitpid() returned the leader.
  void leader_reaped();

  [[nodiscard]] pid_t leader() const { return leader_; }

 private:
  pid_t leader_ = 0;  // 0: nobody
  UniqueFd leader_pidfd_;
  bool leader_reaped_ = false;
};

// What is done where the kernel can't signal a group through a pidfd.
void signal_group_by_number(pid_t leader, bool leader_reaped, int number);

}  // namespace tide::exec
