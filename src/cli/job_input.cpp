#include "cli/job_input.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tide::cli {
namespace {

constexpr std::size_t kMaxPieceBytes = 32768;

}  // namespace

bool JobInput::may_read() const {
  const pid_t foreground = tcgetpgrp(fd_);
  return foreground < 0 || foreground == getpgrp();
}

JobInput::Piece JobInput::read() {
  Piece piece;
  piece.bytes.resize(std::min(credit_, kMaxPieceBytes));
  const ssize_t got = ::read(fd_, piece.bytes.data(), piece.bytes.size());
  const int read_errno = errno;
  piece.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  credit_ -= piece.bytes.size();
  if (got > 0) return piece;
  // EIO: the terminal went to another group between the look and the read.
  const bool later = got < 0 && (read_errno == EAGAIN || read_errno == EINTR ||
                                 (read_errno == EIO && !may_read()));
  piece.eof = !later;
  // Closed, and a terminal that went away: there never was more to read.
  const bool just_ended = got == 0 || read_errno == EBADF || read_errno == EIO;
  if (piece.eof && !just_ended) piece.errnum = read_errno;
  ended_ = piece.eof;
  return piece;
}

}  // namespace tide::cli
