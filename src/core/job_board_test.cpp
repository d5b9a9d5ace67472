// Jobs from submission to the last word, seen through the head.
#include "core/job_board.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/head_rig.hpp"
#include "wire/exit_status.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kUntilLaunch = {
    "INIT_COMPLETE",  "ALLOCATE", "ALLOCATION_COMPLETE", "LAUNCH_DAEMONS", "DAEMONS_REPORTED",
    "VM_READY",       "MAP",      "MAP_COMPLETE",        "SYSTEM_PREP",    "LAUNCH_APPS",
    "SEND_LAUNCH_MSG"};

std::vector<std::string> chain(std::initializer_list<std::string> more) {
  auto out = kUntilLaunch;
  out.insert(out.end(), more);
  return out;
}

std::uint32_t used(const HeadRig& rig, std::uint32_t rank) {
  return rig.head.roster().nodes().at(Rank(rank)).used;
}

std::string refusal(const Actions& actions) {
  for (const auto& reply : all_of<Reply>(actions)) {
    if (reply.reply.has_error()) return reply.reply.error().message();
  }
  return {};
}

// Two nodes of two slots; job 1 of client 5 has processes 0 and 1 on v1, process 2 on v2.
class JobBoardTest : public ::testing::Test {
 public:
  void SetUp() override { rig.make_ready(); }
  Actions submit_three() { return rig.submit(5, job_spec(3)); }
  void run_three() {
    submit_three();
    rig.launched(1, 1, {0, 1});
    rig.launched(2, 1, {2});
  }
  HeadRig rig{2};
};

TEST_F(JobBoardTest, SubmitIsAcceptedAndScattered) {
  auto spec = job_spec(3);
  spec.set_stdin_rank(0);
  const auto actions = rig.submit(5, spec);
  const auto replies = all_of<Reply>(actions);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].client, ClientId(5));
  EXPECT_EQ(replies[0].reply.request(), 50U);
  EXPECT_EQ(replies[0].reply.accepted().job(), 1U);
  EXPECT_EQ(replies[0].reply.accepted().nspace(), "dvm@1");
  const auto sent = downs(actions);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].first, 1U);
  ASSERT_EQ(sent[0].second.launch().procs_size(), 2);
  EXPECT_EQ(sent[0].second.launch().procs(1).rank(), 1U);
  EXPECT_EQ(sent[0].second.launch().procs(1).local_rank(), 1U);
  EXPECT_EQ(sent[1].second.launch().procs(0).rank(), 2U);
  const auto common = all_of<Send>(actions).at(0).message.down().launch();
  EXPECT_EQ(common.nspace(), "dvm@1");
  EXPECT_EQ(common.size(), 3U);
  EXPECT_EQ(common.mapped_at(), 1U);
  EXPECT_EQ(common.stdin_rank(), 0);
  EXPECT_EQ(common.hosts(0).cpuset(), "0-5");
  EXPECT_EQ(common.hosts(1).cpuset(), "") << "as the one before";
  EXPECT_EQ(used(rig, 1), 2U);
  EXPECT_EQ(used(rig, 2), 1U);
}

// row:L11 nothing goes to a daemon that hosts none of it
TEST_F(JobBoardTest, OnlyHostingDaemonsHearOfIt) {
  const auto sent = downs(rig.submit(5, job_spec(2)));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].first, 1U);
}

// row:L3 the whole chain, in order
TEST_F(JobBoardTest, AJobGoesThroughTheChain) {
  run_three();
  rig.ended(1, 1, {0, 1});
  rig.ended(2, 1, {2});
  EXPECT_EQ(states_of(rig.seen, "dvm@1"),
            chain({"STARTED", "RUNNING", "TERMINATED", "NOTIFY_COMPLETED", "NOTIFIED"}));
  const auto ends = endings(rig.seen);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].exit_status(), 0);
  EXPECT_EQ(ends[0].state(), static_cast<std::uint32_t>(JobState::kTerminated));
  EXPECT_EQ(used(rig, 1) + used(rig, 2), 0U);
  EXPECT_TRUE(rig.head.jobs().idle());
  std::vector<std::uint32_t> forgotten;
  for (const auto& [rank, body] : downs(rig.seen)) {
    if (body.has_forget()) forgotten.push_back(rank);
  }
  EXPECT_THAT(forgotten, ElementsAre(1, 2));
}

// row:L12 STARTED once with the first report that counts a process, RUNNING with the last
TEST_F(JobBoardTest, StartedOnceRunningWhenAll) {
  submit_three();
  rig.launched(2, 1, {2});
  EXPECT_EQ(states_of(rig.seen, "dvm@1"), chain({"STARTED"}));
  rig.launched(2, 1, {2});
  EXPECT_EQ(states_of(rig.seen, "dvm@1"), chain({"STARTED"})) << "a repeated report";
  rig.launched(1, 1, {0, 1});
  rig.launched(1, 1, {0, 1});
  EXPECT_EQ(states_of(rig.seen, "dvm@1"), chain({"STARTED", "RUNNING"}));
}

// row:L13
TEST_F(JobBoardTest, RegisteredWhenEveryProcessHasSaidHello) {
  submit_three();
  rig.launched(1, 1, {0, 1});
  rig.reduce(1, wire::ReductionId::REGISTERED, 1, {});
  rig.reduce(2, wire::ReductionId::REGISTERED, 1, {});
  EXPECT_EQ(states_of(rig.seen, "dvm@1"), chain({"STARTED"})) << "not all are known to run";
  rig.launched(2, 1, {2});
  EXPECT_EQ(states_of(rig.seen, "dvm@1"), chain({"STARTED", "RUNNING", "REGISTERED"}));
  rig.ended(1, 1, {0, 1});
  rig.ended(2, 1, {2});
  EXPECT_EQ(states_of(rig.seen, "dvm@1"), chain({"STARTED", "RUNNING", "REGISTERED", "TERMINATED",
                                                 "NOTIFY_COMPLETED", "NOTIFIED"}));
}

TEST_F(JobBoardTest, AnAbortEndsTheJobWithItsStatus) {
  run_three();
  wire::UpBody body;
  body.mutable_proc_aborted()->set_job(1);
  body.mutable_proc_aborted()->set_rank(2);
  body.mutable_proc_aborted()->set_status(5);
  body.mutable_proc_aborted()->set_message("out of luck");
  rig.up(1, body);
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(), "RUNNING") << "rank 2 is not of that daemon";
  rig.up(2, body);
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(), "ABORTED");
  rig.ended(1, 1, {0, 1});
  rig.ended(2, 1, {2});
  ASSERT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_EQ(endings(rig.seen)[0].exit_status(), 5);
}

TEST_F(JobBoardTest, AnEndThatOvertookTheLaunchReportKeepsTheOrder) {
  submit_three();
  rig.ended(1, 1, {0, 1});
  EXPECT_EQ(states_of(rig.seen, "dvm@1"), chain({"STARTED"}));
  rig.ended(2, 1, {2});
  EXPECT_EQ(states_of(rig.seen, "dvm@1"),
            chain({"STARTED", "RUNNING", "TERMINATED", "NOTIFY_COMPLETED", "NOTIFIED"}));
}

// row:L19 the last word comes after all output, whichever daemon message comes first
TEST_F(JobBoardTest, TheEndWaitsForTheOutputOfEveryDaemon) {
  run_three();
  rig.ended(1, 1, {0, 1});
  rig.reduce(2, wire::ReductionId::ENDED, 1, {proc_report(1, 2, ProcState::kTerminated)});
  EXPECT_THAT(endings(rig.seen), IsEmpty());
  wire::UpBody body;
  body.mutable_stream()->set_job(1);
  body.mutable_stream()->set_rank(2);
  const auto output = all_of<Reply>(rig.up(2, body, "late"));
  ASSERT_EQ(output.size(), 1U);
  EXPECT_EQ(output[0].payload.view(), "late");
  EXPECT_EQ(output[0].reply.output().rank(), 2U);
  body.mutable_output_complete()->set_job(1);
  EXPECT_EQ(endings(rig.up(2, body)).size(), 1U);
}

TEST_F(JobBoardTest, ABadSpecIsRefusedAndTakesNoNumber) {
  EXPECT_THAT(refusal(rig.submit(5, wire::JobSpec())), HasSubstr("names no program"));
  EXPECT_THAT(refusal(rig.submit(5, job_spec(1, ""))), HasSubstr("names no program"));
  auto spec = job_spec(1);
  spec.mutable_apps(0)->add_environment()->set_name("A=B");
  EXPECT_THAT(refusal(rig.submit(5, spec)), HasSubstr("'A=B'"));
  EXPECT_THAT(refusal(rig.submit(5, job_spec(4'000'000))), HasSubstr("4000000"));
  EXPECT_EQ(rig.head.jobs().submitted(), 0U);
  EXPECT_TRUE(rig.head.jobs().idle());
}

// row:L17 MAP_FAILED
TEST_F(JobBoardTest, WithoutAPlaceTheJobEndsAtOnce) {
  const auto actions = rig.submit(5, job_spec(5));
  const auto ends = endings(actions);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].state(), static_cast<std::uint32_t>(JobState::kMapFailed));
  EXPECT_EQ(ends[0].exit_status(), kExitMapFailed);
  EXPECT_THAT(ends[0].messages(0), HasSubstr("not enough slots"));
  EXPECT_TRUE(downs(actions).empty());
  const auto states = states_of(rig.seen, "dvm@1");
  EXPECT_EQ(std::vector(states.end() - 4, states.end()),
            (std::vector<std::string>{"MAP", "MAP_FAILED", "NOTIFY_COMPLETED", "NOTIFIED"}));
  EXPECT_EQ(used(rig, 1) + used(rig, 2), 0U);
}

TEST_F(JobBoardTest, ASuspectedNodeIsUsedOnlyByWhoNamesIt) {
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "reset"});
  EXPECT_TRUE(downs(rig.submit(5, job_spec(3))).empty()) << "only two slots are above suspicion";
  auto spec = job_spec(1);
  spec.mutable_apps(0)->add_hosts()->set_node("v2");
  EXPECT_TRUE(endings(rig.submit(6, spec)).empty());
  EXPECT_EQ(used(rig, 2), 1U);
}

// A link that broke for a moment must not fail a job.
TEST_F(JobBoardTest, AJobThatNeedsANodeUnderSuspicionWaitsForTheOutcome) {
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "reset"});
  EXPECT_TRUE(endings(rig.submit(5, job_spec(3))).empty());
  EXPECT_TRUE(endings(rig.submit(6, job_spec(4))).empty());
  rig.kill(7, 2, SIGTERM);
  EXPECT_EQ(endings(rig.seen).size(), 1U) << "it can be killed meanwhile";
  rig.link_up(2);
  rig.attach(2);
  EXPECT_EQ(used(rig, 1) + used(rig, 2), 3U);
}

// row:L17 MAP_FAILED
TEST_F(JobBoardTest, AJobThatNeedsANodeUnderSuspicionFailsIfThatIsLost) {
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "reset"});
  rig.submit(5, job_spec(3));
  const auto ends = endings(rig.on(DaemonExited{Rank(2), "signal 9"}));
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].exit_status(), kExitMapFailed);
  EXPECT_THAT(ends[0].messages(0), HasSubstr("not enough slots"));
}

TEST_F(JobBoardTest, InputForAProcessThatIsNotThereIsRefused) {
  auto spec = job_spec(2);
  spec.set_stdin_rank(2);
  const auto ends = endings(rig.submit(5, spec));
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].exit_status(), kExitMapFailed);
  EXPECT_THAT(ends[0].messages(0), HasSubstr("process 2"));
  EXPECT_EQ(used(rig, 1) + used(rig, 2), 0U);
}

TEST_F(JobBoardTest, JobsShareTheSlotsAndGiveThemBack) {
  run_three();
  const auto busy = endings(rig.submit(6, job_spec(2)));
  ASSERT_EQ(busy.size(), 1U);
  EXPECT_THAT(busy[0].messages(0), HasSubstr("once other jobs have ended"));
  rig.ended(1, 1, {0, 1});
  EXPECT_EQ(used(rig, 1), 0U) << "each daemon's share as it ends";
  EXPECT_EQ(used(rig, 2), 1U);
  EXPECT_TRUE(endings(rig.submit(6, job_spec(2))).empty());
}

TEST_F(JobBoardTest, AContributionThatComesAgainGivesNothingBack) {
  run_three();
  rig.submit(6, job_spec(1));
  const std::vector<wire::ProcReport> ended = {proc_report(1, 2, ProcState::kTerminated)};
  rig.reduce(2, wire::ReductionId::ENDED, 1, ended);
  rig.reduce(2, wire::ReductionId::ENDED, 1, ended);
  EXPECT_EQ(used(rig, 2), 1U) << "the other job's";
}

// row:L17 ABORTED; the first failure decides, what follows from it is not news
TEST_F(JobBoardTest, TheFirstFailureDecides) {
  run_three();
  const auto first = rig.proc_failed(2, proc_report(1, 2, ProcState::kWaitpidFired, 3));
  EXPECT_THAT(orders(first),
              ElementsAre(std::tuple(1U, SIGTERM, true), std::tuple(2U, SIGTERM, true)));
  const auto second = rig.proc_failed(1, proc_report(1, 0, ProcState::kWaitpidFired, 0, SIGTERM));
  EXPECT_THAT(orders(second), IsEmpty());
  rig.ended(1, 1, {0, 1}, ProcState::kAborted, 0, SIGTERM);
  EXPECT_THAT(endings(rig.seen), IsEmpty());
  rig.ended(2, 1, {2}, ProcState::kAborted, 3);
  const auto ends = endings(rig.seen);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].state(), static_cast<std::uint32_t>(JobState::kAborted));
  EXPECT_EQ(ends[0].exit_status(), 3);
  ASSERT_EQ(ends[0].messages_size(), 1);
  EXPECT_EQ(ends[0].messages(0), "job dvm@1: process 2 (pid 502) on node v2 exited with status 3");
  EXPECT_EQ(states_of(rig.seen, "dvm@1"),
            chain({"STARTED", "RUNNING", "ABORTED", "NOTIFY_COMPLETED", "NOTIFIED"}));
}

// Failures that come with one word are in the order of the processes.
TEST_F(JobBoardTest, OfSeveralFailuresInOneReportTheFirstDecides) {
  run_three();
  rig.reduce(
      1, wire::ReductionId::ENDED, 1,
      {proc_report(1, 0, ProcState::kAborted, 3), proc_report(1, 1, ProcState::kAborted, 4)});
  wire::UpBody complete;
  complete.mutable_output_complete()->set_job(1);
  rig.up(1, std::move(complete));
  rig.ended(2, 1, {2}, ProcState::kAborted, 0, SIGTERM);
  const auto ends = endings(rig.seen);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].exit_status(), 3);
  EXPECT_EQ(ends[0].messages_size(), 1) << "what follows is not news";
}

TEST_F(JobBoardTest, ASignalShowsInStatusAndMessage) {
  run_three();
  rig.proc_failed(1, proc_report(1, 1, ProcState::kWaitpidFired, 0, SIGSEGV));
  rig.ended(1, 1, {0, 1}, ProcState::kAborted, 0, SIGSEGV);
  rig.ended(2, 1, {2}, ProcState::kAborted, 0, SIGTERM);
  const auto ends = endings(rig.seen);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].exit_status(), 128 + SIGSEGV);
  EXPECT_THAT(ends[0].messages(0), HasSubstr("was ended by signal 11 (SIGSEGV"));
}

// row:L17 FAILED_TO_START
TEST_F(JobBoardTest, AProgramThatCannotBeStarted) {
  submit_three();
  auto report = proc_report(1, 2, ProcState::kFailedToStart, kExitNotFound);
  report.set_pid(0);
  report.set_error("prog: not found");
  rig.proc_failed(2, report);
  rig.launched(1, 1, {0, 1});
  rig.reduce(2, wire::ReductionId::LAUNCHED, 1, {report});
  rig.reduce(2, wire::ReductionId::ENDED, 1, {report});
  wire::UpBody body;
  body.mutable_output_complete()->set_job(1);
  rig.up(2, body);
  rig.ended(1, 1, {0, 1}, ProcState::kAborted, 0, SIGTERM);
  const auto ends = endings(rig.seen);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].state(), static_cast<std::uint32_t>(JobState::kFailedToStart));
  EXPECT_EQ(ends[0].exit_status(), kExitNotFound);
  EXPECT_EQ(ends[0].messages(0), "job dvm@1: process 2 on node v2: prog: not found");
}

TEST_F(JobBoardTest, AFailureKnownOnlyFromTheLastWordCounts) {
  run_three();
  rig.ended(1, 1, {0, 1});
  rig.ended(2, 1, {2}, ProcState::kAborted, 9);
  const auto ends = endings(rig.seen);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].exit_status(), 9) << "never 0 when a process failed";
}

// row:L17 KILLED_BY_CMD
// It closed its output first, and the report of the launch told that before it was collected.
TEST_F(JobBoardTest, AFailureCountsInWhateverStateItComes) {
  submit_three();
  rig.reduce(1, wire::ReductionId::LAUNCHED, 1,
             {proc_report(1, 0, ProcState::kIofComplete), proc_report(1, 1, ProcState::kRunning)});
  rig.launched(2, 1, {2});
  const auto actions = rig.proc_failed(1, proc_report(1, 0, ProcState::kIofComplete, 16));
  EXPECT_THAT(orders(actions),
              ElementsAre(std::tuple{1, SIGTERM, true}, std::tuple{2, SIGTERM, true}));
  rig.ended(1, 1, {0, 1}, ProcState::kAborted, 16);
  rig.ended(2, 1, {2}, ProcState::kAborted, 0, SIGTERM);
  ASSERT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_EQ(endings(rig.seen)[0].exit_status(), 16);
}

TEST_F(JobBoardTest, ASecondKillEscalates) {
  run_three();
  auto actions = rig.kill(6, 1, SIGINT);
  EXPECT_THAT(orders(actions),
              ElementsAre(std::tuple(1U, SIGINT, true), std::tuple(2U, SIGINT, true)));
  EXPECT_TRUE(all_of<Reply>(actions).back().reply.has_done());
  rig.ended(1, 1, {0, 1}, ProcState::kAborted, 0, SIGINT);
  actions = rig.kill(6, 1, SIGKILL);
  EXPECT_THAT(orders(actions), ElementsAre(std::tuple(2U, SIGKILL, true))) << "where any is left";
  rig.ended(2, 1, {2}, ProcState::kAborted, 0, SIGKILL);
  const auto ends = endings(rig.seen);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].state(), static_cast<std::uint32_t>(JobState::kKilledByCmd));
  EXPECT_EQ(ends[0].exit_status(), 128 + SIGINT) << "the first one decides";
}

TEST_F(JobBoardTest, ASignalAloneIsPassedOnAndNothingElse) {
  run_three();
  EXPECT_THAT(orders(rig.kill(6, 1, SIGUSR1, false)),
              ElementsAre(std::tuple(1U, SIGUSR1, false), std::tuple(2U, SIGUSR1, false)));
  EXPECT_EQ(states_of(rig.seen, "dvm@1"), chain({"STARTED", "RUNNING"}));
}

TEST_F(JobBoardTest, KillingNothingOrWithNothingIsAnError) {
  run_three();
  EXPECT_THAT(refusal(rig.kill(6, 9, SIGTERM)), HasSubstr("no job 9"));
  EXPECT_THAT(refusal(rig.kill(6, 1, 0)), HasSubstr("0 is not a signal"));
  EXPECT_THAT(refusal(rig.kill(6, 1, 999)), HasSubstr("999"));
  wire::ClientRequest by_name;
  by_name.mutable_kill()->mutable_job()->set_nspace("dvm@1");
  by_name.mutable_kill()->set_signal(SIGTERM);
  by_name.mutable_kill()->set_terminate(true);
  EXPECT_EQ(orders(rig.request(6, by_name)).size(), 2U);
}

TEST_F(JobBoardTest, AClientThatIsGoneEndsItsJobs) {
  run_three();
  rig.submit(6, job_spec(1));
  const auto actions = rig.on(ClientGone{ClientId(5)});
  EXPECT_EQ(orders(actions).size(), 2U) << "job 1 and not job 2";
  wire::UpBody body;
  body.mutable_stream()->set_job(1);
  body.mutable_stream()->set_rank(2);
  const auto output = rig.up(2, body, "unread");
  EXPECT_TRUE(all_of<Reply>(output).empty());
  const auto credit = downs(output);
  ASSERT_EQ(credit.size(), 1U) << "nobody reads, and the process must not stall";
  EXPECT_EQ(credit[0].second.credit().bytes(), 6U);
  rig.ended(1, 1, {0, 1}, ProcState::kAborted, 0, SIGTERM);
  rig.ended(2, 1, {2}, ProcState::kAborted, 0, SIGTERM);
  EXPECT_THAT(endings(rig.seen), IsEmpty()) << "nobody is left to tell";
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(), "NOTIFIED");
}

// row:L17 FORCED_EXIT
TEST_F(JobBoardTest, TheTimeLimitEndsAJob) {
  auto spec = job_spec(3);
  spec.set_timeout_ms(1500);
  rig.submit(5, spec);
  rig.launched(1, 1, {0, 1});
  rig.launched(2, 1, {2});
  EXPECT_EQ(orders(rig.fire(TimerKind::kJobTimeout, 1)).size(), 2U);
  rig.ended(1, 1, {0, 1}, ProcState::kAborted, 0, SIGTERM);
  rig.ended(2, 1, {2}, ProcState::kAborted, 0, SIGTERM);
  const auto ends = endings(rig.seen);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].state(), static_cast<std::uint32_t>(JobState::kForcedExit));
  EXPECT_EQ(ends[0].exit_status(), kExitTimedOut);
  EXPECT_THAT(ends[0].messages(0), HasSubstr("longer than 1.5 s"));
}

TEST_F(JobBoardTest, AnEndedJobHasNoTimeLimit) {
  auto spec = job_spec(1);
  spec.set_timeout_ms(1500);
  rig.submit(5, spec);
  rig.ended(1, 1, {0});
  EXPECT_TRUE(rig.fire(TimerKind::kJobTimeout, 1).empty());
}

TEST_F(JobBoardTest, ALostNodeIsNamedWithItsJobs) {
  run_three();
  rig.submit(6, job_spec(1));  // process 0 of job 2 is on v2
  rig.on(DaemonExited{Rank(1), "killed"});
  EXPECT_THAT(endings(rig.seen), IsEmpty()) << "process 2 is still to be ended";
  rig.ended(2, 1, {2}, ProcState::kAborted, 0, SIGTERM);
  const auto ends = endings(rig.seen);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].job(), 1U);
  EXPECT_EQ(ends[0].exit_status(), kExitNodeLost);
  EXPECT_EQ(ends[0].state(), static_cast<std::uint32_t>(JobState::kAborted));
  EXPECT_THAT(ends[0].messages(0), HasSubstr("job dvm@1: node v1 was lost with ranks 0, 1"));
  rig.launched(2, 2, {0});
  rig.ended(2, 2, {0});
  ASSERT_EQ(endings(rig.seen).size(), 2U);
  EXPECT_EQ(endings(rig.seen)[1].exit_status(), 0) << "the other job goes on";
  EXPECT_EQ(used(rig, 2), 0U);
}

TEST_F(JobBoardTest, ANodeThatIsLostAfterItsShareEndedHarmsNobody) {
  run_three();
  rig.ended(1, 1, {0, 1});
  rig.on(DaemonExited{Rank(1), "killed"});
  rig.ended(2, 1, {2});
  ASSERT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_EQ(endings(rig.seen)[0].exit_status(), 0);
}

// row:L9 an early job is kept and goes on when the DVM is ready
TEST(JobBoard, EarlyJobsAreKept) {
  HeadRig rig(2);
  rig.start();
  auto actions = rig.submit(5, job_spec(1));
  EXPECT_TRUE(all_of<Reply>(actions)[0].reply.has_accepted());
  rig.submit(6, job_spec(1));
  rig.kill(7, 2, SIGTERM);
  ASSERT_EQ(endings(rig.seen).size(), 1U) << "ended before it began";
  EXPECT_EQ(endings(rig.seen)[0].exit_status(), 128 + SIGTERM);
  for (const std::uint32_t rank : {1U, 2U}) {
    rig.link_up(rank);
    rig.report(rank);
  }
  rig.attach(1);
  EXPECT_TRUE(downs(rig.seen).empty());
  actions = rig.attach(2);
  ASSERT_EQ(downs(actions).size(), 1U);
  EXPECT_EQ(downs(actions)[0].second.launch().job(), 1U);
  EXPECT_EQ(endings(rig.seen).size(), 1U);
}

// row:L9
TEST(JobBoard, EarlyJobsDoNotTakeEachOthersPlaces) {
  HeadRig rig(2);  // with two slots each
  rig.start();
  rig.submit(5, job_spec(2));
  rig.submit(6, job_spec(2));
  for (const std::uint32_t rank : {1U, 2U}) {
    rig.link_up(rank);
    rig.report(rank);
  }
  rig.attach(1);
  EXPECT_EQ(downs(rig.attach(2)).size(), 2U) << "each on a node of its own";
  EXPECT_TRUE(endings(rig.seen).empty());
}

TEST_F(JobBoardTest, InputAndCreditGoToTheRightDaemon) {
  auto spec = job_spec(3);
  spec.set_stdin_rank(2);
  rig.submit(5, spec);
  wire::ClientRequest message;
  message.mutable_input()->set_job(1);
  message.mutable_input()->set_eof(true);
  auto sent = downs(rig.on(ClientMessage{ClientId(5), message, Bytes("in")}));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].first, 2U);
  EXPECT_EQ(sent[0].second.input().rank(), 2U);
  EXPECT_TRUE(sent[0].second.input().eof());
  message.mutable_credit()->set_job(1);
  message.mutable_credit()->set_rank(1);
  message.mutable_credit()->set_bytes(77);
  sent = downs(rig.on(ClientMessage{ClientId(5), message, {}}));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].first, 1U);
  EXPECT_EQ(sent[0].second.credit().bytes(), 77U);
  message.mutable_credit()->set_rank(99);
  EXPECT_TRUE(downs(rig.on(ClientMessage{ClientId(5), message, {}})).empty());
}

TEST_F(JobBoardTest, HistoryIsBounded) {
  auto config = HeadRig::verbose_config();
  config.jobs.history_jobs = 3;
  HeadRig small(1, config);
  small.make_ready();
  for (std::uint32_t job = 1; job <= 5; ++job) {
    small.submit(5, job_spec(1));
    small.ended(1, job, {0});
  }
  const auto status = small.head.status(100, 1000);
  ASSERT_EQ(status.jobs_size(), 3);
  EXPECT_EQ(status.jobs(2).number(), 5U);
  EXPECT_TRUE(status.jobs(2).ended());
  EXPECT_EQ(small.head.status(1, 1000).jobs_size(), 1);
}

// Names need not be text in any encoding; a client must be able to read the status all the same.
TEST_F(JobBoardTest, AnyCommandIsShownAndALongOneCut) {
  rig.submit(5, job_spec(5, "\xff\xfe" + std::string(400, 'a')));
  wire::StatusReply copy;
  ASSERT_TRUE(copy.ParseFromString(rig.head.status(100, 1000).SerializeAsString()));
  ASSERT_EQ(copy.jobs_size(), 1);
  EXPECT_EQ(copy.jobs(0).command().substr(0, 3),
            "\xff\xfe"
            "a");
  EXPECT_LT(copy.jobs(0).command().size(), 220U);
}

}  // namespace
}  // namespace tide::core
