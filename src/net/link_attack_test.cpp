// What strangers and broken peers can do to a listening daemon: nothing but be turned away.
#include <gmock/gmock.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <asio/ip/tcp.hpp>
#include <thread>

#include "net/handshake.hpp"
#include "net/link_hub.hpp"
#include "net/test_support.hpp"

namespace tide::net::test {
namespace {

using testing::HasSubstr;
using testing::Not;

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
                      "a frame of 2147483647 bytes is above the maximum of 65530");
}

TEST_F(BrokenPeer, OversizedMessageEndsTheLink) {
  expect_protocol_end(std::string("\x08\x00\x00\x00\x01\x01\xff\xff\xff\xff\x00\x00\x00\x00", 14),
                      "a message of 4294967295 bytes is above the maximum of 67108864");
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

TEST_F(LinkAttack, IdleConnectionsDoNotLockOutDaemons) {
  LinkConfig config = link_config(0);
  config.max_unauthenticated = 4;
  config.handshake_timeout_ms = 60'000;
  start_head(config);
  std::vector<std::unique_ptr<RawSocket>> idlers;
  for (int i = 0; i < 10; ++i) idlers.push_back(std::make_unique<RawSocket>(port));
  expect_healthy();
  // One line for the first that was dropped, and no flood for the others.
  ASSERT_FALSE(head->handler.refusals.empty());
  EXPECT_LE(head->handler.refusals.size(), 3U);
  EXPECT_THAT(head->handler.refusals[0], HasSubstr("dropped, 4 connections wait"));
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
