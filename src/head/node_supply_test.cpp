#include "head/node_supply.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/hostfile.hpp"
#include "hosts/wire_words.hpp"

namespace tide::head {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

core::AskForNodes by_name(std::string_view list) {
  core::AskForNodes ask{1, 0, {}};
  const auto words = hosts::parse_host_list(list, "--host");
  for (const auto& word : *words) ask.hosts.push_back(hosts::to_wire(word));
  return ask;
}

// name:slots@host of another machine
std::vector<std::string> shown(const Result<std::vector<core::NodeRequest>>& nodes,
                               const NodePlaces& places) {
  if (!nodes) return {nodes.error().message};
  std::vector<std::string> out;
  for (const auto& node : *nodes) {
    const auto& place = places.of(node.name);
    EXPECT_EQ(node.watched, place.host.empty());
    out.push_back(node.name + ":" + std::to_string(node.slots) + "@" +
                  (place.user.empty() ? "" : place.user + "@") + place.host);
  }
  return out;
}

HeadOptions virtual_ones(std::uint32_t nodes, std::uint32_t pool) {
  HeadOptions options;
  options.elastic = true;
  options.nodes = nodes;
  options.pool_nodes = pool;
  options.slots = 2;
  return options;
}

HeadOptions hosts(const std::vector<std::string>& at_start, const std::vector<std::string>& pool) {
  HeadOptions options;
  options.elastic = true;
  for (const auto& name : at_start) options.hosts.push_back({name, "", 0, 0});
  for (const auto& name : pool) options.pool_hosts.push_back({name, "", 4, 0});
  return options;
}

const launch::ThisMachine kMachine({"here"});

TEST(NodeSupply, VirtualNodesOfThePoolAreNamedOnAfterTheFirst) {
  const auto options = virtual_ones(2, 2);
  NodePlaces places(options, kMachine);
  ASSERT_EQ(places.at_start().size(), 2U);
  EXPECT_FALSE(places.has_other_machines());
  NodeSupply supply(options, places);
  const NodeSupply::View view{{"v1", "v2"}, {"v1", "v2"}};
  EXPECT_THAT(shown(supply.grant(by_name("node7"), view), places),
              ElementsAre(HasSubstr("'node7' can't join: the DVM has nodes made of this machine")));
  EXPECT_THAT(shown(supply.grant({1, 3, {}}, view), places),
              ElementsAre(HasSubstr("3 nodes wanted, and the pool has 2")));
  EXPECT_THAT(shown(supply.grant({1, 2, {}}, view), places), ElementsAre("v3:2@", "v4:2@"));
}

TEST(NodeSupply, ADvmWithoutAPoolHasWhatItGaveBack) {
  const auto options = virtual_ones(2, 0);
  NodePlaces places(options, kMachine);
  NodeSupply supply(options, places);
  const NodeSupply::View both{{"v1", "v2"}, {"v1", "v2"}};
  EXPECT_THAT(shown(supply.grant({1, 1, {}}, both), places), ElementsAre(HasSubstr("--pool N")));
  supply.take_back(std::vector<std::string>{"v2"});
  const NodeSupply::View one{{"v1"}, {"v1"}};
  EXPECT_THAT(shown(supply.grant({1, 1, {}}, one), places), ElementsAre("v2:2@"));
}

TEST(NodeSupply, HostsCanBeNamedThatNobodyListed) {
  const auto options = hosts({"here", "node1"}, {"node1", "node2"});
  NodePlaces places(options, kMachine);
  EXPECT_EQ(places.all().size(), 3U);
  NodeSupply supply(options, places);
  const NodeSupply::View view{{"here", "node1"}, {"here", "node1"}};
  EXPECT_THAT(shown(supply.grant(by_name("me@node7:3,NODE2:2"), view), places),
              ElementsAre("node7:3@me@node7", "node2:2@node2"));
  EXPECT_THAT(shown(supply.grant(by_name("node8,node1"), view), places),
              ElementsAre(HasSubstr("node node1 is taken")));
}

TEST(NodeSupply, AnElasticDvmOfHostsIsReadyForOtherMachines) {
  auto options = hosts({"here"}, {});
  EXPECT_TRUE(NodePlaces(options, kMachine).has_other_machines());
  options.elastic = false;
  EXPECT_FALSE(NodePlaces(options, kMachine).has_other_machines());
}

TEST(NodeSupply, ThePoolPushesAndReclaims) {
  const auto options = virtual_ones(1, 3);
  NodePlaces places(options, kMachine);
  NodeSupply supply(options, places);
  wire::PoolOrder order;
  EXPECT_THAT(shown(supply.push(order, {{"v1"}, {"v1"}}), places),
              ElementsAre(HasSubstr("tide pool push")));
  order.add_nodes("v3");
  EXPECT_THAT(shown(supply.push(order, {{"v1"}, {"v1"}}), places), ElementsAre("v3:2@"));
  order.clear_nodes();
  order.set_count(1);
  const NodeSupply::View view{{"v1", "v3"}, {"v1", "v3"}};
  EXPECT_THAT(shown(supply.push(order, view), places), ElementsAre("v2:2@"));
  EXPECT_THAT(*supply.reclaim(order, {{"v1", "v2", "v3"}, {}}), ElementsAre("v2"));
  EXPECT_THAT(*supply.reclaim(order, view), ElementsAre("v3"));
}

TEST(NodeSupply, ANodeThatWasLostCanBeHadAgain) {
  const auto options = virtual_ones(1, 1);
  NodePlaces places(options, kMachine);
  NodeSupply supply(options, places);
  ASSERT_TRUE(supply.grant({1, 1, {}}, {{"v1"}, {"v1"}}));
  EXPECT_FALSE(supply.grant({2, 1, {}}, {{"v1"}, {"v1"}})) << "it is on its way";
  supply.note_started(std::vector<std::string>{"v2"});
  EXPECT_FALSE(supply.grant({3, 1, {}}, {{"v1"}, {"v1", "v2"}})) << "it is being rolled back";
  EXPECT_THAT(shown(supply.grant(by_name("v2"), {{"v1"}, {"v1"}}), places), ElementsAre("v2:2@"));
}

}  // namespace
}  // namespace tide::head
