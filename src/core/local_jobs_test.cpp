#include "core/local_jobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/local_jobs_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// ---- the local server knows a job before it runs ----

// row:L11
TEST_F(LocalJobsTest, NothingIsStartedBeforeTheServerKnowsTheJob) {
  jobs.launch(common(), slice({2, 3}), Serial(1));
  ASSERT_EQ(all_of<RegisterJob>(out).size(), 1U);
  EXPECT_EQ(all_of<RegisterJob>(out)[0].launch->nspace(), "dvm@7");
  EXPECT_TRUE(all_of<SpawnProc>(out).empty());
  jobs.handle(JobRegistered{JobId(kJob), 2});
  EXPECT_TRUE(all_of<SpawnProc>(out).empty()) << "that was another attempt";
  jobs.handle(JobRegistered{JobId(kJob), 1});
  EXPECT_EQ(all_of<SpawnProc>(out).size(), 2U);
  jobs.handle(JobRegistered{JobId(kJob), 1});
  EXPECT_EQ(all_of<SpawnProc>(out).size(), 2U);
}

TEST_F(LocalJobsTest, AServerThatRefusesFailsTheJob) {
  jobs.launch(common(), slice({2, 3}), Serial(1));
  jobs.handle(JobRegistered{JobId(kJob), 1, Error{ErrorCode::kSystem, "no memory"}});
  EXPECT_TRUE(all_of<SpawnProc>(out).empty());
  ASSERT_EQ(ends().size(), 1U);
  EXPECT_EQ(report_in(ends()[0]).procs(0).error(), "no memory");
}

TEST_F(LocalJobsTest, AJobThatIsEndedMeanwhileIsNotStarted) {
  jobs.launch(common(), slice({2, 3}), Serial(1));
  order(SIGTERM);
  EXPECT_EQ(ends().size(), 1U);
  register_all();
  EXPECT_TRUE(all_of<SpawnProc>(out).empty());
}

TEST_F(LocalJobsTest, TheServerForgetsWithTheDaemon) {
  run_two();
  jobs.forget(JobId(kJob));
  EXPECT_EQ(all_of<DeregisterJob>(out).size(), 1U);
  out.clear();
  jobs.launch(common(5), slice({2}), Serial(1));
  jobs.forget(JobId(kJob));
  EXPECT_TRUE(all_of<DeregisterJob>(out).empty()) << "it was held, and never told";
}

// row:L13
TEST_F(LocalJobsTest, TheHeadHearsOnceThatAllHaveSaidHello) {
  run_two();
  jobs.handle(ProcRegistered{key(2)});
  jobs.handle(ProcRegistered{key(2)});
  EXPECT_THAT(contributed, IsEmpty());
  jobs.handle(ProcRegistered{key(3)});
  EXPECT_EQ(contributions(wire::ReductionId::REGISTERED).size(), 1U);
  jobs.contribute_again();
  EXPECT_EQ(contributions(wire::ReductionId::REGISTERED).size(), 2U);
}

TEST_F(LocalJobsTest, AnAbortIsPassedOn) {
  run_two();
  jobs.handle(ProcAborted{key(3), 5, "out of luck", {}});
  jobs.handle(ProcAborted{ProcKey{JobId(99), ProcRank(0)}, 5, "of nobody", {}});
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].first.proc_aborted().rank(), 3U);
  EXPECT_EQ(sent[0].first.proc_aborted().status(), 5);
  jobs.handle(ProcAborted{key(3), 5, std::string(1UL << 20U, 'x'), {}});
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_LT(sent[1].first.ByteSizeLong(), 20'000U) << "nobody reads that";
}

TEST_F(LocalJobsTest, LaunchSpawnsTheSliceWithItsSurroundings) {
  launch(common(), slice({2, 3}), Serial(1));
  const auto spawns = all_of<SpawnProc>(out);
  ASSERT_EQ(spawns.size(), 2U);
  EXPECT_EQ(spawns[0].proc, key(2));
  EXPECT_THAT(spawns[0].program->argv, ElementsAre("prog", "arg"));
  EXPECT_EQ(spawns[0].program->working_directory, "/tmp");
  EXPECT_EQ(spawns[0].output_window_bytes, kWindow);
  EXPECT_TRUE(spawns[0].wants_input) << "it is the one that reads standard input";
  EXPECT_FALSE(spawns[1].wants_input);
  std::map<std::string, std::string> environment;
  for (const auto& one : spawns[1].program->environment) environment[one.name()] = one.value();
  for (const auto& one : spawns[1].environment) environment[one.name()] = one.value();
  EXPECT_EQ(spawns[0].program, spawns[1].program) << "shared, not copied";
  EXPECT_EQ(environment["PWD"], "/tmp");
  EXPECT_EQ(environment["TIDE_RANK"], "3") << "ours comes after the user's";
  EXPECT_EQ(environment["TIDE_NAMESPACE"], "dvm@7");
  EXPECT_EQ(environment["TIDE_SIZE"], "4");
  EXPECT_EQ(environment["TIDE_LOCAL_RANK"], "1");
  EXPECT_EQ(environment["TIDE_NODE"], "v3");
}

TEST_F(LocalJobsTest, LaunchIsIdempotentByJobAndAttempt) {
  launch(common(), slice({2, 3}), Serial(1));
  launch(common(), slice({2, 3}), Serial(1));
  EXPECT_EQ(all_of<SpawnProc>(out).size(), 2U);
  jobs.handle(ProcSpawned{key(2), 502});
  launch(common(), slice({2, 3}), Serial(1));
  EXPECT_EQ(all_of<SpawnProc>(out).size(), 2U);
  EXPECT_EQ(jobs.size(), 1U);
}

TEST_F(LocalJobsTest, HeldUntilTheOperationItWasMappedAt) {
  launch(common(5), slice({2}), Serial(3));
  applied(Serial(4));
  EXPECT_TRUE(all_of<SpawnProc>(out).empty());
  applied(Serial(5));
  EXPECT_EQ(all_of<SpawnProc>(out).size(), 1U);
  applied(Serial(6));
  EXPECT_EQ(all_of<SpawnProc>(out).size(), 1U);
}

TEST_F(LocalJobsTest, EndedWhileHeldItIsNeverStarted) {
  launch(common(5), slice({2, 3}), Serial(3));
  order(SIGTERM);
  applied(Serial(5));
  EXPECT_TRUE(all_of<SpawnProc>(out).empty());
  ASSERT_EQ(ends().size(), 1U);
  EXPECT_EQ(report_in(ends()[0]).procs(0).state(),
            static_cast<std::uint32_t>(ProcState::kFailedToStart));
}

// row:L12 pids come back
TEST_F(LocalJobsTest, LaunchedIsContributedOnceWhenAllWereTried) {
  launch(common(), slice({2, 3}), Serial(1));
  jobs.handle(ProcSpawned{key(2), 502});
  EXPECT_THAT(contributed, IsEmpty());
  jobs.handle(ProcSpawned{key(2), 999});
  EXPECT_THAT(contributed, IsEmpty()) << "the same one twice is not all";
  jobs.handle(ProcSpawned{key(3), 503});
  ASSERT_EQ(contributed.size(), 1U);
  EXPECT_EQ(contributed[0].id().kind(), wire::ReductionId::LAUNCHED);
  EXPECT_EQ(contributed[0].id().job(), kJob);
  EXPECT_EQ(contributed[0].contributions(0).rank(), 3U);
  const auto participants = RankSet::from_wire(contributed[0].participants());
  EXPECT_TRUE(participants.contains(Rank(1)) && participants.contains(Rank(3)));
  const auto local = report_in(contributed[0]);
  ASSERT_EQ(local.procs_size(), 2);
  EXPECT_EQ(local.procs(0).pid(), 502U) << "pids come back";
  EXPECT_EQ(local.procs(1).state(), static_cast<std::uint32_t>(ProcState::kRunning));
}

TEST_F(LocalJobsTest, ASpawnFailureIsReportedEarlyAndAtTheEnd) {
  launch(common(), slice({2, 3}), Serial(1));
  jobs.handle(ProcSpawnFailed{key(2), Error{ErrorCode::kNotFound, "prog: not found"}});
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].first.proc_failed().exit_code(), 127);
  EXPECT_EQ(sent[0].first.proc_failed().error(), "prog: not found");
  jobs.handle(ProcSpawnFailed{key(3), Error{ErrorCode::kPermissionDenied, "not executable"}});
  ASSERT_EQ(ends().size(), 1U);
  const auto local = report_in(ends()[0]);
  EXPECT_EQ(local.procs(0).state(), static_cast<std::uint32_t>(ProcState::kFailedToStart));
  EXPECT_EQ(local.procs(0).exit_code(), 127);
  EXPECT_EQ(local.procs(1).exit_code(), 126);
  EXPECT_EQ(contributions(wire::ReductionId::LAUNCHED).size(), 1U);
}

// row:L15 the exit comes first: what is still in the pipe belongs to the process
TEST_F(LocalJobsTest, ExitBeforeTheEndOfOutput) {
  run_two();
  jobs.handle(ProcExited{key(2), 0, 0});
  jobs.handle(ProcExited{key(3), 0, 0});
  jobs.handle(ProcOutputClosed{key(2), wire::STDOUT});
  jobs.handle(ProcOutput{key(2), wire::STDERR, Bytes("last words")});
  EXPECT_THAT(ends(), IsEmpty());
  jobs.handle(ProcOutputClosed{key(2), wire::STDERR});
  EXPECT_THAT(ends(), IsEmpty()) << "process 3 has open pipes";
  close_output(3);
  ASSERT_EQ(ends().size(), 1U);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].second.view(), "last words");
  EXPECT_TRUE(sent[1].first.has_output_complete()) << "after the last output";
  EXPECT_EQ(report_in(ends()[0]).procs(0).state(),
            static_cast<std::uint32_t>(ProcState::kTerminated));
  EXPECT_EQ(all_of<ForgetProc>(out).size(), 2U);
}

// row:L15 each of the two streams alone keeps a process from being over
TEST_F(LocalJobsTest, TheEndWaitsForBothStreams) {
  run_two();
  jobs.handle(ProcExited{key(2), 0, 0});
  jobs.handle(ProcExited{key(3), 0, 0});
  jobs.handle(ProcOutputClosed{key(2), wire::STDOUT});
  jobs.handle(ProcOutputClosed{key(3), wire::STDOUT});
  EXPECT_THAT(ends(), IsEmpty());
  jobs.handle(ProcOutputClosed{key(2), wire::STDERR});
  jobs.handle(ProcOutputClosed{key(3), wire::STDERR});
  EXPECT_EQ(ends().size(), 1U);
}

// One pipe for both: there is no second one to wait for.
TEST_F(LocalJobsTest, MergedOutputEndsWithItsOnlyPipe) {
  auto merged = common();
  merged.set_merge_output(true);
  launch(merged, slice({2}), Serial(1));
  EXPECT_TRUE(all_of<SpawnProc>(out).at(0).merge_output);
  jobs.handle(ProcSpawned{key(2), 502});
  jobs.handle(ProcExited{key(2), 0, 0});
  EXPECT_THAT(ends(), IsEmpty());
  jobs.handle(ProcOutputClosed{key(2), wire::STDOUT});
  EXPECT_EQ(ends().size(), 1U);
}

// row:L15 the end of output comes first: the process is not over before its exit was collected
TEST_F(LocalJobsTest, EndOfOutputBeforeTheExit) {
  run_two();
  close_output(2);
  close_output(3);
  close_output(3);
  jobs.handle(ProcExited{key(2), 0, 0});
  EXPECT_THAT(ends(), IsEmpty());
  jobs.handle(ProcExited{key(3), 3, 0});
  ASSERT_EQ(ends().size(), 1U);
  const auto local = report_in(ends()[0]);
  EXPECT_EQ(local.procs(0).state(), static_cast<std::uint32_t>(ProcState::kTerminated));
  EXPECT_EQ(local.procs(1).state(), static_cast<std::uint32_t>(ProcState::kAborted));
  EXPECT_EQ(local.procs(1).exit_code(), 3);
  jobs.handle(ProcExited{key(3), 0, 0});
  EXPECT_EQ(ends().size(), 1U) << "said once";
}

// row:L17 the head hears of the end when nothing of the job is left here
TEST_F(LocalJobsTest, TheEndIsToldAfterTheSweep) {
  run_two();
  for (const std::uint32_t rank : {2U, 3U}) {
    jobs.handle(ProcExited{key(rank), 0, 0});
    close_output(rank);
  }
  ASSERT_EQ(all_of<SweepJob>(out).size(), 1U);
  EXPECT_EQ(all_of<ForgetProc>(out).size(), 2U);
  EXPECT_THAT(contributions(wire::ReductionId::ENDED), IsEmpty());
  order(SIGTERM);
  EXPECT_FALSE(timers.armed(TimerKind::kEscalate, kJob)) << "there is nobody to end any more";
  jobs.handle(JobSwept{JobId(kJob), 0});
  jobs.handle(JobSwept{JobId(kJob), 0});
  EXPECT_EQ(contributions(wire::ReductionId::ENDED).size(), 1U);
}

TEST_F(LocalJobsTest, ASweepThatTakesTooLongDoesNotHoldTheEnd) {
  run_two();
  jobs.handle(JobSwept{JobId(kJob), 0});
  EXPECT_THAT(contributions(wire::ReductionId::ENDED), IsEmpty()) << "it is not over";
  for (const std::uint32_t rank : {2U, 3U}) {
    jobs.handle(ProcExited{key(rank), 0, 0});
    close_output(rank);
  }
  ASSERT_TRUE(fire(TimerKind::kSweep));
  EXPECT_THAT(contributions(wire::ReductionId::ENDED), IsEmpty()) << "it may just have begun";
  ASSERT_TRUE(fire(TimerKind::kSweep));
  EXPECT_EQ(contributions(wire::ReductionId::ENDED).size(), 1U);
  EXPECT_FALSE(timers.armed(TimerKind::kSweep)) << "nothing is waited for";
  jobs.handle(JobSwept{JobId(kJob), 1});
  EXPECT_EQ(contributions(wire::ReductionId::ENDED).size(), 1U) << "said once";
  const auto notes = all_of<Note>(out);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[1].text, "job dvm@7: 1 of its processes can't be ended on node v3");
}

TEST_F(LocalJobsTest, AnAbnormalEndIsToldBeforeTheOutputIsDrained) {
  run_two();
  jobs.handle(ProcExited{key(3), 0, SIGSEGV});
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].first.proc_failed().rank(), 3U);
  EXPECT_EQ(sent[0].first.proc_failed().signal(), SIGSEGV);
  EXPECT_EQ(sent[0].first.proc_failed().pid(), 503U);
  EXPECT_THAT(ends(), IsEmpty());
}

TEST_F(LocalJobsTest, EscalatesFromInterruptToKillAndGivesUp) {
  run_two();
  jobs.handle(ProcExited{key(2), 0, 0});
  close_output(2);
  order(SIGINT);
  EXPECT_THAT(signals(), ElementsAre(std::pair(3U, SIGINT))) << "only the living";
  ASSERT_TRUE(fire(TimerKind::kEscalate));
  EXPECT_THAT(signals(), ElementsAre(std::pair(3U, SIGTERM)));
  ASSERT_TRUE(fire(TimerKind::kEscalate));
  EXPECT_THAT(signals(), ElementsAre(std::pair(3U, SIGKILL)));
  ASSERT_TRUE(fire(TimerKind::kEscalate));
  EXPECT_THAT(signals(), ElementsAre(std::pair(3U, SIGKILL)));
  EXPECT_THAT(ends(), IsEmpty());
  ASSERT_TRUE(fire(TimerKind::kEscalate));
  ASSERT_EQ(ends().size(), 1U) << "the job does not wait for the kernel";
  const auto stuck = report_in(ends()[0]).procs(1);
  EXPECT_EQ(stuck.signal(), SIGKILL);
  EXPECT_NE(stuck.error().find("v3"), std::string::npos);
}

TEST_F(LocalJobsTest, ASecondOrderMayGoFasterButNeverBack) {
  run_two();
  order(SIGTERM);
  signals();
  order(SIGINT);
  EXPECT_EQ(signals().size(), 2U) << "delivered all the same";
  ASSERT_TRUE(fire(TimerKind::kEscalate));
  EXPECT_THAT(signals(), ElementsAre(std::pair(2U, SIGKILL), std::pair(3U, SIGKILL)));
}

TEST_F(LocalJobsTest, AnOrderMayGiveMoreTimeThanUsual) {
  run_two();
  order(SIGTERM, true, 30'000);
  ASSERT_FALSE(all_of<StartTimer>(out).empty());
  EXPECT_EQ(all_of<StartTimer>(out).back().after_ms, 30'000U);
  signals();
  ASSERT_TRUE(fire(TimerKind::kEscalate));
  EXPECT_THAT(signals(), ElementsAre(std::pair(2U, SIGKILL), std::pair(3U, SIGKILL)));
  EXPECT_EQ(all_of<StartTimer>(out).back().after_ms, LocalJobsConfig().kill_grace_ms)
      << "who is killed has no more";
}

TEST_F(LocalJobsTest, AnOrderlyEndStopsTheEscalation) {
  run_two();
  order(SIGINT);
  for (const std::uint32_t rank : {2U, 3U}) {
    jobs.handle(ProcExited{key(rank), 0, SIGINT});
    close_output(rank);
  }
  EXPECT_EQ(ends().size(), 1U);
  EXPECT_FALSE(fire(TimerKind::kEscalate));
}

TEST_F(LocalJobsTest, ASignalWithoutTerminationDoesNotEscalate) {
  run_two();
  order(SIGUSR1, false);
  EXPECT_THAT(signals(), ElementsAre(std::pair(2U, SIGUSR1), std::pair(3U, SIGUSR1)));
  EXPECT_FALSE(timers.armed(TimerKind::kEscalate, kJob));
}

TEST_F(LocalJobsTest, WhatIsBeingStartedWhenTheEndIsOrderedIsKilled) {
  launch(common(), slice({2, 3}), Serial(1));
  jobs.handle(ProcSpawned{key(2), 502});
  order(SIGTERM);
  EXPECT_THAT(signals(), ElementsAre(std::pair(2U, SIGTERM), std::pair(3U, SIGKILL)));
  jobs.handle(ProcSpawned{key(3), 503});
  EXPECT_THAT(signals(), ElementsAre(std::pair(3U, SIGKILL)));
}

TEST_F(LocalJobsTest, WhatIsStartedAfterItWasGivenUpIsKilledAndCounted) {
  launch(common(), slice({2, 3}), Serial(1));
  jobs.handle(ProcSpawned{key(2), 502});
  order(SIGKILL);
  for (int round = 0; round < 5; ++round) EXPECT_TRUE(fire(TimerKind::kEscalate));
  EXPECT_TRUE(ends().empty()) << "one is still being started";
  jobs.handle(ProcSpawnFailed{key(3), Error{ErrorCode::kUnavailable, "ended before"}});
  EXPECT_EQ(ends().size(), 1U);
}

TEST_F(LocalJobsTest, CreditIsPassedOnWhileTheStreamIsOpen) {
  run_two();
  wire::StreamCredit credit;
  credit.set_job(kJob);
  credit.set_rank(3);
  credit.set_stream(wire::STDERR);
  credit.set_bytes(400);
  jobs.grant(credit);
  const auto grants = all_of<GrantOutput>(out);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants[0].proc, key(3));
  EXPECT_EQ(grants[0].stream, wire::STDERR);
  EXPECT_EQ(grants[0].bytes, 400U);
  jobs.handle(ProcOutputClosed{key(3), wire::STDERR});
  jobs.grant(credit);
  credit.set_rank(99);
  jobs.grant(credit);
  EXPECT_EQ(all_of<GrantOutput>(out).size(), 1U);
}

// A pipe that is held open and silent though credit is left: somebody else holds it.
// Giving up one stream of a process gives up both.
TEST_F(LocalJobsTest, AHeldPipeIsNotGivenUpWhileTheOtherWaitsForCredit) {
  run_two();
  jobs.handle(ProcOutput{key(3), wire::STDOUT, Bytes(std::string(kWindow, 'x'))});
  jobs.handle(ProcExited{key(3), 0, 0});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(fire(TimerKind::kDrain));
  EXPECT_THAT(signals(), IsEmpty()) << "standard error is held, standard output only unread";
}

TEST_F(LocalJobsTest, AHeldPipeIsGivenUpOnlyWithCreditLeft) {
  run_two();
  jobs.handle(ProcExited{key(3), 0, 0});
  jobs.handle(ProcOutputClosed{key(3), wire::STDERR});
  jobs.handle(ProcOutput{key(3), wire::STDOUT, Bytes(std::string(kWindow, 'x'))});
  ASSERT_TRUE(fire(TimerKind::kDrain));
  EXPECT_THAT(signals(), IsEmpty()) << "something came since";
  ASSERT_TRUE(fire(TimerKind::kDrain));
  EXPECT_THAT(signals(), IsEmpty()) << "the window is used up: its reader is slow, not the pipe";
  wire::StreamCredit credit;
  credit.set_job(kJob);
  credit.set_rank(3);
  credit.set_bytes(1);
  jobs.grant(credit);
  ASSERT_TRUE(fire(TimerKind::kDrain));
  EXPECT_THAT(signals(), IsEmpty()) << "what waited for the credit may be on its way";
  ASSERT_TRUE(fire(TimerKind::kDrain));
  EXPECT_THAT(signals(), ElementsAre(std::pair(3U, SIGKILL)));
  jobs.handle(ProcOutputClosed{key(3), wire::STDOUT});
  ASSERT_TRUE(fire(TimerKind::kDrain));
  EXPECT_FALSE(timers.armed(TimerKind::kDrain, kJob)) << "process 2 is not over: nothing to drain";
}

TEST_F(LocalJobsTest, InputFlowsToTheOneThatReadsIt) {
  launch(common(), slice({2, 3}), Serial(1));
  jobs.handle(ProcSpawned{key(3), 503});
  EXPECT_THAT(sent, IsEmpty());
  jobs.handle(ProcSpawned{key(2), 502});
  ASSERT_EQ(sent.size(), 1U) << "the first window";
  EXPECT_EQ(sent[0].first.input_credit().bytes(), LocalJobsConfig{}.input_window_bytes);
  wire::InputChunk chunk;
  chunk.set_job(kJob);
  chunk.set_rank(2);
  jobs.input(chunk, Bytes("hello"));
  chunk.set_eof(true);
  jobs.input(chunk, {});
  ASSERT_EQ(all_of<WriteInput>(out).size(), 1U);
  EXPECT_EQ(all_of<WriteInput>(out)[0].data.view(), "hello");
  EXPECT_EQ(all_of<CloseInput>(out).size(), 1U);
  jobs.handle(ProcInputTaken{key(2), 5});
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[1].first.input_credit().bytes(), 5U);
}

TEST_F(LocalJobsTest, ANewPathGetsTheContributionsAgainUntilForgotten) {
  run_two();
  for (const std::uint32_t rank : {2U, 3U}) {
    jobs.handle(ProcExited{key(rank), 0, 0});
    close_output(rank);
  }
  ASSERT_EQ(ends().size(), 1U);
  contributed.clear();
  jobs.contribute_again();
  ASSERT_EQ(contributed.size(), 2U);
  EXPECT_EQ(contributed[0].id().kind(), wire::ReductionId::LAUNCHED);
  EXPECT_EQ(contributed[1].id().kind(), wire::ReductionId::ENDED);
  jobs.forget(JobId(kJob));
  EXPECT_EQ(jobs.size(), 0U);
  jobs.contribute_again();
  EXPECT_EQ(contributed.size(), 2U);
}

TEST_F(LocalJobsTest, ForgottenBeforeItsEndAJobTakesItsProcessesAlong) {
  run_two();
  jobs.forget(JobId(kJob));
  ASSERT_EQ(all_of<ForgetProc>(out).size(), 2U);
  EXPECT_EQ(all_of<ForgetProc>(out)[0].proc, key(2));
  out.clear();
  launch(common(), slice({2}), Serial(1));
  EXPECT_EQ(all_of<SpawnProc>(out).size(), 1U) << "its name is free again";
}

TEST_F(LocalJobsTest, ALaterAttemptReplacesTheProcessesOfTheEarlier) {
  run_two();
  auto again = common();
  again.set_attempt(2);
  auto part = slice({2});
  part.set_attempt(2);
  launch(again, part, Serial(1));
  EXPECT_EQ(all_of<ForgetProc>(out).size(), 2U);
  EXPECT_EQ(all_of<SpawnProc>(out).size(), 1U);
}

TEST_F(LocalJobsTest, WhatIsSaidOfUnknownJobsIsIgnored) {
  order(SIGTERM);
  jobs.handle(ProcExited{key(2), 0, 0});
  jobs.handle(ProcOutput{key(2), wire::STDOUT, Bytes("x")});
  close_output(2);
  EXPECT_TRUE(jobs.handle_timer(TimerKind::kEscalate, 99));
  EXPECT_FALSE(jobs.handle_timer(TimerKind::kStart, 99));
  EXPECT_TRUE(out.empty());
  EXPECT_THAT(sent, IsEmpty());
}

}  // namespace
}  // namespace tide::core
