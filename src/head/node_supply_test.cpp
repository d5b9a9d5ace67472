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
std::vector<std::string> shown(const Result<NodeSupply::Granted>& granted,
                               const NodePlaces& places) {
  if (!granted) return {granted.error().message};
  std::vector<std::string> out;
  for (const auto& node : granted->nodes) {
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

TEST(NodeSupply, AJobOfASchedulerHasItsNodesAndNoOthers) {
  auto options = hosts({"here", "there"}, {"idle"});
  options.grant = rm::Grant{"pbs", "17.server", options.hosts, "PBS_NODEFILE"};
  NodePlaces places(options, kMachine);
  NodeSupply supply(options, places);
  EXPECT_THAT(supply.managers(), ElementsAre("pool"));
  EXPECT_THAT(shown(supply.grant(by_name("elsewhere"), {}), places),
              ElementsAre(HasSubstr("can't join: the DVM has its nodes from PBS job 17.server")));
  EXPECT_THAT(shown(supply.grant(by_name("idle"), {}), places), ElementsAre("idle:4@idle"));
}

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
  EXPECT_EQ(supply.take_back({2, "pool", {"v2"}}), core::ReturnVerdict::kTaken);
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
              ElementsAre("node2:2@node2", "node7:3@me@node7"));
  EXPECT_THAT(shown(supply.grant(by_name("node8,node1"), view), places),
              ElementsAre(HasSubstr("node node1 is taken")));
}

// row:C6
TEST(NodeSupply, EachNodeIsOfOneManagerAndGoesBackToThatOne) {
  const auto options = hosts({"here"}, {"node2"});
  NodePlaces places(options, kMachine);
  NodeSupply supply(options, places);
  EXPECT_THAT(supply.managers(), ElementsAre("pool", "hosts"));
  const NodeSupply::View view{{"here"}, {"here"}};
  const auto granted = supply.grant(by_name("node7,node2"), view);
  ASSERT_TRUE(granted);
  ASSERT_EQ(granted->nodes.size(), 2U);
  EXPECT_EQ(granted->nodes[0].manager, "pool");
  EXPECT_EQ(granted->nodes[1].manager, "hosts");
  EXPECT_EQ(supply.take_back({2, "pool", {"node7"}}), core::ReturnVerdict::kDeclined);
  EXPECT_EQ(supply.take_back({2, "hosts", {"node2"}}), core::ReturnVerdict::kDeclined);
  EXPECT_EQ(supply.take_back({2, "slurm", {"node2"}}), core::ReturnVerdict::kDeclined);
  EXPECT_EQ(supply.take_back({2, "pool", {"node2"}}), core::ReturnVerdict::kTaken);
  EXPECT_EQ(supply.take_back({2, "hosts", {"node7"}}), core::ReturnVerdict::kTaken);
}

TEST(NodeSupply, NothingIsGrantedIfOneManagerRefuses) {
  const auto options = hosts({"here"}, {"node2"});
  NodePlaces places(options, kMachine);
  NodeSupply supply(options, places);
  const NodeSupply::View view{{"here"}, {"here"}};
  EXPECT_FALSE(supply.grant(by_name("node2,+n5"), view));
  EXPECT_THAT(shown(supply.grant({1, 1, {}}, view), places), ElementsAre("node2:4@node2"));
}

// row:E17
TEST(NodeSupply, TheShortestLeaseHolds) {
  auto options = hosts({"here"}, {"node2"});
  options.pool_lease_ms = 10'000;
  options.pool_warn_ms = 500;
  NodePlaces places(options, kMachine);
  NodeSupply supply(options, places);
  const NodeSupply::View view{{"here"}, {"here"}};
  auto both = by_name("node7,node2");
  both.wish = {60'000, 200};
  const auto cut = supply.grant(both, view);
  EXPECT_EQ(cut->lease, (core::Lease{10'000, 200}));
  EXPECT_EQ(cut->cut_by, "pool");
  auto stranger = by_name("node8");
  stranger.wish = {60'000, 200};
  const auto whole = supply.grant(stranger, view);
  EXPECT_EQ(whole->lease, (core::Lease{60'000, 200}));
  EXPECT_EQ(whole->cut_by, "");
  EXPECT_EQ(supply.more_time({1, {"hosts"}, 60'000}).time_ms, 60'000U);
  EXPECT_EQ(supply.more_time({1, {"hosts"}, 60'000}).cut_by, "");
  EXPECT_EQ(supply.more_time({1, {"hosts", "pool"}, 60'000}).time_ms, 10'000U);
  EXPECT_EQ(supply.more_time({1, {"hosts", "pool"}, 60'000}).cut_by, "pool");
}

// row:E1 a job may name others also where the DVM is not elastic
TEST(NodeSupply, ADvmOfHostsIsReadyForOtherMachines) {
  auto options = hosts({"here"}, {});
  EXPECT_TRUE(NodePlaces(options, kMachine).has_other_machines());
  options.elastic = false;
  EXPECT_TRUE(NodePlaces(options, kMachine).has_other_machines());
  EXPECT_FALSE(NodePlaces(virtual_ones(1, 1), kMachine).has_other_machines());
}

TEST(NodeSupply, NodesAreActivatedThatAreInThePool) {
  const auto options = virtual_ones(1, 4);
  NodePlaces places(options, kMachine);
  NodeSupply supply(options, places);
  const NodeSupply::View view{{"v1"}, {"v1"}};
  core::AskForNodes ask{1, 0, {}};
  ask.listed = by_name("v3").hosts;
  ask.count = 9;
  EXPECT_THAT(shown(supply.grant(ask, view), places),
              ElementsAre(HasSubstr("9 nodes wanted, and the pool has 3")))
      << "besides v3";
  ask.count = 1;
  EXPECT_THAT(shown(supply.grant(ask, view), places), ElementsAre("v3:2@", "v2:2@"));
  core::AskForNodes all{2, 0, {}};
  all.all = true;
  EXPECT_THAT(shown(supply.grant(all, view), places), ElementsAre("v4:2@", "v5:2@"));
  EXPECT_THAT(shown(supply.grant(all, view), places), ElementsAre()) << "and that is no failure";
  core::AskForNodes stranger{3, 0, {}};
  stranger.listed = by_name("node7").hosts;
  EXPECT_THAT(shown(supply.grant(stranger, view), places),
              ElementsAre(HasSubstr("'node7' can't be activated")));
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
