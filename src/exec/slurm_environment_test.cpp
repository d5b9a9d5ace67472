#include "exec/slurm_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tide::exec {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SlurmEnvironment, WhatCommandsTakeForOptionsSteers) {
  EXPECT_THAT(slurm_variables_that_steer({"SLURM_JOB_ID=17", "PATH=/bin", "SALLOC_PARTITION=all",
                                          "SQUEUE_FORMAT=%i=%j", "SRUN_DEBUG=1", "SBATCH_QOS=x",
                                          "SCANCEL_INTERACTIVE=1", "SCONTROL_ALL=1",
                                          "SLURMD_NODENAME=node1"}),
              ElementsAre("SLURM_JOB_ID", "SALLOC_PARTITION", "SQUEUE_FORMAT", "SRUN_DEBUG",
                          "SBATCH_QOS", "SCANCEL_INTERACTIVE", "SCONTROL_ALL", "SLURMD_NODENAME"));
}

TEST(SlurmEnvironment, WayToTheControllerStays) {
  EXPECT_THAT(slurm_variables_that_steer({"SLURM_CONF=/etc/slurm/slurm.conf", "SLURM_CLUSTERS=a",
                                          "SLURM_JWT=token", "HOME=/root"}),
              IsEmpty());
}

TEST(SlurmEnvironment, NamesThatOnlyLookSimilarAreOthers) {
  EXPECT_THAT(slurm_variables_that_steer(
                  {"SLURMX=1", "MY_SLURM_JOB_ID=1", "slurm_x=1", "SLURM_", "=SLURM_X", ""}),
              ElementsAre("SLURM_"));
}

}  // namespace
}  // namespace tide::exec
