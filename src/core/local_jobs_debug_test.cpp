#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/local_jobs_rig.hpp"
#include "core/pmix_words.hpp"
#include "core/proc_names.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HeldJobsTest : public LocalJobsTest {
 public:
  void start(wire::StopAt stop) {
    auto job = common();
    job.set_stop_at(stop);
    launch(job, slice({2, 3}), Serial(1));
  }
  void spawned() {
    jobs.handle(ProcSpawned{key(2), 502});
    jobs.handle(ProcSpawned{key(3), 503});
  }
  bool waits(std::uint32_t rank, const std::string& where = "") {
    wire::EventNotice notice;
    notice.set_code(kEventReadyForDebug);
    *notice.mutable_source() = proc_name("dvm@7", rank);
    notice.set_breakpoint(where);
    return jobs.on_ready_for_debug(notice);
  }
  void ends(std::uint32_t rank, int exit_code = 0, int signal = 0) {
    jobs.handle(ProcExited{key(rank), exit_code, signal});
    close_output(rank);
  }
  std::vector<wire::Reduction> held() const {
    return contributions(wire::ReductionId::READY_FOR_DEBUG);
  }
};

// row:L14 a daemon speaks when all its processes wait, and once
TEST_F(HeldJobsTest, ProcessesThatStopOnExecWaitWhenTheyAreStarted) {
  start(wire::STOP_ON_EXEC);
  for (const auto& spawn : all_of<SpawnProc>(out)) EXPECT_TRUE(spawn.stop_on_exec);
  jobs.handle(ProcSpawned{key(2), 502});
  EXPECT_THAT(held(), IsEmpty());
  jobs.handle(ProcSpawned{key(3), 503});
  ASSERT_THAT(held(), SizeIs(1));
  EXPECT_EQ(RankSet::from_wire(held()[0].participants()).size(), 2U);
  const auto report = report_in(held()[0]);
  EXPECT_EQ(report.procs(0).pid(), 502U);
  EXPECT_EQ(report.procs(1).state(), static_cast<std::uint32_t>(ProcState::kReadyForDebug));
}

TEST_F(HeldJobsTest, OthersWaitWhenTheySaySo) {
  start(wire::STOP_IN_INIT);
  for (const auto& spawn : all_of<SpawnProc>(out)) EXPECT_FALSE(spawn.stop_on_exec);
  spawned();
  EXPECT_TRUE(waits(2, "pmix-init"));
  EXPECT_TRUE(waits(2, "pmix-init")) << "who says it twice is one process";
  EXPECT_THAT(held(), IsEmpty());
  EXPECT_TRUE(waits(3, "pmix-init"));
  EXPECT_TRUE(waits(3, "pmix-init"));
  ASSERT_THAT(held(), SizeIs(1));
  EXPECT_EQ(report_in(held()[0]).breakpoint(), "pmix-init");
}

TEST_F(HeldJobsTest, AllMayWaitByOneWord) {
  start(wire::STOP_IN_INIT);
  spawned();
  EXPECT_TRUE(waits(kAllRanks, "pmix-init"));
  EXPECT_THAT(held(), SizeIs(1));
}

TEST_F(HeldJobsTest, WhatNobodyAskedForIsNotCounted) {
  start(wire::STOP_NOWHERE);
  spawned();
  EXPECT_FALSE(waits(2));
  EXPECT_THAT(held(), IsEmpty());
}

TEST_F(HeldJobsTest, AStrangerIsNotCounted) {
  start(wire::STOP_IN_APP);
  spawned();
  EXPECT_FALSE(waits(0)) << "it is on another node";
}

TEST_F(HeldJobsTest, OneThatEndsIsNotWaitedFor) {
  start(wire::STOP_IN_INIT);
  spawned();
  waits(2);
  ends(3);
  EXPECT_THAT(held(), SizeIs(1));
}

TEST_F(HeldJobsTest, WhereAllHaveEndedNobodyIsHeld) {
  start(wire::STOP_IN_INIT);
  spawned();
  ends(2);
  ends(3);
  EXPECT_THAT(held(), IsEmpty());
}

TEST_F(HeldJobsTest, ItIsToldAgainOnANewPath) {
  start(wire::STOP_ON_EXEC);
  spawned();
  jobs.contribute_again();
  EXPECT_THAT(held(), SizeIs(2));
}

// A stopped process takes SIGTERM when it goes on, before it does anything else.
TEST_F(HeldJobsTest, AStoppedProcessIsEndedByASignalItCannotSee) {
  start(wire::STOP_ON_EXEC);
  spawned();
  out.clear();
  order(SIGTERM);
  EXPECT_THAT(signals(), ElementsAre(std::pair(2U, SIGTERM), std::pair(3U, SIGTERM),
                                     std::pair(2U, SIGCONT), std::pair(3U, SIGCONT)));
}

TEST_F(HeldJobsTest, AnotherSignalLeavesItWhereItIs) {
  start(wire::STOP_ON_EXEC);
  spawned();
  out.clear();
  order(SIGUSR1, false);
  EXPECT_THAT(signals(), ElementsAre(std::pair(2U, SIGUSR1), std::pair(3U, SIGUSR1)));
}

TEST_F(HeldJobsTest, WhoWaitsByPmixGoesOnByAnEvent) {
  start(wire::STOP_IN_APP);
  spawned();
  order(SIGUSR1, false);
  EXPECT_THAT(all_of<DeliverEvent>(out), IsEmpty());
  order(SIGCONT, false);
  const auto events = all_of<DeliverEvent>(out);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].notice.code(), kEventDebuggerRelease);
  EXPECT_EQ(events[0].notice.targets().names(0).nspace(), "dvm@7");
  EXPECT_FALSE(events[0].notice.has_source()) << "libpmix tells nobody of the job it comes from";
}

}  // namespace
}  // namespace tide::core
