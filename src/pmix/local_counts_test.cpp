#include "pmix/local_counts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tide::pmix {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const ProcName kFirst{"job", 0};
const ProcName kSecond{"job", 1};

class LocalCountsTest : public ::testing::Test {
 protected:
  LocalCountsTest() {
    counts_.registered("job", 3);
    counts_.connected(kFirst);
    counts_.connected(kSecond);
  }
  std::vector<std::size_t> told() { return std::exchange(told_, {}); }

  std::vector<std::size_t> told_;
  LocalCounts counts_{[this](const std::string&, std::size_t count) { told_.push_back(count); }};
};

TEST_F(LocalCountsTest, LibpmixCountsALossItself) {
  counts_.lost(kFirst, false);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(LocalCountsTest, ARankThatIsBackIsCountedAgain) {
  counts_.lost(kFirst, false);
  counts_.connected(kFirst);
  EXPECT_THAT(told(), ElementsAre(3));
}

TEST_F(LocalCountsTest, ASecondProcessOfARankIsNoLoss) {
  counts_.lost(kFirst, true);
  EXPECT_THAT(told(), ElementsAre(3));
}

TEST_F(LocalCountsTest, ALossThatLibpmixCountedBeforeACorrectionIsToldAgain) {
  counts_.lost(kFirst, true);
  counts_.lost(kSecond, false);
  EXPECT_THAT(told(), ElementsAre(3, 2));
}

TEST_F(LocalCountsTest, AJobThatWentIsNotToldOf) {
  counts_.lost(kFirst, false);
  counts_.deregistered("job");
  counts_.connected(kFirst);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(LocalCountsTest, NobodyIsToldAfterTheEnd) {
  counts_.lost(kFirst, false);
  counts_.close();
  counts_.connected(kFirst);
  EXPECT_THAT(told(), IsEmpty());
}

}  // namespace
}  // namespace tide::pmix
