#include "net/client_hub.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "net/client_test_support.hpp"
#include "net/local_channel.hpp"
#include "net/test_support.hpp"

namespace tide::net::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ClientHubTest : public ClientFixture {};

TEST_F(ClientHubTest, AClientIsWelcomedAndServedInOrder) {
  start_hub();
  handler.on_request = [&](ClientId client, const wire::ClientRequest& request, const Bytes& data) {
    hub->send(client, done(request.request()), data);
  };
  run_beside(io, [&] {
    auto channel = LocalChannel::connect(path, 5000, "prun");
    ASSERT_TRUE(channel.ok()) << channel.error().message;
    EXPECT_EQ(channel->dvm_id(), "tide-test-1");
    EXPECT_EQ(channel->dvm_name(), "demo");
    for (std::uint32_t i = 1; i <= 100; ++i)
      ASSERT_TRUE(channel->send(status_query(i), std::string(i * 1000, 'x')).ok());
    for (std::uint32_t i = 1; i <= 100; ++i) {
      const auto incoming = receive(*channel);
      EXPECT_EQ(incoming.reply.request(), i);
      EXPECT_EQ(incoming.payload.size(), i * 1000);
    }
  });
  ASSERT_EQ(handler.connected.size(), 1U);
  EXPECT_EQ(handler.pids, std::vector<std::uint32_t>{static_cast<std::uint32_t>(::getpid())});
  EXPECT_TRUE(run_until(io, [&] { return handler.gone == handler.connected; }));
  EXPECT_TRUE(handler.refused.empty());
}

TEST_F(ClientHubTest, ABrokenClientDoesNotDisturbAnother) {
  start_hub();
  handler.on_request = [&](ClientId client, const wire::ClientRequest& request, const Bytes&) {
    hub->send(client, done(request.request()), {});
  };
  run_beside(io, [&] {
    auto good = LocalChannel::connect(path, 5000, "good");
    auto bad = LocalChannel::connect(path, 5000, "bad");
    ASSERT_TRUE(good.ok() && bad.ok());
    const std::string garbage(100, '\xff');
    ASSERT_GT(::write(bad->fd(), garbage.data(), garbage.size()), 0);
    const auto end = bad->receive(5000);
    ASSERT_FALSE(end.ok());
    EXPECT_EQ(end.error().code, ErrorCode::kConnectionLost);
    ASSERT_TRUE(good->send(status_query(1)).ok());
    EXPECT_TRUE(receive(*good).reply.has_done());
  });
  EXPECT_EQ(handler.connected.size(), 2U);
  EXPECT_THAT(handler.refused, ElementsAre(HasSubstr("it sent a frame of 4294967295 bytes")));
}

TEST_F(ClientHubTest, AHelloIsDueFirstAndInTime) {
  ClientHubConfig config = hub_config();
  config.hello_timeout_ms = 100;
  start_hub(config);
  run_beside(io, [&] {
    EXPECT_THAT(error_from(RawClient(path, status_query(7))), HasSubstr("must be a hello"));
    EXPECT_THAT(error_from(RawClient(path, {})), HasSubstr("must be a hello"));
    EXPECT_THAT(error_from(RawClient(path)), HasSubstr("no hello within 100 ms"));
  });
  EXPECT_TRUE(handler.connected.empty());
  EXPECT_TRUE(handler.gone.empty());
}

TEST_F(ClientHubTest, AnotherProtocolIsRefusedWithBothVersionsNamed) {
  start_hub();
  wire::ClientRequest request;
  request.mutable_hello()->set_protocol(99);
  request.mutable_hello()->set_protocol_minimum(98);
  run_beside(io, [&] {
    EXPECT_THAT(error_from(RawClient(path, request)),
                HasSubstr("speaks 1 (oldest 1), the other 99 (oldest 98)"));
  });
  EXPECT_TRUE(handler.connected.empty());
}

TEST_F(ClientHubTest, AnotherUserIsToldThatItMayNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become somebody else";
  start_hub();
  std::filesystem::permissions(directory, std::filesystem::perms(0711));
  std::filesystem::permissions(path, std::filesystem::perms(0666));
  run_beside(io, [&] {
    // The raw system call changes the user of this thread only.
    ASSERT_EQ(::syscall(SYS_setresuid, 65534, 65534, 65534), 0);
    const auto channel = LocalChannel::connect(path, 5000, "stranger");
    ASSERT_FALSE(channel.ok());
    EXPECT_EQ(channel.error().code, ErrorCode::kPermissionDenied);
    EXPECT_EQ(channel.error().message, "this DVM belongs to user 0; user 65534 may not use it");
  });
  EXPECT_TRUE(handler.connected.empty());
  EXPECT_EQ(handler.refused.size(), 1U);
}

TEST_F(ClientHubTest, DropFlushesAndIsNotReported) {
  start_hub();
  handler.on_request = [&](ClientId client, const wire::ClientRequest& request, const Bytes&) {
    hub->send(client, done(request.request()), Bytes(std::string(8'000'000, 'x')));
    EXPECT_GE(hub->queued_bytes(client), 8'000'000U);
    hub->drop(client);
    hub->send(client, done(99), {});  // too late, ignored
    EXPECT_EQ(hub->queued_bytes(client), 0U);
  };
  run_beside(io, [&] {
    auto channel = LocalChannel::connect(path, 5000, "prun");
    ASSERT_TRUE(channel.ok());
    ASSERT_TRUE(channel->send(status_query(1)).ok());
    EXPECT_EQ(receive(*channel).payload.size(), 8'000'000U);
    const auto end = channel->receive(5000);
    ASSERT_FALSE(end.ok());
    EXPECT_EQ(end.error().code, ErrorCode::kConnectionLost);
  });
  EXPECT_TRUE(handler.gone.empty());
}

TEST_F(ClientHubTest, AReplyAboveTheMaximumEndsTheConnection) {
  ClientHubConfig config = hub_config();
  config.max_message_bytes = 1000;
  start_hub(config);
  handler.on_request = [&](ClientId client, const wire::ClientRequest& request, const Bytes&) {
    hub->send(client, done(request.request()), Bytes(std::string(1001, 'x')));
  };
  run_beside(io, [&] {
    auto channel = LocalChannel::connect(path, 5000, "prun");
    ASSERT_TRUE(channel.ok());
    ASSERT_TRUE(channel->send(status_query(1)).ok());
    EXPECT_FALSE(channel->receive(5000).ok());
  });
  EXPECT_EQ(handler.gone.size(), 1U);
}

TEST_F(ClientHubTest, ShutdownFlushesRemovesTheSocketAndLeavesNoWork) {
  start_hub();
  handler.on_request = [&](ClientId client, const wire::ClientRequest& request, const Bytes&) {
    hub->send(client, done(request.request()), {});
    hub->shutdown();
  };
  run_beside(io, [&] {
    auto channel = LocalChannel::connect(path, 5000, "pterm");
    ASSERT_TRUE(channel.ok());
    ASSERT_TRUE(channel->send(status_query(1)).ok());
    EXPECT_TRUE(receive(*channel).reply.has_done());
    EXPECT_FALSE(channel->receive(5000).ok());
  });
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(handler.gone.empty());
  io.restart();
  io.run_for(std::chrono::seconds(10));
  EXPECT_TRUE(io.stopped());
}

TEST_F(ClientHubTest, TheSocketIsForItsOwnerOnly) {
  start_hub();
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(ClientHubTest, ASocketLeftBehindIsReplacedOneInUseIsNot) {
  start_hub();
  ClientHub second(io, hub_config(), handler);
  const Status in_use = second.listen();
  ASSERT_FALSE(in_use.ok());
  EXPECT_EQ(in_use.error().code, ErrorCode::kAlreadyExists);

  std::filesystem::rename(path, path + ".old");
  hub.reset();
  EXPECT_TRUE(std::filesystem::exists(path + ".old"));
  std::filesystem::rename(path + ".old", path);
  EXPECT_TRUE(second.listen().ok());
}

TEST_F(ClientHubTest, OnlyOurOwnSocketIsRemoved) {
  start_hub();
  std::filesystem::remove(path);
  std::ofstream(path) << "somebody else's";
  hub.reset();
  EXPECT_TRUE(std::filesystem::exists(path));
  start_hub(hub_config(), ErrorCode::kAlreadyExists);
}

TEST_F(ClientHubTest, APathThatIsTooLongIsAnError) {
  ClientHubConfig config = hub_config();
  config.path = directory + "/" + std::string(120, 'x');
  start_hub(config, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace tide::net::test
