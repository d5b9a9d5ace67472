#include "net/local_channel.hpp"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>

#include "net/client_test_support.hpp"
#include "net/test_support.hpp"

namespace tide::net::test {
namespace {

using testing::HasSubstr;

class LocalChannelTest : public ClientFixture {
 public:
  // A socket that is bound and perhaps listened on, but never served.
  int bind_only(bool listening) const {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    if (listening) {
      EXPECT_EQ(::listen(fd, 0), 0);
    }
    return fd;
  }

  [[nodiscard]] ErrorCode connect_error(std::uint32_t timeout_ms = 5000) const {
    const auto channel = LocalChannel::connect(path, timeout_ms, "test");
    return channel.ok() ? ErrorCode::kOk : channel.error().code;
  }
};

TEST_F(LocalChannelTest, ErrorsTellNoSocketFromNobodyThere) {
  EXPECT_EQ(connect_error(), ErrorCode::kNotFound);
  const int fd = bind_only(false);
  EXPECT_EQ(connect_error(), ErrorCode::kConnectionRefused);
  ::close(fd);
  path += std::string(120, 'x');
  EXPECT_EQ(connect_error(), ErrorCode::kInvalidArgument);
}

TEST_F(LocalChannelTest, AHeadThatDoesNotAnswerIsATimeOut) {
  const int fd = bind_only(true);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(connect_error(50), ErrorCode::kTimedOut);  // in the queue, never served
  EXPECT_EQ(connect_error(50), ErrorCode::kTimedOut);  // the queue is full now
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  ::close(fd);
}

TEST_F(LocalChannelTest, SendingMuchWithoutReceivingDoesNotBlock) {
  start_hub();
  handler.on_request = [&](ClientId client, const wire::ClientRequest& request, const Bytes& data) {
    hub->send(client, done(request.request()), data);
  };
  run_beside(io, [&] {
    auto channel = LocalChannel::connect(path, 5000, "prun");
    ASSERT_TRUE(channel.ok());
    constexpr std::uint32_t kRequests = 30;
    std::string data(1'000'000, 'x');
    for (std::uint32_t i = 0; i < kRequests; ++i) {
      data[0] = static_cast<char>('a' + i % 26);
      ASSERT_TRUE(channel->send(status_query(i), data).ok());
    }
    EXPECT_TRUE(channel->wants_write());
    for (std::uint32_t i = 0; i < kRequests; ++i) {
      const auto incoming = receive(*channel);
      ASSERT_EQ(incoming.reply.request(), i);
      data[0] = static_cast<char>('a' + i % 26);
      ASSERT_EQ(incoming.payload.view(), data);
    }
    EXPECT_FALSE(channel->wants_write());
  });
}

TEST_F(LocalChannelTest, WorksInTheCallersOwnPoll) {
  start_hub();
  handler.on_request = [&](ClientId client, const wire::ClientRequest& request, const Bytes& data) {
    hub->send(client, done(request.request()), data);
  };
  run_beside(io, [&] {
    auto channel = LocalChannel::connect(path, 5000, "prun");
    ASSERT_TRUE(channel.ok());
    const auto nothing = channel->receive(0);
    ASSERT_TRUE(nothing.ok());
    EXPECT_FALSE(nothing->has_value());
    ASSERT_TRUE(channel->send(status_query(5), std::string(3'000'000, 'x')).ok());
    for (int turns = 0; turns < 10'000; ++turns) {
      pollfd fd{channel->fd(),
                static_cast<short>(channel->wants_write() ? POLLIN | POLLOUT : POLLIN), 0};
      ASSERT_EQ(::poll(&fd, 1, 10'000), 1);
      ASSERT_TRUE(channel->pump().ok());
      auto incoming = channel->receive(0);
      ASSERT_TRUE(incoming.ok());
      if (!incoming->has_value()) continue;
      EXPECT_EQ((*incoming)->reply.request(), 5U);
      EXPECT_EQ((*incoming)->payload.size(), 3'000'000U);
      return;
    }
    FAIL() << "no reply";
  });
}

TEST_F(LocalChannelTest, RepliesBeforeTheEndAreDeliveredThoughWritesFail) {
  start_hub();
  handler.on_request = [&](ClientId client, const wire::ClientRequest&, const Bytes&) {
    for (std::uint32_t i = 0; i < 10; ++i) hub->send(client, done(i), {});
    hub->drop(client);
  };
  run_beside(io, [&] {
    auto channel = LocalChannel::connect(path, 5000, "prun");
    ASSERT_TRUE(channel.ok());
    ASSERT_TRUE(channel->send(status_query(1)).ok());
    for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(receive(*channel).reply.request(), i);
    const auto end = channel->receive(5000);
    ASSERT_FALSE(end.ok());
    EXPECT_EQ(end.error().code, ErrorCode::kConnectionLost);
    EXPECT_TRUE(channel->send(status_query(2)).ok());
    EXPECT_FALSE(channel->receive(0).ok());
  });
}

TEST_F(LocalChannelTest, MovesAndClosesItsDescriptorOnce) {
  start_hub();
  run_beside(io, [&] {
    auto first = LocalChannel::connect(path, 5000, "a");
    auto second = LocalChannel::connect(path, 5000, "b");
    ASSERT_TRUE(first.ok() && second.ok());
    LocalChannel moved = std::move(*first);
    const int fd = second->fd();
    moved = std::move(*second);
    EXPECT_EQ(moved.fd(), fd);
  });
  EXPECT_TRUE(run_until(io, [&] { return handler.gone.size() == 2; }));
}

TEST_F(LocalChannelTest, ConnectTime) {
  start_hub();
  run_beside(io, [&] {
    constexpr int kConnects = 200;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kConnects; ++i) ASSERT_TRUE(LocalChannel::connect(path, 5000, "prun").ok());
    const std::chrono::duration<double, std::micro> taken =
        std::chrono::steady_clock::now() - start;
    std::printf("[          ] %.0f us to connect and be welcomed\n", taken.count() / kConnects);
  });
}

}  // namespace
}  // namespace tide::net::test
