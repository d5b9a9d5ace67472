// A client hub in a directory of its own, and clients that do not keep to the rules.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/client_hub.hpp"
#include "net/frame.hpp"
#include "net/local_channel.hpp"

namespace tide::net::test {

class RecordingClientHandler : public ClientHandler {
 public:
  void on_client_connected(ClientId client, std::uint32_t pid) override {
    connected.push_back(client);
    pids.push_back(pid);
  }
  void on_client_message(ClientId client, wire::ClientRequest request, Bytes payload) override {
    if (on_request) on_request(client, request, payload);
  }
  void on_client_gone(ClientId client) override { gone.push_back(client); }
  void on_client_refused(const std::string& text) override { refused.push_back(text); }

  std::function<void(ClientId, const wire::ClientRequest&, const Bytes&)> on_request;
  std::vector<ClientId> connected;
  std::vector<std::uint32_t> pids;
  std::vector<ClientId> gone;
  std::vector<std::string> refused;
};

class ClientFixture : public testing::Test {
 public:
  ClientFixture() {
    // Not below TMPDIR, which may be private: one test looks at it as another user.
    std::string pattern = "/tmp/tide-net-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    path = directory + "/sock";
  }
  ~ClientFixture() override {
    hub.reset();
    std::filesystem::remove_all(directory);
  }

  [[nodiscard]] ClientHubConfig hub_config() const {
    ClientHubConfig config;
    config.path = path;
    config.dvm_id = "tide-test-1";
    config.dvm_name = "demo";
    return config;
  }
  void start_hub() { start_hub(hub_config(), ErrorCode::kOk); }
  void start_hub(const ClientHubConfig& config, ErrorCode expected = ErrorCode::kOk) {
    hub = std::make_unique<ClientHub>(io, config, handler);
    const Status status = hub->listen();
    EXPECT_EQ(status ? ErrorCode::kOk : status.error().code, expected);
  }

  asio::io_context io;
  std::string directory;
  std::string path;
  RecordingClientHandler handler;
  std::unique_ptr<ClientHub> hub;
};

inline wire::ClientRequest status_query(std::uint32_t number) {
  wire::ClientRequest request;
  request.set_request(number);
  request.mutable_status();
  return request;
}

inline wire::ClientReply done(std::uint32_t number) {
  wire::ClientReply reply;
  reply.set_request(number);
  reply.mutable_done();
  return reply;
}

// The next reply; fails the test when none comes in time.
inline LocalChannel::Incoming receive(LocalChannel& channel) {
  auto incoming = channel.receive(10'000);
  EXPECT_TRUE(incoming.ok() && incoming->has_value());
  return incoming.ok() && incoming->has_value() ? std::move(**incoming) : LocalChannel::Incoming{};
}

// A blocking client that sends what a test wants, or nothing. Every wait is bounded.
class RawClient {
 public:
  struct Unconnected {};

  explicit RawClient(Unconnected /*tag*/) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{10, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }
  explicit RawClient(const std::string& path) : RawClient(Unconnected{}) { connect(path); }
  RawClient(const std::string& path, const wire::ClientRequest& request) : RawClient(path) {
    send(request);
  }
  ~RawClient() { ::close(fd_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void connect(const std::string& path) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  void write(const std::string& bytes) const {
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void send(const wire::ClientRequest& request) const {
    FrameEncoder encoder(kDefaultMaxMessageBytes);
    EXPECT_TRUE(encoder.push({MessageClass::kControl, request.SerializeAsString(), {}}).ok());
    std::string bytes;
    encoder.fill(bytes, kMaxFrameBytes);
    write(bytes);
  }

  // At least this many replies.
  [[nodiscard]] std::vector<wire::ClientReply> read(std::size_t wanted) const {
    FrameDecoder decoder(kDefaultMaxMessageBytes);
    std::vector<RawMessage> raw;
    std::array<char, 4096> buffer{};
    while (raw.size() < wanted) {
      const ssize_t count = ::recv(fd_, buffer.data(), buffer.size(), 0);
      EXPECT_GT(count, 0) << "no reply in time";
      if (count <= 0) break;
      EXPECT_TRUE(decoder.feed({buffer.data(), static_cast<std::size_t>(count)}, raw).ok());
    }
    std::vector<wire::ClientReply> replies(raw.size());
    for (std::size_t i = 0; i < raw.size(); ++i)
      EXPECT_TRUE(replies[i].ParseFromString(raw[i].header));
    return replies;
  }

  // All replies up to the end of the connection.
  [[nodiscard]] std::vector<wire::ClientReply> read_to_end() const {
    FrameDecoder decoder(kDefaultMaxMessageBytes);
    std::vector<RawMessage> raw;
    std::array<char, 4096> buffer{};
    ssize_t count = 0;
    while ((count = ::recv(fd_, buffer.data(), buffer.size(), 0)) > 0)
      EXPECT_TRUE(decoder.feed({buffer.data(), static_cast<std::size_t>(count)}, raw).ok());
    EXPECT_EQ(count, 0) << "the connection did not end in time";
    std::vector<wire::ClientReply> replies(raw.size());
    for (std::size_t i = 0; i < raw.size(); ++i)
      EXPECT_TRUE(replies[i].ParseFromString(raw[i].header));
    return replies;
  }

 private:
  int fd_;
};

// The error that is the only answer to this client.
inline std::string error_from(const RawClient& client) {
  const auto replies = client.read_to_end();
  EXPECT_EQ(replies.size(), 1U);
  return replies.empty() ? "" : replies[0].error().message();
}

}  // namespace tide::net::test
