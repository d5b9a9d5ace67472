// What clients that mean no good, or have stopped, can do to the head: nothing to anybody else.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "net/client_test_support.hpp"
#include "net/local_channel.hpp"
#include "net/test_support.hpp"

namespace tide::net::test {
namespace {

using testing::Each;
using testing::HasSubstr;

wire::ClientRequest submit(std::uint32_t number) {
  wire::ClientRequest request;
  request.set_request(number);
  request.mutable_submit();
  return request;
}

wire::ClientRequest take_down(std::uint32_t number) {
  wire::ClientRequest request;
  request.set_request(number);
  request.mutable_down();
  return request;
}

wire::ClientRequest hello() {
  wire::ClientRequest request;
  request.mutable_hello()->set_protocol(1);
  request.mutable_hello()->set_protocol_minimum(1);
  return request;
}

class ClientAttack : public ClientFixture {
 public:
  void answer_everything(std::size_t bytes = 1) {
    handler.on_request = [this, bytes](ClientId client, const wire::ClientRequest& request,
                                       const Bytes&) {
      ++served;
      wire::ClientReply reply;
      reply.set_request(request.request());
      reply.mutable_error()->set_message(std::string(bytes, 'x'));
      hub->send(client, reply, {});
      most_queued = std::max(most_queued, hub->queued_bytes(client));
    };
  }

  // To be called beside the loop: an honest client is served.
  void expect_served() {
    auto channel = LocalChannel::connect(path, 5000, "honest");
    ASSERT_TRUE(channel.ok()) << channel.error().message;
    ASSERT_TRUE(channel->send(status_query(1)).ok());
    EXPECT_EQ(receive(*channel).reply.request(), 1U);
  }

  std::size_t served = 0;
  std::size_t most_queued = 0;
};

TEST_F(ClientAttack, SilentClientsHoldNobodyUpAndAreTheFirstToGo) {
  ClientHubConfig config = hub_config();
  config.max_silent = 16;
  config.max_clients = 4;
  config.hello_timeout_ms = 60'000;
  start_hub(config);
  answer_everything();
  run_beside(io, [&] {
    std::vector<std::unique_ptr<RawClient>> idlers;
    for (int i = 0; i < 200; ++i) idlers.push_back(std::make_unique<RawClient>(path));
    expect_served();
    EXPECT_THAT(error_from(*idlers[0]), HasSubstr("others wait to be heard"));
  });
  EXPECT_GE(hub->refused(), 200U - 16U);
  EXPECT_LE(handler.refused.size(), 3U);
}

TEST_F(ClientAttack, HalfHellosDoNotLockOutClients) {
  ClientHubConfig config = hub_config();
  config.max_strangers = 4;
  config.hello_timeout_ms = 60'000;
  start_hub(config);
  answer_everything();
  run_beside(io, [&] {
    std::vector<std::unique_ptr<RawClient>> idlers;
    for (int i = 0; i < 10; ++i) {
      idlers.push_back(std::make_unique<RawClient>(path));
      idlers.back()->write("x");
    }
    expect_served();
    EXPECT_THAT(error_from(*idlers[0]), HasSubstr("4 clients wait to be welcomed"));
  });
  EXPECT_LE(handler.refused.size(), 3U);
}

TEST_F(ClientAttack, AFullDvmCanStillBeLookedAtAndTakenDown) {
  ClientHubConfig config = hub_config();
  config.max_clients = 2;
  config.hello_timeout_ms = 200;
  start_hub(config);
  answer_everything();
  run_beside(io, [&] {
    auto first = LocalChannel::connect(path, 5000, "a");
    auto second = LocalChannel::connect(path, 5000, "b");
    auto third = LocalChannel::connect(path, 5000, "c");
    ASSERT_TRUE(first.ok() && second.ok() && third.ok());
    ASSERT_TRUE(third->send(submit(1)).ok());
    const auto refusal = receive(*third).reply;
    EXPECT_EQ(refusal.error().code(), static_cast<std::uint32_t>(ErrorCode::kOutOfResources));
    EXPECT_THAT(refusal.error().message(), HasSubstr("no room for another client"));
    expect_served();
    auto lingering = LocalChannel::connect(path, 5000, "d");
    auto ending = LocalChannel::connect(path, 5000, "e");
    ASSERT_TRUE(lingering.ok() && ending.ok());
    ASSERT_TRUE(ending->send(take_down(2)).ok());
    EXPECT_EQ(receive(*ending).reply.request(), 2U);
    EXPECT_THAT(receive(*lingering).reply.error().message(), HasSubstr("within 200 ms"));
    const auto quiet = ending->receive(100);
    EXPECT_TRUE(quiet.ok() && !quiet->has_value())
        << "it waits for the end and must not be dropped";
  });
}

TEST_F(ClientAttack, EvenTheExtraPlacesOfAFullDvmAreCounted) {
  ClientHubConfig config = hub_config();
  config.max_clients = 1;
  start_hub(config);
  run_beside(io, [&] {
    std::vector<LocalChannel> channels;
    for (int i = 0; i < 9; ++i) {
      auto channel = LocalChannel::connect(path, 5000, "c");
      ASSERT_TRUE(channel.ok());
      channels.push_back(std::move(*channel));
    }
    const auto last = LocalChannel::connect(path, 5000, "c");
    ASSERT_FALSE(last.ok());
    EXPECT_EQ(last.error().message, "this DVM serves 1 clients already, its maximum");
  });
}

TEST_F(ClientAttack, WhoNeverReadsTheAnswersIsNotAskedAnyMore) {
  ClientHubConfig config = hub_config();
  config.max_unread_replies_bytes = 100'000;
  start_hub(config);
  answer_everything(10'000);
  constexpr std::uint32_t kRequests = 20'000;
  run_beside(io, [&] {
    auto greedy = LocalChannel::connect(path, 5000, "greedy");
    ASSERT_TRUE(greedy.ok());
    for (std::uint32_t i = 1; i <= kRequests; ++i) ASSERT_TRUE(greedy->send(status_query(i)).ok());
    expect_served();
    EXPECT_LE(most_queued, 200'000U);
    EXPECT_LT(served, 1000U);
    // When it reads at last it gets every answer, in order.
    for (std::uint32_t i = 1; i <= kRequests; ++i) ASSERT_EQ(receive(*greedy).reply.request(), i);
  });
  EXPECT_LE(most_queued, 200'000U);
  EXPECT_TRUE(handler.refused.empty());
}

TEST_F(ClientAttack, WhoNeverReadsAndGoesIsNoticed) {
  ClientHubConfig config = hub_config();
  config.max_unread_replies_bytes = 100'000;
  start_hub(config);
  answer_everything(10'000);
  run_beside(io, [&] {
    auto greedy = LocalChannel::connect(path, 5000, "greedy");
    ASSERT_TRUE(greedy.ok());
    for (std::uint32_t i = 1; i <= 1000; ++i) ASSERT_TRUE(greedy->send(status_query(i)).ok());
    expect_served();
  });
  EXPECT_TRUE(run_until(io, [&] { return handler.gone.size() == 2; }));
}

// The window of a job is far above the limit of answers, and what flows in it must not keep the
// client's next request from being heard: it may be the order to end the job.
TEST_F(ClientAttack, UnreadOutputDoesNotKeepRequestsFromBeingHeard) {
  ClientHubConfig config = hub_config();
  config.max_unread_replies_bytes = 100'000;
  start_hub(config);
  handler.on_request = [&](ClientId client, const wire::ClientRequest& request, const Bytes&) {
    ++served;
    hub->send(client, done(request.request()), Bytes(std::string(4'000'000, 'o')));
  };
  run_beside(io, [&] {
    auto slow = LocalChannel::connect(path, 5000, "slow");
    ASSERT_TRUE(slow.ok());
    for (std::uint32_t i = 1; i <= 3; ++i) ASSERT_TRUE(slow->send(status_query(i)).ok());
    for (std::uint32_t i = 1; i <= 3; ++i) EXPECT_EQ(receive(*slow).payload.size(), 4'000'000U);
  });
  EXPECT_EQ(served, 3U);
}

TEST_F(ClientAttack, HalvesOfLargeRequestsAreBoundedInSum) {
  ClientHubConfig config = hub_config();
  config.max_held_bytes = 1'000'000;
  start_hub(config);
  answer_everything();
  run_beside(io, [&] {
    std::vector<std::unique_ptr<RawClient>> halves;
    for (std::size_t i = 0; i < 6; ++i) {
      halves.push_back(std::make_unique<RawClient>(path, hello()));
      EXPECT_TRUE(halves.back()->read(1).back().has_welcome());
      // The beginning of a payload of 4 MB: frames of 50 000 bytes, the last one is missing.
      std::string bytes("\x08\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x09\x3d\x00", 14);
      for (std::size_t frame = 0; frame < 5; ++frame)
        bytes += std::string("\x50\xc3\x00\x00\x00\x01", 6) + std::string(50'000, 'h');
      halves.back()->write(bytes);
    }
    expect_served();
  });
  // Three of 250 000 bytes fit, a fourth just so; each further one cost somebody its place.
  EXPECT_TRUE(run_until(io, [&] { return hub->refused() >= 2; }));
  ASSERT_FALSE(handler.refused.empty());
  EXPECT_THAT(handler.refused, Each(HasSubstr("part of a large request")));
}

// All descriptors below the limit are in use while this lives.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit low = before_;
    low.rlim_cur = 128;
    ::setrlimit(RLIMIT_NOFILE, &low);
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) taken_.push_back(fd);
  }
  ~NoDescriptorsLeft() {
    for (const int fd : taken_) ::close(fd);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoDescriptorsLeft(const NoDescriptorsLeft&) = delete;
  NoDescriptorsLeft& operator=(const NoDescriptorsLeft&) = delete;

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

TEST_F(ClientAttack, WithoutDescriptorsOneIsLeftForWhoPutsThingsRight) {
  start_hub();
  answer_everything();
  run_beside(io, [&] {
    RawClient worker(RawClient::Unconnected{});
    RawClient rescuer(RawClient::Unconnected{});
    RawClient late(RawClient::Unconnected{});
    {
      const NoDescriptorsLeft none;
      worker.connect(path);
      worker.send(hello());
      worker.send(submit(1));
      EXPECT_THAT(worker.read_to_end().back().error().message(), HasSubstr("no room"));
      rescuer.connect(path);
      rescuer.send(hello());
      rescuer.send(take_down(2));
      EXPECT_EQ(rescuer.read(2).back().request(), 2U);
      late.connect(path);
      late.send(hello());
      late.send(status_query(3));
    }
    // And all is well as soon as there are descriptors again.
    EXPECT_EQ(late.read(2).back().request(), 3U);
    expect_served();
  });
  EXPECT_THAT(handler.refused.at(0), HasSubstr("descriptor in reserve was used"));
}

}  // namespace
}  // namespace tide::net::test
