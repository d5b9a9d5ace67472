#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/local_jobs_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Processes 2 and 3 run, and may be started again once each.
class RestartTest : public LocalJobsTest {
 public:
  void SetUp() override {
    launch(restarting(), slice({2, 3}), Serial(1));
    jobs.handle(ProcSpawned{key(2), 502});
    jobs.handle(ProcSpawned{key(3), 503});
    out.clear();
    sent.clear();
    contributed.clear();
  }
  static wire::LaunchCommon restarting() {
    auto job = common();
    job.set_max_restarts(1);
    return job;
  }
  void fails(std::uint32_t rank, int exit_code, int signal = 0) {
    jobs.handle(ProcExited{key(rank), exit_code, signal});
    close_output(rank);
  }
  static wire::StreamCredit credit_of(std::uint32_t rank, std::uint32_t bytes) {
    wire::StreamCredit credit;
    credit.set_job(kJob);
    credit.set_rank(rank);
    credit.set_bytes(bytes);
    return credit;
  }
  std::vector<wire::ProcReport> reports() const {
    std::vector<wire::ProcReport> list;
    for (const auto& [body, payload] : sent) {
      if (body.has_proc_failed()) list.push_back(body.proc_failed());
    }
    return list;
  }
};

TEST_F(RestartTest, AProcessThatFailedIsStartedAgainWhenItsOutputIsComplete) {
  jobs.handle(ProcExited{key(2), 3, 0});
  EXPECT_THAT(all_of<SpawnProc>(out), IsEmpty());
  close_output(2);
  const auto spawns = all_of<SpawnProc>(out);
  ASSERT_THAT(spawns, SizeIs(1));
  EXPECT_TRUE(spawns[0].again);
  EXPECT_FALSE(spawns[0].wants_input);
  EXPECT_EQ(spawns[0].program->argv.front(), "prog");
  EXPECT_THAT(all_of<ForgetProc>(out), SizeIs(1));
  EXPECT_THAT(reports(), IsEmpty()) << "nothing has failed yet";
}

// Its end would be taken for that of the job.
TEST_F(RestartTest, WhoIsToBeStartedAgainHasNotFailedWhenTheOthersRun) {
  jobs.forget(JobId(kJob));
  launch(restarting(), slice({2, 3}), Serial(1));
  jobs.handle(ProcSpawned{key(2), 502});
  jobs.handle(ProcExited{key(2), 0, SIGSEGV});
  jobs.handle(ProcSpawned{key(3), 503});
  ASSERT_THAT(contributions(wire::ReductionId::LAUNCHED), SizeIs(1));
  const auto told = report_in(contributions(wire::ReductionId::LAUNCHED)[0]).procs(0);
  EXPECT_EQ(told.pid(), 502U) << "it was started";
  EXPECT_EQ(told.state(), static_cast<std::uint32_t>(ProcState::kInit));
  EXPECT_EQ(told.signal(), 0);
  EXPECT_EQ(told.exit_code(), 0);
}

TEST_F(RestartTest, TheHeadHearsOfTheNewProcess) {
  fails(2, 3);
  jobs.handle(ProcSpawned{key(2), 777});
  ASSERT_THAT(reports(), SizeIs(1));
  EXPECT_EQ(reports()[0].pid(), 777U);
  EXPECT_EQ(reports()[0].restarts(), 1U);
  EXPECT_THAT(contributions(wire::ReductionId::LAUNCHED), IsEmpty()) << "it was launched before";
}

TEST_F(RestartTest, WhatTheOldOneMayStillWriteIsTheNewOnesToWrite) {
  jobs.handle(ProcOutput{key(2), wire::STDOUT, Bytes(std::string(kWindow, 'x'))});
  fails(2, 3);
  EXPECT_EQ(all_of<SpawnProc>(out)[0].output_window_bytes, 0U);
  jobs.grant(credit_of(2, 40));
  EXPECT_THAT(all_of<GrantOutput>(out), IsEmpty()) << "nobody is there to take it";
  jobs.handle(ProcSpawned{key(2), 777});
  const auto grants = all_of<GrantOutput>(out);
  ASSERT_THAT(grants, SizeIs(2));
  EXPECT_EQ(grants[0].bytes, 40U);
  EXPECT_EQ(grants[1].bytes, kWindow);
}

TEST_F(RestartTest, CreditThatComesWhenTheOldOneHasClosedItsOutputIsNotLost) {
  jobs.handle(ProcOutput{key(2), wire::STDOUT, Bytes(std::string(kWindow, 'x'))});
  close_output(2);
  jobs.grant(credit_of(2, kWindow));
  EXPECT_THAT(all_of<GrantOutput>(out), IsEmpty()) << "it writes nothing more";
  jobs.handle(ProcExited{key(2), 3, 0});
  jobs.handle(ProcSpawned{key(2), 777});
  const auto grants = all_of<GrantOutput>(out);
  ASSERT_THAT(grants, SizeIs(2));
  EXPECT_EQ(grants[0].bytes, kWindow);
}

TEST_F(RestartTest, InputForTheNewOneIsDroppedAndItsCreditGivenBack) {
  fails(2, 3);
  jobs.handle(ProcSpawned{key(2), 777});
  sent.clear();
  wire::InputChunk chunk;
  chunk.set_job(kJob);
  chunk.set_rank(2);
  jobs.input(chunk, Bytes(std::string("late")));
  EXPECT_THAT(all_of<WriteInput>(out), IsEmpty());
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].first.input_credit().bytes(), 4U);
}

TEST_F(RestartTest, AfterTheLastTryItHasFailed) {
  fails(2, 3);
  jobs.handle(ProcSpawned{key(2), 777});
  fails(2, 4);
  ASSERT_THAT(reports(), SizeIs(2));
  EXPECT_EQ(reports()[1].exit_code(), 4);
  EXPECT_THAT(all_of<SpawnProc>(out), SizeIs(1));
  fails(3, 0);
  ASSERT_THAT(ends(), SizeIs(1));
  EXPECT_EQ(report_in(ends()[0]).procs(0).restarts(), 1U);
}

TEST_F(RestartTest, NothingIsStartedAgainInAJobThatIsBeingEnded) {
  order(SIGTERM);
  fails(2, 0, SIGTERM);
  fails(3, 0, SIGTERM);
  EXPECT_THAT(all_of<SpawnProc>(out), IsEmpty());
  EXPECT_THAT(ends(), SizeIs(1));
}

TEST_F(RestartTest, OneThatIsBeingStartedAgainIsEndedWithTheOthers) {
  fails(2, 3);
  order(SIGTERM);
  EXPECT_THAT(signals(), ElementsAre(std::pair(3U, SIGTERM), std::pair(2U, SIGKILL)));
  jobs.handle(ProcSpawned{key(2), 777});
  fails(2, 0, SIGKILL);
  fails(3, 0, SIGTERM);
  EXPECT_THAT(ends(), SizeIs(1));
}

}  // namespace
}  // namespace tide::core
