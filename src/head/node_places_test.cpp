#include "head/node_places.hpp"

#include <gtest/gtest.h>

namespace tide::head {
namespace {

HeadOptions with_hosts(const std::vector<std::string>& names) {
  HeadOptions options;
  for (const auto& name : names) options.hosts.push_back(rm::Host{name, "", 0, 0});
  return options;
}

TEST(NodePlaces, ThisMachineNeedsNoAgentUnlessSomebodyElseIsToLogIn) {
  const launch::ThisMachine machine({"here"});
  auto options = with_hosts({"here", "there", "elsewhere"});
  EXPECT_EQ(NodePlaces(options, machine).on_other_machines(), 2U);
  options.hosts[0].user = "somebody-else";
  const NodePlaces places(options, machine);
  EXPECT_EQ(places.on_other_machines(), 3U);
  EXPECT_EQ(places.of("here").host, "here");
  EXPECT_EQ(places.of("here").user, "somebody-else");
}

TEST(NodePlaces, ThisMachineHasAllItsNames) {
  const launch::ThisMachine machine({"here", "localhost"});
  const NodePlaces places(with_hosts({"HERE", "there"}), machine);
  EXPECT_EQ(places.of("HERE").aliases, (std::vector<std::string>{"here", "localhost"}));
  EXPECT_TRUE(places.of("there").aliases.empty());
}

TEST(NodePlaces, InAStepAllAreStartedByTheScheduler) {
  auto options = with_hosts({"here", "there"});
  options.grant = rm::Grant{"slurm", "17", options.hosts, "SLURM_JOB_NODELIST"};
  NodePlaces places(options, launch::ThisMachine({"here"}), true);
  EXPECT_EQ(places.on_other_machines(), 2U);
  EXPECT_EQ(places.of("here").host, "here");
  EXPECT_TRUE(places.of("here").in_step);
  EXPECT_EQ(places.of("here").job, "17");
  const auto& later = places.add(rm::Host{"more", "", 4, 0}, "18");
  EXPECT_TRUE(later.in_step);
  EXPECT_EQ(later.job, "18");
  EXPECT_EQ(places.add(rm::Host{"here", "", 4, 0}, "19").job, "19") << "it came back with another";
  EXPECT_EQ(places.on_other_machines(), 3U);
}

TEST(NodePlaces, SessionsNeedOpenFilesBesideThoseOfTheLinks) {
  EXPECT_EQ(descriptors_needed(8, 0), 48U);
  EXPECT_EQ(descriptors_needed(1000, 128) - descriptors_needed(1000, 0), 512U);
  EXPECT_GT(descriptors_needed(1000, 1000), 6000U);
}

}  // namespace
}  // namespace tide::head
