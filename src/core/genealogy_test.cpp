#include "core/genealogy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// row:R19
TEST(Genealogy, ReachesOverGenerationsThatHaveEnded) {
  Genealogy family;
  family.born("first", "");
  family.born("child", "first");
  family.born("grandchild", "child");
  EXPECT_THAT(family.descendants("first"), ElementsAre("child", "grandchild"));
  EXPECT_THAT(family.descendants("child"), ElementsAre("grandchild"));
  family.gone("child");
  EXPECT_THAT(family.descendants("first"), ElementsAre("grandchild"));
  family.born("youngest", "grandchild");
  EXPECT_THAT(family.descendants("first"), ElementsAre("grandchild", "youngest"));
  family.gone("grandchild");
  family.gone("youngest");
  EXPECT_THAT(family.descendants("first"), IsEmpty());
}

TEST(Genealogy, KeepsNothingOfThoseWhoAreGone) {
  Genealogy family;
  family.born("first", "");
  family.born("child", "first");
  family.gone("first");
  EXPECT_FALSE(family.lives("first"));
  EXPECT_TRUE(family.lives("child"));
  family.gone("child");
  family.gone("child");
  EXPECT_EQ(family.size(), 0U);
  family.born("orphan", "first");
  EXPECT_THAT(family.descendants("first"), IsEmpty()) << "who is not there has no children";
  EXPECT_TRUE(family.lives("orphan"));
}

TEST(Genealogy, IsBornOnce) {
  Genealogy family;
  family.born("tool", "");
  family.born("job", "tool");
  family.born("tool", "job");
  EXPECT_THAT(family.descendants("tool"), ElementsAre("job"));
  EXPECT_THAT(family.descendants("job"), IsEmpty());
}

}  // namespace
}  // namespace tide::core
