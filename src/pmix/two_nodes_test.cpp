// Processes of one job on two nodes.
#include "pmix/two_nodes.hpp"

#include <gtest/gtest.h>

#include "pmix/server.hpp"

namespace tide::pmix {
namespace {

class TwoNodes : public testing::TwoNodes {};

TEST_F(TwoNodes, EveryRankGetsWhatAllOthersPut) {
  run(job("dvm-test@1", 2, 2), {"pmix_fence", "collect"});
  EXPECT_EQ(output_of({"dvm-test@1", 0}), "sum 406\n");
}

TEST_F(TwoNodes, EveryRankGetsItAlsoOneByOne) {
  run(job("dvm-test@1", 2, 2), {"pmix_fence", "direct"});
  EXPECT_EQ(output_of({"dvm-test@1", 0}), "sum 406\n");
}

TEST_F(TwoNodes, AndWithoutAFence) {
  run(job("dvm-test@1", 2, 2), {"pmix_fence", "none"});
  EXPECT_EQ(output_of({"dvm-test@1", 0}), "sum 406\n");
}

TEST_F(TwoNodes, AnMpiRing) {
  run(job("dvm-test@1", 2, 2), {"mpi_ring"});
  EXPECT_EQ(output_of({"dvm-test@1", 0}), "ring of 4: 40\n");
}

TEST_F(TwoNodes, AnMpiAllreduceWithRanksMixed) {
  JobDescription mixed = job("dvm-test@1", 3, 3);
  mixed.nodes = {{"v1", {0, 2, 4}}, {"v2", {1, 3, 5}}};
  run(mixed, {"mpi_allreduce", "100000"});
  EXPECT_EQ(output_of({"dvm-test@1", 0}), "allreduce of 6: right\n");
}

}  // namespace
}  // namespace tide::pmix
