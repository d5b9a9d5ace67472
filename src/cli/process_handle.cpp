#include "cli/process_handle.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

namespace tide::cli {

// By number: the header of these calls is not made for C++ in glibc 2.36.
ProcessHandle::ProcessHandle(pid_t pid) : fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

ProcessHandle::~ProcessHandle() {
  if (fd_ >= 0) close(fd_);
}

bool ProcessHandle::wait_gone(std::uint32_t timeout_ms) const {
  if (fd_ < 0) return true;
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ended{fd_, POLLIN, 0};
    const int count = poll(&ended, 1, left > 0 ? static_cast<int>(left) : 0);
    if (count >= 0 || errno != EINTR) return count > 0;
  }
}

void ProcessHandle::kill() const {
  if (fd_ >= 0) syscall(SYS_pidfd_send_signal, fd_, SIGKILL, nullptr, 0);
}

}  // namespace tide::cli
