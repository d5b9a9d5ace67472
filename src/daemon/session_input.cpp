#include "daemon/session_input.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <string>

#include "launch/remote_session.hpp"

namespace tide::daemon {
namespace {

// For the head to answer the greeting.
constexpr auto kBlobTimeout = std::chrono::seconds(60);

// Exactly so many bytes of standard input.
Result<exec::Secret> read_input(std::size_t bytes, Clock::time_point deadline) {
  exec::Secret out(std::string(bytes, '\0'));
  std::size_t used = 0;
  while (used < bytes) {
    pollfd readable{STDIN_FILENO, POLLIN, 0};
    const int ready = ::poll(&readable, 1, ms_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Error{ErrorCode::kTimedOut, "nothing came on standard input"};
    const ssize_t got = ::read(STDIN_FILENO, out.text().data() + used, bytes - used);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error{ErrorCode::kConnectionLost, "standard input ended too early"};
    used += static_cast<std::size_t>(got);
  }
  return out;
}

}  // namespace

int ms_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t given = ::write(fd, text.data(), text.size());
    if (given < 0 && errno == EINTR) continue;
    if (given <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(given));
  }
  return true;
}

Status guard_session() {
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c): can't fail for SIGPIPE
  ::prctl(PR_SET_DUMPABLE, 0);    // a core file would hold the key
  if (::isatty(STDIN_FILENO) == 0) return ok_status();
  return Error{ErrorCode::kInvalidArgument,
               "standard input is a terminal, which would show the key; it is for a head"};
}

Result<exec::Secret> read_framed(std::size_t most_bytes) {
  const auto deadline = Clock::now() + kBlobTimeout;
  auto header = read_input(launch::kBlobHeaderBytes, deadline);
  if (!header) return header.error();
  const std::size_t bytes = launch::blob_bytes(header->text());
  if (bytes > most_bytes) {
    return Error{ErrorCode::kProtocol, "what came on standard input is too long"};
  }
  return read_input(bytes, deadline);
}

}  // namespace tide::daemon
