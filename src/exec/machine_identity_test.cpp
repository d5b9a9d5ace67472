#include "exec/machine_identity.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tide::exec {
namespace {

TEST(MachineIdentity, StaysTheSameAndMayBeGiven) {
  ::unsetenv("TIDE_MACHINE");
  const std::string own = machine_identity();
  EXPECT_GT(own.size(), 30U);
  EXPECT_EQ(machine_identity(), own);
  ::setenv("TIDE_MACHINE", "another", 1);
  EXPECT_EQ(machine_identity(), "another");
  ::unsetenv("TIDE_MACHINE");
}

}  // namespace
}  // namespace tide::exec
