// What the tests of this room share: ways to run a loop, a hub that records what it is told, and
// peers that do not keep to the rules.
#pragma once

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/link_hub.hpp"
#include "net/tls_context.hpp"

namespace tide::net::test {

inline constexpr const char* kDvm = "tide-test";
inline constexpr const char* kKey = "0123456789abcdef-the-right-key";

// Runs the loop until `done` holds; false when it does not within the time.
inline bool run_until(asio::io_context& io, const std::function<bool()>& done,
                      std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    if (io.stopped()) io.restart();
    io.run_one_for(std::chrono::milliseconds(20));
  }
  return true;
}

inline LinkConfig link_config(std::uint32_t rank) {
  LinkConfig config;
  config.dvm_id = kDvm;
  config.key = kKey;
  config.node = "node" + std::to_string(rank);
  config.rank = Rank(rank);
  config.incarnation = Incarnation(1000 + rank);
  config.campaign = 7;
  config.heartbeat_interval_ms = 1000;
  config.heartbeat_timeout_ms = 20000;
  return config;
}

class RecordingHandler : public LinkHandler {
 public:
  struct Up {
    LinkId link;
    Rank peer;
    Incarnation incarnation;
    std::uint32_t campaign;
    bool outgoing;
  };
  struct Down {
    LinkId link;
    LinkEnd end;
    std::string text;
  };
  struct Failure {
    Rank peer;
    bool refused;
    std::string text;
  };
  struct Message {
    LinkId link;
    wire::LinkMessage message;
    Bytes payload;
  };

  void on_link_up(LinkId link, Rank peer, Incarnation incarnation, std::uint32_t campaign,
                  bool outgoing) override {
    EXPECT_FALSE(inside_call);
    ups.push_back({link, peer, incarnation, campaign, outgoing});
    if (when_up) when_up(link);
  }
  void on_link_down(LinkId link, LinkEnd end, const std::string& text) override {
    EXPECT_FALSE(inside_call);
    downs.push_back({link, end, text});
  }
  void on_connect_failed(Rank peer, bool refused, const std::string& text) override {
    EXPECT_FALSE(inside_call);
    failures.push_back({peer, refused, text});
  }
  void on_message(LinkId link, wire::LinkMessage message, Bytes payload) override {
    EXPECT_FALSE(inside_call);
    messages.push_back({link, std::move(message), std::move(payload)});
  }
  void on_refused(const std::string& text) override {
    EXPECT_FALSE(inside_call);
    refusals.push_back(text);
  }

  bool inside_call = false;  // set by a test around its calls on the hub
  std::function<void(LinkId)> when_up;
  std::vector<Up> ups;
  std::vector<Down> downs;
  std::vector<Failure> failures;
  std::vector<Message> messages;
  std::vector<std::string> refusals;
};

// A daemon as far as links go.
struct Node {
  Node(asio::io_context& io, const LinkConfig& config)
      : hub(std::make_unique<LinkHub>(io, config, handler)) {}

  std::vector<wire::Endpoint> listen(const std::string& address = "127.0.0.1") {
    auto endpoints = hub->listen(address);
    EXPECT_TRUE(endpoints.ok());
    return endpoints.ok() ? *endpoints : std::vector<wire::Endpoint>{};
  }

  RecordingHandler handler;
  std::unique_ptr<LinkHub> hub;
};

// A message that tests tell apart by a number.
inline wire::LinkMessage numbered(std::uint64_t number) {
  wire::LinkMessage message;
  message.mutable_operation_ack()->set_serial(number);
  return message;
}

// A blocking TCP socket to an endpoint on IPv4; every wait on it is bounded.
class RawSocket {
 public:
  explicit RawSocket(std::uint32_t port);
  ~RawSocket();
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  void write(const std::string& bytes) const;
  // Everything up to the end of the connection; fails the test when there is none in time.
  [[nodiscard]] std::string read_to_end() const;

 private:
  int fd_;
};

wire::Endpoint endpoint(const std::string& address, std::uint32_t port);

// A port of 127.0.0.1 where nobody listens, and nobody else will while this lives.
class ClosedPort {
 public:
  ClosedPort();
  ~ClosedPort();
  ClosedPort(const ClosedPort&) = delete;
  ClosedPort& operator=(const ClosedPort&) = delete;

  [[nodiscard]] wire::Endpoint where() const { return endpoint("127.0.0.1", port_); }

 protected:
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::uint32_t port() const { return port_; }

 private:
  int fd_;
  std::uint32_t port_ = 0;
};

// One that listens but lets nobody in: connections get no answer, as from a dead address.
class HangingPort : public ClosedPort {
 public:
  HangingPort();

 private:
  std::unique_ptr<RawSocket> filler_;  // the place in its queue
};

// A peer with the DVM's key, or another, that says what a test wants. Blocking: the hub under test
// has to run meanwhile in another thread.
class RawTlsPeer {
 public:
  RawTlsPeer(std::uint32_t port, const std::string& identity, const std::string& key);
  ~RawTlsPeer() { SSL_free(ssl_); }
  RawTlsPeer(const RawTlsPeer&) = delete;
  RawTlsPeer& operator=(const RawTlsPeer&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  void write(const std::string& bytes);
  void write(MessageClass message_class, const wire::LinkMessage& message);
  // All messages up to the end of the connection.
  std::vector<wire::LinkMessage> read_to_end();

 private:
  RawSocket socket_;
  std::shared_ptr<TlsContext> tls_;
  SSL* ssl_ = nullptr;
  bool connected_ = false;
};

// Runs the loop while `script` runs in a thread of its own, until it has ended.
void run_beside(asio::io_context& io, const std::function<void()>& script);

}  // namespace tide::net::test
