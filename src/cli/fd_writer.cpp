#include "cli/fd_writer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>

namespace tide::cli {
namespace {

Result<std::size_t> outcome(ssize_t count) {
  if (count >= 0) return static_cast<std::size_t>(count);
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return std::size_t{0};
  Error error = system_error("cannot write output", errno);
  if (errno == EPIPE || errno == ECONNRESET) error.code = ErrorCode::kConnectionLost;
  return error;
}

}  // namespace

FdWriter::~FdWriter() {
  if (own_fd_ >= 0) close(own_fd_);
}

void FdWriter::choose_way() {
  struct stat info{};
  way_ = Way::kDirect;
  if (fstat(fd_, &info) != 0 || S_ISREG(info.st_mode)) return;
  if ((fcntl(fd_, F_GETFL) & O_ACCMODE) == O_RDONLY) return;  // so that the write says so
  if (S_ISSOCK(info.st_mode)) {
    way_ = Way::kSocket;
    return;
  }
  // A description of our own can be non-blocking; on the shared one that flag would be everyone's.
  const std::string path = "/proc/self/fd/" + std::to_string(fd_);
  own_fd_ = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (own_fd_ < 0) way_ = Way::kSmallPieces;
}

Result<std::size_t> FdWriter::write(std::string_view bytes) {
  if (way_ == Way::kUnknown) choose_way();
  if (way_ == Way::kSocket) {
    return outcome(send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  }
  if (way_ == Way::kSmallPieces) return write_small_piece(bytes);
  return outcome(::write(fd(), bytes.data(), bytes.size()));
}

Result<std::size_t> FdWriter::write_small_piece(std::string_view bytes) {
  pollfd writable{fd_, POLLOUT, 0};
  if (poll(&writable, 1, 0) <= 0) return std::size_t{0};
  return outcome(::write(fd_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF)));
}

}  // namespace tide::cli
