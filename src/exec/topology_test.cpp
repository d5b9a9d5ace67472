#include "exec/topology.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tide::exec {
namespace {

// row:L6
TEST(Topology, CountsWhatThisMachineHas) {
  const auto topology = discover_topology();
  ASSERT_TRUE(topology.ok());
  EXPECT_GE(topology->packages(), 1U);
  EXPECT_GE(topology->cores(), topology->packages());
  EXPECT_GE(topology->hwthreads(), topology->cores());
}

TEST(Topology, LeavesTheEnvironmentAlone) {
  ::unsetenv("HWLOC_COMPONENTS");
  ASSERT_TRUE(discover_topology().ok());
  EXPECT_EQ(std::getenv("HWLOC_COMPONENTS"), nullptr);
}

}  // namespace
}  // namespace tide::exec
