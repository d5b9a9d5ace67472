// Signals as something to poll for instead of interruptions.
#pragma once

#include <csignal>
#include <optional>
#include <set>

#include "base/result.hpp"

namespace tide::cli {

inline std::set<int> usual_forwarded_signals() {
  return {SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
}

class SignalSource {
 public:
  // Blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT and `others`, which from now on come out of take(), and
  // ignores SIGPIPE and SIGTTIN. One that is ignored already, as by nohup, stays so. Start other
  // programs before.
  static Result<SignalSource> open(const std::set<int>& others = usual_forwarded_signals());

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
