#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/local_jobs_rig.hpp"
#include "wire/limits.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LocalTracesTest : public LocalJobsTest {
 public:
  void trace(std::uint32_t most = 16) {
    wire::TraceJob order;
    order.set_job(kJob);
    order.set_most(most);
    jobs.trace(order);
  }
  std::vector<std::vector<ProcRank>> looks() {
    std::vector<std::vector<ProcRank>> list;
    for (const auto& look : all_of<TraceProcs>(out)) list.push_back(look.ranks);
    return list;
  }
  void seen(std::uint32_t rank, const std::string& text = "#0 main ()") {
    jobs.handle(ProcTraced{.proc = key(rank), .pid = 500 + rank, .text = text});
  }
  void unseen(std::uint32_t rank, const std::string& why) {
    jobs.handle(
        ProcTraced{.proc = key(rank), .pid = 500 + rank, .status = Error{ErrorCode::kSystem, why}});
  }
};

TEST_F(LocalTracesTest, TheStacksOfEachProcessGoUpAndThenThatThereAreNoMore) {
  run_two();
  trace();
  EXPECT_THAT(looks(), ElementsAre(ElementsAre(ProcRank(2), ProcRank(3))));
  seen(3, "#0 pause ()");
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].first.stack_trace().rank(), 3U);
  EXPECT_EQ(sent[0].first.stack_trace().pid(), 503U);
  EXPECT_FALSE(sent[0].first.stack_trace().cut());
  EXPECT_EQ(sent[0].second.view(), "#0 pause ()");
  seen(2);
  ASSERT_THAT(sent, SizeIs(3));
  EXPECT_EQ(sent[2].first.traces_complete().failed(), 0U);
  seen(2);
  EXPECT_THAT(sent, SizeIs(3)) << "each once";
}

TEST_F(LocalTracesTest, NoMessageIsLargerThanAgreed) {
  run_two();
  trace();
  seen(2, std::string(kMaxStackTraceBytes + 1, 'x'));
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_TRUE(sent[0].first.stack_trace().cut());
  EXPECT_EQ(sent[0].second.size(), kMaxStackTraceBytes);
}

TEST_F(LocalTracesTest, WhatIsMoreThanWantedIsCounted) {
  run_two();
  trace(1);
  EXPECT_THAT(looks(), ElementsAre(ElementsAre(ProcRank(2))));
  seen(2);
  ASSERT_THAT(sent, SizeIs(2));
  EXPECT_EQ(sent[1].first.traces_complete().left_out(), 1U);
}

TEST_F(LocalTracesTest, TheFirstReasonIsGivenForAllThatFailed) {
  run_two();
  trace();
  unseen(2, "not permitted");
  EXPECT_THAT(sent, IsEmpty());
  unseen(3, "another");
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].first.traces_complete().failed(), 2U);
  EXPECT_EQ(sent[0].first.traces_complete().reason(), "not permitted");
}

TEST_F(LocalTracesTest, ProcessesThatHaveEndedAreLeftOut) {
  run_two();
  jobs.handle(ProcExited{key(2), 0, 0});
  trace();
  EXPECT_THAT(looks(), ElementsAre(ElementsAre(ProcRank(3))));
  jobs.handle(ProcExited{key(3), 0, 0});
  sent.clear();
  unseen(3, "no such process");
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].first.traces_complete().failed(), 0U) << "it ended under the eyes of gdb";
}

TEST_F(LocalTracesTest, OneThatIsGoneWhenItsTurnComesIsNoFailure) {
  run_two();
  trace();
  jobs.handle(ProcTraced{.proc = key(2)});
  seen(3);
  ASSERT_THAT(sent, SizeIs(2));
  EXPECT_EQ(sent[1].first.traces_complete().failed(), 0U);
}

TEST_F(LocalTracesTest, WhereNobodyRunsThatIsSaidAtOnce) {
  trace();
  ASSERT_THAT(sent, SizeIs(1)) << "no such job";
  EXPECT_TRUE(sent[0].first.has_traces_complete());
  launch(common(), slice({2, 3}), Serial(1));
  trace();
  EXPECT_THAT(sent, SizeIs(2)) << "none was started yet";
  EXPECT_THAT(looks(), IsEmpty());
}

TEST_F(LocalTracesTest, TheEndOfTheJobIsTheEndOfLookingAtIt) {
  run_two();
  trace();
  order(SIGUSR1, false);
  EXPECT_THAT(all_of<StopTraces>(out), IsEmpty());
  signals();
  order(SIGTERM);
  EXPECT_THAT(all_of<StopTraces>(out), SizeIs(1));
  EXPECT_THAT(signals(), ElementsAre(std::pair(2U, SIGTERM), std::pair(3U, SIGTERM),
                                     std::pair(2U, SIGCONT), std::pair(3U, SIGCONT)))
      << "gdb may leave them stopped when it is killed";
  seen(2);
  EXPECT_THAT(sent, IsEmpty());
}

TEST_F(LocalTracesTest, ProcessesThatEndByThemselvesStopItToo) {
  run_two();
  trace();
  for (const std::uint32_t rank : {2U, 3U}) {
    jobs.handle(ProcExited{key(rank), 0, 0});
    close_output(rank);
  }
  EXPECT_THAT(all_of<StopTraces>(out), SizeIs(1));
  EXPECT_THAT(ends(), SizeIs(1));
}

TEST_F(LocalTracesTest, AForgottenJobIsNotLookedAt) {
  run_two();
  trace();
  jobs.forget(JobId(kJob));
  EXPECT_THAT(all_of<StopTraces>(out), SizeIs(1));
  seen(2);
  EXPECT_THAT(sent, IsEmpty());
}

TEST_F(LocalTracesTest, WhatIsBeingEndedIsNotLookedAt) {
  run_two();
  order(SIGTERM);
  trace();
  EXPECT_THAT(looks(), IsEmpty());
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_TRUE(sent[0].first.has_traces_complete());
}

}  // namespace
}  // namespace tide::core
