// Writes to a descriptor that others may share (a terminal, a pipe of the shell) without waiting
// and without changing how it behaves for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace tide::cli {

class FdWriter {
 public:
  // `fd` stays the caller's.
  explicit FdWriter(int fd) : fd_(fd) {}
  FdWriter(const FdWriter&) = delete;
  FdWriter& operator=(const FdWriter&) = delete;
  ~FdWriter();

  // How many bytes were taken; 0: none at the moment, poll fd() for writing. kConnectionLost:
  // nobody will ever read it.
  Result<std::size_t> write(std::string_view bytes);

  [[nodiscard]] int fd() const { return own_fd_ >= 0 ? own_fd_ : fd_; }

 private:
  enum class Way : std::uint8_t {
    kUnknown,
    kDirect,       // takes what it is given without waiting: a file, a description of our own
    kSocket,       // each write says that it will not wait
    kSmallPieces,  // shared and may wait: only what a pipe that polls writable surely takes
  };

  void choose_way();
  Result<std::size_t> write_small_piece(std::string_view bytes);

  int fd_;
  int own_fd_ = -1;
  Way way_ = Way::kUnknown;
};

}  // namespace tide::cli
