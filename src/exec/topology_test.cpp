#include "exec/topology.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

namespace tide::exec {
namespace {

// row:L6
TEST(Topology, CountsWhatThisMachineHas) {
  const auto topology = discover_topology();
  ASSERT_TRUE(topology.ok());
  EXPECT_GE(topology->packages(), 1U);
  EXPECT_GE(topology->cores(), topology->packages());
  EXPECT_GE(topology->hwthreads(), topology->cores());
  EXPECT_FALSE(topology->cpuset().empty());
}

TEST(Topology, IsLoadedOnceForAllWhoWantToKnow) {
  auto first = Hardware::discover();
  ASSERT_TRUE(first.ok());
  void* const handle = first->hwloc_topology();
  ASSERT_NE(handle, nullptr);
  const Hardware moved = std::move(first).value();
  EXPECT_EQ(moved.hwloc_topology(), handle);
  EXPECT_GE(moved.topology().cores(), 1U);
}

TEST(Topology, LeavesTheEnvironmentAlone) {
  ::unsetenv("HWLOC_COMPONENTS");
  ASSERT_TRUE(discover_topology().ok());
  EXPECT_EQ(std::getenv("HWLOC_COMPONENTS"), nullptr);
}

}  // namespace
}  // namespace tide::exec
