#include "core/job_state.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tide::core {
namespace {

using Names = std::map<std::uint32_t, std::string>;

// Every job state of the text with a number there, by number.
const Names kJobNames = {
    {1, "INIT"},
    {2, "INIT_COMPLETE"},
    {3, "ALLOCATE"},
    {4, "ALLOCATION_COMPLETE"},
    {5, "MAP"},
    {6, "MAP_COMPLETE"},
    {7, "SYSTEM_PREP"},
    {8, "LAUNCH_DAEMONS"},
    {9, "DAEMONS_LAUNCHED"},
    {10, "DAEMONS_REPORTED"},
    {11, "VM_READY"},
    {12, "LAUNCH_APPS"},
    {13, "SEND_LAUNCH_MSG"},
    {14, "RUNNING"},
    {16, "REGISTERED"},
    {17, "WAITING_FOR_DAEMONS"},
    {18, "LOCAL_LAUNCH_COMPLETE"},
    {19, "READY_FOR_DEBUG"},
    {20, "STARTED"},
    {51, "KILLED_BY_CMD"},
    {52, "ABORTED"},
    {53, "FAILED_TO_START"},
    {60, "NEVER_LAUNCHED"},
    {64, "FORCED_EXIT"},
    {68, "ALLOC_FAILED"},
    {69, "MAP_FAILED"},
    {70, "CANNOT_LAUNCH"},
};
const Names kProcNames = {{1, "INIT"},         {4, "RUNNING"},       {5, "REGISTERED"},
                          {6, "IOF_COMPLETE"}, {7, "WAITPID_FIRED"}, {9, "READY_FOR_DEBUG"},
                          {20, "TERMINATED"}};

const std::vector<JobState> kChain = {
    JobState::kInit,
    JobState::kInitComplete,
    JobState::kAllocate,
    JobState::kAllocationComplete,
    JobState::kLaunchDaemons,
    JobState::kDaemonsLaunched,
    JobState::kDaemonsReported,
    JobState::kVmReady,
    JobState::kMap,
    JobState::kMapComplete,
    JobState::kSystemPrep,
    JobState::kLaunchApps,
    JobState::kSendLaunchMsg,
    JobState::kStarted,
    JobState::kRunning,
    JobState::kTerminated,
    JobState::kNotifyCompleted,
    JobState::kNotified,
};

std::vector<JobState> every_job_state() {
  std::vector<JobState> out;
  for (std::uint32_t number = 0; number < 200; ++number) {
    const auto state = static_cast<JobState>(number);
    if (job_state_name(state) != "PRTE_JOB_STATE_UNKNOWN") out.push_back(state);
  }
  return out;
}

// row:L1 names and numbers of jobs
TEST(JobState, NamesAndNumbers) {
  for (const auto& [number, name] : kJobNames) {
    EXPECT_EQ(job_state_name(static_cast<JobState>(number)), "PRTE_JOB_STATE_" + name) << number;
  }
  EXPECT_EQ(job_state_name(static_cast<JobState>(15)), "PRTE_JOB_STATE_UNKNOWN");
  EXPECT_EQ(job_state_name(static_cast<JobState>(0)), "PRTE_JOB_STATE_UNKNOWN");
  EXPECT_EQ(static_cast<std::uint32_t>(JobState::kUnterminated), 30U);
  EXPECT_EQ(static_cast<std::uint32_t>(JobState::kError), 50U);
}

// row:L1 states whose numbers are ours lie between the right boundaries, and no name comes twice
TEST(JobState, OwnNumbersLieWhereTheyBelong) {
  const std::set<std::string> ending = {"TERMINATED", "NOTIFY_COMPLETED", "NOTIFIED",
                                        "ALL_JOBS_COMPLETE", "DAEMONS_TERMINATED"};
  std::set<std::string> seen;
  for (const auto state : every_job_state()) {
    const auto number = static_cast<std::uint32_t>(state);
    const std::string name(job_state_name(state));
    EXPECT_TRUE(seen.insert(name).second) << name;
    const auto tail = name.substr(std::string("PRTE_JOB_STATE_").size());
    EXPECT_EQ(ending.contains(tail), number > 30 && number < 50) << name;
    if (!kJobNames.contains(number) && !ending.contains(tail)) {
      EXPECT_GT(number, 50U) << name;
    }
  }
  for (const auto& name : ending) EXPECT_TRUE(seen.contains("PRTE_JOB_STATE_" + name)) << name;
  EXPECT_TRUE(seen.contains("PRTE_JOB_STATE_FILES_POSN_FAILED"));
}

// row:L1 names and numbers of processes
TEST(ProcState, NamesAndNumbers) {
  for (const auto& [number, name] : kProcNames) {
    EXPECT_EQ(proc_state_name(static_cast<ProcState>(number)), "PRTE_PROC_STATE_" + name) << number;
  }
  EXPECT_EQ(proc_state_name(static_cast<ProcState>(2)), "PRTE_PROC_STATE_UNKNOWN");
  EXPECT_EQ(static_cast<std::uint32_t>(ProcState::kUnterminated), 15U);
  EXPECT_EQ(static_cast<std::uint32_t>(ProcState::kError), 50U);
  for (const auto state : {ProcState::kKilledByCmd, ProcState::kAborted, ProcState::kFailedToStart,
                           ProcState::kCommFailed}) {
    EXPECT_TRUE(is_error(state));
    EXPECT_FALSE(is_alive(state));
  }
}

// row:L3 the legal order, and nothing but it
TEST(JobState, TheChainAndNoShortCuts) {
  for (std::size_t i = 0; i < kChain.size(); ++i) {
    for (std::size_t k = 0; k < kChain.size(); ++k) {
      const bool no_daemon_needed =
          kChain[i] == JobState::kLaunchDaemons && kChain[k] == JobState::kDaemonsReported;
      const bool only_shown =
          (kChain[i] == JobState::kAllocationComplete && kChain[k] == JobState::kDaemonsReported) ||
          (kChain[i] == JobState::kMapComplete && kChain[k] == JobState::kTerminated);
      EXPECT_EQ(job_may_go(kChain[i], kChain[k]), k == i + 1 || no_daemon_needed || only_shown)
          << job_state_name(kChain[i]) << " -> " << job_state_name(kChain[k]);
    }
  }
}

TEST(JobState, ErrorsComeOnlyFromTheLiving) {
  for (const auto from : every_job_state()) {
    for (const auto to : every_job_state()) {
      if (!is_error(to)) continue;
      EXPECT_EQ(job_may_go(from, to), from < JobState::kUnterminated)
          << job_state_name(from) << " -> " << job_state_name(to);
    }
  }
}

TEST(JobState, AnErrorLeadsToTheLastWordAndNowhereElse) {
  for (const auto from : every_job_state()) {
    if (!is_error(from)) continue;
    for (const auto to : every_job_state()) {
      EXPECT_EQ(job_may_go(from, to), to == JobState::kNotifyCompleted)
          << job_state_name(from) << " -> " << job_state_name(to);
    }
  }
}

// row:L1 the table holds each state of the chain once, in the order in which a job meets them
TEST(JobState, TheTableFollowsTheChain) {
  std::set<JobState> seen;
  std::vector<JobState> order;
  for (const auto& row : job_state_table()) {
    EXPECT_TRUE(seen.insert(row.state).second) << job_state_name(row.state);
    EXPECT_FALSE(row.handler.empty());
    EXPECT_NE(job_state_name(row.state), "PRTE_JOB_STATE_UNKNOWN");
    if (std::find(kChain.begin(), kChain.end(), row.state) != kChain.end()) {
      order.push_back(row.state);
    }
  }
  EXPECT_EQ(order, kChain);
}

TEST(ProcState, NobodyComesBackToLife) {
  EXPECT_TRUE(proc_may_go(ProcState::kInit, ProcState::kRunning));
  EXPECT_TRUE(proc_may_go(ProcState::kRunning, ProcState::kTerminated));
  EXPECT_TRUE(proc_may_go(ProcState::kInit, ProcState::kFailedToStart));
  EXPECT_FALSE(proc_may_go(ProcState::kRunning, ProcState::kRunning));
  EXPECT_FALSE(proc_may_go(ProcState::kWaitpidFired, ProcState::kRunning));
  EXPECT_FALSE(proc_may_go(ProcState::kTerminated, ProcState::kRunning));
  EXPECT_FALSE(proc_may_go(ProcState::kTerminated, ProcState::kAborted));
  EXPECT_FALSE(proc_may_go(ProcState::kAborted, ProcState::kTerminated));
}

}  // namespace
}  // namespace tide::core
