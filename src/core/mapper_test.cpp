#include "core/mapper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "core/mapper_samples.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint32_t> daemons(const MapResult& result) {
  std::vector<std::uint32_t> out;
  for (const auto& placement : result.placements) out.push_back(placement.daemon.value());
  return out;
}

TEST(Mapper, BySlotFillsOneNodeAfterTheOther) {
  const auto result = map_job(job(6), three_nodes());
  EXPECT_EQ(result.verdict, MapVerdict::kPlaced);
  EXPECT_THAT(daemons(result), ElementsAre(1, 1, 2, 2, 2, 3));
  EXPECT_EQ(result.placements[1].local_rank, 1U);
  EXPECT_EQ(result.placements[5].local_rank, 0U);
  EXPECT_FALSE(result.failure);
}

TEST(Mapper, ByNodeGoesRound) {
  const auto result = map_job(job(6, wire::JobSpec::NODE), three_nodes());
  EXPECT_THAT(daemons(result), ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_EQ(result.placements[4].local_rank, 1U);
}

TEST(Mapper, ByNodePassesOverFullNodes) {
  auto nodes = three_nodes();
  nodes[0].used = 1;
  const auto result = map_job(job(6, wire::JobSpec::NODE), nodes);
  EXPECT_THAT(daemons(result), ElementsAre(1, 2, 3, 2, 3, 2));
}

TEST(Mapper, WithoutANumberOnePerFreeSlot) {
  EXPECT_THAT(daemons(map_job(job(0), three_nodes())), ElementsAre(1, 1, 2, 2, 2, 3, 3));
  auto nodes = three_nodes();
  nodes[1].used = 3;
  EXPECT_THAT(daemons(map_job(job(0), nodes)), ElementsAre(1, 1, 3, 3));
}

TEST(Mapper, OnlyTheHostsAskedForAndOnlySoMany) {
  auto spec = job(0);
  ask_host(*spec.mutable_apps(0), "v3");
  ask_host(*spec.mutable_apps(0), "v2", 1);
  EXPECT_THAT(daemons(map_job(spec, three_nodes())), ElementsAre(2, 3, 3));
  spec.mutable_apps(0)->set_processes(4);
  const auto result = map_job(spec, three_nodes());
  EXPECT_EQ(result.verdict, MapVerdict::kImpossible);
  EXPECT_EQ(result.failure->kind, MapFailure::Kind::kTooFewSlots);
  EXPECT_EQ(result.failure->asked, 4U);
  EXPECT_EQ(result.failure->free, 3U);
}

TEST(Mapper, ACapAboveTheSlotsOfTheNodeGivesNoMore) {
  auto spec = job(0);
  ask_host(*spec.mutable_apps(0), "v1", 50);
  EXPECT_THAT(daemons(map_job(spec, three_nodes())), ElementsAre(1, 1));
}

TEST(Mapper, AHostNamedTwiceCountsTwice) {
  auto spec = job(2);
  ask_host(*spec.mutable_apps(0), "v2", 1);
  ask_host(*spec.mutable_apps(0), "v2", 1);
  EXPECT_THAT(daemons(map_job(spec, three_nodes())), ElementsAre(2, 2));
}

// Both name one slot of v2, each for itself.
TEST(Mapper, HostCapsCountPerProgram) {
  auto spec = job(1);
  ask_host(*spec.mutable_apps(0), "v2", 1);
  ask_host(add_app(spec, 1), "v2", 1);
  EXPECT_THAT(daemons(map_job(spec, three_nodes())), ElementsAre(2, 2));
}

TEST(Mapper, BusyIsNotImpossible) {
  auto nodes = three_nodes();
  nodes[1].used = 2;
  const auto busy = map_job(job(6), nodes);
  EXPECT_EQ(busy.verdict, MapVerdict::kBusy);
  EXPECT_EQ(busy.failure->free, 5U);
  EXPECT_EQ(busy.failure->seats[1].usable, 1U);
  EXPECT_TRUE(busy.placements.empty());
  EXPECT_EQ(map_job(job(8), nodes).verdict, MapVerdict::kImpossible);
  for (auto& node : nodes) node.used = node.slots;
  EXPECT_EQ(map_job(job(0), nodes).verdict, MapVerdict::kBusy);
}

TEST(Mapper, NoNodesIsImpossible) {
  EXPECT_EQ(map_job(job(1), {}).verdict, MapVerdict::kImpossible);
}

TEST(Mapper, OversubscriptionFillsSlotsFirstThenSpreadsEvenly) {
  auto spec = job(12);
  spec.set_oversubscribe(true);
  EXPECT_THAT(daemons(map_job(spec, three_nodes())),
              ElementsAre(1, 1, 2, 2, 2, 3, 3, 1, 1, 2, 2, 3));
  spec.set_map_by(wire::JobSpec::NODE);
  EXPECT_THAT(daemons(map_job(spec, three_nodes())),
              ElementsAre(1, 2, 3, 1, 2, 3, 2, 1, 2, 3, 1, 2));
}

TEST(Mapper, OversubscriptionWorksOnAFullDvm) {
  auto nodes = three_nodes();
  for (auto& node : nodes) node.used = node.slots + 1;
  auto spec = job(3);
  spec.set_oversubscribe(true);
  EXPECT_THAT(daemons(map_job(spec, nodes)), ElementsAre(1, 2, 3));
}

TEST(Mapper, NoNodeGetsMoreThanItsMaximum) {
  auto nodes = three_nodes();
  nodes[0].max_slots = 3;
  nodes[0].used = 1;
  nodes[2].max_slots = 2;
  auto spec = job(10);
  spec.set_oversubscribe(true);
  EXPECT_THAT(daemons(map_job(spec, nodes)), ElementsAre(1, 2, 2, 2, 3, 3, 1, 2, 2, 2));
  spec.set_map_by(wire::JobSpec::NODE);
  EXPECT_THAT(daemons(map_job(spec, nodes)), ElementsAre(1, 2, 3, 2, 3, 2, 1, 2, 2, 2));
  nodes[1].max_slots = 4;
  const auto result = map_job(spec, nodes);
  EXPECT_EQ(result.verdict, MapVerdict::kImpossible);
  EXPECT_EQ(result.failure->free, 8U);
  spec.mutable_apps(0)->set_processes(9);
  EXPECT_EQ(map_job(spec, nodes).verdict, MapVerdict::kBusy);
}

TEST(Mapper, AHostfileMayLimitAHostForItsJob) {
  auto spec = job(5);
  spec.set_oversubscribe(true);
  ask_host(*spec.mutable_apps(0), "v1");
  ask_host(*spec.mutable_apps(0), "v2");
  spec.mutable_apps(0)->mutable_hosts(1)->set_max_slots(1);
  EXPECT_THAT(daemons(map_job(spec, three_nodes())), ElementsAre(1, 1, 2, 1, 1));
}

TEST(Mapper, SeveralProgramsShareTheSlots) {
  auto spec = job(3);
  add_app(spec, 2);
  const auto result = map_job(spec, three_nodes());
  EXPECT_THAT(daemons(result), ElementsAre(1, 1, 2, 2, 2));
  EXPECT_EQ(result.placements[2].app, 0U);
  EXPECT_EQ(result.placements[3].app, 1U);
  EXPECT_EQ(result.placements[3].local_rank, 1U) << "counted over the job, not the program";
  add_app(spec, 3);
  EXPECT_EQ(map_job(spec, three_nodes()).verdict, MapVerdict::kImpossible);
}

TEST(Mapper, EachProgramHasItsOwnHosts) {
  auto spec = job(2);
  ask_host(*spec.mutable_apps(0), "v3");
  ask_host(add_app(spec, 1), "v1");
  EXPECT_THAT(daemons(map_job(spec, three_nodes())), ElementsAre(3, 3, 1));
}

// Dense, ordered by program, local ranks dense on each node; the hosts asked for and no other.
void check_well_formed(const wire::JobSpec& spec, const MapResult& result) {
  std::map<Rank, std::uint32_t> on_node;
  std::uint32_t app = 0;
  for (std::size_t i = 0; i < result.placements.size(); ++i) {
    const auto& placement = result.placements[i];
    RC_ASSERT(placement.rank.value() == i);
    RC_ASSERT(placement.app >= app);
    app = placement.app;
    RC_ASSERT(placement.local_rank == on_node[placement.daemon]++);
    const auto& hosts = spec.apps(static_cast<int>(app)).hosts();
    const bool allowed =
        hosts.empty() || std::any_of(hosts.begin(), hosts.end(), [&](const auto& host) {
          return host.node() == "v" + std::to_string(placement.daemon.value());
        });
    RC_ASSERT(allowed);
  }
  for (int i = 0; i < spec.apps_size(); ++i) {
    if (spec.apps(i).processes() == 0) continue;
    const auto placed = std::count_if(
        result.placements.begin(), result.placements.end(),
        [&](const auto& placement) { return placement.app == static_cast<std::uint32_t>(i); });
    RC_ASSERT(static_cast<std::uint32_t>(placed) == spec.apps(i).processes());
  }
}

RC_GTEST_PROP(Mapper, NeverMoreThanTheFreeSlots, ()) {
  const auto nodes = any_nodes();
  const auto spec = any_job(nodes);
  const auto result = map_job(spec, nodes);
  if (result.verdict != MapVerdict::kPlaced) {
    RC_ASSERT(result.placements.empty());
    RC_ASSERT(result.failure.has_value());
    return;
  }
  check_well_formed(spec, result);
  std::map<Rank, std::uint32_t> placed;
  for (const auto& placement : result.placements) ++placed[placement.daemon];
  for (const auto& node : nodes) {
    RC_ASSERT(placed[node.rank] == 0 || placed[node.rank] + node.used <= node.slots);
  }
}

RC_GTEST_PROP(Mapper, OversubscriptionStaysBelowTheMaximum, ()) {
  const auto nodes = any_nodes();
  auto spec = any_job(nodes);
  spec.set_oversubscribe(true);
  const auto result = map_job(spec, nodes);
  RC_CLASSIFY(result.verdict == MapVerdict::kPlaced, "placed");
  if (result.verdict != MapVerdict::kPlaced) return;
  check_well_formed(spec, result);
  std::map<Rank, std::uint32_t> placed;
  for (const auto& placement : result.placements) ++placed[placement.daemon];
  for (const auto& node : nodes) {
    const bool limited = node.max_slots > 0 && placed[node.rank] > 0;
    RC_ASSERT(!limited || placed[node.rank] + node.used <= node.max_slots);
  }
}

RC_GTEST_PROP(Mapper, OversubscriptionAlwaysFindsAPlaceWithoutAMaximum, ()) {
  auto nodes = any_nodes();
  for (auto& node : nodes) node.max_slots = 0;
  auto spec = any_job(nodes);
  spec.set_oversubscribe(true);
  for (auto& app : *spec.mutable_apps()) {
    if (app.processes() == 0) app.set_processes(1);
  }
  const auto result = map_job(spec, nodes);
  RC_ASSERT(result.verdict == MapVerdict::kPlaced);
  check_well_formed(spec, result);
}

// Busy says what it means: on an idle DVM the same job has a place.
RC_GTEST_PROP(Mapper, WhatIsBusyWouldFitIntoAnIdleDvm, ()) {
  auto nodes = any_nodes();
  wire::JobSpec spec = job(*rc::gen::inRange(0U, 20U));
  const auto verdict = map_job(spec, nodes).verdict;
  for (auto& node : nodes) node.used = 0;
  const auto idle = map_job(spec, nodes).verdict;
  RC_ASSERT(idle != MapVerdict::kBusy);
  RC_ASSERT((verdict == MapVerdict::kImpossible) == (idle == MapVerdict::kImpossible));
}

}  // namespace
}  // namespace tide::core
