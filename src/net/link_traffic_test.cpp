// What happens on links that are up: order, bulk, control before bulk, heartbeats.
#include <gmock/gmock.h>

#include <algorithm>

#include "net/link_hub.hpp"
#include "net/test_support.hpp"

namespace tide::net::test {
namespace {

using testing::HasSubstr;

class LinkTraffic : public testing::Test {
 public:
  void link_up(const LinkConfig& head_config, const LinkConfig& daemon_config) {
    head = std::make_unique<Node>(io, head_config);
    daemon = std::make_unique<Node>(daemon_io, daemon_config);
    daemon->hub->connect(Rank(0), head->listen());
    ASSERT_TRUE(
        run_both([&] { return head->handler.ups.size() == 1 && daemon->handler.ups.size() == 1; }));
    at_head = head->handler.ups[0].link;
    at_daemon = daemon->handler.ups[0].link;
  }

  bool run_both(const std::function<bool()>& done) {
    return run_until(io, [&] {
      if (daemon_io.stopped()) daemon_io.restart();
      daemon_io.poll();
      return done();
    });
  }

  asio::io_context io;
  asio::io_context daemon_io;  // of its own, so that the daemon can be frozen
  std::unique_ptr<Node> head;
  std::unique_ptr<Node> daemon;
  LinkId at_head;
  LinkId at_daemon;
};

std::string pattern(std::size_t size) {
  std::string data(size, '\0');
  std::uint32_t state = 12345;
  for (char& byte : data) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<char>(state >> 24U);
  }
  return data;
}

TEST_F(LinkTraffic, FiftyMegabytesArriveUnchanged) {
  link_up(link_config(0), link_config(1));
  const Bytes data(pattern(50'000'000));
  head->hub->send(at_head, true, numbered(1), data);
  EXPECT_GE(head->hub->queued_bytes(at_head), data.size());
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(run_both([&] { return daemon->handler.messages.size() == 1; }));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(daemon->handler.messages[0].payload == data);
  EXPECT_TRUE(run_both([&] { return head->hub->queued_bytes(at_head) == 0; }));
  std::printf("[          ] %.0f MB/s, both sides in one thread\n", 50 / taken.count());
}

TEST_F(LinkTraffic, OrderIsKeptPerClassBothWaysAtOnce) {
  link_up(link_config(0), link_config(1));
  constexpr std::uint64_t kMessages = 20000;
  const Bytes small(std::string(100, 'x'));
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    head->hub->send(at_head, i % 3 == 0, numbered(i), small);
    daemon->hub->send(at_daemon, i % 3 == 0, numbered(i), small);
  }
  ASSERT_TRUE(run_both([&] {
    return head->handler.messages.size() == kMessages &&
           daemon->handler.messages.size() == kMessages;
  }));
  for (const Node* node : {head.get(), daemon.get()}) {
    std::array<std::uint64_t, 2> next = {0, 1};  // bulk starts with 0, control with 1
    for (const auto& received : node->handler.messages) {
      const std::uint64_t number = received.message.operation_ack().serial();
      const bool bulk = number % 3 == 0;
      ASSERT_EQ(number, next[bulk ? 0 : 1]);
      next[bulk ? 0 : 1] += bulk ? 3 : (number % 3 == 1 ? 1 : 2);
    }
  }
}

TEST_F(LinkTraffic, ControlOvertakesBulk) {
  link_up(link_config(0), link_config(1));
  const Bytes large(pattern(20'000'000));
  head->hub->send(at_head, true, numbered(1), large);
  head->hub->send(at_head, true, numbered(2), large);
  // Let the transfer get under way, so that control has to go in between.
  const std::size_t queued = head->hub->queued_bytes(at_head);
  ASSERT_TRUE(run_both([&] { return head->hub->queued_bytes(at_head) < queued - 5'000'000; }));
  head->hub->send(at_head, false, numbered(3), {});
  ASSERT_TRUE(run_both([&] { return daemon->handler.messages.size() == 3; }));
  EXPECT_EQ(daemon->handler.messages[0].message.operation_ack().serial(), 3U);
  EXPECT_TRUE(daemon->handler.messages[1].payload == large);
  EXPECT_TRUE(daemon->handler.messages[2].payload == large);
}

TEST_F(LinkTraffic, ControlWaitsForLittleBulkOnly) {
  link_up(link_config(0), link_config(1));
  head->hub->send(at_head, true, numbered(1), Bytes(pattern(40'000'000)));
  run_until(io, [] { return false; }, std::chrono::milliseconds(50));  // the daemon does not read
  head->hub->send(at_head, false, numbered(2), {});
  const std::size_t before = head->hub->queued_bytes(at_head);
  ASSERT_TRUE(run_both([&] { return !daemon->handler.messages.empty(); }));
  EXPECT_EQ(daemon->handler.messages[0].message.operation_ack().serial(), 2U);
  EXPECT_GT(head->hub->queued_bytes(at_head), before / 2);
}

TEST_F(LinkTraffic, AMessageAboveTheMaximumEndsTheLinkOfItsSender) {
  LinkConfig config = link_config(0);
  config.max_message_bytes = 100'000;
  link_up(config, link_config(1));
  head->handler.inside_call = true;
  head->hub->send(at_head, true, numbered(1), Bytes(std::string(100'000, 'x')));
  head->handler.inside_call = false;
  ASSERT_TRUE(run_both([&] { return head->handler.downs.size() == 1; }));
  EXPECT_EQ(head->handler.downs[0].end, LinkEnd::kProtocol);
  EXPECT_THAT(head->handler.downs[0].text, HasSubstr("above the maximum of 100000"));
}

TEST_F(LinkTraffic, AMessageAboveTheReceiversMaximumEndsTheLink) {
  LinkConfig config = link_config(0);
  config.max_message_bytes = 100'000;
  link_up(config, link_config(1));
  daemon->hub->send(at_daemon, true, numbered(1), Bytes(std::string(200'000, 'x')));
  ASSERT_TRUE(run_both([&] { return head->handler.downs.size() == 1; }));
  EXPECT_EQ(head->handler.downs[0].end, LinkEnd::kProtocol);
  EXPECT_THAT(head->handler.downs[0].text, HasSubstr("above the maximum of 100000"));
  ASSERT_TRUE(run_both([&] { return daemon->handler.downs.size() == 1; }));
}

LinkConfig impatient(std::uint32_t rank) {
  LinkConfig config = link_config(rank);
  config.heartbeat_interval_ms = 20;
  config.heartbeat_timeout_ms = 200;
  return config;
}

TEST_F(LinkTraffic, HeartbeatsKeepAnIdleLinkUp) {
  link_up(impatient(0), impatient(1));
  const auto enough = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
  ASSERT_TRUE(run_both([&] { return std::chrono::steady_clock::now() > enough; }));
  EXPECT_TRUE(head->handler.downs.empty());
  EXPECT_TRUE(daemon->handler.downs.empty());
  EXPECT_TRUE(head->handler.messages.empty()) << "heartbeats are not for the handler";
}

TEST_F(LinkTraffic, AFrozenPeerIsSilent) {
  link_up(impatient(0), impatient(1));
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(run_until(io, [&] { return head->handler.downs.size() == 1; }));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(150));
  EXPECT_EQ(head->handler.downs[0].end, LinkEnd::kSilent);
  EXPECT_THAT(head->handler.downs[0].text, HasSubstr("nothing heard for"));
}

TEST_F(LinkTraffic, AFrozenPeerIsSilentThoughMuchIsQueuedForIt) {
  link_up(impatient(0), impatient(1));
  head->hub->send(at_head, true, numbered(1), Bytes(pattern(30'000'000)));
  ASSERT_TRUE(run_until(io, [&] { return head->handler.downs.size() == 1; }));
  EXPECT_EQ(head->handler.downs[0].end, LinkEnd::kSilent);
}

TEST_F(LinkTraffic, OurOwnSilenceIsNotBlamedOnThePeer) {
  LinkConfig patient = impatient(1);
  patient.heartbeat_timeout_ms = 10000;
  link_up(impatient(0), patient);
  // The head does not run for longer than its deadline; the daemon's heartbeats pile up.
  ASSERT_TRUE(run_until(
      daemon_io, [&, until = std::chrono::steady_clock::now() + std::chrono::milliseconds(400)] {
        return std::chrono::steady_clock::now() > until;
      }));
  const auto enough = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  ASSERT_TRUE(run_both([&] { return std::chrono::steady_clock::now() > enough; }));
  EXPECT_TRUE(head->handler.downs.empty());
}

}  // namespace
}  // namespace tide::net::test
