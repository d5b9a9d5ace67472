#include "exec/process_group.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "exec/process_scan.hpp"

namespace tide::exec {
namespace {

constexpr unsigned kToLeader = 0;
constexpr unsigned kToProcessGroup = 1U << 2;  // PIDFD_SIGNAL_PROCESS_GROUP of linux/pidfd.h

int send_through_pidfd(int pidfd, int number, unsigned flags) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, flags) == 0 ? 0 : errno;
}

}  // namespace

ProcessGroup::ProcessGroup(pid_t leader, UniqueFd leader_pidfd)
    : leader_(leader), leader_pidfd_(std::move(leader_pidfd)) {}

void ProcessGroup::signal(int number) const {
  if (leader_ == 0) return;
  const int error = send_through_pidfd(leader_pidfd_.get(), number, kToProcessGroup);
  const bool not_supported = error == EINVAL || error == ENOSYS;
  if (not_supported) signal_group_by_number(leader_, leader_reaped_, number);
  // A leader may have moved to another group. The end must reach it in any case; another signal
  // must not reach it twice.
  if (!leader_reaped_ && (number == SIGKILL || error == ESRCH)) {
    send_through_pidfd(leader_pidfd_.get(), number, kToLeader);
  }
}

void ProcessGroup::leader_reaped() {
  leader_reaped_ = true;
  // Too early for the number to be anybody else's: pids are given out in a circle.
  if (::kill(-leader_, 0) != 0 && errno == ESRCH) {
    leader_ = 0;
    leader_pidfd_.reset();
  }
}

void signal_group_by_number(pid_t leader, bool leader_reaped, int number) {
  if (leader_reaped) {
    const auto processes = scan_processes();
    const bool ours = std::ranges::any_of(processes, [&](const ProcessEntry& process) {
      return process.group == leader && descends_from(processes, process.pid, ::getpid());
    });
    if (!ours) return;
  }
  ::kill(-leader, number);
}

}  // namespace tide::exec
