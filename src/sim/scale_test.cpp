#include "sim/scale.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tide::sim {
namespace {

using ::testing::HasSubstr;

TEST(Scale, TheDepthOfAFullTree) {
  EXPECT_EQ(full_depth(1, 64), 1U);
  EXPECT_EQ(full_depth(64, 64), 1U);
  EXPECT_EQ(full_depth(65, 64), 2U);
  EXPECT_EQ(full_depth(64 + 4096, 64), 2U);
  EXPECT_EQ(full_depth(64 + 4096 + 1, 64), 3U);
  EXPECT_EQ(full_depth(100'000, 64), 3U);
  EXPECT_EQ(full_depth(100'000, 32), 4U);
  EXPECT_EQ(full_depth(5, 1), 5U);
}

class ScaleFormulas : public ::testing::TestWithParam<ScaleOptions> {};

TEST_P(ScaleFormulas, AreWhatTheCoresDo) {
  const ScaleReport report = measure_scale(GetParam());
  EXPECT_TRUE(report.holds()) << to_text(report);
}

INSTANTIATE_TEST_SUITE_P(Small, ScaleFormulas,
                         ::testing::Values(ScaleOptions{1, 64}, ScaleOptions{2, 2},
                                           ScaleOptions{20, 1}, ScaleOptions{64, 64},
                                           ScaleOptions{65, 64}, ScaleOptions{100, 64},
                                           ScaleOptions{300, 2}, ScaleOptions{777, 8},
                                           ScaleOptions{1365, 4}, ScaleOptions{4161, 64, 200}));

TEST(Scale, TheTableShowsWhatDiffers) {
  ScaleReport report{{7, 2}, {{"apples", 3, 3, "N - 4"}, {"pears", 2}}};
  EXPECT_TRUE(report.holds());
  EXPECT_THAT(to_text(report), HasSubstr("| apples | 3 | 3 | N - 4 |\n| pears | 2 |  |  |\n"));
  report.rows[0].measured = 4;
  EXPECT_FALSE(report.holds());
  EXPECT_THAT(to_text(report), HasSubstr("| apples | 4 | 3 **differs** | N - 4 |"));
}

}  // namespace
}  // namespace tide::sim
