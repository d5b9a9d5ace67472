#include "core/local_jobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/rank_set.hpp"
#include "core/test_support.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint32_t kJob = 7;
constexpr std::uint32_t kWindow = 1000;

class LocalJobsTest : public ::testing::Test, private HeadPath {
 public:
  static ProcKey key(std::uint32_t rank) { return {JobId(kJob), ProcRank(rank)}; }
  static wire::LaunchCommon common(std::uint64_t mapped_at = 1) {
    wire::LaunchCommon out;
    out.set_job(kJob);
    out.set_attempt(1);
    out.set_nspace("dvm@7");
    out.set_mapped_at(mapped_at);
    out.set_size(4);
    out.set_stdin_rank(2);
    out.set_window_bytes(kWindow);
    RankSet participants;
    participants.insert(Rank(1));
    participants.insert(Rank(3));
    out.set_participants(participants.to_wire().SerializeAsString());
    auto* app = out.add_apps();
    app->add_argv("prog");
    app->add_argv("arg");
    app->set_working_directory("/tmp");
    auto* directive = app->add_environment();
    directive->set_name("TIDE_RANK");
    directive->set_value("from the user");
    return out;
  }
  static wire::LaunchSlice slice(std::initializer_list<std::uint32_t> ranks) {
    wire::LaunchSlice out;
    out.set_job(kJob);
    out.set_attempt(1);
    for (const auto rank : ranks) {
      auto* proc = out.add_procs();
      proc->set_rank(rank);
      proc->set_local_rank(rank - 2);
    }
    return out;
  }
  // Processes 2 and 3 of the job, both running.
  void run_two() {
    jobs.launch(common(), slice({2, 3}), Serial(1));
    jobs.handle(ProcSpawned{key(2), 502});
    jobs.handle(ProcSpawned{key(3), 503});
    out.clear();
    sent.clear();
    contributed.clear();
  }
  void close_output(std::uint32_t rank) {
    jobs.handle(ProcOutputClosed{key(rank), wire::STDOUT});
    jobs.handle(ProcOutputClosed{key(rank), wire::STDERR});
  }
  void order(int signal, bool terminate = true) {
    wire::SignalJob message;
    message.set_job(kJob);
    message.set_signal(signal);
    message.set_terminate(terminate);
    jobs.signal(message);
  }
  bool fire(TimerKind kind) {
    const std::uint32_t subject = kind == TimerKind::kSweep ? 0 : kJob;
    return timers.take(firing(out, kind, subject)) && jobs.handle_timer(kind, subject);
  }
  // (process, signal) of what was signalled since, which is then forgotten; timers stay.
  std::vector<std::pair<std::uint32_t, int>> signals() {
    std::vector<std::pair<std::uint32_t, int>> list;
    for (const auto& signal : all_of<SignalProc>(out)) {
      list.emplace_back(signal.proc.rank.value(), signal.signal);
    }
    std::erase_if(out, [](const auto& a) { return std::holds_alternative<SignalProc>(a); });
    return list;
  }
  static wire::LocalReport report_in(const wire::Reduction& reduction) {
    wire::LocalReport local;
    local.ParseFromString(reduction.contributions(0).data());
    return local;
  }
  std::vector<wire::Reduction> contributions(wire::ReductionId::Kind kind) const {
    std::vector<wire::Reduction> list;
    for (const auto& one : contributed) {
      if (one.id().kind() == kind) list.push_back(one);
    }
    return list;
  }
  // The ends that the head hears of, once what was left behind is swept: at once, here.
  std::vector<wire::Reduction> ends() {
    for (const auto& sweep : all_of<SweepJob>(out)) jobs.handle(JobSwept{sweep.job, 0});
    return contributions(wire::ReductionId::ENDED);
  }

  void send_to_head(wire::UpBody body, Bytes payload) override {
    sent.emplace_back(std::move(body), std::move(payload));
  }
  void contribute(const wire::Reduction& reduction) override { contributed.push_back(reduction); }

  std::vector<std::pair<wire::UpBody, Bytes>> sent;
  std::vector<wire::Reduction> contributed;
  TimerBook timers;
  Actions out;
  LocalJobs jobs{LocalJobsConfig{.self = Rank(3), .node = "v3"}, *this, timers, out};
};

TEST_F(LocalJobsTest, LaunchSpawnsTheSliceWithItsSurroundings) {
  jobs.launch(common(), slice({2, 3}), Serial(1));
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
  jobs.launch(common(), slice({2, 3}), Serial(1));
  jobs.launch(common(), slice({2, 3}), Serial(1));
  EXPECT_EQ(all_of<SpawnProc>(out).size(), 2U);
  jobs.handle(ProcSpawned{key(2), 502});
  jobs.launch(common(), slice({2, 3}), Serial(1));
  EXPECT_EQ(all_of<SpawnProc>(out).size(), 2U);
  EXPECT_EQ(jobs.size(), 1U);
}

TEST_F(LocalJobsTest, HeldUntilTheOperationItWasMappedAt) {
  jobs.launch(common(5), slice({2}), Serial(3));
  jobs.on_applied(Serial(4));
  EXPECT_TRUE(all_of<SpawnProc>(out).empty());
  jobs.on_applied(Serial(5));
  EXPECT_EQ(all_of<SpawnProc>(out).size(), 1U);
  jobs.on_applied(Serial(6));
  EXPECT_EQ(all_of<SpawnProc>(out).size(), 1U);
}

TEST_F(LocalJobsTest, EndedWhileHeldItIsNeverStarted) {
  jobs.launch(common(5), slice({2, 3}), Serial(3));
  order(SIGTERM);
  jobs.on_applied(Serial(5));
  EXPECT_TRUE(all_of<SpawnProc>(out).empty());
  ASSERT_EQ(ends().size(), 1U);
  EXPECT_EQ(report_in(ends()[0]).procs(0).state(),
            static_cast<std::uint32_t>(ProcState::kFailedToStart));
}

// row:L12 pids come back
TEST_F(LocalJobsTest, LaunchedIsContributedOnceWhenAllWereTried) {
  jobs.launch(common(), slice({2, 3}), Serial(1));
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
  jobs.launch(common(), slice({2, 3}), Serial(1));
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
  jobs.launch(merged, slice({2}), Serial(1));
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
  jobs.launch(common(), slice({2, 3}), Serial(1));
  jobs.handle(ProcSpawned{key(2), 502});
  order(SIGTERM);
  EXPECT_THAT(signals(), ElementsAre(std::pair(2U, SIGTERM), std::pair(3U, SIGKILL)));
  jobs.handle(ProcSpawned{key(3), 503});
  EXPECT_THAT(signals(), ElementsAre(std::pair(3U, SIGKILL)));
}

TEST_F(LocalJobsTest, WhatIsStartedAfterItWasGivenUpIsKilledAndCounted) {
  jobs.launch(common(), slice({2, 3}), Serial(1));
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
  jobs.launch(common(), slice({2, 3}), Serial(1));
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
  jobs.launch(common(), slice({2}), Serial(1));
  EXPECT_EQ(all_of<SpawnProc>(out).size(), 1U) << "its name is free again";
}

TEST_F(LocalJobsTest, ALaterAttemptReplacesTheProcessesOfTheEarlier) {
  run_two();
  auto again = common();
  again.set_attempt(2);
  auto part = slice({2});
  part.set_attempt(2);
  jobs.launch(again, part, Serial(1));
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
