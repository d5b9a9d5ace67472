#include "pmix/local_waiters.hpp"

#include <gtest/gtest.h>

namespace tide::pmix {
namespace {

const ProcName kFirst{"job", 0};
const ProcName kSecond{"job", 1};
const ProcName kOther{"other", 0};
const std::vector<ProcName> kWholeJob = {{"job", kAllRanks}};

class LocalWaitersTest : public ::testing::Test {
 protected:
  LocalWaitersTest() {
    for (const ProcName& each : {kFirst, kSecond, kOther}) waiters_.connected(each);
  }
  LocalWaiters waiters_;
};

TEST_F(LocalWaitersTest, ACollectiveIsForgottenWithTheLastWhoWaits) {
  const auto fence = waiters_.enter(kWholeJob);
  waiters_.gone(kFirst);
  EXPECT_FALSE(fence->forgotten());
  waiters_.gone(kOther);
  EXPECT_FALSE(fence->forgotten()) << "not one of those who take part";
  waiters_.is_being_ended(kSecond);
  EXPECT_TRUE(fence->forgotten());
}

TEST_F(LocalWaitersTest, WhoIsBeingEndedDoesNotCountInWhatComesLater) {
  waiters_.is_being_ended(kFirst);
  const auto both = waiters_.enter(kWholeJob);
  EXPECT_FALSE(both->forgotten());
  waiters_.is_being_ended(kSecond);
  EXPECT_TRUE(both->forgotten());
  EXPECT_TRUE(waiters_.enter(kWholeJob)->forgotten());
}

TEST_F(LocalWaitersTest, WhoConnectsAgainCounts) {
  waiters_.is_being_ended(kFirst);
  waiters_.gone(kFirst);
  waiters_.gone(kSecond);
  waiters_.connected(kFirst);
  EXPECT_FALSE(waiters_.enter({kFirst})->forgotten());
}

TEST_F(LocalWaitersTest, AnotherProcessOfTheRankThatFinalizesLeavesItWaiting) {
  waiters_.connected(kFirst);
  const auto fence = waiters_.enter({kFirst});
  waiters_.finalized(kFirst);
  EXPECT_FALSE(fence->forgotten());
  waiters_.finalized(kFirst);
  EXPECT_TRUE(fence->forgotten());
}

TEST_F(LocalWaitersTest, AnotherProcessOfTheRankThatIsLostTakesWhatItWaitsForWithIt) {
  waiters_.connected(kFirst);
  const auto fence = waiters_.enter({kFirst});
  EXPECT_TRUE(waiters_.lost(kFirst));
  EXPECT_TRUE(fence->forgotten()) << "libpmix has forgotten it";
  EXPECT_FALSE(waiters_.enter({kFirst})->forgotten()) << "the first process goes on";
  EXPECT_FALSE(waiters_.lost(kFirst));
}

TEST_F(LocalWaitersTest, WithoutAnybodyHereThereIsNothingToForget) {
  EXPECT_FALSE(waiters_.enter({{"unknown", kAllRanks}, {"job", 7}})->forgotten());
}

}  // namespace
}  // namespace tide::pmix
