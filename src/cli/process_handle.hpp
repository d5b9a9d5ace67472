// A process held so that its number cannot come to mean another one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <utility>

namespace tide::cli {

class ProcessHandle {
 public:
  // One that does not exist, or ended before, counts as gone.
  explicit ProcessHandle(pid_t pid);
  ProcessHandle(ProcessHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ProcessHandle& operator=(ProcessHandle&&) = delete;
  ~ProcessHandle();

  // True if it has ended, or does so within the time.
  [[nodiscard]] bool wait_gone(std::uint32_t timeout_ms) const;

  // SIGKILL.
  void kill() const;

 private:
  int fd_;
};

}  // namespace tide::cli
