// The head as a whole: channels to daemons, questions of clients, the end.
#include "core/head_core.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/head_rig.hpp"
#include "wire/exit_status.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Serials of the orders to shut down that were sent, by link.
std::vector<std::uint64_t> shutdown_links(const Actions& actions) {
  std::vector<std::uint64_t> out;
  for (const auto& send : all_of<Send>(actions)) {
    if (send.message.operation().has_shutdown()) out.push_back(send.link.value());
  }
  return out;
}

std::vector<std::uint32_t> ended_daemons(const Actions& actions) {
  std::vector<std::uint32_t> out;
  for (const auto& end : all_of<EndDaemon>(actions)) out.push_back(end.rank.value());
  return out;
}

TEST(HeadCore, DownOfAnIdleDvm) {
  HeadRig rig(2);
  rig.make_ready();
  const auto actions = rig.down(9);
  EXPECT_THAT(shutdown_links(actions), ElementsAre(1, 2));
  EXPECT_THAT(all_of<Reply>(actions), IsEmpty()) << "answered when it is over";
  rig.on(LinkDown{LinkId(1), LinkEnd::kClosed, "bye"});
  rig.on(DaemonExited{Rank(1), "exit 0"});
  EXPECT_THAT(all_of<Exit>(rig.seen), IsEmpty());
  EXPECT_THAT(all_of<Probe>(rig.seen), IsEmpty()) << "departures are expected now";
  const auto last = rig.on(DaemonExited{Rank(2), "exit 0"});
  ASSERT_EQ(all_of<Exit>(last).size(), 1U);
  EXPECT_EQ(all_of<Exit>(last)[0].status, 0);
  ASSERT_EQ(all_of<Reply>(last).size(), 1U);
  EXPECT_TRUE(all_of<Reply>(last)[0].reply.has_done());
  EXPECT_EQ(all_of<Reply>(last)[0].client, ClientId(9));
  EXPECT_TRUE(rig.down(9).empty()) << "nothing follows the end";
}

TEST(HeadCore, DownUnderLoadEndsTheJobsFirst) {
  HeadRig rig(2);
  rig.make_ready();
  rig.submit(5, job_spec(3));
  rig.submit(6, job_spec(1));
  auto actions = rig.down(9);
  EXPECT_EQ(orders(actions).size(), 3U);
  EXPECT_THAT(shutdown_links(actions), IsEmpty());
  actions = rig.submit(7, job_spec(1));
  EXPECT_THAT(all_of<Reply>(actions)[0].reply.error().message(), HasSubstr("ending"));
  rig.ended(1, 1, {0, 1}, ProcState::kAborted, 0, SIGTERM);
  actions = rig.ended(2, 1, {2}, ProcState::kAborted, 0, SIGTERM);
  EXPECT_THAT(shutdown_links(actions), IsEmpty()) << "job 2 is still there";
  actions = rig.ended(2, 2, {0}, ProcState::kAborted, 0, SIGTERM);
  EXPECT_THAT(shutdown_links(actions), ElementsAre(1, 2));
  const auto ends = endings(rig.seen);
  ASSERT_EQ(ends.size(), 2U);
  for (const auto& end : ends) {
    EXPECT_EQ(end.exit_status(), 128 + SIGTERM);
    EXPECT_THAT(end.messages(0), HasSubstr("the DVM is taken down"));
  }
}

TEST(HeadCore, AForcedDownKillsWhatAGentleOneAsked) {
  HeadRig rig(1);
  rig.make_ready();
  rig.submit(5, job_spec(1));
  EXPECT_THAT(orders(rig.down(9)), ElementsAre(std::tuple(1U, SIGTERM, true)));
  EXPECT_THAT(orders(rig.down(9)), IsEmpty());
  EXPECT_THAT(orders(rig.down(9, true)), ElementsAre(std::tuple(1U, SIGKILL, true)));
}

TEST(HeadCore, DaemonsThatDoNotEndAreKilledAndNotWaitedForForEver) {
  HeadRig rig(2);
  rig.make_ready();
  rig.down(9);
  rig.on(DaemonExited{Rank(1), "exit 0"});
  EXPECT_THAT(ended_daemons(rig.fire(TimerKind::kShutdown)), ElementsAre(2));
  EXPECT_THAT(all_of<Exit>(rig.seen), IsEmpty());
  const auto last = rig.fire(TimerKind::kShutdown);
  ASSERT_EQ(all_of<Exit>(last).size(), 1U);
  EXPECT_EQ(all_of<Exit>(last)[0].status, 1);
}

std::vector<std::string> news(const Actions& actions) {
  std::vector<std::string> out;
  for (const auto& reply : all_of<Reply>(actions)) {
    if (reply.reply.has_news()) out.push_back(reply.reply.news().text());
  }
  return out;
}

TEST(HeadCore, WhoWaitsForTheEndIsToldWhatItWaitsFor) {
  HeadRig rig(3);
  rig.make_ready();
  rig.submit(5, job_spec(6));
  rig.down(9);
  rig.now_ms += 3000;
  EXPECT_THAT(news(rig.fire(TimerKind::kEndingNews)),
              ElementsAre("waiting for 1 job to end, at most 7 s more"));
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    rig.ended(rank, 1, {2 * rank - 2, 2 * rank - 1}, ProcState::kAborted, 0, SIGTERM);
  }
  rig.on(DaemonExited{Rank(1), "exit 0"});
  rig.now_ms += 3000;
  EXPECT_THAT(news(rig.fire(TimerKind::kEndingNews)),
              ElementsAre("waiting for 2 nodes to end, at most 17 s more: v2, v3"));
  rig.on(DaemonExited{Rank(2), "exit 0"});
  rig.fire(TimerKind::kShutdown);
  const auto last = rig.fire(TimerKind::kShutdown);
  EXPECT_THAT(news(last), ElementsAre(HasSubstr("without a word from v3")));
  EXPECT_TRUE(all_of<Reply>(last).back().reply.has_done());
}

TEST(HeadCore, WhoFallsSilentWhileTheDvmEndsIsNamed) {
  HeadRig rig(1);
  StartDvm request;
  request.nodes.push_back(
      {.name = "far", .slots = 1, .incarnation = HeadRig::incarnation(1), .watched = false});
  rig.on(request);
  rig.link_up(1);
  rig.report(1);
  rig.attach(1);
  rig.down(9);
  const auto last = rig.on(LinkDown{LinkId(1), LinkEnd::kSilent, "silent"});
  EXPECT_THAT(news(last), ElementsAre(HasSubstr("without a word from far")));
  EXPECT_EQ(all_of<Exit>(last).size(), 1U);
}

TEST(HeadCore, JobsThatDoNotEndHoldUpTheEndOnlySoLong) {
  HeadRig rig(2);
  rig.make_ready();
  rig.submit(5, job_spec(3));
  EXPECT_THAT(shutdown_links(rig.down(9)), IsEmpty());
  const auto actions = rig.fire(TimerKind::kShutdown);
  ASSERT_EQ(endings(actions).size(), 1U);
  EXPECT_THAT(endings(actions)[0].messages(1), HasSubstr("did not end in time"));
  EXPECT_THAT(shutdown_links(actions), ElementsAre(1, 2));
}

// row:L16 a one-shot run ends its DVM, a persistent DVM outlives its jobs
TEST(HeadCore, AOneShotRunEndsTheDvm) {
  auto config = HeadRig::verbose_config();
  config.jobs.one_shot = true;
  HeadRig rig(1, config);
  rig.make_ready();
  EXPECT_THAT(shutdown_links(rig.seen), IsEmpty()) << "the job is still to come";
  rig.submit(5, job_spec(1));
  rig.launched(1, 1, {0});
  EXPECT_THAT(shutdown_links(rig.seen), IsEmpty());
  const auto actions = rig.ended(1, 1, {0});
  EXPECT_THAT(shutdown_links(actions), ElementsAre(1));
  EXPECT_TRUE(says(actions, "PRTE_JOB_STATE_ALL_JOBS_COMPLETE"));
  rig.on(DaemonExited{Rank(1), "exit 0"});
  EXPECT_EQ(all_of<Exit>(rig.seen).size(), 1U);
  EXPECT_TRUE(says(rig.seen, "PRTE_JOB_STATE_DAEMONS_TERMINATED"));
}

TEST(HeadCore, NobodyIsSentToTheDvmOfAOneShotRunThatEnds) {
  for (const bool one_shot : {true, false}) {
    auto config = HeadRig::verbose_config();
    config.jobs.one_shot = one_shot;
    HeadRig rig(2, config);
    rig.make_ready();
    rig.submit(5, job_spec(4));
    rig.on(DaemonExited{Rank(2), "exit status 1"});
    rig.ended(1, 1, {0, 1}, ProcState::kAborted, 0, SIGTERM);
    ASSERT_EQ(endings(rig.seen).size(), 1U);
    const std::string said = endings(rig.seen)[0].messages(0);
    EXPECT_EQ(said.find("which goes on") == said.npos, one_shot) << said;
  }
}

TEST(HeadCore, APersistentDvmOutlivesItsJobs) {
  HeadRig rig(1);
  rig.make_ready();
  rig.submit(5, job_spec(1));
  rig.ended(1, 1, {0});
  EXPECT_THAT(shutdown_links(rig.seen), IsEmpty());
  EXPECT_EQ(rig.head.status(0, 1000).state(), "ready");
}

TEST(HeadCore, AFailedStartEndsEarlyJobsAndExitsWithOne) {
  HeadRig rig(2);
  rig.start();
  rig.submit(5, job_spec(1));
  rig.on(DaemonLaunchFailed{Rank(1), "no such file"});
  rig.fire(TimerKind::kStart, 1);
  const auto ends = endings(rig.seen);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_NE(ends[0].exit_status(), 0);
  EXPECT_THAT(ended_daemons(rig.seen), ::testing::Contains(2));
  const auto last = rig.on(DaemonExited{Rank(2), "killed"});
  ASSERT_EQ(all_of<Exit>(last).size(), 1U);
  EXPECT_EQ(all_of<Exit>(last)[0].status, 1);
  EXPECT_THAT(all_of<Exit>(last)[0].reason, HasSubstr("no such file"));
}

// Half-started daemons are no members and do not hear the broadcast: the launcher has to end them,
// and the user who pressed Ctrl-C does not wait for a time-out.
TEST(HeadCore, EndedWhileStartingItEndsTheDaemonsAtOnce) {
  HeadRig rig(2);
  rig.start();
  rig.link_up(1);
  rig.report(1);
  const auto actions = rig.on(EndRequested{"interrupted"});
  EXPECT_THAT(ended_daemons(actions), ElementsAre(1, 2));
}

// row:R14 a scheduler ends the job that the DVM is in, and gives what runs there some time
TEST(HeadCore, ProcessesHaveTheTimeThatTheEndOfTheDvmLeavesThem) {
  HeadRig rig(1);
  rig.make_ready();
  rig.submit(9, job_spec(1));
  rig.launched(1, 1, {0});
  const auto actions = rig.on(EndRequested{"Slurm job 17 was cancelled", 15'000});
  std::size_t ordered = 0;
  for (const auto& [rank, body] : downs(actions)) {
    if (!body.has_signal()) continue;
    ++ordered;
    EXPECT_EQ(body.signal().grace_ms(), 15'000U);
  }
  EXPECT_EQ(ordered, 1U);
  std::uint32_t longest_ms = 0;
  for (const auto& timer : all_of<StartTimer>(actions)) {
    longest_ms = std::max(longest_ms, timer.after_ms);
  }
  EXPECT_EQ(longest_ms, HeadConfig().shutdown_timeout_ms + 15'000) << "and are not given up";
}

TEST(HeadCore, ADaemonThatReportsAfterTheEndBeganIsNotMadeAMember) {
  HeadRig rig(1);
  rig.start();
  rig.link_up(1);
  rig.down(9);
  rig.report(1);
  EXPECT_FALSE(rig.head.overlay().membership().has(Rank(1)));
}

// What a daemon may have missed on a broken path is sent again; what it has is not.
// It may only have lost a neighbour: if it is well, it is heard of by what it answers.
TEST(HeadCore, ASuspectedDaemonIsAskedToSpeak) {
  HeadRig rig(2);
  rig.make_ready();
  wire::UpBody word;
  word.mutable_suspect()->set_rank(1);
  const auto asked = downs(rig.up(2, word));
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].first, 1U);
  EXPECT_TRUE(asked[0].second.has_ping());
  EXPECT_TRUE(downs(rig.up(2, word)).empty()) << "once is enough";
}

TEST(HeadCore, ANewPathGetsWhatWasNotAcknowledged) {
  HeadRig rig(1);
  rig.make_ready();
  rig.submit(5, job_spec(1));
  rig.kill(6, 1, SIGUSR1, false);
  wire::LinkMessage message;
  message.mutable_up()->set_origin(1);
  message.mutable_up()->set_control_ack(1);
  message.mutable_up()->set_resync(true);
  auto again = downs(rig.say(1, message));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].second.signal().signal(), SIGUSR1);
  message.mutable_up()->set_control_ack(0);
  again = downs(rig.say(1, message));
  EXPECT_EQ(again.size(), 1U) << "an acknowledged launch is gone";
  message.mutable_up()->set_control_ack(2);
  EXPECT_TRUE(downs(rig.say(1, message)).empty());
}

TEST(HeadCore, ALaunchIsSentAgainWithItsCommonPart) {
  HeadRig rig(1);
  rig.make_ready();
  rig.submit(5, job_spec(1));
  wire::LinkMessage message;
  message.mutable_up()->set_origin(1);
  message.mutable_up()->set_resync(true);
  const auto sends = all_of<Send>(rig.say(1, message));
  ASSERT_EQ(sends.size(), 1U);
  EXPECT_EQ(sends[0].message.down().launch().nspace(), "dvm@1");
  EXPECT_TRUE(sends[0].message.down().entries(0).body().has_launch());
}

// Its last words come by the link of another, who relays for it.
TEST(HeadCore, NothingIsSentAgainToADaemonThatIsGone) {
  HeadRig rig(1);
  rig.make_ready();
  rig.submit(5, job_spec(1));
  rig.down(6);
  rig.on(DaemonExited{Rank(1), "exit status 0"});
  wire::LinkMessage message;
  message.mutable_up()->set_origin(1);
  message.mutable_up()->set_resync(true);
  EXPECT_TRUE(downs(rig.say(1, message)).empty());
}

TEST(HeadCore, ADoubledMessageCountsOnce) {
  HeadRig rig(1);
  rig.make_ready();
  rig.submit(5, job_spec(1));
  wire::LinkMessage message;
  message.mutable_up()->set_origin(1);
  message.mutable_up()->set_seq(1);
  message.mutable_up()->mutable_body()->mutable_stream()->set_job(1);
  EXPECT_EQ(all_of<Reply>(rig.say(1, message, "x")).size(), 1U);
  EXPECT_TRUE(all_of<Reply>(rig.say(1, message, "x")).empty());
  message.mutable_up()->set_seq(3);
  EXPECT_TRUE(all_of<Reply>(rig.say(1, message, "x")).empty()) << "2 is missing";
}

TEST(HeadCore, MessagesAreAcknowledgedInTimeAndInBulk) {
  HeadRig rig(1);
  rig.make_ready();
  rig.submit(5, job_spec(1));
  wire::UpBody body;
  body.mutable_stream()->set_job(1);
  rig.up(1, body, "x");
  auto sends = all_of<Send>(rig.fire(TimerKind::kAckFlush));
  ASSERT_EQ(sends.size(), 1U);
  EXPECT_EQ(sends[0].message.down().entries(0).seq(), 0U);
  EXPECT_EQ(sends[0].message.down().entries(0).bulk_ack(), 1U);
  std::size_t acknowledgements = 0;
  for (int i = 0; i < 200; ++i) acknowledgements += all_of<Send>(rig.up(1, body, "x")).size();
  EXPECT_EQ(acknowledgements, 3U) << "every 64 messages, whatever the timer does";
}

// row:L1 at verbosity 5 the running table is printed at the start
TEST(HeadCore, TheTableIsShownWhenAskedFor) {
  auto config = HeadRig::verbose_config();
  config.jobs.verbosity.fill(5);
  HeadRig rig(1, config);
  const auto actions = rig.start();
  for (const auto& row : job_state_table()) {
    EXPECT_TRUE(says(actions, std::string(job_state_name(row.state)) + " ("));
    EXPECT_TRUE(says(actions, "-> " + std::string(row.handler)));
  }
  HeadRig quiet(1);
  EXPECT_FALSE(says(quiet.start(), "table:"));
}

TEST(HeadCore, WhatIsLeftAfterALossIsToldOnce) {
  HeadRig rig(3);
  rig.make_ready();
  const auto changed = all_of<NodesChanged>(rig.on(DaemonExited{Rank(2), "exit status 1"}));
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_EQ(changed[0].nodes, 2U);
  EXPECT_EQ(changed[0].slots, 2 * HeadRig::kSlots);
  rig.submit(5, job_spec(1));
  EXPECT_EQ(all_of<NodesChanged>(rig.seen).size(), 1U);
}

TEST(HeadCore, StatusTellsNodesAndJobs) {
  HeadRig rig(2);
  rig.make_ready();
  rig.submit(5, job_spec(3));
  rig.launched(1, 1, {0, 1});
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "reset"});
  rig.now_ms = 1100;
  wire::ClientRequest message;
  message.mutable_status()->set_jobs(true);
  const auto replies = all_of<ReplyStatus>(rig.request(9, message));
  ASSERT_EQ(replies.size(), 1U);
  const auto& status = replies[0].reply.status();
  EXPECT_EQ(status.state(), "ready");
  EXPECT_EQ(status.age_ms(), 1000U);
  EXPECT_EQ(status.span(), 3U);
  ASSERT_EQ(status.nodes_size(), 2) << "the head is no node";
  EXPECT_EQ(status.nodes(0).name(), "v1");
  EXPECT_EQ(status.nodes(0).state(), "up");
  EXPECT_EQ(status.nodes(0).slots_used(), 2U);
  EXPECT_EQ(status.nodes(0).pid(), 2001U);
  EXPECT_EQ(status.nodes(1).state(), "suspect");
  ASSERT_EQ(status.jobs_size(), 1);
  EXPECT_EQ(status.jobs(0).state(), "PRTE_JOB_STATE_STARTED");
  EXPECT_EQ(status.jobs(0).processes(), 3U);
  EXPECT_EQ(status.jobs(0).running(), 2U);
  EXPECT_EQ(status.jobs(0).command(), "prog");
  message.mutable_status()->set_jobs(false);
  EXPECT_EQ(all_of<ReplyStatus>(rig.request(9, message))[0].reply.status().jobs_size(), 0);
}

TEST(HeadCore, QuestionsForTheRimArePassedOnAndUnknownOnesRefused) {
  HeadRig rig(1);
  wire::ClientRequest message;
  message.mutable_params();
  EXPECT_EQ(all_of<ReplyFromRim>(rig.request(9, message)).size(), 1U);
  message.Clear();
  const auto replies = all_of<Reply>(rig.request(9, message));
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].reply.error().code(), static_cast<std::uint32_t>(ErrorCode::kProtocol));
}

TEST(HeadCore, AClientThatWaitedForTheEndAndLeftIsNotAnswered) {
  HeadRig rig(1);
  rig.make_ready();
  rig.down(9);
  rig.on(ClientGone{ClientId(9)});
  const auto last = rig.on(DaemonExited{Rank(1), "exit 0"});
  EXPECT_EQ(all_of<Exit>(last).size(), 1U);
  EXPECT_TRUE(all_of<Reply>(last).empty());
}

}  // namespace
}  // namespace tide::core
