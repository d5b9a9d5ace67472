#include "exec/slurm_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tide::exec {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SlurmEnvironment, WhatSteersItsCommandsIsTold) {
  EXPECT_THAT(
      slurm_variables_that_steer({"SLURM_JOB_ID=17", "PATH=/bin", "SLURM_NTASKS=8", "SRUN_DEBUG=3",
                                  "SLURMD_NODENAME=node1", "SALLOC_IMMEDIATE=1", "SLURM_EXACT"}),
      ElementsAre("SLURM_JOB_ID", "SLURM_NTASKS", "SRUN_DEBUG", "SLURMD_NODENAME",
                  "SALLOC_IMMEDIATE", "SLURM_EXACT"));
}

TEST(SlurmEnvironment, WaysToTheControllerStay) {
  EXPECT_THAT(slurm_variables_that_steer({"SLURM_CONF=/etc/slurm.conf", "SLURM_CLUSTERS=big",
                                          "SLURM_JWT=x", "MY_SLURM_JOB_ID=1", "HOME=/root"}),
              IsEmpty());
}

}  // namespace
}  // namespace tide::exec
