// Jobs that ask for nodes, in an elastic DVM and in one that is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/elastic_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kOther = 6;
constexpr auto kNeverLaunched = static_cast<std::uint32_t>(JobState::kNeverLaunched);
constexpr auto kAllocFailed = static_cast<std::uint32_t>(JobState::kAllocFailed);

wire::JobSpec adding(const std::vector<std::string>& nodes, std::uint32_t processes = 1) {
  auto out = job_spec(processes);
  for (const auto& node : nodes) out.add_add_hosts()->set_node(node);
  return out;
}

// Who asked for `node`, which becomes the next rank, gets it.
Actions grant_last(ElasticRig& rig, std::uint32_t count = 1) {
  return rig.grant(all_of<AskForNodes>(rig.seen).back().ask, count);
}

void wire_up(ElasticRig& rig, std::uint32_t old_nodes, std::uint32_t rank, std::uint32_t campaign) {
  rig.report_of(rank, campaign);
  rig.attach_at(rank);
  for (std::uint32_t old = 1; old <= old_nodes; ++old) rig.acknowledge(old);
}

std::string explained(const ElasticRig& rig, std::uint32_t job) {
  wire::JobRef ref;
  ref.set_number(job);
  const auto said = rig.head.explain(ref);
  std::string out;
  for (const auto& point : said->waits()) {
    out += point.kind() + ": " + point.text() + "\n";
  }
  return out;
}

class Extending : public ::testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] static bool elastic() { return GetParam(); }
};

// row:L3 row:E1 row:E2 row:E17
TEST_P(Extending, AJobIsMappedWhenTheNodesThatItAskedForAreWired) {
  ElasticRig rig(1, elastic());
  rig.submit(kUser, adding({"v2"}, 4));
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(), "ALLOCATE");
  EXPECT_THAT(explained(rig, 1), HasSubstr("grant: "));
  ASSERT_EQ(all_of<AskForNodes>(rig.seen).size(), 1U);
  EXPECT_EQ(all_of<AskForNodes>(rig.seen)[0].hosts.at(0).node(), "v2");
  grant_last(rig);
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(),
            elastic() ? "WAITING_FOR_DAEMONS" : "DAEMONS_LAUNCHED");
  EXPECT_THAT(explained(rig, 1), HasSubstr("grow 2 (v2): no report yet from v2"));
  rig.report_of(2, 2);
  rig.attach_at(2);
  EXPECT_THAT(launched_on(rig.seen), IsEmpty()) << "v1 does not know of v2 yet";
  rig.acknowledge(1);
  EXPECT_EQ(launched_on(rig.seen), (std::set<std::uint32_t>{1, 2}));
  auto states = states_of(rig.seen, "dvm@1");
  std::erase(states, "WAITING_FOR_DAEMONS");
  EXPECT_THAT(states,
              ElementsAre("INIT_COMPLETE", "ALLOCATE", "ALLOCATION_COMPLETE", "LAUNCH_DAEMONS",
                          "DAEMONS_LAUNCHED", "DAEMONS_REPORTED", "VM_READY", "MAP", "MAP_COMPLETE",
                          "SYSTEM_PREP", "LAUNCH_APPS", "SEND_LAUNCH_MSG"));
  EXPECT_TRUE(rig.head.elastic().idle());
}

// row:L5
TEST_P(Extending, NodesThatAreThereNeedNoDaemon) {
  ElasticRig rig(2, elastic());
  rig.submit(kUser, adding({"v2", "v1"}));
  EXPECT_THAT(all_of<AskForNodes>(rig.seen), IsEmpty());
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(), "SEND_LAUNCH_MSG");
  EXPECT_THAT(states_of(rig.seen, "dvm@1"),
              ::testing::Not(::testing::Contains("DAEMONS_LAUNCHED")));
  EXPECT_TRUE(rig.head.elastic().idle());
}

// row:E5 row:E6
TEST_P(Extending, AJobWhoseNodesDoNotComeIsNotLaunchedAndNothingStays) {
  ElasticRig rig(1, elastic());
  rig.submit(kUser, adding({"v2", "v3"}));
  grant_last(rig, 2);
  rig.report_of(2, 2);
  const auto failed = rig.on(DaemonLaunchFailed{Rank(3), "no such file\n  try: another"});
  ASSERT_EQ(endings(failed).size(), 1U) << "at once";
  EXPECT_EQ(endings(failed)[0].state(), kNeverLaunched);
  EXPECT_THAT(endings(failed)[0].messages(0), HasSubstr("no such file\n  try: another"));
  EXPECT_THAT(rig.names(), ElementsAre("v1"));
  ASSERT_EQ(all_of<EndDaemon>(failed).size(), 1U);
  rig.on(DaemonExited{Rank(2), "ended"});
  EXPECT_THAT(all_of<ReturnNodes>(rig.seen).back().nodes, ElementsAre("v2", "v3"));
  rig.give_back();
  EXPECT_TRUE(rig.head.elastic().idle());
  rig.submit(kOther, job_spec(1));
  EXPECT_EQ(launched_on(rig.seen), (std::set<std::uint32_t>{1})) << "the DVM goes on";
}

// row:E1 row:E17
TEST_P(Extending, OthersThatComeMeanwhileAreNotGivenUp) {
  ElasticRig rig(1, elastic());
  rig.submit(kUser, adding({"v2"}));
  grant_last(rig);
  rig.submit(kOther, job_spec(1));
  EXPECT_EQ(states_of(rig.seen, "dvm@2").back(),
            elastic() ? "WAITING_FOR_DAEMONS" : "SEND_LAUNCH_MSG");
  const auto failed = rig.on(DaemonLaunchFailed{Rank(2), "no"});
  ASSERT_EQ(endings(failed).size(), 1U);
  EXPECT_EQ(endings(failed)[0].job(), 1U);
  EXPECT_EQ(states_of(rig.seen, "dvm@2").back(), "SEND_LAUNCH_MSG");
}

// row:E17 two submitters at once: what both ask for comes once
TEST_P(Extending, TwoJobsMayAskForTheSameNode) {
  ElasticRig rig(1, elastic());
  rig.submit(kUser, adding({"v2"}));
  rig.submit(kOther, adding({"v2"}));
  ASSERT_EQ(all_of<AskForNodes>(rig.seen).size(), 1U) << "the second waits for the first answer";
  grant_last(rig);
  ASSERT_EQ(all_of<AskForNodes>(rig.seen).size(), 1U) << "it is on its way";
  EXPECT_THAT(launched_on(rig.seen), IsEmpty());
  wire_up(rig, 1, 2, 2);
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(), "SEND_LAUNCH_MSG");
  EXPECT_EQ(states_of(rig.seen, "dvm@2").back(), "SEND_LAUNCH_MSG");
}

// row:E6 the second depends on the grow that the first began, though it came later
TEST_P(Extending, BothAreGivenUpIfItDoesNotCome) {
  ElasticRig rig(1, elastic());
  rig.submit(kUser, adding({"v2"}));
  grant_last(rig);
  rig.submit(kOther, adding({"v2", "v1"}));
  const auto failed = rig.on(DaemonLaunchFailed{Rank(2), "no"});
  ASSERT_EQ(endings(failed).size(), 2U);
  EXPECT_EQ(endings(failed)[0].state(), kNeverLaunched);
  EXPECT_EQ(endings(failed)[1].state(), kNeverLaunched);
}

// row:E1 what others wait for does not hold it up
TEST(ExtendingFixed, EachJobWaitsForItsOwnNodesOnly) {
  ElasticRig rig(1, false);
  rig.submit(kUser, adding({"v2"}));
  grant_last(rig);
  rig.submit(kOther, adding({"v3"}));
  grant_last(rig);
  wire_up(rig, 1, 3, 3);
  EXPECT_EQ(states_of(rig.seen, "dvm@2").back(), "SEND_LAUNCH_MSG");
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(), "DAEMONS_LAUNCHED");
  rig.on(DaemonLaunchFailed{Rank(2), "no"});
  ASSERT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_EQ(endings(rig.seen)[0].job(), 1U);
}

// row:E17 a job that ends during its grow
TEST_P(Extending, TheGrowOfAJobThatHasEndedGoesOn) {
  ElasticRig rig(1, elastic());
  rig.submit(kUser, adding({"v2"}));
  grant_last(rig);
  rig.kill(kOther, 1, SIGTERM);
  ASSERT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_FALSE(rig.head.elastic().idle());
  wire_up(rig, 1, 2, 2);
  EXPECT_TRUE(rig.head.elastic().idle());
  EXPECT_EQ(rig.state_of(2), NodeState::kUp);
  EXPECT_THAT(launched_on(rig.seen), IsEmpty());
}

TEST_P(Extending, NodesForAJobThatDoesNotWaitAnyMoreGoBack) {
  ElasticRig rig(1, elastic());
  rig.submit(kUser, adding({"v2"}));
  rig.submit(kOther, adding({"v3"}));
  const auto asked = all_of<AskForNodes>(rig.seen).at(0).ask;
  const auto gone = rig.on(ClientGone{ClientId(kUser)});
  ASSERT_EQ(all_of<CancelAsk>(gone).size(), 1U);
  EXPECT_EQ(all_of<CancelAsk>(gone)[0].ask, asked);
  ASSERT_EQ(all_of<AskForNodes>(gone).size(), 1U) << "now the next";
  EXPECT_EQ(all_of<AskForNodes>(gone)[0].hosts.at(0).node(), "v3");
  const auto late = rig.grant(asked, 1);
  ASSERT_EQ(all_of<ReturnNodes>(late).size(), 1U);
  EXPECT_THAT(all_of<ReturnNodes>(late)[0].nodes, ElementsAre("v2"));
  EXPECT_THAT(all_of<LaunchDaemons>(late), IsEmpty());
}

TEST_P(Extending, AJobThatGetsNoNodesSaysWhy) {
  ElasticRig rig(1, elastic());
  rig.submit(kUser, adding({"v2"}));
  rig.submit(kUser, adding({"v3"}));
  const auto refused = rig.on(NodesRefused{1, {ErrorCode::kNotFound, "v2 is not known"}});
  ASSERT_EQ(endings(refused).size(), 1U);
  EXPECT_EQ(endings(refused)[0].state(), kAllocFailed);
  EXPECT_THAT(endings(refused)[0].messages(0), HasSubstr("v2 is not known"));
  ASSERT_EQ(all_of<AskForNodes>(refused).size(), 1U);
  const auto silent = rig.fire(TimerKind::kGrant, 2);
  ASSERT_EQ(endings(silent).size(), 1U);
  EXPECT_THAT(endings(silent)[0].messages(0), HasSubstr("no resource manager answered"));
  EXPECT_TRUE(rig.head.elastic().idle());
}

// row:E20 no node is target of a grow and of a shrink at once, so who names one has to come later
TEST(ExtendingElastic, AJobThatNamesANodeThatIsAboutToLeaveIsRefused) {
  ElasticRig rig(2);
  rig.submit(kOther, on_node("v2"));
  rig.launched(2, 1, {0});
  rig.release({"v2"});
  ASSERT_EQ(rig.state_of(2), NodeState::kLeaving);
  rig.submit(kUser, adding({"v3", "v2"}));
  EXPECT_THAT(all_of<AskForNodes>(rig.seen), IsEmpty());
  ASSERT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_EQ(endings(rig.seen)[0].state(), kAllocFailed);
  EXPECT_THAT(endings(rig.seen)[0].messages(0), HasSubstr("node v2 is about to leave the DVM"));
}

TEST_P(Extending, WordsThatNameNoHostAreRefused) {
  ElasticRig rig(1, elastic());
  auto spec = job_spec(1);
  auto* word = spec.add_add_hosts();
  word->set_kind(wire::HostRequest::INDEX);
  word->set_text("+n0");
  rig.submit(kUser, spec);
  ASSERT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_EQ(endings(rig.seen)[0].state(), kAllocFailed);
  EXPECT_THAT(endings(rig.seen)[0].messages(0), HasSubstr("'+n0'"));
}

TEST_P(Extending, NodesAreActivatedByNameByCountOrAll) {
  ElasticRig rig(1, elastic());
  auto spec = job_spec(1);
  spec.mutable_activate()->set_count(2);
  spec.mutable_activate()->set_all(true);
  spec.mutable_activate()->add_hosts()->set_node("v1");
  spec.mutable_activate()->add_hosts()->set_node("v2");
  rig.submit(kUser, spec);
  const auto asked = all_of<AskForNodes>(rig.seen);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].count, 2U);
  EXPECT_TRUE(asked[0].all);
  EXPECT_THAT(asked[0].hosts, IsEmpty());
  ASSERT_EQ(asked[0].listed.size(), 1U) << "v1 is there";
  EXPECT_EQ(asked[0].listed[0].node(), "v2");
  rig.on(NodesGranted{asked[0].ask, {}});
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(), "SEND_LAUNCH_MSG") << "none is idle";
}

// row:L4
TEST_P(Extending, AMapThatIsOnlyShownStartsNoDaemon) {
  ElasticRig rig(1, elastic());
  auto spec = adding({"v2"});
  spec.mutable_runtime()->set_do_not_launch(true);
  rig.submit(kUser, spec);
  EXPECT_THAT(all_of<AskForNodes>(rig.seen), IsEmpty());
  ASSERT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_EQ(endings(rig.seen)[0].exit_status(), 0);
}

// row:E15
TEST_P(Extending, WithTheDvmEveryJobThatWaitsForNodesEnds) {
  ElasticRig rig(1, elastic());
  rig.submit(kUser, adding({"v2"}));
  grant_last(rig);
  rig.submit(kUser, adding({"v3"}));
  rig.submit(kUser, adding({"v4"}));
  rig.down(kOther);
  ASSERT_EQ(endings(rig.seen).size(), 3U);
  for (const auto& ending : endings(rig.seen)) EXPECT_NE(ending.exit_status(), 0);
  EXPECT_EQ(rig.head.jobs().fence().parked(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Modes, Extending, ::testing::Bool(), [](const auto& mode) {
  return std::string(mode.param ? "Elastic" : "Fixed");
});

}  // namespace
}  // namespace tide::core
