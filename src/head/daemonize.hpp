// Going to the background: the parent stays until the DVM is ready, and reports its failure.
#pragma once

#include <optional>

#include "base/result.hpp"

namespace tide::head {

// The child's end of the pipe on which the parent waits for the byte K.
class ReadyPipe {
 public:
  ReadyPipe() = default;
  ReadyPipe(const ReadyPipe&) = delete;
  ReadyPipe& operator=(const ReadyPipe&) = delete;
  ~ReadyPipe();

  // Tells the parent, if there is one, and lets go of the terminal.
  void announce();
  [[nodiscard]] bool announced() const { return announced_; }
  // The pipe breaks when the waiting parent is gone; -1 if there is none.
  [[nodiscard]] int fd() const { return fd_; }

 private:
  friend Result<std::optional<int>> daemonize(ReadyPipe& pipe);
  int fd_ = -1;
  bool announced_ = false;
};

// Forks. In the child: nullopt, in a session of its own. In the parent, once the child is ready or
// has failed: the exit status to end with. Call it while the program has one thread.
Result<std::optional<int>> daemonize(ReadyPipe& pipe);

}  // namespace tide::head
