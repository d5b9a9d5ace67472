// What is asked of Slurm's commands, and what their answers are taken for.
#include "rm/slurm_commands_fixture.hpp"

namespace tide::rm {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kLimit;
using ::testing::Not;
using testing::SlurmCommandsTest;
using ::testing::StartsWith;
using testing::Variable;

// ---- what is asked, and what is answered ----

TEST_F(SlurmCommandsTest, ShowsAJob) {
  stand_in("scontrol",
           "echo 'JobId=18 JobName=tide-x UserId=root(0) Account=(null) QOS=normal "
           "JobState=RUNNING BatchFlag=0 TimeLimit=00:05:00 EndTime=1795100297 Partition=all "
           "NodeList=node[3-4] BatchHost=node3   Nodes=node[3-4] CPU_IDs=0-3 Mem=0 GRES= '");
  const auto job = shown("18");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->id, "18");
  EXPECT_EQ(job->nodes.size(), 2U);
  EXPECT_EQ(job->ends_s, 1795100297);
  EXPECT_THAT(lines_of("scontrol.argv"),
              ElementsAre("--details", "--oneliner", "show", "job", "18"));
}

TEST_F(SlurmCommandsTest, ListsAllJobsOfOurs) {
  stand_in("squeue",
           "echo '18|RUNNING|1795100297|None|node[3-4]'; echo '19|PENDING|N/A|Priority|'");
  const auto rows = listed();
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[1].reason, "Priority");
  EXPECT_THAT(lines_of("squeue.argv"),
              ElementsAre("--noheader", "--states=all", fmt::format("--user={}", ::getuid()),
                          "--format=%A|%T|%e|%r|%N"));
}

TEST_F(SlurmCommandsTest, ChangesJobs) {
  stand_in("scontrol", "");
  stand_in("scancel", "");
  const std::vector<std::string> staying = {"node3", "node5"};
  EXPECT_TRUE(done([&](const auto& then) { commands().resize("18", staying, then); }));
  EXPECT_THAT(lines_of("scontrol.argv"), ElementsAre("update", "JobId=18", "NodeList=node3,node5"));
  EXPECT_TRUE(done([&](const auto& then) { commands().prolong("18", 7, then); }));
  EXPECT_THAT(lines_of("scontrol.argv"), ElementsAre("update", "JobId=18", "TimeLimit=+7"));
  EXPECT_TRUE(done([&](const auto& then) { commands().cancel("18", "tide-x", then); }));
  EXPECT_THAT(lines_of("scancel.argv"), ElementsAre("--name=tide-x", "18"));
}

TEST_F(SlurmCommandsTest, NoShellReadsWhatIsAsked) {
  stand_in("scontrol", "");
  const std::vector<std::string> staying = {"$(touch " + file("hit") + ")", "; exit"};
  EXPECT_TRUE(done([&](const auto& then) { commands().resize("`id`", staying, then); }));
  EXPECT_THAT(lines_of("scontrol.argv"),
              ElementsAre("update", "JobId=`id`", "NodeList=" + staying[0] + ",; exit"));
  EXPECT_FALSE(exists("hit"));
}

TEST_F(SlurmCommandsTest, OurOwnJobDoesNotSteerThem) {
  const Variable job("SLURM_JOB_ID", "17");
  const Variable partition("SALLOC_PARTITION", "other");
  const Variable format("SQUEUE_FORMAT", "%i");
  const Variable times("SLURM_TIME_FORMAT", "relative");
  const Variable conf("SLURM_CONF", "/etc/slurm/ours.conf");
  stand_in("squeue", "");
  ASSERT_TRUE(listed());
  auto variables = lines_of("squeue.env");
  EXPECT_THAT(variables, Not(Contains(StartsWith("SLURM_JOB_ID="))));
  EXPECT_THAT(variables, Not(Contains(StartsWith("SALLOC_"))));
  EXPECT_THAT(variables, Not(Contains(StartsWith("SQUEUE_"))));
  EXPECT_THAT(variables, Contains("SLURM_CONF=/etc/slurm/ours.conf"));
  EXPECT_THAT(variables, Contains("SLURM_TIME_FORMAT=%s").Times(1));
  EXPECT_THAT(variables, Contains(StartsWith("SLURM_TIME_FORMAT=")).Times(1));
}

// ---- what goes wrong ----

TEST_F(SlurmCommandsTest, ThatAJobIsNotThereIsAnAnswer) {
  stand_in("scontrol", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
  const auto job = shown("18");
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kNotFound);
  stand_in("scancel",
           "echo 'scancel: error: Kill job error on job id 18: Invalid job id specified' >&2; "
           "exit 1");
  const auto cancelled = done([&](const auto& then) { commands().cancel("18", "tide-x", then); });
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::kNotFound);
}

TEST_F(SlurmCommandsTest, AControllerThatIsNotThereMayBeLater) {
  const std::string words = "Unable to contact slurm controller (connect failure)";
  stand_in("squeue", "echo 'slurm_load_jobs error: " + words + "' >&2; exit 1");
  stand_in("scontrol", "echo 'scontrol: error: Could not load state information for job 18: " +
                           words + "' >&2; exit 1");
  const auto rows = listed();
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(rows.error().message, "Slurm's squeue failed: " + words);
  const auto resized = done([&](const auto& then) { commands().resize("18", {}, then); });
  ASSERT_FALSE(resized);
  EXPECT_EQ(resized.error().code, ErrorCode::kUnavailable);
}

TEST_F(SlurmCommandsTest, AJobThatIsChangedNoMoreIsTold) {
  stand_in("scontrol",
           "echo 'Job update not available right now, the DB index is being set, try again in a "
           "bit for job 18' >&2; exit 1");
  const auto prolonged = done([&](const auto& then) { commands().prolong("18", 1, then); });
  ASSERT_FALSE(prolonged);
  EXPECT_EQ(prolonged.error().code, ErrorCode::kNotSupported);
  EXPECT_THAT(prolonged.error().message, HasSubstr("without slurmdbd"));
}

TEST_F(SlurmCommandsTest, FailuresAreNotTakenForAnswers) {
  stand_in("scontrol", "echo 'JobId=18 JobState=COMPLETED'; exit 3");
  auto job = shown("18");
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kOutOfResources);
  EXPECT_EQ(job.error().message, "Slurm's scontrol failed: exit status 3");
  stand_in("scontrol", "kill -9 $$");
  EXPECT_THAT(shown("18").error().message, HasSubstr("signal 9 (SIGKILL)"));
  stand_in("scontrol", "head -c 3000000 /dev/urandom");
  EXPECT_EQ(shown("18").error().code, ErrorCode::kProtocol);
  stand_in("scontrol", "echo 'JobId=19 JobState=COMPLETED'");
  EXPECT_EQ(shown("18").error().code, ErrorCode::kProtocol) << "that is another";
  stand_in("squeue", "head -c 3000000 /dev/urandom");
  EXPECT_EQ(listed().error().code, ErrorCode::kProtocol);
}

TEST_F(SlurmCommandsTest, OneThatHangsIsEnded) {
  config_.timeout_ms = 100;
  stand_in("squeue", "echo '18|RUNNING|N/A|None|node3'; touch $here/hangs; exec sleep 1000");
  const auto rows = listed();
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(rows.error().message, HasSubstr("squeue did not answer in time"));
}

TEST_F(SlurmCommandsTest, ACommandThatIsNotThereIsAnErrorThatComesLater) {
  const Variable nothing_else("PATH", folder_.path());
  const auto rows = listed();
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(rows.error().message, HasSubstr("cannot start 'squeue'"));
}

TEST_F(SlurmCommandsTest, TheEndWaitsForNoAnswerThatNobodyNeeds) {
  stand_in("squeue", "touch $here/hangs; exec sleep 1000");
  std::optional<Result<std::vector<SlurmRow>>> rows;
  commands().list(into(rows));
  until([this] { return exists("hangs"); });
  EXPECT_TRUE(settled());
  EXPECT_TRUE(rows && !*rows);
}

TEST_F(SlurmCommandsTest, NothingIsToldWhenNobodyIsThereAnyMore) {
  const Variable nothing_else("PATH", folder_.path());
  stand_in("squeue", "");
  commands().list([](const auto&) { FAIL(); });
  commands().show("18", [](const auto&) { FAIL(); });  // there is no scontrol
  commands().settle(20'000, [](bool) { FAIL(); });
  commands_.reset();
  io_.run_for(kLimit);
}

}  // namespace
}  // namespace tide::rm
