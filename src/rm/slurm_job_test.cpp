#include "rm/slurm_job.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace tide::rm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// As Slurm 22.05 tells of a job that was made by salloc, with `scontrol -d -o show job`.
constexpr std::string_view kHeld =
    "JobId=2 JobName=tide-x UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901758 "
    "Nice=0 "
    "Account=(null) QOS=(null) JobState=RUNNING Reason=None Dependency=(null) Requeue=1 Restarts=0 "
    "BatchFlag=0 Reboot=0 ExitCode=0:0 DerivedExitCode=0:0 RunTime=00:00:02 TimeLimit=00:05:00 "
    "TimeMin=N/A SubmitTime=1795099997 EligibleTime=1795099997 AccrueTime=Unknown "
    "StartTime=1795099997 EndTime=1795100297 Deadline=N/A SuspendTime=None SecsPreSuspend=0 "
    "LastSchedEval=1795099997 Scheduler=Main Partition=all AllocNode:Sid=node1:0 "
    "ReqNodeList=(null) "
    "ExcNodeList=node[1-2] NodeList=node[3-5] BatchHost=node3 NumNodes=3 NumCPUs=10 NumTasks=3 "
    "CPUs/Task=4 ReqB:S:C:T=0:0:*:* TRES=cpu=10,node=3,billing=10 Socks/Node=* "
    "NtasksPerN:B:S:C=1:0:*:* CoreSpec=* JOB_GRES=(null)   Nodes=node[3-4] CPU_IDs=0-3 Mem=0 GRES= "
    "  Nodes=node5 CPU_IDs=0,2 Mem=0 GRES= MinCPUsNode=4 MinMemoryNode=0 MinTmpDiskNode=0 "
    "Features=(null) DelayBoot=00:00:00 OverSubscribe=NO Contiguous=0 Licenses=(null) "
    "Network=(null) Command=(null) WorkDir=/ Power= \n";

constexpr std::string_view kOfBatch =
    "JobId=17 JobName=par ent UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901759 "
    "Nice=0 Account=physics QOS=normal JobState=RUNNING Reason=None Dependency=(null) Requeue=1 "
    "Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0 DerivedExitCode=0:0 RunTime=00:00:01 "
    "TimeLimit=UNLIMITED TimeMin=N/A SubmitTime=1795099996 EligibleTime=1795099996 "
    "AccrueTime=1795099996 StartTime=1795099996 EndTime=Unknown Deadline=N/A SuspendTime=None "
    "SecsPreSuspend=0 LastSchedEval=1795099996 Scheduler=Main Partition=long "
    "AllocNode:Sid=node1:0 ReqNodeList=(null) ExcNodeList=(null) NodeList=node[1-2] "
    "BatchHost=node1 NumNodes=2 NumCPUs=8 NumTasks=2 CPUs/Task=1 ReqB:S:C:T=0:0:*:* "
    "TRES=cpu=8,node=2,billing=8 Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=* "
    "JOB_GRES=(null)   Nodes=node[1-2] CPU_IDs=0-3 Mem=0 GRES= MinCPUsNode=1 MinMemoryNode=0 "
    "MinTmpDiskNode=0 Features=(null) DelayBoot=00:00:00 OverSubscribe=NO Contiguous=0 "
    "Licenses=(null) Network=(null) Command=/tmp/batch.sh WorkDir=/ Comment=a|b=c d  "
    "StdErr=//slurm-1.out StdIn=/dev/null StdOut=//slurm-1.out Power= ";

constexpr std::string_view kPending =
    "JobId=7 JobName=pend UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901754 Nice=0 "
    "Account=(null) QOS=(null) JobState=PENDING Reason=Resources Dependency=(null) Requeue=1 "
    "Restarts=0 BatchFlag=0 Reboot=0 ExitCode=0:0 DerivedExitCode=0:0 RunTime=00:00:00 "
    "TimeLimit=01:00:00 TimeMin=N/A SubmitTime=1795100047 EligibleTime=1795100047 "
    "AccrueTime=1795100047 StartTime=1795100104 EndTime=1795103704 Deadline=N/A SuspendTime=None "
    "SecsPreSuspend=0 LastSchedEval=1795100049 Scheduler=Backfill:* Partition=all "
    "AllocNode:Sid=node1:0 ReqNodeList=(null) ExcNodeList=(null) NodeList= "
    "SchedNodeList=node[4-5] NumNodes=2-2 NumCPUs=2 NumTasks=2 CPUs/Task=1 ReqB:S:C:T=0:0:*:* "
    "TRES=cpu=2,mem=2M,node=2,billing=2 Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=* "
    "MinCPUsNode=1 MinMemoryNode=0 MinTmpDiskNode=0 Features=(null) DelayBoot=00:00:00 "
    "OverSubscribe=NO Contiguous=0 Licenses=(null) Network=(null) Command=(null) WorkDir=/ Power= ";

std::string with(std::string_view text, std::string_view piece, std::string_view other) {
  std::string out(text);
  const auto at = out.find(piece);
  EXPECT_NE(at, std::string::npos) << piece;
  return out.replace(at, piece.size(), other);
}

std::string nodes_of(const SlurmJob& job) {
  std::string out;
  for (const auto& host : job.nodes) out += fmt::format("{}:{} ", host.name, host.slots);
  return out;
}

std::string refusal_of(std::string_view text) {
  const auto job = parse_slurm_job(text);
  return job ? "read: " + nodes_of(*job) : job.error().message;
}

// ---- a job ----

TEST(SlurmJob, OneThatIsHeldIsRead) {
  const auto job = parse_slurm_job(kHeld);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->id, "2");
  EXPECT_EQ(job->life, SlurmLife::kRuns);
  EXPECT_EQ(job->state, "RUNNING");
  EXPECT_EQ(nodes_of(*job), "node3:4 node4:4 node5:2 ");
  EXPECT_EQ(job->ends_s, 1795100297);
  EXPECT_EQ(job->partition, "all");
  EXPECT_EQ(job->account, "");
  EXPECT_EQ(job->qos, "");
  EXPECT_EQ(job->batch_host, "");  // BatchHost is there, but no script
}

TEST(SlurmJob, OneWithAScriptIsRead) {
  const auto job = parse_slurm_job(kOfBatch);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->id, "17");
  EXPECT_EQ(nodes_of(*job), "node1:4 node2:4 ");
  EXPECT_EQ(job->ends_s, std::nullopt);
  EXPECT_EQ(job->partition, "long");
  EXPECT_EQ(job->account, "physics");
  EXPECT_EQ(job->qos, "normal");
  EXPECT_EQ(job->batch_host, "node1");
}

// Slurm tells their number only.
TEST(SlurmJob, NodesThatWereMovedIntoItHaveTheOtherCores) {
  auto text = with(kHeld, " NodeList=node[3-5]", " NodeList=node[3-7]");
  const auto job = parse_slurm_job(with(text, "NumCPUs=10", "NumCPUs=16"));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(nodes_of(*job), "node3:4 node4:4 node5:2 node6:3 node7:3 ");
  EXPECT_THAT(refusal_of(with(text, "NumCPUs=10", "NumCPUs=11")), HasSubstr("nodes"));
  EXPECT_THAT(refusal_of(with(text, "NumCPUs=10", "NumCPUs=many")), HasSubstr("nodes"));
}

TEST(SlurmJob, OneThatWaitsHasNoNodes) {
  const auto job = parse_slurm_job(kPending);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->life, SlurmLife::kWaits);
  EXPECT_THAT(job->nodes, IsEmpty());
}

TEST(SlurmJob, OneThatIsOverMayNameWhatItHad) {
  const auto job = parse_slurm_job(with(kHeld, "=RUNNING", "=CANCELLED"));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->life, SlurmLife::kOver);
  EXPECT_EQ(job->state, "CANCELLED");
}

TEST(SlurmJob, OneThatIsJustEndingTellsThatItsTimeIsOver) {
  const auto text = with(kHeld, "=RUNNING Reason=None", "=COMPLETING Reason=TimeLimit");
  const auto job = parse_slurm_job(text);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->life, SlurmLife::kOver);
  EXPECT_EQ(job->state, "TIMEOUT");
  EXPECT_EQ(parse_slurm_job(with(text, "TimeLimit D", "None D"))->state, "COMPLETING");
}

TEST(SlurmJob, EveryWordForItsStateHasAMeaning) {
  using enum SlurmLife;
  EXPECT_EQ(life_of_slurm_state("PENDING"), kWaits);
  EXPECT_EQ(life_of_slurm_state("CONFIGURING"), kComes);
  EXPECT_EQ(life_of_slurm_state("RESIZING"), kRuns);
  EXPECT_EQ(life_of_slurm_state("COMPLETING"), kOver);
  EXPECT_EQ(life_of_slurm_state("NODE_FAIL"), kOver);
  EXPECT_EQ(life_of_slurm_state("running"), std::nullopt);
  EXPECT_EQ(life_of_slurm_state(""), std::nullopt);
}

// The parent's name and comment are its owner's: anything may stand there.
TEST(SlurmJob, WhatPeopleWroteIntoItIsNotReadAsSlurms) {
  const auto named = parse_slurm_job(
      with(kHeld, "=tide-x", "=x JobState=FAILED Nodes=node9 CPU_IDs=0-9 Mem=0 NodeList=node9"));
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(named->life, SlurmLife::kRuns);
  EXPECT_EQ(nodes_of(*named), "node3:4 node4:4 node5:2 ");
  const auto commented = parse_slurm_job(
      with(kOfBatch, "=a|b=c d", "=Nodes=node9 CPU_IDs=0-9 Mem=0 EndTime=12 BatchFlag=0"));
  ASSERT_TRUE(commented) << commented.error().message;
  EXPECT_EQ(nodes_of(*commented), "node1:4 node2:4 ");
  EXPECT_EQ(commented->batch_host, "node1");
}

TEST(SlurmJob, OfSeveralTheFirstIsRead) {
  const auto job = parse_slurm_job(fmt::format("a word from the site\n{}\n{}", kHeld, kPending));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->id, "2");
  EXPECT_THAT(job->nodes, SizeIs(3));
}

// Else the DVM would lose nodes that it has.
TEST(SlurmJob, ATextThatEndsTooEarlyIsNone) {
  const std::string whole(kHeld);
  const auto last = whole.find(" Mem=0 GRES= MinCPUsNode");
  ASSERT_NE(last, std::string::npos);
  for (std::size_t size = 0; size <= last; ++size) {
    EXPECT_FALSE(parse_slurm_job(whole.substr(0, size))) << whole.substr(0, size);
  }
  EXPECT_TRUE(parse_slurm_job(whole.substr(0, last + 2)));
}

TEST(SlurmJob, GarbageIsNamed) {
  EXPECT_THAT(refusal_of(""), HasSubstr("what Slurm says of a job can't be read"));
  EXPECT_THAT(refusal_of("\x01\x02 garbage\n"), HasSubstr("garbage"));
  EXPECT_THAT(refusal_of("JobId=x JobState=RUNNING"), HasSubstr("a job"));
  EXPECT_THAT(refusal_of(with(kHeld, "=RUNNING", "=FLYING")), HasSubstr("a job"));
  EXPECT_THAT(refusal_of(with(kHeld, "=1795100297", "=2026-11-19T15:01:58")),
              HasSubstr("a time can't be read: '2026-11-19T15:01:58'"));
  EXPECT_THAT(refusal_of(with(kHeld, "CPU_IDs=0-3", "CPU_IDs=3-0")), HasSubstr("cores"));
  EXPECT_THAT(refusal_of(with(kHeld, "CPU_IDs=0-3", "CPU_IDs=0-70000")), HasSubstr("cores"));
  EXPECT_THAT(refusal_of(with(kHeld, "CPU_IDs=0-3", "CPU_IDs=0-60000,0-60000")),
              HasSubstr("cores"));
  EXPECT_THAT(refusal_of(with(kHeld, " NodeList=node[3-5]", " NodeList=node[3-6]")),
              HasSubstr("nodes"));
  EXPECT_THAT(refusal_of(with(kHeld, " NodeList=node[3-5]", " NodeList=(null)")),
              ::testing::Not(HasSubstr("read: ")));
  EXPECT_THAT(refusal_of(with(kHeld, "Nodes=node5", "Nodes=node4")), HasSubstr("nodes"));
  EXPECT_THAT(refusal_of(with(kHeld, " NodeList=node[3-5]", " NodeList=node[3-$(id)]")),
              ::testing::Not(HasSubstr("read: ")));
}

TEST(SlurmJob, NoTextMakesTooManyNodes) {
  std::string many = "JobId=1 JobState=RUNNING NodeList=n[1-100000]";
  for (int i = 0; i < 100; ++i) many += " Nodes=n[1-100000] CPU_IDs=0 Mem=0";
  EXPECT_THAT(refusal_of(many), HasSubstr("nodes can't be read"));
}

// ---- a list ----

constexpr std::string_view kRows =
    "3|TIMEOUT|1795100105|TimeLimit|node5\n"
    "4|RUNNING|NONE|None|node1\n"
    "7|PENDING|1795103704|Resources|\n"
    "11|PENDING|N/A|ReqNodeNotAvail, UnavailableNodes:node2|\n"
    "16|RUNNING|1795101737|None|node[2-3],node7\n";

TEST(SlurmJob, AListIsRead) {
  const auto rows = parse_slurm_rows(kRows);
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_THAT(*rows, SizeIs(5));
  EXPECT_EQ((*rows)[0].life, SlurmLife::kOver);
  EXPECT_EQ((*rows)[0].state, "TIMEOUT");
  EXPECT_EQ((*rows)[1].ends_s, std::nullopt);
  EXPECT_EQ((*rows)[1].reason, "");
  EXPECT_EQ((*rows)[2].reason, "Resources");
  EXPECT_THAT((*rows)[2].nodes, IsEmpty());
  EXPECT_EQ((*rows)[3].reason, "ReqNodeNotAvail, UnavailableNodes:node2");
  EXPECT_EQ((*rows)[4].id, "16");
  EXPECT_EQ((*rows)[4].ends_s, 1795101737);
  EXPECT_THAT((*rows)[4].nodes, ElementsAre("node2", "node3", "node7"));
}

TEST(SlurmJob, AnEmptyListIsOne) {
  for (const auto* text : {"", "\n", " \n\n"}) {
    const auto rows = parse_slurm_rows(text);
    ASSERT_TRUE(rows);
    EXPECT_THAT(*rows, IsEmpty());
  }
}

TEST(SlurmJob, LinesThatAreNoneArePassedOver) {
  const auto rows = parse_slurm_rows(
      "welcome to the cluster\n4|RUNNING|NONE|None|node1\n5|RUNNING|NONE|None|node[1-\n"
      "6|SLEEPING|NONE|None|node1\n6_1|RUNNING|NONE|None|node1\n7|RUNNING|soon|None|node1\n"
      "8|RUNNING|NONE|None|node1|more\n9|RUNN");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_THAT(*rows, SizeIs(1));
  EXPECT_EQ(rows->front().id, "4");
}

TEST(SlurmJob, AListOfNothingButGarbageIsAnErrorThatShowsIt) {
  const auto rows = parse_slurm_rows("4;RUNNING;node1\n\x7f\n");
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, ErrorCode::kProtocol);
  EXPECT_THAT(rows.error().message, HasSubstr("'4;RUNNING;node1'"));
}

// ---- anything ----

std::string damaged(std::string_view text) {
  std::string out(text);
  const auto strokes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < strokes && !out.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, out.size());
    const auto size = *rc::gen::inRange<std::size_t>(0, 20);
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        out.resize(at);
        break;
      case 1:
        out.erase(at, size);
        break;
      case 2:
        out.insert(at,
                   std::string(text.substr(*rc::gen::inRange<std::size_t>(0, text.size()), size)));
        break;
      default:
        out[at] = *rc::gen::elementOf(std::string("0 []-,=|\n\\\"$;\xff"));
    }
  }
  return out;
}

RC_GTEST_PROP(SlurmJobProperty, IsAJobOfItsNodesOrAnError, ()) {
  const auto job = parse_slurm_job(damaged(*rc::gen::elementOf(std::vector{kHeld, kOfBatch})));
  if (!job) {
    RC_ASSERT(!job.error().message.empty());
    return;
  }
  RC_ASSERT(!job->id.empty());
  RC_ASSERT(job->life != SlurmLife::kRuns || !job->nodes.empty());
  for (const auto& host : job->nodes) {
    RC_ASSERT(host.slots > 0);
    RC_ASSERT(host.name.find_first_of(" \t\n,;$`'\"\\[]|=") == std::string::npos);
  }
}

RC_GTEST_PROP(SlurmJobProperty, IsAListOrAnError, ()) {
  const auto rows = parse_slurm_rows(damaged(kRows));
  if (!rows) return;
  for (const auto& row : *rows) {
    RC_ASSERT(!row.id.empty());
    RC_ASSERT(std::ranges::all_of(row.nodes, [](const auto& name) { return !name.empty(); }));
  }
}

}  // namespace
}  // namespace tide::rm
