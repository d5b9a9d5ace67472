// Each promise about changes of size, kept and broken.
#include "sim/size_checks.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "sim/journal.hpp"

namespace tide::sim {
namespace {

using core::CampaignKind;
using core::JobState;
using core::NodeState;

constexpr CampaignId kGrow{2};
constexpr CampaignId kShrink{3};
constexpr JobId kJob{1};

Sight::Job parked(std::vector<CampaignId> awaited, std::set<Rank> mapped = {}) {
  return {.state = JobState::kWaitingForDaemons,
          .mapped = std::move(mapped),
          .parked = true,
          .awaited = std::move(awaited)};
}

Sight::Job running(std::set<Rank> mapped) {
  return {.state = JobState::kRunning, .mapped = std::move(mapped), .processes = 1};
}

void add_node(Sight& sight, std::uint32_t rank, NodeState state = NodeState::kUp,
              CampaignId campaign = core::kFirstStart) {
  sight.nodes[Rank(rank)] = {"v" + std::to_string(rank), state, campaign, {}};
  if (state >= NodeState::kWiring && state < NodeState::kDeparting) sight.living.insert(Rank(rank));
}

// Two nodes; a grow brings the third.
Sight growing() {
  Sight out;
  add_node(out, 1);
  add_node(out, 2);
  add_node(out, 3, NodeState::kLaunching, kGrow);
  out.open = {{kGrow, CampaignKind::kGrow}};
  return out;
}

// Of two nodes the second leaves.
Sight shrinking() {
  Sight out;
  add_node(out, 1);
  add_node(out, 2, NodeState::kDeparting);
  out.open = {{kShrink, CampaignKind::kShrink}};
  out.leavers = {{kShrink, {Rank(2)}}};
  return out;
}

Sight shrunk() {
  Sight out;
  add_node(out, 1);
  return out;
}

// "" if all of them are kept.
std::string broken_by(const std::vector<Sight>& sights) {
  SizeChecks checks;
  try {
    for (const auto& sight : sights) checks.take(sight);
  } catch (const BrokenPromise& broken) {
    return broken.promise();
  }
  return "";
}

std::string broken_by(Sight before, const std::function<void(Sight&)>& change) {
  Sight after = before;
  change(after);
  return broken_by({std::move(before), std::move(after)});
}

TEST(SizeChecks, AreContentWithAGrowAndAShrinkAsTheyShouldBe) {
  Sight held = growing();
  held.jobs[kJob] = parked({kGrow});
  Sight grown = growing();
  grown.open.clear();
  add_node(grown, 3, NodeState::kUp, kGrow);
  grown.jobs[kJob] = running({Rank(1), Rank(3)});
  EXPECT_EQ(broken_by({growing(), held, grown}), "");

  Sight waits = shrinking();
  waits.jobs[kJob] = parked({kShrink}, {Rank(1)});
  Sight launched = shrunk();
  launched.jobs[kJob] = running({Rank(1)});
  EXPECT_EQ(broken_by({waits, launched}), "");
}

// row:E2 row:E9
TEST(SizeChecks, NoticeAJobThatIsAdmittedWhileTheSizeChanges) {
  for (const auto& change : {growing(), shrinking()}) {
    EXPECT_EQ(broken_by(change, [](Sight& now) { now.jobs[kJob] = running({Rank(1)}); }),
              "no job is admitted while the size changes");
  }
}

// row:E14
TEST(SizeChecks, NoticeAJobThatIsHeldForNothing) {
  EXPECT_EQ(broken_by(shrunk(), [](Sight& now) { now.jobs[kJob] = parked({}); }),
            "nobody is held for nothing");
}

// row:E14
TEST(SizeChecks, NoticeAJobThatIsHeldASecondTime) {
  Sight runs = growing();
  runs.jobs[kJob] = {.state = JobState::kVmReady};
  EXPECT_EQ(broken_by(runs, [](Sight& now) { now.jobs[kJob] = parked({kGrow}); }),
            "a job is admitted once");
}

// row:E16
TEST(SizeChecks, NoticeWhatIsShownOtherwise) {
  EXPECT_EQ(broken_by(growing(),
                      [](Sight& now) {
                        now.jobs[kJob] = parked({kGrow});
                        now.jobs[kJob].state = JobState::kVmReady;
                      }),
            "who is held is shown as waiting, and nobody else");
}

// row:E16 row:E3
TEST(SizeChecks, NoticeWhatAHeldJobHasOnANode) {
  for (const bool sent : {true, false}) {
    EXPECT_EQ(broken_by(growing(),
                        [sent](Sight& now) {
                          now.jobs[kJob] = parked({kGrow});
                          (sent ? now.jobs[kJob].sent : now.jobs[kJob].somewhere) = true;
                        }),
              "of a job that is held nothing is anywhere");
  }
}

// row:E10
TEST(SizeChecks, NoticeAMappedJobThatAGrowHolds) {
  Sight mapped = growing();
  mapped.jobs[kJob] = parked({kGrow}, {Rank(1)});
  EXPECT_EQ(broken_by({mapped}), "a grow holds no job that is mapped");
}

// row:E11
TEST(SizeChecks, NoticeAWholeMapThatIsNotLaunchedAndABrokenOneThatIs) {
  Sight whole = shrinking();
  whole.open.emplace(kGrow, CampaignKind::kGrow);
  whole.jobs[kJob] = parked({kShrink}, {Rank(1)});
  Sight after = shrunk();
  after.open = {{kGrow, CampaignKind::kGrow}};
  after.jobs[kJob] = parked({kGrow});
  EXPECT_EQ(broken_by({whole, after}), "a map that is whole is launched when no shrink is left");

  Sight torn = whole;
  torn.jobs[kJob].mapped = {Rank(2)};
  after.jobs[kJob] = running({Rank(2)});
  EXPECT_EQ(broken_by({torn, after}), "only a map that is whole is launched");
  after.jobs[kJob] = parked({kGrow});
  EXPECT_EQ(broken_by({torn, after}), "");
}

// row:E6
TEST(SizeChecks, NoticeAJobThatOutlivesTheGrowItWaitsFor) {
  Sight held = growing();
  held.jobs[kJob] = parked({kGrow});
  Sight failed = growing();
  failed.open.clear();
  failed.nodes.erase(Rank(3));
  failed.rollbacks = 1;
  EXPECT_EQ(broken_by({growing(), held, failed}), "");
  failed.jobs[kJob] = running({Rank(1)});
  EXPECT_EQ(broken_by({growing(), held, failed}), "a grow that fails ends who waits for it");
}

// row:E6 row:E8
TEST(SizeChecks, NoticeAJobThatEndsWithALossOrAGrowThatItDidNotWaitFor) {
  Sight held = growing();
  held.jobs[kJob] = parked({kGrow});
  const auto lose = [](Sight& now) {
    now.nodes.erase(Rank(2));
    now.living.erase(Rank(2));
    now.jobs.clear();
  };
  EXPECT_EQ(broken_by(held, lose), "who is held ends for a reason of its own only");

  // A job that a process spawned ends with the job of that process, and not otherwise.
  const JobId parent{7};
  Sight spawned = held;
  spawned.jobs[kJob].parent = parent;
  spawned.jobs[parent] = running({Rank(2)});
  EXPECT_EQ(broken_by(spawned, lose), "");
  const auto spare_the_parent = [&](Sight& now) { now.jobs.erase(kJob); };
  EXPECT_EQ(broken_by(spawned, spare_the_parent), "who is held ends for a reason of its own only");

  // It came when only the shrink was there.
  Sight both = shrinking();
  both.jobs[kJob] = parked({kShrink});
  Sight more = both;
  more.open.emplace(kGrow, CampaignKind::kGrow);
  add_node(more, 3, NodeState::kLaunching, kGrow);
  Sight failed = both;
  failed.jobs.clear();
  failed.rollbacks = 1;
  EXPECT_EQ(broken_by({both, more, failed}), "who is held ends for a reason of its own only");
}

// row:E19
TEST(SizeChecks, NoticeAMapOntoANodeThatIsNotIn) {
  for (const auto state :
       {NodeState::kLaunching, NodeState::kWiring, NodeState::kLeaving, NodeState::kDeparting}) {
    Sight before = growing();
    before.open.clear();
    before.jobs[kJob] = {.state = JobState::kMap};
    before.nodes[Rank(3)].state = state;
    EXPECT_EQ(broken_by(before, [](Sight& now) { now.jobs[kJob] = running({Rank(3)}); }),
              "nothing is mapped onto a node that is not, or no longer, in");
  }
}

// row:E20
TEST(SizeChecks, NoticeANodeThatLeavesBeforeItHasCome) {
  const auto leave = [](Sight& now) { now.nodes[Rank(3)].state = NodeState::kLeaving; };
  EXPECT_EQ(broken_by(growing(), leave), "nobody leaves before it has come");
  const auto leave_at_the_end = [&leave](Sight& now) {
    now.open = {{kShrink, CampaignKind::kShrink}};
    leave(now);
  };
  EXPECT_EQ(broken_by(growing(), leave_at_the_end), "");
}

// row:E12 row:E13
TEST(SizeChecks, NoticeAShrinkThatIsOverTooEarly) {
  Sight still_there = shrinking();
  still_there.open.clear();
  EXPECT_EQ(broken_by({shrinking(), still_there}), "a shrink is over when its daemons are gone");
  Sight still_member = shrunk();
  still_member.living.insert(Rank(2));
  EXPECT_EQ(broken_by({shrinking(), still_member}), "a shrink is over when its daemons are gone");
  Sight another = shrunk();
  add_node(another, 3, NodeState::kDeparting);
  EXPECT_EQ(broken_by({shrinking(), another}), "jobs are admitted when who leaves is gone");
  Sight stranger = shrunk();
  stranger.living.insert(Rank(7));
  EXPECT_EQ(broken_by({shrinking(), stranger}), "jobs are admitted when who leaves is gone");
}

// row:E5 row:E7
TEST(SizeChecks, NoticeARollbackThatLeavesSomethingOrTakesMore) {
  Sight failed = growing();
  failed.open.clear();
  failed.rollbacks = 1;
  EXPECT_EQ(broken_by({growing(), failed}), "jobs are admitted when who leaves is gone");
  failed.living.insert(Rank(3));
  EXPECT_EQ(broken_by({growing(), failed}), "a grow that fails leaves nothing");
  failed.nodes.erase(Rank(3));
  failed.living.erase(Rank(3));
  EXPECT_EQ(broken_by({growing(), failed}), "");
  failed.nodes.erase(Rank(2));
  failed.living.erase(Rank(2));
  EXPECT_EQ(broken_by({growing(), failed}), "a rollback touches its own nodes only");
}

// row:S9
TEST(SizeChecks, NoticeTwoDaemonsOnOneNode) {
  Sight twice = growing();
  twice.nodes[Rank(3)].name = "v1";
  EXPECT_EQ(broken_by({twice}), "a node has one daemon");
}

// row:S2
TEST(SizeChecks, NoticeARepairForEachWhoIsGone) {
  EXPECT_EQ(broken_by({shrinking(), shrunk()}), "");
  Sight repaired = shrunk();
  repaired.repairs = 1;
  EXPECT_EQ(broken_by({shrinking(), repaired}), "a shrink costs one repair");
  Sight before = shrinking();
  before.nodes[Rank(2)].state = NodeState::kLeaving;
  Sight ordered = shrinking();
  ordered.repairs = 1;
  EXPECT_EQ(broken_by({before, ordered}), "");
  ordered.repairs = 2;
  EXPECT_EQ(broken_by({before, ordered}), "a shrink costs one repair");
}

}  // namespace
}  // namespace tide::sim
