#include "sim/network.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

namespace tide::sim {
namespace {

constexpr std::uint64_t kLongMs = 100'000;
constexpr std::uint64_t kManySteps = 1'000'000;

class NetworkTest : public ::testing::Test, public Hosts {
 public:
  bool alive(HostId host) const override { return !dead.contains(host); }
  bool powered(HostId host) const override { return !dark.contains(host); }
  bool frozen(HostId host) const override { return still.contains(host); }
  Identity identity(HostId host) const override {
    return Identity{Rank(host), Incarnation(host), 0};
  }
  void when_awake(HostId host, std::function<void()> action) override {
    if (dead.contains(host)) return;
    if (still.contains(host)) {
      held[host].push_back(std::move(action));
    } else {
      action();
    }
  }
  void post(HostId host, core::DaemonEvent event) override {
    if (const auto* up = std::get_if<core::LinkUp>(&event)) links[host] = up->link;
    if (const auto* in = std::get_if<core::MessageIn>(&event)) {
      received[host].emplace_back(in->payload.view());
    }
    if (const auto* down = std::get_if<core::LinkDown>(&event)) downs[host].push_back(down->end);
    if (const auto* failed = std::get_if<core::ConnectFailed>(&event)) {
      failures[host].push_back(failed->text);
    }
  }

  void connect(HostId from, HostId to) {
    core::Connect request{Rank(to), {}};
    request.endpoints.emplace_back().set_port(to);
    network.connect(from, request);
  }
  void send(HostId from, const std::string& text,
            core::MessageClass message_class = core::MessageClass::kControl) {
    network.send(core::Send{links.at(from), message_class, {}, Bytes(text)});
  }
  void thaw(HostId host) {
    still.erase(host);
    network.host_thawed(host);
    for (auto& action : std::exchange(held[host], {})) action();
  }
  bool run(std::uint64_t until_ms = kLongMs) { return schedule.run(until_ms, kManySteps); }
  void connected() {
    connect(1, 2);
    run();
    ASSERT_TRUE(links.contains(1) && links.contains(2));
  }

  Schedule schedule;
  Network network{NetworkConfig{}, schedule, *this, Chance(1)};
  std::set<HostId> dead;
  std::set<HostId> dark;
  std::set<HostId> still;
  std::map<HostId, LinkId> links;
  std::map<HostId, std::vector<std::string>> received;
  std::map<HostId, std::vector<core::LinkEnd>> downs;
  std::map<HostId, std::vector<std::string>> failures;
  std::map<HostId, std::deque<std::function<void()>>> held;
};

TEST_F(NetworkTest, MessagesOfAClassArriveInOrder) {
  connected();
  std::vector<std::string> wanted;
  for (int i = 0; i < 200; ++i) {
    wanted.push_back(std::to_string(i));
    send(1, wanted.back());
  }
  EXPECT_TRUE(run());
  EXPECT_EQ(received[2], wanted);
}

TEST_F(NetworkTest, ControlMayOvertakeBulkAndNotTheOtherWayRound) {
  connected();
  bool overtaken = false;
  for (int i = 0; i < 50; ++i) {
    received.clear();
    send(1, "bulk", core::MessageClass::kBulk);
    send(1, "control");
    run();
    overtaken = overtaken || received[2].front() == "control";
    received.clear();
    send(1, "control");
    send(1, "bulk", core::MessageClass::kBulk);
    run();
    ASSERT_EQ(received[2].front(), "control");
  }
  EXPECT_TRUE(overtaken);
}

TEST_F(NetworkTest, NobodyThereIsARefusal) {
  dead.insert(2);
  connect(1, 2);
  run();
  EXPECT_EQ(failures[1], std::vector<std::string>{"connection refused"});
}

TEST_F(NetworkTest, ADarkMachineIsNoAnswer) {
  dead.insert(2);
  dark.insert(2);
  connect(1, 2);
  run();
  EXPECT_EQ(failures[1], std::vector<std::string>{"timed out"});
}

TEST_F(NetworkTest, ACutIsNoticedAtBothEndsAndLosesWhatIsUnderWay) {
  connected();
  send(1, "lost");
  ASSERT_EQ(network.links_of(1).size(), 1U);
  network.cut(network.links_of(1)[0]);
  run();
  EXPECT_TRUE(received[2].empty());
  EXPECT_EQ(downs[1].size() + downs[2].size(), 2U);
  EXPECT_TRUE(network.links_of(1).empty());
}

TEST_F(NetworkTest, AShortPartitionOnlyDelays) {
  connected();
  const auto number = network.block({{1, 2}});
  send(1, "a");
  send(1, "b");
  send(2, "back");
  run(schedule.now_ms() + 5'000);
  EXPECT_TRUE(received[2].empty());
  EXPECT_EQ(received[1], std::vector<std::string>{"back"});
  network.heal(number);
  run();
  EXPECT_EQ(received[2], (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(downs.empty());
}

TEST_F(NetworkTest, ALongPartitionIsSilenceForWhoHearsNothing) {
  connected();
  network.block({{1, 2}});
  run();
  EXPECT_EQ(downs[2], std::vector<core::LinkEnd>{core::LinkEnd::kSilent});
  EXPECT_EQ(downs[1], std::vector<core::LinkEnd>{core::LinkEnd::kClosed});
}

TEST_F(NetworkTest, OneThatStandsStillForLongIsSilentAndOneThatDoesNotIsNot) {
  connected();
  still.insert(1);
  network.host_frozen(1);
  run(schedule.now_ms() + 5'000);
  EXPECT_TRUE(downs.empty());
  thaw(1);
  run();
  EXPECT_TRUE(downs.empty());
  still.insert(1);
  network.host_frozen(1);
  run();
  EXPECT_EQ(downs[2], std::vector<core::LinkEnd>{core::LinkEnd::kSilent});
}

TEST_F(NetworkTest, LostPowerIsSilence) {
  connected();
  dead.insert(1);
  dark.insert(1);
  network.host_gone(1, /*told=*/false);
  run(schedule.now_ms() + 9'000);
  EXPECT_TRUE(downs.empty());
  run();
  EXPECT_EQ(downs[2], std::vector<core::LinkEnd>{core::LinkEnd::kSilent});
}

TEST_F(NetworkTest, ACloseComesAfterWhatWasSentBefore) {
  connected();
  send(1, "last words", core::MessageClass::kBulk);
  network.close(core::CloseLink{links[1], wire::GOODBYE_MOVED, "moved"});
  run();
  EXPECT_EQ(received[2], std::vector<std::string>{"last words"});
  EXPECT_EQ(downs[2], std::vector<core::LinkEnd>{core::LinkEnd::kMoved});
  EXPECT_TRUE(downs[1].empty());
}

}  // namespace
}  // namespace tide::sim
