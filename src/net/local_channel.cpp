#include "net/local_channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "net/peer_credentials.hpp"
#include "net/protocol.hpp"

namespace tide::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatchBytes = 65536;
constexpr std::size_t kReadBytes = 65536;
// How much one call of pump() takes in: the caller has other descriptors to look after.
constexpr int kReadsPerPump = 16;
// A full listen queue empties as soon as the head's loop turns.
constexpr int kBacklogRetryMs = 5;

int left_ms(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

Error connect_error(const std::string& path, int errnum) {
  Error error = system_error("connecting to " + path, errnum);
  if (errnum == ENOENT) error.code = ErrorCode::kNotFound;
  if (errnum == ECONNREFUSED) error.code = ErrorCode::kConnectionRefused;
  if (errnum == EACCES || errnum == EPERM) error.code = ErrorCode::kPermissionDenied;
  return error;
}

// A socket of somebody else's making must not be trusted with what we are about to send.
Status check_server(int fd) {
  const auto server = peer_credentials(fd);
  if (!server) return server.error();
  if (server->uid == 0) return ok_status();
  return may_use_dvm(::geteuid(), server->uid);
}

Status connect_fd(int fd, const std::string& path, Clock::time_point deadline) {
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path)
    return Error{ErrorCode::kInvalidArgument,
                 "the socket path " + path + " is longer than the system allows"};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  while (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return connect_error(path, errno);
    if (left_ms(deadline) == 0)
      return Error{ErrorCode::kTimedOut, "connecting to " + path + ": the DVM does not answer"};
    ::poll(nullptr, 0, kBacklogRetryMs);
  }
  return check_server(fd);
}

}  // namespace

LocalChannel::LocalChannel(int fd)
    : fd_(fd), encoder_(kDefaultMaxMessageBytes), decoder_(kDefaultMaxMessageBytes) {}

LocalChannel::OwnedFd::~OwnedFd() {
  if (value >= 0) ::close(value);
}

Result<LocalChannel> LocalChannel::connect(const std::string& path, std::uint32_t timeout_ms,
                                           const std::string& program) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return system_error("making a local socket", errno);
  LocalChannel channel(fd);
  if (Status status = connect_fd(fd, path, deadline); !status) return status.error();
  const auto left = static_cast<std::uint32_t>(left_ms(deadline));
  if (Status status = channel.introduce(left, program); !status) return status.error();
  return channel;
}

Status LocalChannel::introduce(std::uint32_t timeout_ms, const std::string& program) {
  wire::ClientRequest request;
  wire::ClientHello& hello = *request.mutable_hello();
  hello.set_protocol(kProtocol);
  hello.set_protocol_minimum(kProtocolMinimum);
  hello.set_program(program);
  if (Status status = send(request); !status) return status;
  auto incoming = receive(timeout_ms);
  if (!incoming) return incoming.error();
  if (!incoming->has_value())
    return Error{ErrorCode::kTimedOut, "the DVM accepted the connection but does not answer"};
  const wire::ClientReply& reply = (**incoming).reply;
  if (reply.has_error())
    return Error{static_cast<ErrorCode>(reply.error().code()), reply.error().message()};
  if (!reply.has_welcome())
    return Error{ErrorCode::kProtocol, "the DVM did not answer the greeting as it should"};
  if (Status status = check_protocol(reply.welcome().protocol(), kProtocolMinimum); !status)
    return status;
  dvm_id_ = reply.welcome().dvm_id();
  dvm_name_ = reply.welcome().dvm_name();
  return ok_status();
}

Status LocalChannel::send(const wire::ClientRequest& request, std::string_view payload) {
  // One class only: the head has to see requests in the order they were made.
  RawMessage message{MessageClass::kControl, request.SerializeAsString(),
                     Bytes(std::string(payload))};
  if (Status status = encoder_.push(std::move(message)); !status) return status;
  return write_some();
}

Result<std::optional<LocalChannel::Incoming>> LocalChannel::receive(std::uint32_t timeout_ms) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    if (auto incoming = take_inbox()) return incoming;
    if (end_) return *end_;
    if (Status status = pump(); !status) return status.error();
    if (!inbox_.empty() || end_) continue;
    const int wait_ms = left_ms(deadline);
    if (wait_ms == 0) return std::optional<Incoming>();
    pollfd poll_fd{fd(), static_cast<short>(wants_write() ? POLLIN | POLLOUT : POLLIN), 0};
    if (::poll(&poll_fd, 1, wait_ms) < 0 && errno != EINTR)
      return system_error("waiting for the DVM", errno);
  }
}

Status LocalChannel::pump() {
  read_some();
  return write_some();
}

Status LocalChannel::write_some() {
  while (wants_write() && !end_) {
    if (out_.empty()) encoder_.fill(out_, kBatchBytes);
    const ssize_t count = ::send(fd(), out_.data() + out_written_, out_.size() - out_written_,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return ok_status();
    // The head closed its end. What it said before, and that it is gone, is found by reading.
    if (count < 0 && (errno == EPIPE || errno == ECONNRESET)) {
      out_.clear();
      encoder_ = FrameEncoder(kDefaultMaxMessageBytes);
      out_written_ = 0;
      return ok_status();
    }
    if (count < 0) return system_error("writing to the DVM", errno);
    out_written_ += static_cast<std::size_t>(count);
    if (out_written_ < out_.size()) continue;
    out_.clear();
    out_written_ = 0;
  }
  return ok_status();
}

void LocalChannel::read_some() {
  static thread_local std::array<char, kReadBytes> buffer;
  std::vector<RawMessage> messages;
  for (int i = 0; i < kReadsPerPump && !end_; ++i) {
    const ssize_t count = ::recv(fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (count <= 0) {
      end_ = count == 0 || errno == ECONNRESET
                 ? Error{ErrorCode::kConnectionLost, "the DVM closed the connection"}
                 : system_error("reading from the DVM", errno);
      return;
    }
    messages.clear();
    const Status status =
        decoder_.feed(std::string_view(buffer.data(), static_cast<std::size_t>(count)), messages);
    for (RawMessage& message : messages) {
      Incoming incoming{{}, std::move(message.payload)};
      if (!incoming.reply.ParseFromString(message.header)) {
        end_ = Error{ErrorCode::kProtocol, "the DVM sent a reply that can't be read"};
        return;
      }
      inbox_.push_back(std::move(incoming));
    }
    if (!status) end_ = status.error();
  }
}

std::optional<LocalChannel::Incoming> LocalChannel::take_inbox() {
  if (inbox_.empty()) return std::nullopt;
  std::optional<Incoming> incoming(std::move(inbox_.front()));
  inbox_.pop_front();
  return incoming;
}

}  // namespace tide::net
