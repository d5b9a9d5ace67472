#include "pmix/handshake_guard.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>

#include "base/private_directory.hpp"
#include "pmix/connections.hpp"
#include "pmix/other_end.hpp"

namespace tide::pmix {
namespace {

class Guarded : public ::testing::Test {
 protected:
  void SetUp() override {
    listener_ = OwnedFd(::socket(AF_INET, SOCK_STREAM, 0));
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    ASSERT_EQ(::bind(listener_.get(), address(), size), 0);
    ASSERT_EQ(::listen(listener_.get(), 4), 0);
    ASSERT_EQ(::getsockname(listener_.get(), address(), &size), 0);
  }
  void connect() {
    client_ = OwnedFd(::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::connect(client_.get(), address(), sizeof address_), 0);
    ASSERT_EQ(::send(client_.get(), "hello", 5, MSG_NOSIGNAL), 5);
    server_ = OwnedFd(::accept(listener_.get(), nullptr, nullptr));
    ASSERT_GE(server_.get(), 0);
    std::array<char, 5> heard{};
    ASSERT_EQ(::recv(server_.get(), heard.data(), heard.size(), MSG_WAITALL), 5);
  }
  bool send_answer() {
    const std::array<char, 8> answer{};
    return ::send(server_.get(), answer.data(), answer.size(), MSG_NOSIGNAL) == 8;
  }
  bool ended() {
    pollfd server{server_.get(), POLLIN, 0};
    return ::poll(&server, 1, 0) == 1;
  }
  // With something unread: the other end hears that the connection does not exist.
  void hang_up() { client_ = OwnedFd(); }
  [[nodiscard]] std::uint16_t port() const { return ntohs(address_.sin_port); }
  sockaddr* address() { return reinterpret_cast<sockaddr*>(&address_); }

  sockaddr_in address_{};
  OwnedFd listener_;
  OwnedFd client_;
  OwnedFd server_;
};

TEST_F(Guarded, ConnectionsOutliveTheOtherEndUntilTheyAreReleased) {
  HandshakeGuard guard;
  guard.watch(port());
  connect();
  ASSERT_TRUE(send_answer());
  hang_up();
  EXPECT_TRUE(send_answer());
  EXPECT_TRUE(send_answer());
  EXPECT_FALSE(ended());
  guard.release_answered();
  EXPECT_TRUE(ended());
}

TEST_F(Guarded, ConnectionsThatWereNotAnsweredStayGuarded) {
  HandshakeGuard guard;
  guard.watch(port());
  connect();
  guard.release_answered();
  ASSERT_TRUE(send_answer());
  hang_up();
  EXPECT_TRUE(send_answer());
  EXPECT_TRUE(send_answer());
}

TEST_F(Guarded, ConnectionsAreAsOthersAfterwards) {
  HandshakeGuard guard;
  guard.watch(port());
  connect();
  ASSERT_TRUE(send_answer());
  guard.release_answered();
  EXPECT_FALSE(ended());
  hang_up();
  EXPECT_TRUE(ended());
}

TEST_F(Guarded, ThatNoMoreIsSaidGetsThrough) {
  HandshakeGuard guard;
  guard.watch(port());
  connect();
  hang_up();  // with nothing unread
  EXPECT_TRUE(ended());
}

TEST_F(Guarded, TheOtherEndIsFoundOrNot) {
  connect();
  EXPECT_EQ(has_other_end(server_.get()), true);
  ASSERT_TRUE(send_answer());
  hang_up();
  EXPECT_NE(has_other_end(server_.get()), true);
  EXPECT_EQ(has_other_end(-1), std::nullopt);
}

TEST_F(Guarded, ConnectionsAreSettledBetweenTheirAnswerAndTheirEnd) {
  HandshakeGuard guard;
  guard.watch(port());
  connect();
  const auto waiting = unsettled_connections(port());
  EXPECT_EQ(waiting.size(), 1U);
  ASSERT_TRUE(send_answer());
  guard.release_answered();
  EXPECT_EQ(unsettled_connections(port()).size(), 0U);
  hang_up();
  EXPECT_EQ(unsettled_connections(port()), waiting);
  server_ = OwnedFd();
  EXPECT_EQ(unsettled_connections(port()).size(), 0U);
}

TEST(HandshakeGuard, KnowsThePortOfAUri) {
  EXPECT_EQ(port_in("dvm.0;tcp4://127.0.0.1:4711"), 4711);
  EXPECT_EQ(port_in("nothing"), 0);
  EXPECT_EQ(port_in("dvm.0;tcp4://127.0.0.1:x"), 0);
}

}  // namespace
}  // namespace tide::pmix
