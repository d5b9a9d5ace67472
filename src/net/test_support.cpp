#include "net/test_support.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "net/frame.hpp"

namespace tide::net::test {

RawSocket::RawSocket(std::uint32_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval limit{10, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
}

RawSocket::~RawSocket() {
  ::close(fd_);
}

void RawSocket::write(const std::string& bytes) const {
  static_cast<void>(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

std::string RawSocket::read_to_end() const {
  std::string all;
  std::array<char, 4096> buffer{};
  ssize_t count = 0;
  while ((count = ::recv(fd_, buffer.data(), buffer.size(), 0)) > 0)
    all.append(buffer.data(), static_cast<std::size_t>(count));
  EXPECT_TRUE(count == 0 || errno == ECONNRESET) << "the connection did not end in time";
  return all;
}

wire::Endpoint endpoint(const std::string& address, std::uint32_t port) {
  wire::Endpoint out;
  out.set_address(address);
  out.set_port(port);
  return out;
}

ClosedPort::ClosedPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  socklen_t size = sizeof address;
  ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
}

ClosedPort::~ClosedPort() {
  ::close(fd_);
}

HangingPort::HangingPort() {
  EXPECT_EQ(::listen(fd(), 0), 0);
  filler_ = std::make_unique<RawSocket>(port());
}

RawTlsPeer::RawTlsPeer(std::uint32_t port, const std::string& identity, const std::string& key)
    : socket_(port), tls_(TlsContext::create(identity, key).value()) {
  ssl_ = SSL_new(tls_->context().native_handle());
  SSL_set_fd(ssl_, socket_.fd());
  connected_ = SSL_connect(ssl_) == 1 && TlsContext::key_was_proven(ssl_);
}

void RawTlsPeer::write(const std::string& bytes) {
  static_cast<void>(SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())));
}

void RawTlsPeer::write(MessageClass message_class, const wire::LinkMessage& message) {
  FrameEncoder encoder(kDefaultMaxMessageBytes);
  EXPECT_TRUE(encoder.push({message_class, message.SerializeAsString(), {}}).ok());
  std::string bytes;
  encoder.fill(bytes, kMaxFrameBytes);
  write(bytes);
}

std::vector<wire::LinkMessage> RawTlsPeer::read_to_end() {
  FrameDecoder decoder(kDefaultMaxMessageBytes);
  std::vector<RawMessage> raw;
  std::array<char, 4096> buffer{};
  int count = 0;
  while ((count = SSL_read(ssl_, buffer.data(), buffer.size())) > 0)
    EXPECT_TRUE(decoder.feed({buffer.data(), static_cast<std::size_t>(count)}, raw).ok());
  EXPECT_NE(SSL_get_error(ssl_, count), SSL_ERROR_WANT_READ) << "no end of the link in time";
  std::vector<wire::LinkMessage> messages(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i)
    EXPECT_TRUE(messages[i].ParseFromString(raw[i].header));
  return messages;
}

void run_beside(asio::io_context& io, const std::function<void()>& script) {
  std::atomic<bool> done = false;
  std::jthread thread([&] {
    script();
    done = true;
  });
  EXPECT_TRUE(run_until(io, [&] { return done.load(); }, std::chrono::seconds(20)));
}

}  // namespace tide::net::test
