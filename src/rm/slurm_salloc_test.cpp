// Jobs that last as long as somebody holds them.
#include "rm/slurm_commands_fixture.hpp"

namespace tide::rm {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kGrants;
using testing::kWaits;
using ::testing::Not;
using testing::read_text;
using testing::SlurmCommandsTest;
using ::testing::StartsWith;
using testing::Variable;
using testing::write_text;

// ---- a request for nodes ----

TEST(SlurmCommands, ARequestSaysNoMoreThanIsWished) {
  EXPECT_THAT(
      salloc_argv({.count = 2, .job_name = "tide-x"}, {}),
      ElementsAre("salloc", "--no-kill", "--kill-command", "--nodes=2", "--ntasks-per-node=1",
                  "--job-name=tide-x", "cat", "/proc/self/environ", "-"));
}

TEST(SlurmCommands, ARequestSaysAllThatIsWished) {
  EXPECT_THAT(salloc_argv({.count = 3,
                           .names = {"node3", "node4"},
                           .without = {"node1", "node2"},
                           .cores = 4,
                           .minutes = 90,
                           .partition = "all",
                           .account = "physics",
                           .qos = "normal",
                           .job_name = "tide-x"},
                          {"--constraint=fast", "--mem=0"}),
              ElementsAre("salloc", "--no-kill", "--kill-command", "--nodes=3",
                          "--ntasks-per-node=1", "--cpus-per-task=4", "--job-name=tide-x",
                          "--time=90", "--partition=all", "--account=physics", "--qos=normal",
                          "--nodelist=node3,node4", "--exclude=node1,node2", "--constraint=fast",
                          "--mem=0", "cat", "/proc/self/environ", "-"));
}

TEST(SlurmCommands, NodesThatASiteExcludesAreExcludedBesideOurs) {
  const SlurmWish wish{.count = 1, .without = {"node1", "node2"}, .job_name = "x"};
  for (const std::vector<std::string>& site :
       {std::vector<std::string>{"--exclude=bad[1-3]", "--mem=0"},
        std::vector<std::string>{"--mem=0", "-x", "bad[1-3]"},
        std::vector<std::string>{"--exclude", "bad[1-3]", "--mem=0"},
        std::vector<std::string>{"-xbad[1-3]", "--mem=0"}}) {
    EXPECT_THAT(salloc_argv(wish, site),
                ElementsAre("salloc", "--no-kill", "--kill-command", "--nodes=1",
                            "--ntasks-per-node=1", "--job-name=x", "--exclude=node1,node2,bad[1-3]",
                            "--mem=0", "cat", "/proc/self/environ", "-"));
  }
}

TEST(SlurmCommands, WholeNodesAreAskedForWithoutANumberOfCores) {
  EXPECT_THAT(
      salloc_argv({.count = 1, .whole_nodes = true, .cores = 4, .job_name = "x"}, {}),
      ElementsAre("salloc", "--no-kill", "--kill-command", "--nodes=1", "--ntasks-per-node=1",
                  "--exclusive", "--job-name=x", "cat", "/proc/self/environ", "-"));
}

std::string environment_text(const std::vector<std::string>& entries) {
  std::string out;
  for (const auto& entry : entries) out += entry + '\0';
  return out;
}

TEST(SlurmCommands, AnEnvironmentTellsOfAJobOnceItIsAllThere) {
  const auto text =
      environment_text({"PATH=/bin", "SLURM_JOB_ID=18", "SLURM_JOB_NODELIST=node[3-4]",
                        "SLURM_JOB_CPUS_PER_NODE=4(x2)"});
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(slurm_job_in_environment(std::string_view(text).substr(0, size)));
  }
  const auto job = slurm_job_in_environment(text);
  ASSERT_TRUE(job && *job);
  EXPECT_EQ((*job)->id, "18");
  EXPECT_EQ((*job)->life, SlurmLife::kRuns);
  EXPECT_EQ((*job)->nodes, (std::vector<Host>{{"node3", "", 4, 0}, {"node4", "", 4, 0}}));
}

TEST(SlurmCommands, AnEnvironmentThatMakesNoSenseIsAnError) {
  for (const auto* nodes : {"node[3-", "node[3-5]", "$(id),node4"}) {
    const auto job = slurm_job_in_environment(
        environment_text({"SLURM_JOB_ID=18", std::string("SLURM_JOB_NODELIST=") + nodes,
                          "SLURM_JOB_CPUS_PER_NODE=4(x2)"}));
    ASSERT_TRUE(job);
    EXPECT_FALSE(*job) << nodes;
  }
}

TEST(SlurmCommands, WordsOfSallocAreRead) {
  const auto read = [](std::string_view words) {
    const auto out = read_salloc(words);
    if (!out) return std::string("nothing");
    return fmt::format("{}{}{}", out->job, out->waits ? " waits" : "",
                       out->given_back ? " back" : "");
  };
  EXPECT_EQ(read(""), "nothing");
  EXPECT_EQ(read("salloc: Requested partition configuration not available now\n"), "nothing");
  EXPECT_EQ(read("salloc: Pending job allocation 17\n"), "17 waits");
  EXPECT_EQ(read("salloc: Pending job allocation 17"), "nothing") << "17 of 170, perhaps";
  EXPECT_EQ(read("salloc: job 17 queued and waiting for resources\n"), "17 waits");
  EXPECT_EQ(read("salloc: Granted job allocation 17\n"), "17");
  EXPECT_EQ(read("salloc: Granted job allocation 17\nsalloc: Waiting for resource "
                 "configuration\n"),
            "17 waits");
  EXPECT_EQ(read("salloc: Job allocation 17 has been revoked.\n"), "17 back");
  EXPECT_EQ(read("salloc: Relinquishing job allocation 17\n"), "17 back");
  EXPECT_EQ(read("salloc: Job 17 has exceeded its time limit and its allocation has been "
                 "revoked.\n"),
            "17 back");
  EXPECT_EQ(read("salloc: Relinquishing job allocation 17\nsalloc: error: Unable to clean up job "
                 "allocation 17: Unable to contact slurm controller (connect failure)\n"),
            "17");
  EXPECT_EQ(read("salloc: Relinquishing job allocation 17\nsalloc: error: Unable to clean up job "
                 "allocation 17: Invalid job id specified\n"),
            "17 back");
  EXPECT_EQ(read("salloc: error: Job submit/allocate failed: Invalid node name specified\n"),
            "nothing");
}

// row:E17 what is granted is held until it is given back
TEST_F(SlurmCommandsTest, NodesThatAreGrantedAreHeld) {
  stand_in("salloc", kGrants);
  config_.salloc_args = {"--mem=0"};
  allocate({.count = 3, .minutes = 5, .job_name = "tide-x"});
  until_noted("granted");
  EXPECT_THAT(
      lines_of("salloc.argv"),
      ElementsAre("--no-kill", "--kill-command", "--nodes=3", "--ntasks-per-node=1",
                  "--job-name=tide-x", "--time=5", "--mem=0", "cat", "/proc/self/environ", "-"));
  ASSERT_TRUE(granted_);
  EXPECT_EQ(granted_->nodes,
            (std::vector<Host>{{"node3", "", 4, 0}, {"node4", "", 4, 0}, {"node7", "", 2, 0}}));
  io_.run_for(std::chrono::milliseconds(50));
  hold_.reset();
  EXPECT_TRUE(settled());
  EXPECT_THAT(notes_, ElementsAre("granted 18"));
}

TEST_F(SlurmCommandsTest, ARequestThatWaitsSaysSoOnceAndIsGrantedLater) {
  stand_in("salloc", std::string(kWaits) + std::string(kGrants));
  allocate();
  until_noted("waits");
  io_.run_for(std::chrono::milliseconds(30));
  write_text(file("go"), "");
  until_noted("granted");
  EXPECT_THAT(notes_, ElementsAre("waits 17", "granted 18"));
  hold_.reset();
  EXPECT_TRUE(settled());
}

TEST_F(SlurmCommandsTest, ARequestThatWaitsIsTakenBackWhenItIsDropped) {
  stand_in("salloc", kWaits);
  allocate();
  until_noted("waits");
  hold_.reset();
  EXPECT_TRUE(settled());
  EXPECT_TRUE(exists("told"));
  EXPECT_THAT(notes_, ElementsAre("waits 17"));
}

TEST_F(SlurmCommandsTest, WhatSlurmWasNotToldOfIsLeft) {
  stand_in("salloc", R"(
trap 'echo "salloc: Job aborted due to signal" >&2; exit 1' TERM
echo 'salloc: Pending job allocation 17' >&2
while :; do sleep 0.01; done)");
  allocate();
  until_noted("waits");
  hold_.reset();
  EXPECT_TRUE(settled());
  EXPECT_THAT(notes_, ElementsAre("waits 17", "left 17"));

  notes_.clear();
  stand_in("salloc", std::string(kGrants) +
                         "echo 'salloc: error: Unable to clean up job allocation 18: Unable to "
                         "contact slurm controller (connect failure)' >&2");
  allocate();
  until_noted("granted");
  hold_.reset();
  EXPECT_TRUE(settled());
  EXPECT_THAT(notes_, ElementsAre("granted 18", "left 18"));
}

TEST_F(SlurmCommandsTest, OneThatDoesNotListenIsKilledAndItsJobLeft) {
  config_.grace_ms = 20;
  stand_in("salloc",
           "trap '' TERM; echo 'salloc: Pending job allocation 17' >&2; "
           "while :; do sleep 1000; done");
  allocate();
  until_noted("waits");
  hold_.reset();
  EXPECT_TRUE(settled());
  EXPECT_THAT(notes_, ElementsAre("waits 17", "left 17"));
}

TEST_F(SlurmCommandsTest, OneThatDoesNotLetGoOfItsJobIsEnded) {
  config_.timeout_ms = 1'000;
  stand_in("salloc", std::string(kGrants) + "while :; do sleep 0.01; done");
  allocate();
  until_noted("granted");
  hold_.reset();
  EXPECT_TRUE(settled());
}

TEST_F(SlurmCommandsTest, OneThatIsKilledWhileItLetsGoHasNotDoneSo) {
  config_.timeout_ms = 1'000;
  stand_in("salloc", std::string(kGrants) +
                         "cat > $here/nothing\necho 'salloc: Relinquishing job allocation 17' >&2\n"
                         "trap '' TERM\nwhile :; do sleep 0.01; done");
  allocate();
  until_noted("granted");
  hold_.reset();
  EXPECT_TRUE(settled());
  EXPECT_THAT(notes_, ::testing::Contains("left 17"));
}

// ---- requests that come to nothing ----

TEST_F(SlurmCommandsTest, ARefusalHasSlurmsWords) {
  stand_in("salloc", R"(
echo 'salloc: error: invalid partition specified: nix' >&2
echo 'salloc: error: Job submit/allocate failed: Invalid partition name specified' >&2
exit 1)");
  allocate();
  until_noted("refused");
  ASSERT_TRUE(refused_);
  EXPECT_EQ(refused_->message,
            "Slurm's salloc failed: Job submit/allocate failed: Invalid partition name specified");
  EXPECT_EQ(refused_->code, ErrorCode::kOutOfResources);
}

TEST_F(SlurmCommandsTest, OneThatEndsWellWithNothingIsRefused) {
  stand_in("salloc", "echo 'salloc: a word of the site' >&2");
  allocate();
  until_noted("refused");
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("without having given nodes: salloc: a word")));
}

TEST_F(SlurmCommandsTest, OneThatIsCancelledInTheQueueIsRefused) {
  stand_in("salloc", R"(
echo 'salloc: Pending job allocation 17' >&2
echo 'salloc: Job allocation 17 has been revoked.' >&2
echo 'salloc: Job has been cancelled' >&2
echo 'salloc: error: Job submit/allocate failed: Job/step already completing or completed' >&2
exit 1)");
  allocate();
  until_noted("refused");
  EXPECT_THAT(notes_.back(), HasSubstr("Slurm job 17 was cancelled"));
  EXPECT_THAT(notes_, Not(Contains(StartsWith("left"))));
}

TEST_F(SlurmCommandsTest, OneThatIsKilledInTheQueueIsRefusedAndItsJobLeft) {
  stand_in("salloc", "echo 'salloc: Pending job allocation 17' >&2; kill -9 $$");
  allocate();
  until_noted("refused");
  EXPECT_THAT(notes_.back(), HasSubstr("SIGKILL"));
  EXPECT_THAT(notes_, Contains("left 17"));
}

TEST_F(SlurmCommandsTest, OneThatSaysNothingIsRefusedAndEnded) {
  config_.timeout_ms = 100;
  stand_in("salloc", "trap 'touch $here/told; exit 1' TERM; while :; do sleep 0.01; done");
  allocate();
  until_noted("refused");
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("salloc did not answer in time")));
  EXPECT_EQ(refused_->code, ErrorCode::kUnavailable);
  hold_.reset();
  EXPECT_TRUE(settled());
  EXPECT_TRUE(exists("told"));
}

TEST_F(SlurmCommandsTest, OneThatWaitsMayDoSoForLong) {
  config_.timeout_ms = 1'500;
  stand_in("salloc", kWaits);
  allocate();
  until_noted("waits");
  io_.run_for(std::chrono::milliseconds(config_.timeout_ms));
  EXPECT_THAT(notes_, ElementsAre("waits 17"));
}

TEST_F(SlurmCommandsTest, NodesThatCannotBeReadAreRefusedAndGivenBack) {
  stand_in("salloc", R"(
printf 'SLURM_JOB_ID=18\0SLURM_JOB_NODELIST=node[3-\0SLURM_JOB_CPUS_PER_NODE=4\0'
cat; echo 'salloc: Relinquishing job allocation 18' >&2; touch $here/closed)");
  allocate();
  until_noted("refused");
  hold_.reset();
  EXPECT_TRUE(settled());
  EXPECT_TRUE(exists("closed"));
  EXPECT_THAT(notes_, ElementsAre(StartsWith("refused")));
}

TEST_F(SlurmCommandsTest, OneThatCannotBeStartedIsRefusedUnlessNobodyWaitsAnyMore) {
  const Variable nothing_else("PATH", folder_.path());
  allocate();
  until_noted("refused");
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("cannot start 'salloc'")));
  notes_.clear();
  allocate();
  hold_.reset();
  io_.restart();
  io_.run_for(std::chrono::milliseconds(50));
  EXPECT_THAT(notes_, IsEmpty());
}

// ---- jobs that end ----

TEST_F(SlurmCommandsTest, TheEndOfAJobThatIsHeldIsHeardAtOnce) {
  stand_in("salloc", R"(
printf 'SLURM_JOB_ID=18\0SLURM_JOB_NODELIST=node3\0SLURM_JOB_CPUS_PER_NODE=4\0'
until [ -e $here/go ]; do sleep 0.01; done
echo 'salloc: Job allocation 18 has been revoked.' >&2; exit 1)");
  allocate();
  until_noted("granted");
  write_text(file("go"), "");
  until_noted("over");
  EXPECT_THAT(notes_, ElementsAre("granted 18", "over"));
}

TEST_F(SlurmCommandsTest, TheEndOfWhoHeldAJobIsHeard) {
  stand_in("salloc", std::string("echo $$ > $here/pid; ") + std::string(kGrants));
  allocate();
  until_noted("granted");
  ::kill(static_cast<pid_t>(std::stol(read_text(file("pid")))), SIGKILL);
  until_noted("over");
}

// Or else the head would end it with its other children, and the job would go on.
TEST_F(SlurmCommandsTest, WhoHoldsAJobIsKnownUntilItHasGivenItBack) {
  stand_in("salloc", std::string("echo $$ > $here/pid; ") + std::string(kGrants));
  allocate();
  until_noted("granted");
  const auto holder = static_cast<pid_t>(std::stol(read_text(file("pid"))));
  EXPECT_TRUE(commands().gives_back(holder));
  EXPECT_FALSE(commands().gives_back(::getpid()));
  hold_.reset();
  EXPECT_TRUE(commands().gives_back(holder));
  EXPECT_TRUE(settled());
  EXPECT_FALSE(commands().gives_back(holder));
}

// The kernel tells it: at the queue it does not look at its input.
TEST_F(SlurmCommandsTest, ARequestOfAHeadThatIsKilledIsTakenBack) {
  stand_in("salloc", kWaits);
  kill_a_head_when("waits");
  until([this] { return exists("told"); });
}

// A real one that gets SIGTERM when its cat ends by itself never ends.
TEST_F(SlurmCommandsTest, AJobOfAHeadThatIsKilledIsGivenBack) {
  stand_in("salloc", std::string("trap '' HUP\ntrap 'exit 1' TERM\ntouch $here/holds") +
                         std::string(kGrants) + "touch $here/back");
  kill_a_head_when("holds");
  until([this] { return exists("back"); });
}

// ---- the end ----

TEST_F(SlurmCommandsTest, NothingUnderWayIsSettled) {
  EXPECT_TRUE(settled());
}

TEST_F(SlurmCommandsTest, WhatTakesTooLongIsNotWaitedFor) {
  stand_in("salloc", std::string(kGrants) + "until [ -e $here/go ]; do sleep 0.01; done");
  allocate();
  until_noted("granted");
  hold_.reset();
  EXPECT_FALSE(settled(50));
  write_text(file("go"), "");
  EXPECT_TRUE(settled());
}

TEST_F(SlurmCommandsTest, WhatIsLeftCanBeCancelledBeforeAllIsSettled) {
  stand_in("salloc", std::string(kGrants) +
                         "echo 'salloc: error: Unable to clean up job allocation 18: Unable to "
                         "contact slurm controller (connect failure)' >&2");
  stand_in("scancel", "");
  std::optional<Status> cancelled;
  std::optional<bool> all;
  hold_ = commands().allocate(
      {.count = 1, .job_name = "tide-x"},
      {.waits = [](const auto&) {},
       .granted = [this](SlurmJob job) { granted_ = std::move(job); },
       .refused = [](const Error& why) { FAIL() << why.message; },
       .left = [&](const auto& job) { commands().cancel(job, "tide-x", into(cancelled)); }});
  until([this] { return granted_.has_value(); });
  hold_.reset();
  commands().settle(20'000, [&](bool nothing_left) {
    EXPECT_TRUE(cancelled && *cancelled);
    all = nothing_left;
  });
  until([&all] { return all.has_value(); });
  EXPECT_TRUE(all.value_or(false));
}

}  // namespace
}  // namespace tide::rm
