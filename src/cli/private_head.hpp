// A head for one job, which is our child: it ends when we do.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/process_handle.hpp"
#include "cli/signal_source.hpp"

namespace tide::cli {

class PrivateHead {
 public:
  // Starts `program` with `arguments` in a session of its own, so that Ctrl-C reaches only us, and
  // adds `--keepalive FD` (it ends when that pipe closes) and `--ready-fd FD` (it writes a K there
  // when its DVM is ready). Blocked and ignored signals are not passed on to it.
  static Result<PrivateHead> start(const std::string& program, std::vector<std::string> arguments);

  PrivateHead(PrivateHead&& other) noexcept;
  PrivateHead& operator=(PrivateHead&&) = delete;
  // Ends it, with force if need be.
  ~PrivateHead();

  struct Start {
    enum class Kind : std::uint8_t { kReady, kFailed, kTimedOut, kSignalled };
    Kind kind = Kind::kReady;
    int signal = 0;  // that asked us to end
  };
  // kFailed: it ended instead, after saying why.
  Start wait_ready(std::uint32_t timeout_ms, SignalSource& signals);

  // Lets it end and waits; true if it did so by itself within the time. Else it is killed, and
  // the wardens end what it started.
  bool end(std::uint32_t timeout_ms);

 private:
  PrivateHead(pid_t pid, int keepalive_fd, int ready_fd)
      : pid_(pid), process_(pid), keepalive_fd_(keepalive_fd), ready_fd_(ready_fd) {}

  pid_t pid_;  // -1: ended and waited for
  ProcessHandle process_;
  int keepalive_fd_;
  int ready_fd_;
};

}  // namespace tide::cli
