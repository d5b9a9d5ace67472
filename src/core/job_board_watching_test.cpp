// Every state in which a job can stand still, and what is said of it there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "core/head_rig.hpp"
#include "wire/exit_status.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

wire::ClientRequest about(std::uint32_t job) {
  wire::ClientRequest out;
  out.mutable_explain()->mutable_job()->set_number(job);
  return out;
}

wire::ClientReply ask(HeadRig& rig, const wire::ClientRequest& request) {
  const auto replies = all_of<Reply>(rig.request(99, request));
  return replies.empty() ? wire::ClientReply{} : replies[0].reply;
}

wire::ExplainReply explain(HeadRig& rig, std::uint32_t job) {
  return ask(rig, about(job)).explain();
}

std::vector<std::string> kinds(const google::protobuf::RepeatedPtrField<wire::JobPoint>& points) {
  std::vector<std::string> out;
  for (const auto& point : points) out.push_back(point.kind());
  return out;
}

std::vector<std::string> nodes(const wire::JobPoint& point) {
  return {point.nodes().begin(), point.nodes().end()};
}

const wire::JobPoint& fact(const wire::ExplainReply& said, const std::string& kind) {
  for (const auto& point : said.facts()) {
    if (point.kind() == kind) return point;
  }
  return wire::JobPoint::default_instance();
}

// Two nodes of two slots; job 1 of client 5 has processes 0 and 1 on v1, process 2 on v2.
class WatchingTest : public ::testing::Test {
 public:
  void SetUp() override { rig.make_ready(); }
  void run_three() {
    rig.submit(5, job_spec(3));
    rig.launched(1, 1, {0, 1});
    rig.launched(2, 1, {2});
  }
  Actions stream(std::uint32_t daemon, std::uint32_t rank, const std::string& bytes) {
    wire::UpBody body;
    body.mutable_stream()->set_job(1);
    body.mutable_stream()->set_rank(rank);
    return rig.up(daemon, std::move(body), bytes);
  }
  void register_all(std::uint32_t daemon) {
    rig.reduce(daemon, wire::ReductionId::REGISTERED, 1, {});
  }
  HeadRig rig{2};
};

TEST(Watching, AJobThatCameEarlyWaitsForTheNodesThatAreMissing) {
  HeadRig rig(3);
  rig.start();
  rig.submit(5, job_spec(1));
  rig.link_up(2);
  rig.report(2);
  auto said = explain(rig, 1);
  EXPECT_THAT(kinds(said.waits()), ElementsAre("dvm"));
  EXPECT_THAT(nodes(said.waits(0)), ElementsAre("v1", "v3"));
  EXPECT_THAT(said.waits(0).text(), HasSubstr("2 of 3 nodes: v1, v3"));
  for (const std::uint32_t rank : {1U, 3U}) {
    rig.link_up(rank);
    rig.report(rank);
  }
  said = explain(rig, 1);
  EXPECT_THAT(said.waits(0).text(), HasSubstr("all 3 nodes have reported"));
  EXPECT_EQ(said.job().waits_for(), "dvm");
}

TEST_F(WatchingTest, NodesUnderSuspicionAreWaitedForByName) {
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "reset"});
  rig.submit(5, job_spec(3));
  const auto said = explain(rig, 1);
  EXPECT_EQ(said.job().state(), "PRTE_JOB_STATE_MAP");
  EXPECT_THAT(kinds(said.waits()), ElementsAre("nodes"));
  EXPECT_THAT(nodes(said.waits(0)), ElementsAre("v2"));
}

TEST_F(WatchingTest, ALaunchIsWaitedForUntilEveryDaemonHasAnswered) {
  rig.submit(5, job_spec(3));
  rig.now_ms += 1500;
  auto said = explain(rig, 1);
  EXPECT_EQ(said.job().state(), "PRTE_JOB_STATE_SEND_LAUNCH_MSG");
  EXPECT_EQ(said.job().state_age_ms(), 1500U);
  EXPECT_THAT(kinds(said.waits()), ElementsAre("launch"));
  EXPECT_THAT(nodes(said.waits(0)), ElementsAre("v1", "v2"));
  rig.launched(1, 1, {0, 1});
  said = explain(rig, 1);
  EXPECT_EQ(said.job().state(), "PRTE_JOB_STATE_STARTED");
  EXPECT_EQ(said.job().state_age_ms(), 0U);
  EXPECT_THAT(nodes(said.waits(0)), ElementsAre("v2"));
}

TEST_F(WatchingTest, ARunningJobWaitsForItsProcesses) {
  run_three();
  auto said = explain(rig, 1);
  EXPECT_THAT(kinds(said.waits()), ElementsAre("processes"));
  EXPECT_THAT(fact(said, "pmix").text(), HasSubstr("on no node"));
  register_all(2);
  said = explain(rig, 1);
  EXPECT_THAT(fact(said, "pmix").text(), HasSubstr("1 of 2 nodes: 1 of 3 processes"));
  register_all(1);
  said = explain(rig, 1);
  EXPECT_EQ(said.job().state(), "PRTE_JOB_STATE_REGISTERED");
  EXPECT_THAT(fact(said, "pmix").text(), HasSubstr("every process"));
  rig.reduce(
      1, wire::ReductionId::ENDED, 1,
      {proc_report(1, 0, ProcState::kTerminated), proc_report(1, 1, ProcState::kTerminated)});
  said = explain(rig, 1);
  EXPECT_THAT(kinds(said.waits()), ElementsAre("processes", "output"));
  EXPECT_THAT(nodes(said.waits(0)), ElementsAre("v2"));
  EXPECT_THAT(nodes(said.waits(1)), ElementsAre("v1"));
}

TEST_F(WatchingTest, AReaderThatTakesNothingIsNamedWhenTheCreditIsUsedUp) {
  run_three();
  const std::string window(256UL * 1024, 'x');
  stream(1, 0, window.substr(1));
  EXPECT_THAT(kinds(explain(rig, 1).waits()), ElementsAre("processes"));
  stream(1, 0, "x");
  auto said = explain(rig, 1);
  EXPECT_THAT(kinds(said.waits()), ElementsAre("reader", "processes"));
  EXPECT_THAT(said.waits(0).text(), HasSubstr("its client to read its output: 262144 bytes"));
  EXPECT_EQ(said.job().waits_for(), "reader");
  wire::ClientRequest credit;
  credit.mutable_credit()->set_job(1);
  credit.mutable_credit()->set_bytes(4096);
  rig.request(5, credit);
  EXPECT_THAT(kinds(explain(rig, 1).waits()), ElementsAre("processes"));
}

TEST_F(WatchingTest, AJobWhoseProcessesWereStoppedForADebuggerSaysSo) {
  auto spec = job_spec(3);
  spec.mutable_runtime()->set_stop_at(wire::STOP_ON_EXEC);
  rig.submit(5, spec);
  rig.launched(1, 1, {0, 1});
  rig.launched(2, 1, {2});
  for (const std::uint32_t daemon : {1U, 2U}) {
    rig.reduce(daemon, wire::ReductionId::READY_FOR_DEBUG, 1, {});
  }
  const auto said = explain(rig, 1);
  EXPECT_EQ(said.job().state(), "PRTE_JOB_STATE_READY_FOR_DEBUG");
  EXPECT_THAT(kinds(said.waits()), ElementsAre("debugger"));
  EXPECT_THAT(said.waits(0).text(), HasSubstr("tide kill 1 --signal CONT"));
}

TEST_F(WatchingTest, AJobThatIsEndedWaitsForWhoHasNotEnded) {
  run_three();
  rig.now_ms += 1000;
  rig.kill(6, 1, SIGTERM);
  rig.now_ms += 3000;
  rig.ended(1, 1, {0, 1}, ProcState::kTerminated, 0, SIGTERM);
  auto said = explain(rig, 1);
  EXPECT_EQ(said.job().state(), "PRTE_JOB_STATE_KILLED_BY_CMD");
  EXPECT_THAT(kinds(said.waits()), ElementsAre("end"));
  EXPECT_THAT(nodes(said.waits(0)), ElementsAre("v2"));
  EXPECT_THAT(said.waits(0).text(), HasSubstr("SIGTERM, ordered 3 s ago (SIGKILL follows"));
  rig.kill(6, 1, SIGKILL);
  EXPECT_THAT(explain(rig, 1).waits(0).text(), HasSubstr("SIGKILL, ordered 0 ms ago, on"));
}

TEST_F(WatchingTest, AJobThatHasEndedSaysHowAndWhen) {
  run_three();
  rig.now_ms += 2000;
  rig.ended(1, 1, {0, 1}, ProcState::kTerminated, 3);
  rig.ended(2, 1, {2});
  rig.now_ms += 5000;
  const auto said = explain(rig, 1);
  EXPECT_TRUE(said.job().ended());
  EXPECT_EQ(said.job().exit_status(), 3);
  EXPECT_THAT(said.job().messages(0), HasSubstr("exited with status 3"));
  EXPECT_TRUE(said.waits().empty());
  EXPECT_EQ(said.passages().begin()->state(), "PRTE_JOB_STATE_INIT");
  EXPECT_EQ(said.passages().rbegin()->state(), "PRTE_JOB_STATE_NOTIFIED");
  EXPECT_EQ(said.now_ms() - said.passages().rbegin()->at_ms(), 5000U);
  wire::ClientRequest by_name;
  by_name.mutable_explain()->mutable_job()->set_nspace("dvm@1");
  EXPECT_EQ(ask(rig, by_name).explain().job().number(), 1U);
}

TEST_F(WatchingTest, UnknownJobsAreToldFromForgottenOnes) {
  EXPECT_THAT(ask(rig, about(4)).error().message(), HasSubstr("none was submitted yet"));
  HeadConfig config = HeadRig::verbose_config();
  config.jobs.history_jobs = 1;
  HeadRig small(1, config);
  small.make_ready();
  for (int i = 0; i < 3; ++i) small.submit(5, job_spec(9));
  EXPECT_THAT(ask(small, about(1)).error().message(), HasSubstr("nothing is kept of it"));
  EXPECT_THAT(ask(small, about(4)).error().message(), HasSubstr("the last one is 3"));
  EXPECT_EQ(explain(small, 3).job().state(), "PRTE_JOB_STATE_MAP_FAILED");
}

TEST_F(WatchingTest, SuspectedNodesAndTheTimeLimitAreSaidBeside) {
  auto spec = job_spec(3);
  spec.set_timeout_ms(60'000);
  rig.submit(5, spec);
  rig.launched(1, 1, {0, 1});
  rig.launched(2, 1, {2});
  rig.now_ms += 10'000;
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "reset"});
  const auto said = explain(rig, 1);
  EXPECT_THAT(nodes(fact(said, "suspects")), ElementsAre("v2"));
  EXPECT_THAT(fact(said, "timeout").text(), HasSubstr("50 s"));
}

TEST_F(WatchingTest, ACollectiveNamesTheNodesAndRanksThatAreMissing) {
  run_three();
  wire::ProcNames all;
  *all.add_names() = proc_name("dvm@1", kAllRanks);
  wire::LinkMessage message;
  auto* reduction = message.mutable_reduction();
  reduction->mutable_id()->set_kind(wire::ReductionId::COLLECTIVE);
  reduction->mutable_id()->mutable_collective()->set_participants(canonical(all));
  reduction->mutable_id()->mutable_collective()->set_number(1);
  reduction->add_contributions()->set_rank(2);
  rig.say(2, message);
  const auto said = explain(rig, 1);
  EXPECT_THAT(kinds(said.waits()), ElementsAre("collective", "processes"));
  EXPECT_THAT(nodes(said.waits(0)), ElementsAre("v1"));
  EXPECT_THAT(said.waits(0).text(), HasSubstr("a fence: some have, not yet all on v1"));
  EXPECT_THAT(said.waits(0).text(), HasSubstr("ranks 0, 1"));
}

TEST_F(WatchingTest, WhoSpawnsWaitsForTheNewJobToRun) {
  rig.submit(5, job_spec(1));
  rig.launched(1, 1, {0});
  wire::UpBody body;
  auto* request = body.mutable_service_request();
  request->set_token(7);
  *request->mutable_who() = proc_name("dvm@1", 0);
  *request->mutable_spawn()->mutable_job() = job_spec(1);
  rig.up(1, std::move(body));
  auto said = explain(rig, 1);
  EXPECT_THAT(kinds(said.waits()), ElementsAre("spawn", "processes"));
  EXPECT_EQ(said.waits(0).jobs(0), 2U);
  EXPECT_THAT(fact(said, "children").text(), HasSubstr("2"));
  EXPECT_THAT(fact(explain(rig, 2), "parent").text(), HasSubstr("dvm@1, process 0"));
  rig.launched(1, 2, {0});
  EXPECT_THAT(kinds(explain(rig, 1).waits()), ElementsAre("processes"));
  rig.ended(1, 1, {0});
  EXPECT_THAT(fact(explain(rig, 1), "children").text(), HasSubstr("2")) << "its run goes on";
}

// ---- processes ----

wire::ProcsReply procs(HeadRig& rig, std::uint32_t job, std::uint32_t from = 0) {
  wire::ClientRequest request;
  request.mutable_procs();
  if (job != 0) request.mutable_procs()->mutable_job()->set_number(job);
  request.mutable_procs()->set_first_job(job);
  request.mutable_procs()->set_first_rank(from);
  return ask(rig, request).procs();
}

TEST_F(WatchingTest, ProcessesHaveNodesPidsStatesAndExitCodes) {
  run_three();
  register_all(2);
  rig.proc_failed(1, proc_report(1, 1, ProcState::kAborted, 9));
  const auto list = procs(rig, 1).jobs(0);
  ASSERT_EQ(list.rows_size(), 3);
  EXPECT_EQ(list.nodes(static_cast<int>(list.rows(2).node())), "v2");
  EXPECT_EQ(list.states(static_cast<int>(list.rows(0).state())), "PRTE_PROC_STATE_RUNNING");
  EXPECT_EQ(list.states(static_cast<int>(list.rows(2).state())), "PRTE_PROC_STATE_REGISTERED");
  EXPECT_EQ(list.rows(2).pid(), 502U);
  EXPECT_FALSE(list.rows(0).ended());
  EXPECT_TRUE(list.rows(1).ended());
  EXPECT_EQ(list.rows(1).exit_code(), 9);
  rig.ended(1, 1, {0, 1}, ProcState::kTerminated, 0, SIGTERM);
  rig.ended(2, 1, {2}, ProcState::kTerminated, 0, SIGTERM);
  const auto past = procs(rig, 1).jobs(0);
  EXPECT_TRUE(past.ended());
  ASSERT_EQ(past.rows_size(), 3);
  EXPECT_EQ(past.rows(2).signal(), SIGTERM);
  EXPECT_EQ(past.nodes(static_cast<int>(past.rows(2).node())), "v2");
  EXPECT_EQ(procs(rig, 1, 7).jobs(0).rows_size(), 0);
}

TEST(Watching, ManyProcessesComeInPieces) {
  HeadRig rig(2);
  rig.make_ready();
  auto spec = job_spec(10'000);
  spec.set_oversubscribe(true);
  rig.submit(5, spec);
  rig.submit(5, spec);
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  wire::ClientRequest request;
  request.mutable_procs();
  for (int i = 0; i < 12; ++i) {
    const auto reply = ask(rig, request);
    EXPECT_LT(reply.ByteSizeLong(), 256U << 10U);
    for (const auto& job : reply.procs().jobs()) {
      for (const auto& row : job.rows()) {
        EXPECT_TRUE(seen.emplace(job.number(), row.rank()).second);
      }
    }
    if (!reply.procs().more()) break;
    request.mutable_procs()->set_first_job(reply.procs().next_job());
    request.mutable_procs()->set_first_rank(reply.procs().next_rank());
  }
  EXPECT_EQ(seen.size(), 20'000U);
}

// ---- in any order ----

void happen(HeadRig& rig, std::uint32_t what, std::uint32_t daemon) {
  const std::vector<std::uint32_t> ranks =
      daemon == 1 ? std::vector<std::uint32_t>{0, 1} : std::vector<std::uint32_t>{2};
  const std::uint32_t job = what % 2 + 1;
  switch (what / 2) {
    case 0:
      rig.submit(5 + job, job_spec(3));
      return;
    case 1:
      rig.launched(daemon, job, ranks);
      return;
    case 2:
      rig.reduce(daemon, wire::ReductionId::REGISTERED, job, {});
      return;
    case 3:
      rig.ended(daemon, job, ranks);
      return;
    case 4:
      rig.kill(9, job, SIGTERM);
      return;
    case 5:
      rig.on(LinkDown{LinkId(daemon), LinkEnd::kClosed, "reset"});
      return;
    case 6:
      rig.link_up(daemon);
      rig.attach(daemon);
      return;
    case 7:
      rig.on(ClientGone{ClientId(5 + job)});
      return;
    default:
      rig.report(daemon);
  }
}

// Whatever happens, each job that has not ended waits for something with a name.
RC_GTEST_PROP(WatchingProperty, NoJobStandsStillWithoutAReason, ()) {
  HeadRig rig(2);
  if (*rc::gen::arbitrary<bool>()) {
    rig.make_ready();
  } else {
    rig.start();
  }
  const auto steps = *rc::gen::container<std::vector<std::pair<std::uint32_t, std::uint32_t>>>(
      rc::gen::pair(rc::gen::inRange(0U, 18U), rc::gen::inRange(1U, 3U)));
  for (const auto& [what, daemon] : steps) {
    rig.now_ms += 10;
    happen(rig, what, daemon);
    for (const JobId job : rig.head.jobs().unended_jobs()) {
      const auto said = explain(rig, job.value());
      RC_ASSERT(!said.waits().empty());
      for (const auto& wait : said.waits()) {
        RC_ASSERT(wait.kind() != "head");
        RC_ASSERT(!wait.text().empty());
      }
    }
  }
  std::map<std::uint32_t, int> endings_of;
  for (const auto& event : rig.head.events().events()) {
    if (event.kind() == "job-ended") RC_ASSERT(++endings_of[event.job()] == 1);
  }
}

}  // namespace
}  // namespace tide::core
