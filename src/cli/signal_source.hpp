// Signals as something to poll for instead of interruptions.
#pragma once

#include <optional>

#include "base/result.hpp"

namespace tide::cli {

class SignalSource {
 public:
  // Blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT, which from now
  // on come out of take(), and ignores SIGPIPE and SIGTTIN. One that is ignored already, as by
  // nohup, stays so. Start other programs before.
  static Result<SignalSource> open();

  SignalSource(SignalSource&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  SignalSource& operator=(SignalSource&&) = delete;
  ~SignalSource();

  // The next signal; nothing if there is none.
  std::optional<int> take();

  [[nodiscard]] int fd() const { return fd_; }

 private:
  explicit SignalSource(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace tide::cli
