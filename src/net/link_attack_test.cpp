// What strangers and broken peers can do to a listening daemon: nothing but be turned away.
#include <gmock/gmock.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>
#include <thread>

#include "net/handshake.hpp"
#include "net/link_hub.hpp"
#include "net/test_support.hpp"

namespace tide::net::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// All that a peer could bring about, as one text.
std::string describe(const RecordingHandler& handler) {
  return std::to_string(handler.ups.size()) + " up, " + std::to_string(handler.downs.size()) +
         " down, " + std::to_string(handler.messages.size()) + " messages";
}

class LinkAttack : public testing::Test {
 public:
  void start_head(const LinkConfig& config) {
    head = std::make_unique<Node>(io, config);
    endpoints = head->listen();
    port = endpoints.at(0).port();
  }

  // After whatever happened an honest daemon is served.
  void expect_healthy() {
    const std::size_t ups = head->handler.ups.size();
    Node daemon(io, link_config(9));
    daemon.hub->connect(Rank(0), endpoints);
    ASSERT_TRUE(run_until(io, [&] { return head->handler.ups.size() == ups + 1; }));
    EXPECT_EQ(head->handler.ups.back().peer, Rank(9));
  }

  // The text of the goodbye that a peer with the right key gets for saying `first`.
  std::string goodbye_for(const wire::LinkMessage& first) {
    std::string text;
    run_beside(io, [&] {
      RawTlsPeer peer(port, kDvm, kKey);
      EXPECT_TRUE(peer.connected());
      peer.write(MessageClass::kControl, first);
      for (const wire::LinkMessage& message : peer.read_to_end())
        if (message.has_goodbye() && message.goodbye().reason() == wire::GOODBYE_REFUSED)
          text = message.goodbye().text();
    });
    return text;
  }

  void send_plain(const std::string& bytes) {
    run_beside(io, [&] {
      const RawSocket socket(port);
      socket.write(bytes);
      EXPECT_THAT(socket.read_to_end(), Not(HasSubstr(kDvm)));
    });
  }

  asio::io_context io;
  std::unique_ptr<Node> head;
  std::vector<wire::Endpoint> endpoints;
  std::uint32_t port = 0;
};

TEST_F(LinkAttack, AWrongKeyIsRefusedOnBothSides) {
  start_head(link_config(0));
  LinkConfig config = link_config(1);
  config.key = "0123456789abcdef-the-wrong-key";
  Node stranger(io, config);
  stranger.hub->connect(Rank(0), endpoints);
  ASSERT_TRUE(run_until(io, [&] {
    return stranger.handler.failures.size() == 1 && head->handler.refusals.size() == 1;
  }));
  EXPECT_FALSE(stranger.handler.failures[0].refused);
  EXPECT_THAT(stranger.handler.failures[0].text, HasSubstr("another key"));
  for (const std::string& text : {stranger.handler.failures[0].text, head->handler.refusals[0]}) {
    EXPECT_THAT(text, Not(HasSubstr("right-key")));
    EXPECT_THAT(text, Not(HasSubstr("wrong-key")));
  }
  EXPECT_TRUE(head->handler.ups.empty());
  expect_healthy();
}

TEST_F(LinkAttack, AnotherDvmIsRefusedInTls) {
  start_head(link_config(0));
  LinkConfig config = link_config(1);
  config.dvm_id = "tide-other";
  Node stranger(io, config);
  stranger.hub->connect(Rank(0), endpoints);
  ASSERT_TRUE(run_until(io, [&] { return stranger.handler.failures.size() == 1; }));
  EXPECT_THAT(stranger.handler.failures[0].text, HasSubstr("another DVM"));
  EXPECT_TRUE(head->handler.ups.empty());
}

TEST_F(LinkAttack, AnotherDvmIsRefusedInTheHello) {
  start_head(link_config(0));
  LinkConfig config = link_config(1);
  config.dvm_id = "tide-other";
  EXPECT_EQ(goodbye_for(hello_message(config)), "DVM tide-test does not know DVM tide-other");
  EXPECT_TRUE(head->handler.ups.empty());
  EXPECT_THAT(head->handler.refusals.at(0), HasSubstr("does not know DVM tide-other"));
  expect_healthy();
}

TEST_F(LinkAttack, AnotherProtocolIsRefusedWithBothVersionsNamed) {
  start_head(link_config(0));
  wire::LinkMessage hello = hello_message(link_config(1));
  hello.mutable_hello()->set_protocol(99);
  hello.mutable_hello()->set_protocol_minimum(98);
  const std::string text = goodbye_for(hello);
  EXPECT_THAT(text, HasSubstr("speaks 1 (oldest 1)"));
  EXPECT_THAT(text, HasSubstr("99 (oldest 98)"));
  hello.mutable_hello()->set_protocol(0);
  hello.mutable_hello()->set_protocol_minimum(0);
  EXPECT_THAT(goodbye_for(hello), HasSubstr("0 (oldest 0)"));
  EXPECT_TRUE(head->handler.ups.empty());
}

TEST_F(LinkAttack, ANewerProtocolThatUnderstandsOursIsAccepted) {
  start_head(link_config(0));
  wire::LinkMessage hello = hello_message(link_config(1));
  hello.mutable_hello()->set_protocol(99);
  run_beside(io, [&] {
    RawTlsPeer peer(port, kDvm, kKey);
    peer.write(MessageClass::kControl, hello);
    wire::LinkMessage goodbye;
    goodbye.mutable_goodbye()->set_text("done");
    peer.write(MessageClass::kControl, goodbye);
    static_cast<void>(peer.read_to_end());
  });
  ASSERT_EQ(head->handler.ups.size(), 1U);
  ASSERT_EQ(head->handler.downs.size(), 1U);
  EXPECT_EQ(head->handler.downs[0].text, "done");
}

TEST_F(LinkAttack, SomethingElseBeforeTheHelloIsRefused) {
  start_head(link_config(0));
  EXPECT_EQ(goodbye_for(numbered(1)), "the first message on a link must be a hello");
}

TEST_F(LinkAttack, GarbageAndHttpAreTurnedAway) {
  start_head(link_config(0));
  send_plain("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_EQ(head->handler.refusals.size(), 1U);
  send_plain(std::string(100'000, '\x16'));
  send_plain(std::string("\x16\x03\x01\xff\xff", 5) + std::string(70'000, '\xff'));
  EXPECT_TRUE(head->handler.ups.empty());
  expect_healthy();
}

// With the right key, and a hello if asked for, then these bytes: how does it end?
class BrokenPeer : public LinkAttack {
 public:
  void expect_protocol_end(const std::string& bytes, const std::string& text) {
    start_head(link_config(0));
    run_beside(io, [&] {
      RawTlsPeer peer(port, kDvm, kKey);
      peer.write(MessageClass::kControl, hello_message(link_config(1)));
      peer.write(bytes);
      static_cast<void>(peer.read_to_end());
    });
    ASSERT_EQ(head->handler.downs.size(), 1U);
    EXPECT_EQ(head->handler.downs[0].end, LinkEnd::kProtocol);
    EXPECT_THAT(head->handler.downs[0].text, HasSubstr(text));
    EXPECT_TRUE(head->handler.messages.empty());
    expect_healthy();
  }
};

TEST_F(BrokenPeer, OversizedFrameEndsTheLink) {
  expect_protocol_end(std::string("\xff\xff\xff\x7f\x00\x00", 6),
                      "a frame of 2147483647 bytes, above the maximum of 65530");
}

TEST_F(BrokenPeer, OversizedMessageEndsTheLink) {
  expect_protocol_end(std::string("\x08\x00\x00\x00\x01\x01\xff\xff\xff\xff\x00\x00\x00\x00", 14),
                      "a message of 4294967295 bytes, above the maximum of 67108864");
}

TEST_F(BrokenPeer, GarbageEndsTheLink) {
  expect_protocol_end(
      std::string("\x0b\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff", 17),
      "can't be read");
}

TEST_F(BrokenPeer, AnEmptyMessageEndsTheLink) {
  expect_protocol_end(std::string("\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 14),
                      "has no place here");
}

TEST_F(LinkAttack, LittleIsTakenBeforeTheHello) {
  start_head(link_config(0));
  run_beside(io, [&] {
    RawTlsPeer peer(port, kDvm, kKey);
    peer.write(std::string("\x08\x00\x00\x00\x00\x01\x00\x00\x10\x00\x00\x00\x00\x00", 14));
    static_cast<void>(peer.read_to_end());
  });
  EXPECT_THAT(head->handler.refusals.at(0), HasSubstr("above the maximum of 4096"));
  expect_healthy();
}

TEST_F(LinkAttack, SilentConnectionsEndWithTheHandshakeDeadline) {
  LinkConfig config = link_config(0);
  config.handshake_timeout_ms = 100;
  start_head(config);
  run_beside(io, [&] {
    const RawSocket silent(port);
    static_cast<void>(silent.read_to_end());
    RawTlsPeer mute(port, kDvm, kKey);
    EXPECT_TRUE(mute.connected());
    static_cast<void>(mute.read_to_end());
  });
  EXPECT_THAT(head->handler.refusals.at(0), HasSubstr("no handshake within 100 ms"));
  EXPECT_TRUE(head->handler.ups.empty());
}

// They begin to speak, so that they come in, and never go on.
TEST_F(LinkAttack, HalfHandshakesDoNotLockOutDaemons) {
  LinkConfig config = link_config(0);
  config.max_unauthenticated = 4;
  config.handshake_timeout_ms = 60'000;
  start_head(config);
  std::vector<std::unique_ptr<RawSocket>> idlers;
  for (int i = 0; i < 10; ++i) {
    idlers.push_back(std::make_unique<RawSocket>(port));
    idlers.back()->write("\x16");
  }
  expect_healthy();
  // One line for the first that was dropped, and no flood for the others.
  ASSERT_FALSE(head->handler.refusals.empty());
  EXPECT_LE(head->handler.refusals.size(), 3U);
  EXPECT_THAT(head->handler.refusals[0], HasSubstr("dropped, 4 connections wait"));
}

TEST_F(LinkAttack, SilentCallersHoldNobodyUpAndAreTheFirstToGo) {
  LinkConfig config = link_config(0);
  config.max_silent = 16;
  config.max_unauthenticated = 1;
  config.handshake_timeout_ms = 60'000;
  start_head(config);
  std::vector<std::unique_ptr<RawSocket>> idlers;
  for (int i = 0; i < 200; ++i) idlers.push_back(std::make_unique<RawSocket>(port));
  expect_healthy();
  expect_healthy();
  EXPECT_GE(head->hub->refused(), 200U - 16U);
  EXPECT_LE(head->handler.refusals.size(), 3U);
  EXPECT_THAT(head->handler.refusals.at(0), HasSubstr("it said nothing and others wait"));
}

TEST_F(LinkAttack, ACallerThatHangsUpWithoutAWordIsNotWorthALine) {
  start_head(link_config(0));
  for (int i = 0; i < 20; ++i) const RawSocket scan(port);
  expect_healthy();
  EXPECT_TRUE(head->handler.refusals.empty());
}

TEST_F(LinkAttack, AFloodOfOneKindDoesNotHideTheOthersFromTheLog) {
  start_head(link_config(0));
  for (int i = 0; i < 30; ++i) send_plain("GET / HTTP/1.1\r\n\r\n");
  LinkConfig config = link_config(1);
  config.key = "0123456789abcdef-the-wrong-key";
  Node stranger(io, config);
  stranger.hub->connect(Rank(0), endpoints);
  ASSERT_TRUE(run_until(io, [&] { return stranger.handler.failures.size() == 1; }));
  ASSERT_TRUE(run_until(io, [&] { return head->hub->refused() == 31; }));
  EXPECT_THAT(head->handler.refusals, Contains(HasSubstr("http request")));
  EXPECT_THAT(head->handler.refusals, Contains(HasSubstr("binder")));
  EXPECT_LE(head->handler.refusals.size(), 5U);
}

TEST_F(LinkAttack, ACrowdOfDaemonsAboveTheCapIsServed) {
  LinkConfig config = link_config(0);
  config.max_unauthenticated = 2;
  start_head(config);
  std::vector<std::unique_ptr<Node>> daemons;
  for (std::uint32_t rank = 1; rank <= 40; ++rank) {
    daemons.push_back(std::make_unique<Node>(io, link_config(rank)));
    daemons.back()->hub->connect(Rank(0), endpoints);
  }
  ASSERT_TRUE(run_until(io, [&] { return head->handler.ups.size() == 40; }));
  EXPECT_TRUE(head->handler.refusals.empty());
  for (const auto& daemon : daemons) EXPECT_TRUE(daemon->handler.failures.empty());
}

// What a client without the key can try: how far does it come?
class NoKey : public LinkAttack {
 public:
  void expect_no_handshake(int version, const char* ciphers) {
    start_head(link_config(0));
    run_beside(io, [&] {
      const RawSocket socket(port);
      SSL_CTX* ctx = SSL_CTX_new(TLS_client_method());
      SSL_CTX_set_min_proto_version(ctx, version);
      SSL_CTX_set_max_proto_version(ctx, version);
      if (ciphers != nullptr) {
        EXPECT_EQ(SSL_CTX_set_cipher_list(ctx, ciphers), 1);
      }
      SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, nullptr);
      SSL* ssl = SSL_new(ctx);
      SSL_set_fd(ssl, socket.fd());
      EXPECT_LE(SSL_connect(ssl), 0);
      SSL_free(ssl);
      SSL_CTX_free(ctx);
    });
    ASSERT_TRUE(run_until(io, [&] { return head->handler.refusals.size() == 1; }));
    EXPECT_THAT(head->handler.refusals[0], HasSubstr("no TLS"));
    EXPECT_TRUE(head->handler.ups.empty());
    expect_healthy();
  }
};

TEST_F(NoKey, Tls13IsRefused) {
  expect_no_handshake(TLS1_3_VERSION, nullptr);
}

TEST_F(NoKey, Tls12IsRefused) {
  expect_no_handshake(TLS1_2_VERSION, nullptr);
}

TEST_F(NoKey, AnonymousTls12IsRefused) {
  expect_no_handshake(TLS1_2_VERSION, "ADH:AECDH:@SECLEVEL=0");
}

// Passes one connection on to a port and keeps what its caller said.
class Recorder {
 public:
  explicit Recorder(std::uint32_t to)
      : acceptor_(io_, {asio::ip::address_v4::loopback(), 0}), thread_([this, to] { run(to); }) {}

  [[nodiscard]] wire::Endpoint endpoint() const {
    wire::Endpoint out;
    out.set_address("127.0.0.1");
    out.set_port(acceptor_.local_endpoint().port());
    return out;
  }
  // After the end of the connection.
  std::string recorded() {
    thread_.join();
    return bytes_;
  }

 private:
  void run(std::uint32_t to) {
    asio::ip::tcp::socket from(io_);
    acceptor_.accept(from);
    asio::ip::tcp::socket forward(io_);
    forward.connect({asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(to)});
    std::jthread back([&] { pass(forward, from, nullptr); });
    pass(from, forward, &bytes_);
  }
  static void pass(asio::ip::tcp::socket& from, asio::ip::tcp::socket& to, std::string* keep) {
    std::array<char, 4096> buffer{};
    asio::error_code error;
    while (const std::size_t count = from.read_some(asio::buffer(buffer), error)) {
      if (keep != nullptr) keep->append(buffer.data(), count);
      asio::write(to, asio::buffer(buffer.data(), count), error);
    }
    to.shutdown(asio::socket_base::shutdown_send, error);
  }

  asio::io_context io_;
  asio::ip::tcp::acceptor acceptor_;
  std::string bytes_;
  std::jthread thread_;
};

TEST_F(LinkAttack, ARecordedHandshakeIsWorthNothing) {
  start_head(link_config(0));
  Recorder recorder(port);
  {
    Node daemon(io, link_config(1));
    daemon.hub->connect(Rank(0), {recorder.endpoint()});
    ASSERT_TRUE(run_until(io, [&] { return head->handler.ups.size() == 1; }));
    daemon.hub->shutdown();
    ASSERT_TRUE(run_until(io, [&] { return head->handler.downs.size() == 1; }));
  }
  const std::string bytes = recorder.recorded();
  ASSERT_GT(bytes.size(), 300U);
  const std::string before = describe(head->handler);
  send_plain(bytes);
  ASSERT_TRUE(run_until(io, [&] { return head->handler.refusals.size() == 1; }));
  EXPECT_THAT(head->handler.refusals[0], HasSubstr("no TLS"));
  EXPECT_EQ(describe(head->handler), before);
  expect_healthy();
}

TEST_F(LinkAttack, HalfAMessageForEverIsOutlived) {
  LinkConfig config = link_config(0);
  config.heartbeat_timeout_ms = 300;
  start_head(config);
  run_beside(io, [&] {
    RawTlsPeer peer(port, kDvm, kKey);
    peer.write(MessageClass::kControl, hello_message(link_config(1)));
    // The first frame of a message of 60 MB, and more announced than ever comes.
    peer.write(std::string("\x0c\x00\x00\x00\x01\x01\x00\x00\x94\x03\x00\x00\x00\x00half", 18));
    static_cast<void>(peer.read_to_end());
  });
  ASSERT_EQ(head->handler.downs.size(), 1U);
  EXPECT_EQ(head->handler.downs[0].end, LinkEnd::kSilent);
  EXPECT_TRUE(head->handler.messages.empty());
  expect_healthy();
}

TEST_F(LinkAttack, AMessageCutOffByTheEndOfTheConnectionIsNotDelivered) {
  start_head(link_config(0));
  run_beside(io, [&] {
    RawTlsPeer peer(port, kDvm, kKey);
    peer.write(MessageClass::kControl, hello_message(link_config(1)));
    peer.write(std::string("\x0c\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x08", 15));
  });
  ASSERT_TRUE(run_until(io, [&] { return head->handler.downs.size() == 1; }));
  EXPECT_TRUE(head->handler.messages.empty());
  expect_healthy();
}

// A TLS server that offers a certificate of its own making instead of the key.
SSL_CTX* certificate_server() {
  SSL_CTX* ctx = SSL_CTX_new(TLS_server_method());
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_sign(certificate, key, EVP_sha256());
  SSL_CTX_use_certificate(ctx, certificate);
  SSL_CTX_use_PrivateKey(ctx, key);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return ctx;
}

TEST_F(LinkAttack, AServerWithACertificateInsteadOfTheKeyIsNotTrusted) {
  asio::io_context rogue_io;
  asio::ip::tcp::acceptor acceptor(rogue_io, {asio::ip::address_v4::loopback(), 0});
  std::jthread rogue([&] {
    asio::ip::tcp::socket socket(rogue_io);
    acceptor.accept(socket);
    SSL_CTX* ctx = certificate_server();
    SSL* ssl = SSL_new(ctx);
    SSL_set_fd(ssl, socket.native_handle());
    EXPECT_LE(SSL_accept(ssl), 0);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
  });
  Node daemon(io, link_config(1));
  wire::Endpoint endpoint;
  endpoint.set_address("127.0.0.1");
  endpoint.set_port(acceptor.local_endpoint().port());
  daemon.hub->connect(Rank(0), {endpoint});
  ASSERT_TRUE(run_until(io, [&] { return daemon.handler.failures.size() == 1; }));
  EXPECT_TRUE(daemon.handler.ups.empty());
}

}  // namespace
}  // namespace tide::net::test
