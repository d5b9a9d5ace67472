#include "core/launch_fence.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tide::core {
namespace {

constexpr CampaignId kFirst{2};
constexpr CampaignId kSecond{3};
constexpr JobId kJob{1};
constexpr JobId kOther{2};
using Jobs = std::vector<JobId>;

bool keeps(JobId /*job*/) {
  return true;
}
bool loses(JobId /*job*/) {
  return false;
}

// row:E18
TEST(LaunchFence, HoldsNobodyWithoutACampaign) {
  const LaunchFence fence;
  EXPECT_FALSE(fence.holds_mapping());
  EXPECT_FALSE(fence.holds_launch());
}

// row:E2 row:E10 row:E4
TEST(LaunchFence, AGrowHoldsMappingOnly) {
  LaunchFence fence;
  fence.open(kFirst, CampaignKind::kGrow);
  EXPECT_TRUE(fence.holds_mapping());
  EXPECT_FALSE(fence.holds_launch());
  fence.park_before_map(kJob);
  EXPECT_EQ(fence.close(kFirst, false, keeps).to_map, Jobs{kJob});
  EXPECT_FALSE(fence.parks(kJob));
}

// row:E2
TEST(LaunchFence, TheFirstCampaignThatEndsReleasesNobodyWhileAnotherGoesOn) {
  LaunchFence fence;
  fence.open(kFirst, CampaignKind::kGrow);
  fence.open(kSecond, CampaignKind::kShrink);
  fence.park_before_map(kJob);
  EXPECT_TRUE(fence.close(kFirst, false, keeps).to_map.empty());
  EXPECT_EQ(fence.awaited_by(kJob), std::vector<CampaignId>{kSecond});
  EXPECT_EQ(fence.close(kSecond, false, keeps).to_map, Jobs{kJob});
}

// row:E17 row:E6
TEST(LaunchFence, AGrowThatAJobAskedForSparesWhoCameLater) {
  LaunchFence fence;
  fence.open(kFirst, CampaignKind::kGrow, kOther);
  fence.park_before_map(kJob);
  fence.park_before_map(kOther);
  fence.park_before_map(JobId(3), {kFirst});
  const auto released = fence.close(kFirst, true, keeps);
  EXPECT_EQ(released.given_up, (Jobs{kJob, JobId(3)})) << "the last one asked for the same";
  EXPECT_EQ(released.to_map, Jobs{kOther});
}

// row:E1
TEST(LaunchFence, WhoIsHeldAloneHoldsNobodyElse) {
  LaunchFence fence;
  fence.hold_alone(kJob, {kFirst, kSecond});
  fence.hold_alone(kOther, {kSecond});
  EXPECT_FALSE(fence.holds_mapping());
  EXPECT_TRUE(fence.parks(kJob));
  EXPECT_EQ(fence.parked(), 2U);
  EXPECT_EQ(fence.parked_for(kSecond).size(), 2U);
  EXPECT_TRUE(fence.close(kFirst, false, keeps).extended.empty());
  EXPECT_EQ(fence.awaited_by(kJob), std::vector<CampaignId>{kSecond});
  EXPECT_EQ(fence.close(kSecond, false, keeps).extended, (Jobs{kJob, kOther}));
  fence.hold_alone(kJob, {kFirst, kSecond});
  EXPECT_EQ(fence.close(kFirst, true, keeps).given_up, Jobs{kJob});
  fence.hold_alone(kJob, {kFirst});
  fence.forget(kJob);
  EXPECT_EQ(fence.parked(), 0U);
}

// row:E6
TEST(LaunchFence, AFailedGrowTakesAlongWhoCameWhileItWasOpen) {
  LaunchFence fence;
  fence.open(kSecond, CampaignKind::kShrink);
  fence.park_before_map(kJob);
  fence.open(kFirst, CampaignKind::kGrow);
  fence.park_before_map(kOther);
  const auto released = fence.close(kFirst, true, keeps);
  EXPECT_EQ(released.given_up, Jobs{kOther});
  EXPECT_TRUE(released.to_map.empty());
  EXPECT_TRUE(fence.parks(kJob));
  EXPECT_EQ(fence.close(kSecond, false, keeps).to_map, Jobs{kJob});
}

// row:E11
TEST(LaunchFence, WhoKeepsItsMapIsLaunchedWhenTheLastShrinkEndsAlsoDuringAGrow) {
  LaunchFence fence;
  fence.open(kFirst, CampaignKind::kShrink);
  fence.park_before_launch(kJob);
  fence.open(kSecond, CampaignKind::kGrow);
  EXPECT_EQ(fence.close(kFirst, false, keeps).to_launch, Jobs{kJob});
}

// row:E11
TEST(LaunchFence, WhoIsMappedWaitsForTheLastShrink) {
  LaunchFence fence;
  fence.open(kFirst, CampaignKind::kShrink);
  fence.open(kSecond, CampaignKind::kShrink);
  fence.park_before_launch(kJob);
  EXPECT_TRUE(fence.close(kFirst, false, keeps).to_launch.empty());
  EXPECT_EQ(fence.close(kSecond, false, keeps).to_launch, Jobs{kJob});
}

// row:E11 row:E6
TEST(LaunchFence, WhoLostANodeWaitsToBeMappedAndNoFailedGrowTakesItAlong) {
  LaunchFence fence;
  fence.open(kFirst, CampaignKind::kShrink);
  fence.park_before_launch(kJob);
  fence.open(kSecond, CampaignKind::kGrow);
  const auto first = fence.close(kFirst, false, loses);
  EXPECT_TRUE(first.to_launch.empty());
  EXPECT_EQ(first.to_map_anew, Jobs{kJob});
  EXPECT_TRUE(fence.parks(kJob));
  const auto second = fence.close(kSecond, true, loses);
  EXPECT_TRUE(second.given_up.empty());
  EXPECT_EQ(second.to_map, Jobs{kJob});
}

TEST(LaunchFence, WhoHasEndedIsNotReleased) {
  LaunchFence fence;
  fence.open(kFirst, CampaignKind::kShrink);
  fence.park_before_launch(kJob);
  fence.park_before_map(kOther);
  fence.forget(kJob);
  fence.forget(kOther);
  const auto released = fence.close(kFirst, false, keeps);
  EXPECT_TRUE(released.to_launch.empty());
  EXPECT_TRUE(released.to_map.empty());
  EXPECT_EQ(fence.parked(), 0U);
}

// row:E14 any order of campaigns and jobs: each job leaves once, and none stays
TEST(LaunchFence, EveryJobLeavesOnce) {
  rc::check("every job leaves once", [] {
    LaunchFence fence;
    std::set<JobId> inside;
    std::map<JobId, int> left;
    std::set<CampaignId> open;
    std::uint32_t next_job = 1;
    std::uint32_t next_campaign = 2;
    const auto close = [&](CampaignId campaign, bool failed) {
      const auto keeps_map = [](JobId job) { return job.value() % 2 == 0; };
      const auto released = fence.close(campaign, failed, keeps_map);
      for (const auto* list : {&released.to_map, &released.to_launch, &released.given_up}) {
        for (const JobId job : *list) {
          ++left[job];
          inside.erase(job);
        }
      }
      if (!released.to_map.empty()) RC_ASSERT(!fence.holds_mapping());
      if (!released.to_launch.empty()) RC_ASSERT(!fence.holds_launch());
    };
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 6));
    for (const int step : steps) {
      if (step == 0 || step == 1) {
        const CampaignId campaign{next_campaign++};
        fence.open(campaign, step == 0 ? CampaignKind::kGrow : CampaignKind::kShrink);
        open.insert(campaign);
      } else if (step == 2 && fence.holds_mapping()) {
        inside.insert(JobId{next_job});
        fence.park_before_map(JobId{next_job++});
      } else if (step == 3 && fence.holds_launch()) {
        inside.insert(JobId{next_job});
        fence.park_before_launch(JobId{next_job++});
      } else if (step > 3 && !open.empty()) {
        const auto which = *rc::gen::elementOf(open);
        open.erase(which);
        close(which, step == 5);
      }
      RC_ASSERT(fence.parked() == inside.size());
    }
    while (!open.empty()) {
      const CampaignId campaign = *open.begin();
      open.erase(open.begin());
      close(campaign, false);
    }
    RC_ASSERT(inside.empty());
    RC_ASSERT(std::ranges::all_of(left, [](const auto& entry) { return entry.second == 1; }));
  });
}

}  // namespace
}  // namespace tide::core
