// What is said of a change to whoever asks: where it is, why, and what it waits for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/elastic_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

wire::ChangeReport report_of(const ElasticRig& rig, std::uint32_t number) {
  auto report = rig.head.elastic().explain_change(number);
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  return report ? *report : wire::ChangeReport();
}

std::vector<std::string> phases(const wire::ChangeReport& report) {
  std::vector<std::string> out;
  for (const auto& step : report.way()) out.push_back(step.state());
  return out;
}

std::vector<std::string> phase_events(const ElasticRig& rig) {
  std::vector<std::string> out;
  for (const auto& event : rig.head.events().events()) {
    if (event.kind() == "change-phase") out.push_back(event.detail());
  }
  return out;
}

TEST(ElasticWatching, AGrowIsExplainedInEveryPhase) {
  ElasticRig rig(1);
  const auto first = rig.begin_grow(2);
  rig.submit(kUser, job_spec(1));
  rig.on(DaemonStarted{Rank(first), 4711});
  rig.now_ms += 1'000;
  rig.report_of(first + 1, 2);
  auto report = report_of(rig, 2);
  EXPECT_FALSE(report.campaign().shrinks());
  EXPECT_THAT(report.campaign().nodes(), ElementsAre("v2", "v3"));
  EXPECT_EQ(report.campaign().phase(), "starting");
  EXPECT_EQ(report.phase_age_ms(), 1'000U);
  EXPECT_EQ(report.phase_left_ms(), 59'000U);
  EXPECT_EQ(report.then(), "fails");
  EXPECT_EQ(report.asked_by(), "request");
  EXPECT_THAT(report.parked(), ElementsAre(1U));
  ASSERT_EQ(report.waits_size(), 1);
  EXPECT_EQ(report.waits(0).kind(), "report");
  EXPECT_THAT(report.waits(0).text(), HasSubstr("a report from v2 (process 4711)"));
  EXPECT_THAT(report.waits(0).nodes(), ElementsAre("v2"));
  rig.report_of(first, 2);
  report = report_of(rig, 2);
  EXPECT_EQ(report.campaign().phase(), "wiring");
  EXPECT_EQ(report.phase_left_ms(), 59'000U) << "one limit for both";
  EXPECT_EQ(report.waits(0).kind(), "wiring");
  rig.attach_at(first);
  rig.attach_at(first + 1);
  rig.acknowledge(1);
  report = report_of(rig, 2);
  EXPECT_TRUE(report.ended());
  EXPECT_TRUE(report.end().done());
  EXPECT_THAT(phases(report), ElementsAre("starting", "wiring", "done"));
  EXPECT_EQ(report.waits_size() + report.parked_size(), 0);
  EXPECT_THAT(phase_events(rig), ElementsAre("grow 2 (v2, v3): wiring"));
}

// row:E16
TEST(ElasticWatching, WhoHasNotAcknowledgedAGrowIsNamed) {
  ElasticRig rig(2);
  const auto first = rig.begin_grow(1);
  rig.report_of(first, 2);
  rig.attach_at(first);
  EXPECT_THAT(report_of(rig, 2).campaign().missing(), ElementsAre("v1", "v2"));
  rig.acknowledge(2);
  const auto report = report_of(rig, 2);
  EXPECT_EQ(report.campaign().phase(), "wiring");
  EXPECT_THAT(report.campaign().missing(), ElementsAre("v1"));
  ASSERT_EQ(report.waits_size(), 1);
  EXPECT_EQ(report.waits(0).kind(), "wiring");
  EXPECT_EQ(report.waits(0).text(), "v1 (process 2001) to acknowledge the new nodes");
  EXPECT_THAT(report.waits(0).nodes(), ElementsAre("v1"));
  wire::ExplainReply of_job;
  rig.head.elastic().explain({CampaignId(2)}, of_job);
  EXPECT_THAT(of_job.waits(0).text(), HasSubstr("no acknowledgement from v1"));
  rig.fire(TimerKind::kStart, 2);
  rig.on(DaemonExited{Rank(first), "ended"});
  rig.give_back();
  const auto end = report_of(rig, 2).end();
  EXPECT_EQ(end.cause(), "time-limit");
  EXPECT_THAT(end.text(), HasSubstr("within 1 min: no acknowledgement from v1\n"));
  EXPECT_THAT(end.text(), Not(HasSubstr("fewer nodes"))) << "v1 was there before";
}

// row:E16
TEST(ElasticWatching, AGrowThatIsGoingToFailSaysSoBeforeAllHaveBeenHeardOf) {
  ElasticRig rig(1);
  const auto first = rig.begin_grow(2);
  rig.submit(kUser, job_spec(1));
  rig.report_of(first, 2);
  rig.on(LinkDown{LinkId(first), LinkEnd::kClosed, "the peer closed the connection"});
  rig.now_ms += 2'000;
  rig.submit(kUser + 1, job_spec(1));
  const auto report = report_of(rig, 2);
  EXPECT_EQ(report.campaign().phase(), "starting");
  EXPECT_EQ(report.then(), "fails-anyway");
  EXPECT_EQ(report.phase_left_ms(), 8'000U) << "the others have ten seconds";
  EXPECT_THAT(report.campaign().missing(), ElementsAre("v3"));
  ASSERT_EQ(report.waits_size(), 2);
  EXPECT_EQ(report.waits(0).kind(), "failure");
  EXPECT_EQ(report.waits(0).text(),
            "the daemon on node v2 was lost while the DVM grew: the peer closed the connection");
  EXPECT_THAT(report.waits(0).nodes(), ElementsAre("v2"));
  EXPECT_EQ(report.waits(1).kind(), "report");
  wire::ExplainReply of_job;
  rig.head.elastic().explain({CampaignId(2)}, of_job);
  EXPECT_THAT(of_job.waits(0).text(),
              HasSubstr("grow 2 (v2, v3): will fail, because the daemon on"));
}

// row:E16 the acknowledgement of a daemon speaks for all below it
TEST(ElasticWatching, WhoSpeaksForOthersMayNotBeTheOneThatHasNotAcknowledged) {
  auto config = elastic_config();
  config.overlay.radix = 1;
  ElasticRig rig(1, config);
  const auto first = rig.begin_grow(1);
  rig.report_of(first, 2);
  const auto report = report_of(rig, 2);
  EXPECT_THAT(report.campaign().missing(), ElementsAre("v1"));
  EXPECT_THAT(report.waits(0).text(), HasSubstr("v1 (process 2001), or a daemon below it,"));
}

TEST(ElasticWatching, AGrowThatFailedSaysWhy) {
  ElasticRig rig(1);
  const auto first = rig.begin_grow(2);
  rig.report_of(first, 2);
  rig.on(DaemonLaunchFailed{Rank(first + 1), "no such file"});
  EXPECT_EQ(report_of(rig, 2).waits(0).kind(), "rollback");
  EXPECT_EQ(report_of(rig, 2).then(), "") << "the roster sees to it";
  rig.on(DaemonExited{Rank(first), "ended"});
  EXPECT_EQ(report_of(rig, 2).waits(0).kind(), "manager");
  rig.give_back();
  const auto report = report_of(rig, 2);
  EXPECT_EQ(report.end().cause(), "cannot-start");
  EXPECT_THAT(phases(report), ElementsAre("starting", "rolling-back", "returning", "failed"));
}

TEST(ElasticWatching, AShrinkNamesTheProcessThatDoesNotEnd) {
  ElasticRig rig(2);
  rig.submit(kUser, on_node("v2", 2));
  rig.launched(2, 1, {0, 1});
  rig.release({"v2"});
  auto report = report_of(rig, 2);
  EXPECT_EQ(report.campaign().phase(), "processes");
  EXPECT_EQ(report.then(), "goes-on");
  ASSERT_EQ(report.waits_size(), 2);
  EXPECT_EQ(report.waits(1).kind(), "process");
  EXPECT_THAT(report.waits(1).text(), HasSubstr("process 1 of job 1 to end, on v2 (process "));
  EXPECT_THAT(report.waits(1).jobs(), ElementsAre(1U));
  rig.ended(2, 1, {0, 1}, ProcState::kKilledByCmd, 0, SIGTERM);
  report = report_of(rig, 2);
  EXPECT_EQ(report.campaign().phase(), "departing");
  ASSERT_EQ(report.waits_size(), 1);
  EXPECT_EQ(report.waits(0).kind(), "departure");
  EXPECT_THAT(report.waits(0).text(), HasSubstr("the daemon on v2"));
  EXPECT_EQ(report.phase_left_ms(), 10'000U);
  EXPECT_EQ(report.then(), "force");
  rig.fire(TimerKind::kChange, 2);
  EXPECT_THAT(report_of(rig, 2).waits(0).text(), HasSubstr("by force"));
  EXPECT_EQ(report_of(rig, 2).then(), "goes-on");
  rig.on(DaemonExited{Rank(2), "ended"});
  rig.give_back();
  EXPECT_THAT(phases(report_of(rig, 2)),
              ElementsAre("waiting", "processes", "departing", "departing", "returning", "done"));
}

TEST(ElasticWatching, AShrinkNamesTheGrowThatItWaitsFor) {
  ElasticRig rig(1);
  rig.begin_grow(1);
  rig.release({"v2"}, 8);
  const auto report = report_of(rig, 3);
  EXPECT_EQ(report.campaign().phase(), "waiting");
  ASSERT_EQ(report.waits_size(), 1);
  EXPECT_THAT(report.waits(0).text(), HasSubstr("grow 2 to end, which brings v2"));
}

TEST(ElasticWatching, WhatNoManagerHasAnsweredIsShown) {
  ElasticRig rig(1);
  const auto asked = all_of<AskForNodes>(rig.ask(2));
  auto status = rig.head.status(0, rig.now_ms + 1'000);
  ASSERT_EQ(status.asks_size(), 1);
  EXPECT_EQ(status.asks(0).text(), "2 nodes");
  EXPECT_EQ(status.asks(0).age_ms(), 1'000U);
  EXPECT_EQ(status.asks(0).left_ms(), 29'000U);
  rig.grant(asked.at(0).ask, 2);
  EXPECT_EQ(rig.head.status(0, rig.now_ms).asks_size(), 0);
}

TEST(ElasticWatching, WhoAskedIsSaid) {
  ElasticRig rig(2);
  rig.on(NodesPushed{{{"v7", HeadRig::kSlots, HeadRig::incarnation(7)}}});
  EXPECT_EQ(report_of(rig, 2).asked_by(), "push");
  rig.on(NodesReclaimed{{"v1"}, "wanted"});
  EXPECT_EQ(report_of(rig, 3).asked_by(), "reclaim");
  rig.release({"v2"});
  EXPECT_THAT(report_of(rig, 4).asked(), HasSubstr("still there"));
  rig.on(ClientGone{ClientId(kAsker)});
  EXPECT_THAT(report_of(rig, 4).asked(), HasSubstr("has gone"));
}

std::vector<std::uint32_t> changes_of(const ElasticRig& rig, const std::string& allocation) {
  std::vector<std::uint32_t> out;
  const auto report = rig.head.elastic().explain_allocation(allocation);
  if (!report) return out;
  for (const auto& one : report->changes()) out.push_back(one.campaign().number());
  return out;
}

TEST(ElasticWatching, AnAllocationListsWhatTookNodesOfItAway) {
  ElasticRig rig(1);
  rig.grow_wholly(2, 2);
  EXPECT_THAT(changes_of(rig, "a1"), ElementsAre(2U));
  rig.release({"v2"});
  EXPECT_THAT(changes_of(rig, "a1"), ElementsAre(2U, 3U)) << "it is on its way";
  rig.on(DaemonExited{Rank(2), "ended"});
  rig.give_back();
  rig.on(NodesReclaimed{{"v3"}, "wanted"});
  EXPECT_THAT(changes_of(rig, "a1"), ElementsAre(2U, 3U, 4U));
  rig.release({"v1"});
  EXPECT_THAT(changes_of(rig, "a1"), ElementsAre(2U, 3U, 4U)) << "v1 is of none";
}

TEST(ElasticWatching, WhatIsNotKnownIsNotExplained) {
  ElasticRig rig(1);
  const auto why = [&rig](std::uint32_t number) {
    return rig.head.elastic().explain_change(number).error().message;
  };
  EXPECT_THAT(why(1), HasSubstr("its size has not been changed"));
  rig.grow_wholly(1, 2);
  EXPECT_THAT(why(3), HasSubstr("there was one, number 2"));
  for (std::uint32_t i = 0; i < 100; ++i) {
    rig.on(NodesPushed{{{"w", HeadRig::kSlots, HeadRig::incarnation(900 + i)}}});
    rig.on(DaemonLaunchFailed{Rank(3 + i), "no"});
    rig.give_back();
  }
  EXPECT_THAT(why(2), HasSubstr("so long ago"));
  EXPECT_TRUE(report_of(rig, 3).ended());
}

// row:E14 each that was held goes on or is given up, once
TEST(ElasticWatching, ParksAndReleasesAreCounted) {
  ElasticRig rig(1);
  const auto good = rig.begin_grow(1);
  rig.submit(kUser, job_spec(1));
  const auto bad = rig.begin_grow(1, 8);
  rig.submit(kUser + 1, job_spec(1));
  rig.on(DaemonLaunchFailed{Rank(bad), "no"});
  EXPECT_EQ(rig.head.jobs().held(), 2U);
  EXPECT_EQ(rig.head.jobs().released(), 0U);
  EXPECT_EQ(rig.head.jobs().given_up(), 1U);
  rig.report_of(good, 2);
  rig.attach_at(good);
  rig.acknowledge(1);
  EXPECT_EQ(rig.head.jobs().released(), 1U);
}

TEST(ElasticWatching, AnElasticDvmWithoutNodesTellsJobsWhatToDo) {
  ElasticRig rig(1);
  rig.release({"v1"});
  rig.on(DaemonExited{Rank(1), "ended"});
  rig.give_back();
  rig.submit(kUser, job_spec(1));
  ASSERT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_EQ(endings(rig.seen)[0].state(), static_cast<std::uint32_t>(JobState::kMapFailed));
  EXPECT_THAT(endings(rig.seen)[0].messages(0), HasSubstr("tide grow --count"));
}

}  // namespace
}  // namespace tide::core
