// Standard input of the client on its way to one process of the job, as far as that has room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tide::cli {

class JobInput {
 public:
  // Reads `fd`, which stays the caller's; not at all unless `wanted`.
  JobInput(int fd, bool wanted) : fd_(fd), ended_(!wanted) {}

  void grant(std::size_t bytes) { credit_ += bytes; }

  // There is credit, and input may be left.
  [[nodiscard]] bool wants_to_read() const { return !ended_ && credit_ > 0; }

  // Reading is allowed: a terminal may only be read from its foreground.
  [[nodiscard]] bool may_read() const;

  [[nodiscard]] int fd() const { return fd_; }

  struct Piece {
    std::string bytes;
    bool eof = false;
    int errnum = 0;  // why it ended too early
  };
  // What is there, within the credit; call it when fd() polls readable. Nothing and no end: not
  // now.
  Piece read();

 private:
  int fd_;
  bool ended_;
  std::size_t credit_ = 0;
};

}  // namespace tide::cli
