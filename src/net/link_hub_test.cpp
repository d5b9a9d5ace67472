// Links come up, end, and are reported as they should.
#include "net/link_hub.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/v6_only.hpp>
#include <optional>

#include "net/link.hpp"
#include "net/test_support.hpp"

namespace tide::net::test {
namespace {

using testing::HasSubstr;

class LinkHubTest : public testing::Test {
 public:
  void link_them(Node& from, Node& to, std::uint32_t rank,
                 const std::string& address = "127.0.0.1") {
    from.hub->connect(Rank(rank), to.listen(address));
    ASSERT_TRUE(
        run_until(io, [&] { return from.handler.ups.size() == 1 && to.handler.ups.size() == 1; }))
        << testing::PrintToString(to.handler.refusals)
        << (from.handler.failures.empty() ? "" : from.handler.failures[0].text);
  }

  asio::io_context io;
};

TEST_F(LinkHubTest, LinkComesUpOnBothSidesWithTheTicketOfThePeer) {
  Node head(io, link_config(0));
  Node daemon(io, link_config(3));
  link_them(daemon, head, 0);
  const auto& up = head.handler.ups[0];
  EXPECT_EQ(up.peer, Rank(3));
  EXPECT_EQ(head.hub->peer_address(up.link), "127.0.0.1");
  EXPECT_EQ(head.hub->peer_address(LinkId(999)), "");
  EXPECT_EQ(up.incarnation, Incarnation(1003));
  EXPECT_EQ(up.campaign, 7U);
  EXPECT_FALSE(up.outgoing);
  EXPECT_EQ(daemon.handler.ups[0].peer, Rank(0));
  EXPECT_TRUE(daemon.handler.ups[0].outgoing);
}

TEST_F(LinkHubTest, WorksOverIPv6) {
  Node head(io, link_config(0));
  Node daemon(io, link_config(1));
  if (!LinkHub(io, link_config(2), daemon.handler).listen("::1").ok())
    GTEST_SKIP() << "no IPv6 on this machine";
  link_them(daemon, head, 0, "::1");
}

TEST_F(LinkHubTest, ListensOnAllAddressesAndTellsConcreteOnes) {
  Node head(io, link_config(0));
  Node daemon(io, link_config(1));
  link_them(daemon, head, 0, "0.0.0.0");
}

TEST(AddressText, ACallerByIPv4IsShownSoOnASocketForBothFamilies) {
  using asio::ip::tcp;
  asio::io_context io;
  tcp::acceptor door(io, tcp::v6());
  door.set_option(asio::ip::v6_only(false));
  door.bind({tcp::v6(), 0});
  door.listen();
  tcp::socket caller(io);
  caller.connect({asio::ip::address_v4::loopback(), door.local_endpoint().port()});
  EXPECT_THAT(address_text(door.accept()), ::testing::StartsWith("127.0.0.1:"));
}

TEST_F(LinkHubTest, ListenOnNonsenseIsAnError) {
  Node head(io, link_config(0));
  EXPECT_FALSE(head.hub->listen("nowhere").ok());
  EXPECT_FALSE(head.hub->listen("203.0.113.1").ok());
}

TEST_F(LinkHubTest, BadKeyLengthIsAnErrorThatDoesNotShowTheKey) {
  LinkConfig config = link_config(0);
  config.key = "short";
  Node head(io, config);
  const auto endpoints = head.hub->listen("127.0.0.1");
  ASSERT_FALSE(endpoints.ok());
  EXPECT_EQ(endpoints.error().message, "the DVM's key must have 16 to 256 bytes, not 5");
  head.hub->connect(Rank(1), {endpoint("127.0.0.1", 1)});
  ASSERT_TRUE(run_until(io, [&] { return head.handler.failures.size() == 1; }));
  EXPECT_FALSE(head.handler.failures[0].refused);
}

TEST_F(LinkHubTest, MessagesAndPayloadsArriveBothWays) {
  Node head(io, link_config(0));
  Node daemon(io, link_config(1));
  link_them(daemon, head, 0);
  head.hub->send(head.handler.ups[0].link, false, numbered(1), Bytes("down"));
  daemon.hub->send(daemon.handler.ups[0].link, true, numbered(2), Bytes("up"));
  ASSERT_TRUE(run_until(io, [&] {
    return head.handler.messages.size() == 1 && daemon.handler.messages.size() == 1;
  }));
  EXPECT_EQ(daemon.handler.messages[0].message.operation_ack().serial(), 1U);
  EXPECT_EQ(daemon.handler.messages[0].payload, Bytes("down"));
  EXPECT_EQ(head.handler.messages[0].message.operation_ack().serial(), 2U);
  EXPECT_EQ(head.handler.messages[0].payload, Bytes("up"));
}

TEST_F(LinkHubTest, ConnectRefusedIsSaidToBeCertain) {
  const ClosedPort closed;
  Node daemon(io, link_config(1));
  daemon.handler.inside_call = true;
  daemon.hub->connect(Rank(0), {closed.where()});
  daemon.handler.inside_call = false;
  ASSERT_TRUE(run_until(io, [&] { return daemon.handler.failures.size() == 1; }));
  EXPECT_EQ(daemon.handler.failures[0].peer, Rank(0));
  EXPECT_TRUE(daemon.handler.failures[0].refused);
  EXPECT_THAT(daemon.handler.failures[0].text, HasSubstr("refused"));
}

TEST_F(LinkHubTest, ConnectWithoutOrWithBadEndpointsFails) {
  Node daemon(io, link_config(1));
  daemon.hub->connect(Rank(0), {});
  daemon.hub->connect(Rank(0), {endpoint("no-address", 1)});
  daemon.hub->connect(Rank(0), {endpoint("127.0.0.1", 70000)});
  ASSERT_TRUE(run_until(io, [&] { return daemon.handler.failures.size() == 3; }));
  for (const auto& failure : daemon.handler.failures) EXPECT_FALSE(failure.refused);
}

TEST_F(LinkHubTest, ConnectTimesOutAndIsNotCalledRefused) {
  const HangingPort hanging;
  LinkConfig config = link_config(1);
  config.connect_timeout_ms = 50;
  Node daemon(io, config);
  daemon.hub->connect(Rank(0), {hanging.where()});
  ASSERT_TRUE(run_until(io, [&] { return daemon.handler.failures.size() == 1; }));
  EXPECT_FALSE(daemon.handler.failures[0].refused);
}

TEST_F(LinkHubTest, EndpointsAreTriedInOrder) {
  const ClosedPort closed;
  Node head(io, link_config(0));
  Node daemon(io, link_config(1));
  auto endpoints = head.listen();
  endpoints.insert(endpoints.begin(), closed.where());
  daemon.hub->connect(Rank(0), endpoints);
  ASSERT_TRUE(run_until(io, [&] { return daemon.handler.ups.size() == 1; }));
  EXPECT_TRUE(daemon.handler.failures.empty());
}

TEST_F(LinkHubTest, ADeadEndpointInFrontCostsLittle) {
  const HangingPort hanging;
  LinkConfig config = link_config(1);
  config.connect_timeout_ms = 60'000;
  Node head(io, link_config(0));
  Node daemon(io, config);
  auto endpoints = head.listen();
  endpoints.insert(endpoints.begin(), hanging.where());
  daemon.hub->connect(Rank(0), endpoints);
  ASSERT_TRUE(run_until(io, [&] { return daemon.handler.ups.size() == 1; }));
  EXPECT_TRUE(daemon.handler.failures.empty());
  std::optional<bool> refused;
  daemon.hub->probe(Rank(0), endpoints, [&](bool answer) { refused = answer; });
  ASSERT_TRUE(run_until(io, [&] { return refused.has_value(); }));
  EXPECT_FALSE(*refused);
}

TEST_F(LinkHubTest, WhereSomebodyElseAnswersTheNextEndpointIsTried) {
  Node head(io, link_config(0));
  Node other(io, link_config(2));
  Node daemon(io, link_config(1));
  const auto endpoints = head.listen();
  daemon.hub->connect(Rank(0), {other.listen()[0], endpoints[0]});
  ASSERT_TRUE(run_until(io, [&] { return daemon.handler.ups.size() == 1; }));
  EXPECT_EQ(daemon.handler.ups[0].peer, Rank(0));
  EXPECT_TRUE(daemon.handler.failures.empty());
}

TEST_F(LinkHubTest, AFailureNamesBothEndsAndWhatBecameOfEachEndpoint) {
  const ClosedPort closed;
  const HangingPort hanging;
  LinkConfig config = link_config(3);
  config.connect_timeout_ms = 50;
  Node other(io, link_config(2));
  Node daemon(io, config);
  daemon.listen();
  const auto answers = other.listen()[0];
  daemon.hub->connect(Rank(0), {closed.where(), answers, hanging.where()});
  ASSERT_TRUE(run_until(io, [&] { return daemon.handler.failures.size() == 1; }));
  EXPECT_EQ(daemon.handler.failures[0].text,
            fmt::format("from node3 (127.0.0.1) to 127.0.0.1:{}: Connection refused; to "
                        "127.0.0.1:{}: rank 2 answers where rank 0 should be; to 127.0.0.1:{}: no "
                        "answer within 50 ms",
                        closed.where().port(), answers.port(), hanging.where().port()));
  EXPECT_FALSE(daemon.handler.failures[0].refused);
}

TEST_F(LinkHubTest, AnotherRankThanAskedForIsAFailure) {
  Node head(io, link_config(0));
  Node daemon(io, link_config(1));
  daemon.hub->connect(Rank(5), head.listen());
  ASSERT_TRUE(run_until(io, [&] { return daemon.handler.failures.size() == 1; }));
  EXPECT_THAT(daemon.handler.failures[0].text, HasSubstr("rank 0 answers where rank 5 should be"));
  EXPECT_FALSE(daemon.handler.failures[0].refused);
  // The other side may have been up for a moment, and then hears why it ended.
  ASSERT_TRUE(run_until(io, [&] { return head.handler.downs.size() == head.handler.ups.size(); }));
}

TEST_F(LinkHubTest, GoodbyeReachesThePeerWithReasonAndText) {
  const std::vector<std::pair<wire::GoodbyeReason, LinkEnd>> cases = {
      {wire::GOODBYE_NORMAL, LinkEnd::kClosed},
      {wire::GOODBYE_REFUSED, LinkEnd::kRefused},
      {wire::GOODBYE_DECLARED_DEAD, LinkEnd::kDeclaredDead},
      {wire::GOODBYE_MOVED, LinkEnd::kMoved}};
  for (const auto& [reason, end] : cases) {
    Node head(io, link_config(0));
    Node daemon(io, link_config(1));
    link_them(daemon, head, 0);
    head.hub->close(head.handler.ups[0].link, reason, "because");
    ASSERT_TRUE(run_until(io, [&] { return daemon.handler.downs.size() == 1; }));
    EXPECT_EQ(daemon.handler.downs[0].end, end);
    EXPECT_EQ(daemon.handler.downs[0].text, "because");
    EXPECT_TRUE(head.handler.downs.empty());
  }
}

TEST_F(LinkHubTest, CloseInsideLinkUpRefusesThePeer) {
  Node head(io, link_config(0));
  Node daemon(io, link_config(1));
  head.handler.when_up = [&](LinkId link) {
    head.hub->close(link, wire::GOODBYE_DECLARED_DEAD, "given up");
  };
  daemon.hub->connect(Rank(0), head.listen());
  ASSERT_TRUE(run_until(io, [&] { return daemon.handler.downs.size() == 1; }));
  EXPECT_EQ(daemon.handler.downs[0].end, LinkEnd::kDeclaredDead);
}

TEST_F(LinkHubTest, CloseFlushesWhatWasSentBefore) {
  Node head(io, link_config(0));
  Node daemon(io, link_config(1));
  link_them(daemon, head, 0);
  const LinkId link = head.handler.ups[0].link;
  const Bytes large(std::string(8U << 20U, 'x'));
  head.hub->send(link, true, numbered(1), large);
  head.hub->send(link, false, numbered(2), {});
  head.hub->close(link, wire::GOODBYE_MOVED, "");
  head.hub->send(link, false, numbered(3), {});  // too late, ignored
  EXPECT_EQ(head.hub->queued_bytes(link), 0U);
  ASSERT_TRUE(run_until(io, [&] { return daemon.handler.downs.size() == 1; }));
  ASSERT_EQ(daemon.handler.messages.size(), 2U);
  EXPECT_EQ(daemon.handler.messages[1].payload, large);
  EXPECT_EQ(daemon.handler.downs[0].end, LinkEnd::kMoved);
}

TEST_F(LinkHubTest, CloseOnAPeerThatReadsNothingIsBounded) {
  asio::io_context frozen_io;
  LinkConfig config = link_config(0);
  config.flush_timeout_ms = 100;
  Node head(io, config);
  Node frozen(frozen_io, link_config(1));
  frozen.hub->connect(Rank(0), head.listen());
  ASSERT_TRUE(run_until(io, [&] {
    frozen_io.poll();
    return head.handler.ups.size() == 1;
  }));
  head.hub->send(head.handler.ups[0].link, true, numbered(1), Bytes(std::string(32U << 20U, 'x')));
  head.hub->shutdown();
  io.restart();
  io.run_for(std::chrono::seconds(10));
  EXPECT_TRUE(io.stopped()) << "work is left after the time to flush";
}

TEST_F(LinkHubTest, ShutdownEndsLinksOfPeersAndTheLoopRunsOutOfWork) {
  Node head(io, link_config(0));
  Node daemon(io, link_config(1));
  link_them(daemon, head, 0);
  head.hub->shutdown();
  ASSERT_TRUE(run_until(io, [&] { return daemon.handler.downs.size() == 1; }));
  EXPECT_EQ(daemon.handler.downs[0].end, LinkEnd::kClosed);
  daemon.hub->shutdown();
  io.restart();
  io.run_for(std::chrono::seconds(10));
  EXPECT_TRUE(io.stopped());
  EXPECT_FALSE(head.hub->listen("127.0.0.1").ok());
}

TEST_F(LinkHubTest, AVanishedPeerIsALinkDown) {
  Node head(io, link_config(0));
  Node daemon(io, link_config(1));
  link_them(daemon, head, 0);
  daemon.hub.reset();
  ASSERT_TRUE(run_until(io, [&] { return head.handler.downs.size() == 1; }));
  EXPECT_EQ(head.handler.downs[0].end, LinkEnd::kClosed);
}

TEST_F(LinkHubTest, HubsMayVanishAtAnyMomentOfAHandshake) {
  for (int steps = 0; steps < 40; ++steps) {
    auto head = std::make_unique<Node>(io, link_config(0));
    auto daemon = std::make_unique<Node>(io, link_config(1));
    daemon->hub->connect(Rank(0), head->listen());
    io.restart();
    for (int i = 0; i < steps; ++i) io.run_one_for(std::chrono::milliseconds(1));
    (steps % 2 == 0 ? head : daemon).reset();
    io.poll();
  }
  io.restart();
  io.run_for(std::chrono::seconds(10));
  EXPECT_TRUE(io.stopped());
}

TEST_F(LinkHubTest, ProbeTellsListenersFromClosedPorts) {
  const ClosedPort closed;
  Node head(io, link_config(0));
  Node daemon(io, link_config(1));
  std::optional<bool> listening;
  std::optional<bool> refused;
  std::optional<bool> one_of_two;
  const auto endpoints = daemon.listen();
  head.hub->probe(Rank(1), endpoints, [&](bool answer) { listening = answer; });
  head.hub->probe(Rank(2), {closed.where()}, [&](bool answer) { refused = answer; });
  head.hub->probe(Rank(3), {closed.where(), endpoints[0]},
                  [&](bool answer) { one_of_two = answer; });
  EXPECT_FALSE(listening || refused || one_of_two) << "answered from inside the call";
  ASSERT_TRUE(run_until(io, [&] { return listening && refused && one_of_two; }));
  EXPECT_FALSE(*listening);
  EXPECT_TRUE(*refused);
  EXPECT_FALSE(*one_of_two);
  EXPECT_TRUE(daemon.handler.refusals.empty()) << "a probe is no attack";
}

TEST_F(LinkHubTest, ProbeThatCannotTellSaysNothing) {
  const ClosedPort closed;
  const HangingPort hanging;
  LinkConfig config = link_config(0);
  config.connect_timeout_ms = 50;
  Node head(io, config);
  bool answered = false;
  head.hub->probe(Rank(1), {closed.where(), hanging.where()}, [&](bool) { answered = true; });
  head.hub->probe(Rank(1), {}, [&](bool) { answered = true; });
  io.run_for(std::chrono::seconds(10));
  EXPECT_TRUE(io.stopped());
  EXPECT_FALSE(answered);
}

// Takes every descriptor that the process may still open.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit low{64, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &low);
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) taken_.push_back(fd);
  }
  ~NoDescriptors() {
    for (const int fd : taken_) ::close(fd);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

TEST_F(LinkHubTest, AcceptingSurvivesALackOfDescriptors) {
  Node head(io, link_config(0));
  Node daemon(io, link_config(1));
  daemon.hub->connect(Rank(0), head.listen());
  {
    io.run_one();  // the daemon's socket exists now and connects
    const NoDescriptors none;
    ASSERT_TRUE(run_until(io, [&] { return !head.handler.refusals.empty(); }));
    EXPECT_THAT(head.handler.refusals[0], HasSubstr("Too many open files"));
    EXPECT_TRUE(daemon.handler.ups.empty());
  }
  ASSERT_TRUE(run_until(io, [&] { return daemon.handler.ups.size() == 1; }));
}

TEST_F(LinkHubTest, SetUpTime) {
  Node head(io, link_config(0));
  Node daemon(io, link_config(1));
  const auto endpoints = head.listen();
  constexpr std::size_t kLinks = 100;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 1; i <= kLinks; ++i) {
    daemon.hub->connect(Rank(0), endpoints);
    ASSERT_TRUE(run_until(
        io, [&] { return daemon.handler.ups.size() == i && head.handler.ups.size() == i; }));
  }
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
  RecordProperty("microseconds_per_link", static_cast<int>(taken.count() / kLinks));
  std::printf("[          ] %.0f us per link, both sides in one thread\n", taken.count() / kLinks);
}

}  // namespace
}  // namespace tide::net::test
