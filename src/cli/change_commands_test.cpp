#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "cli/change_rig.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using ChangeCommands = ChangeRig;

TEST_F(ChangeCommands, TheFirstAnswerIsEnoughUnlessOneWaits) {
  const Outcome outcome = run({"tide", "grow", "--count", "2"}, {begun({"v3", "v4"})});
  EXPECT_EQ(outcome.status, kExitSuccess);
  EXPECT_EQ(outcome.out, "growing by 2 nodes: v3, v4 (allocation a1)\n");
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_EQ(outcome.request.grow().count(), 2U);
}

TEST_F(ChangeCommands, WhoWaitsHearsHowItGoesAndHowItEnds) {
  const Outcome outcome = run({"tide", "shrink", "--host", "v[3-4]", "--wait"},
                              {begun({"v3", "v4"}), news("node v3 has left, 1 to go"),
                               news("node v4 has left"), ended(true, "shrunk by 2 nodes")});
  EXPECT_EQ(outcome.status, kExitSuccess);
  EXPECT_EQ(outcome.out, "shrinking by 2 nodes: v3, v4 (allocation a1)\nshrunk by 2 nodes\n");
  EXPECT_EQ(outcome.err, "tide shrink: node v3 has left, 1 to go\ntide shrink: node v4 has left\n");
  EXPECT_THAT(outcome.request.shrink().nodes(), ElementsAre("v3", "v4"));
}

TEST_F(ChangeCommands, AFailureIsToldAndHasItsStatus) {
  const Outcome outcome =
      run({"tide", "grow", "--host", "me@node7:4", "--wait"},
          {begun({"node7"}), ended(false, "the DVM has not grown: no such host")});
  EXPECT_EQ(outcome.status, kExitUndone);
  EXPECT_EQ(outcome.err, "tide grow: the DVM has not grown: no such host\n");
  const auto& host = outcome.request.grow().hosts(0);
  EXPECT_EQ(host.node(), "node7");
  EXPECT_EQ(host.user(), "me");
  EXPECT_EQ(host.slots(), 4U);
}

TEST_F(ChangeCommands, ARefusalShowsWhatTheHeadSays) {
  const Outcome outcome = run({"tide", "shrink", "--alloc", "a7"},
                              {error(ErrorCode::kInvalidArgument, "no such thing\n  try: more")});
  EXPECT_EQ(outcome.status, kExitRefused);
  EXPECT_EQ(outcome.err, "tide shrink: no such thing\n  try: more\n");
  EXPECT_EQ(outcome.request.shrink().allocation(), "a7");
}

TEST_F(ChangeCommands, NobodyKnowsWhenTheHeadIsGone) {
  const Outcome early = run({"tide", "grow", "--count", "1"}, {});
  EXPECT_EQ(early.status, kExitUnknown);
  EXPECT_THAT(early.err, HasSubstr("whether it was done is not known"));
  const Outcome late = run({"tide", "grow", "--count", "1", "--wait"}, {begun({"v3"})});
  EXPECT_EQ(late.status, kExitUnknown);
  EXPECT_THAT(late.err, HasSubstr("tide status shows the nodes"));
}

TEST_F(ChangeCommands, NothingToDoIsDone) {
  auto nothing = begun({"v1"}, true);
  nothing.mutable_change_begun()->clear_allocation();
  const Outcome outcome = run({"tide", "grow", "--host", "v1", "--wait"}, {nothing});
  EXPECT_EQ(outcome.status, kExitSuccess);
  EXPECT_EQ(outcome.out, "nothing to do: the DVM has v1 already\n");
  const Outcome json = run({"tide", "grow", "--host", "v1", "--json"}, {nothing});
  EXPECT_THAT(json.out, HasSubstr("\"number\": null,\n    \"allocation\": null,"));
  EXPECT_THAT(json.out, HasSubstr("\"outcome\": \"done\""));
  const Outcome released = run({"tide", "shrink", "--alloc", "a1"}, {begun({}, true)});
  EXPECT_EQ(released.status, kExitSuccess);
  EXPECT_EQ(released.out, "allocation a1 is over; no node leaves with it\n");
}

TEST_F(ChangeCommands, WhatAnotherChangeDoesIsNotCalledItsOwn) {
  auto both = begun({"v3", "v4"});
  both.mutable_change_begun()->add_already("v4");
  EXPECT_EQ(run({"tide", "shrink", "--host", "v3,v4"}, {both}).out,
            "shrinking by 1 node: v3 (allocation a1); v4 is leaving already\n");
  both.mutable_change_begun()->add_already("v3");
  EXPECT_EQ(run({"tide", "shrink", "--host", "v3,v4"}, {both}).out, "v4, v3 are leaving already\n");
  auto other = begun({"v3"});
  other.mutable_change_begun()->add_already("v5");
  EXPECT_EQ(run({"tide", "grow", "--host", "v3,v5"}, {other}).out,
            "growing by 1 node: v3 (allocation a1); the DVM has or gets v5 already\n");
}

TEST_F(ChangeCommands, WhoIsInterruptedHearsThatItGoesOn) {
  auto under_way = begun({"v3"});
  under_way.mutable_change_begun()->set_number(4);
  const Outcome outcome = run({"tide", "grow", "--count", "1", "--wait"}, {under_way}, SIGINT);
  EXPECT_EQ(outcome.status, exit_status_of_signal(SIGINT));
  EXPECT_EQ(outcome.out, "growing by 1 node: v3 (allocation a1)\n");
  EXPECT_EQ(outcome.err,
            "tide grow: interrupted; the grow goes on: tide explain change:4 shows how far it is, "
            "tide status the nodes\n");
  const Outcome early = run({"tide", "shrink", "--count", "1", "--wait"}, {}, SIGTERM);
  EXPECT_EQ(early.status, exit_status_of_signal(SIGTERM));
  EXPECT_EQ(early.err,
            "tide shrink: interrupted; the shrink may still begin: tide status shows it\n");
  const Outcome json =
      run({"tide", "grow", "--count", "1", "--wait", "--json"}, {under_way}, SIGINT);
  EXPECT_EQ(json.status, exit_status_of_signal(SIGINT));
  EXPECT_THAT(json.out, HasSubstr("\"number\": 4"));
  EXPECT_THAT(json.out, HasSubstr("\"outcome\": null"));
  EXPECT_THAT(json.out, HasSubstr("the grow goes on"));
}

TEST_F(ChangeCommands, WhatASchedulerLetsWaitIsSaidUntilItIsGranted) {
  const Outcome outcome =
      run({"tide", "grow", "--count", "1"},
          {news("waiting for 1 node: job 17 is pending (Priority)"),
           news("waiting for 1 node: job 17 is pending (Resources)"), begun({"v3"})});
  EXPECT_EQ(outcome.status, kExitSuccess);
  EXPECT_EQ(outcome.out, "growing by 1 node: v3 (allocation a1)\n");
  EXPECT_EQ(outcome.err,
            "tide grow: waiting for 1 node: job 17 is pending (Priority)\n"
            "tide grow: waiting for 1 node: job 17 is pending (Resources)\n");
  const Outcome refused =
      run({"tide", "alloc", "new", "--count", "1", "--wait"},
          {news("waiting for 1 node: job 17 is pending"), error(ErrorCode::kUnavailable, "no")});
  EXPECT_EQ(refused.status, kExitRefused);
  EXPECT_THAT(refused.err, HasSubstr("is pending\ntide alloc: no"));
}

TEST_F(ChangeCommands, WhoIsInterruptedBeforeTheGrantHearsThatNothingIsAskedForAnyMore) {
  const Outcome outcome = run({"tide", "grow", "--count", "1"},
                              {news("waiting for 1 node: job 17 is pending")}, SIGINT);
  EXPECT_EQ(outcome.status, exit_status_of_signal(SIGINT));
  EXPECT_THAT(outcome.err, HasSubstr("pending\ntide grow: interrupted; what was not granted yet"));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(ChangeCommands, ATimeGoesWithTheRequestAndTheLeaseIsTold) {
  auto leased = begun({"v3"});
  leased.mutable_change_begun()->set_lease_ms(300'000);
  const Outcome outcome =
      run({"tide", "grow", "--count", "1", "--time", "5m", "--warn", "30s"}, {leased});
  EXPECT_EQ(outcome.request.grow().time_ms(), 300'000U);
  EXPECT_EQ(outcome.request.grow().warn_ms(), 30'000U);
  EXPECT_THAT(outcome.out, HasSubstr("(allocation a1)\nfor 5 min, then they go back\n"));
  auto prolonged = begun({"v3"}, true);
  prolonged.mutable_change_begun()->set_lease_ms(600'000);
  const Outcome longer = run({"tide", "grow", "--extend", "a1", "--time", "5m"}, {prolonged});
  EXPECT_EQ(longer.status, kExitSuccess);
  EXPECT_EQ(longer.request.grow().extend(), "a1");
  EXPECT_EQ(longer.out, "the lease of allocation a1 is prolonged: it ends in 10 min\n");
}

TEST_F(ChangeCommands, AWarningBeforeTheLeaseAsksNobody) {
  const auto refused = run_alone({"tide", "grow", "--count", "1", "--time", "5m", "--warn", "5m"});
  EXPECT_EQ(refused.status, kExitUsage);
  EXPECT_THAT(refused.err, HasSubstr("--warn 5m: a warning so long before the end of a lease of 5m "
                                     "would come before the nodes"));
  const auto longer = run({"tide", "grow", "--extend", "a1", "--time", "1m", "--warn", "5m"},
                          {begun({"v3"}, true)});
  EXPECT_EQ(longer.status, kExitSuccess) << "it comes on top of what is left";
}

TEST_F(ChangeCommands, ALeaseThatIsCutShortIsExplained) {
  const auto cut = [](wire::ClientReply reply, std::uint64_t lease_ms) {
    reply.mutable_change_begun()->set_lease_ms(lease_ms);
    reply.mutable_change_begun()->mutable_cut()->set_granted_ms(600'000);
    reply.mutable_change_begun()->mutable_cut()->set_manager("pool");
    return reply;
  };
  const Outcome outcome =
      run({"tide", "grow", "--count", "1", "--time", "1h"}, {cut(begun({"v3"}), 600'000)});
  EXPECT_EQ(outcome.out,
            "growing by 1 node: v3 (allocation a1)\n"
            "for 10 min, then they go back; 1 h was asked for, and resource manager pool grants 10 "
            "min at most\n");
  const Outcome longer =
      run({"tide", "grow", "--extend", "a1", "--time", "1h"}, {cut(begun({"v3"}, true), 900'000)});
  EXPECT_EQ(longer.out,
            "the lease of allocation a1 is prolonged: it ends in 15 min; 1 h was asked for, and "
            "resource manager pool grants 10 min at most\n");
  const Outcome json = run({"tide", "grow", "--count", "1", "--time", "1h", "--json"},
                           {cut(begun({"v3"}), 600'000)});
  EXPECT_THAT(json.out, HasSubstr("\"lease_cut_by\": \"pool\""));
}

TEST_F(ChangeCommands, ProgramsGetOneDocument) {
  const Outcome begins = run({"tide", "grow", "--count", "1", "--json"}, {begun({"v3"})});
  EXPECT_EQ(begins.status, kExitSuccess);
  EXPECT_THAT(begins.out, HasSubstr("\"nodes\": [\n      \"v3\"\n    ]"));
  EXPECT_THAT(begins.out, HasSubstr("\"outcome\": null"));
  const Outcome fails = run({"tide", "grow", "--count", "1", "--wait", "--json"},
                            {begun({"v3"}), ended(false, "it failed")});
  EXPECT_EQ(fails.status, kExitUndone);
  EXPECT_THAT(fails.out, HasSubstr("\"outcome\": \"failed\",\n    \"cause\": \"cannot-start\""));
  const Outcome refused = run({"tide", "shrink", "--count", "9", "--json"},
                              {error(ErrorCode::kOutOfResources, "too few")});
  EXPECT_EQ(refused.status, kExitRefused);
  EXPECT_THAT(refused.out, HasSubstr("\"code\": \"out-of-resources\""));
}

TEST_F(ChangeCommands, ThePoolIsToldWhatToDo) {
  wire::ClientReply done;
  done.mutable_pool()->add_nodes("v3");
  const Outcome push = run({"tide", "pool", "push", "--count", "2"}, {done});
  EXPECT_EQ(push.status, kExitSuccess);
  EXPECT_FALSE(push.request.pool().reclaim());
  EXPECT_EQ(push.request.pool().count(), 2U);
  EXPECT_EQ(push.out,
            "the pool gives the DVM 1 node: v3; tide status and tide events show how it goes\n");
  const Outcome taken = run({"tide", "pool", "reclaim", "--count", "1"}, {done});
  EXPECT_EQ(taken.out,
            "the pool takes back 1 node: v3; tide status and tide events show how it goes\n");
  const Outcome reclaim = run({"tide", "pool", "reclaim", "--host", "v3"},
                              {error(ErrorCode::kNotFound, "no node 'v3'")});
  EXPECT_EQ(reclaim.status, kExitRefused);
  EXPECT_TRUE(reclaim.request.pool().reclaim());
  EXPECT_THAT(reclaim.request.pool().nodes(), ElementsAre("v3"));
}

TEST_F(ChangeCommands, SenselessOnesAskNobody) {
  const auto refused = [this](std::vector<std::string_view> argv, const char* part) {
    const Outcome outcome = run_alone(std::move(argv));
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_THAT(outcome.err, HasSubstr(part));
  };
  refused({"tide", "grow"}, "neither how many nodes nor which ones");
  refused({"tide", "grow", "--count", "1", "--host", "v3"}, "--count and --host both");
  refused({"tide", "grow", "--count", "0"}, "between 1 and");
  refused({"tide", "grow", "--host", "a,,b"}, "--host, column 3");
  refused({"tide", "grow", "--extend", "a1"}, "says how much");
  refused({"tide", "grow", "--extend", "a1", "--count", "1", "--time", "5m"},
          "--count and --extend");
  refused({"tide", "grow", "--count", "1", "--time", "soon"}, "is no time");
  refused({"tide", "explain", "v3"}, "neither a job nor a change");
  refused({"tide", "explain"}, "one job, change or allocation is needed");
  refused({"tide", "grow", "--alloc", "a1"}, "there is no option --alloc");
  refused({"tide", "shrink", "--alloc", "a1", "--count", "1"}, "--count and --alloc both");
  refused({"tide", "shrink", "--alloc="}, "the value of --alloc is empty");
  refused({"tide", "shrink", "--host", "v3:2"}, "'v3:2' is no name of a node");
  refused({"tide", "shrink", "--host", "^v3"}, "'^v3' is no name of a node");
  refused({"tide", "shrink", "--count", "1", "now"}, "now");
  refused({"tide", "pool", "--count", "1"}, "tide pool push");
  refused({"tide", "pool", "push"}, "tide pool push");
  refused({"tide", "pool", "pull", "--count", "1"}, "tide pool push");
}

}  // namespace
}  // namespace tide::cli
