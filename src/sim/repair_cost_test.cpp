#include "sim/repair_cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tide::sim {
namespace {

using ::testing::HasSubstr;

// row:S14 row:S2 the figures of `tide sim --repair-cost`
TEST(RepairCost, IsOneForAllWhoLeaveTogetherAndOneForEachOtherwise) {
  const auto report = measure_repair_cost({.most = 64});
  ASSERT_EQ(report.rows.size(), 7U);
  EXPECT_TRUE(report.holds()) << to_text(report);
  for (const auto& row : report.rows) {
    const auto all = report.daemons + 1;
    EXPECT_EQ(row.at_once.computations, all) << row.departures;
    EXPECT_LE(row.at_once.messages, row.one_by_one.messages) << row.departures;
    EXPECT_LE(row.at_once.moves, row.one_by_one.moves) << row.departures;
    EXPECT_LE(row.at_once.bytes, row.one_by_one.bytes) << row.departures;
  }
  const auto& last = report.rows.back();
  EXPECT_GT(last.one_by_one.computations, 30 * last.at_once.computations);
  EXPECT_GT(last.one_by_one.messages, 20 * last.at_once.messages);
}

TEST(RepairCost, AnotherNumberOfComputationsIsShown) {
  RepairCostReport report{{}, 7, {RepairCostRow{.departures = 2}}};
  EXPECT_TRUE(report.holds());
  report.rows[0].one_by_one.computations = 3;
  EXPECT_FALSE(report.holds());
  EXPECT_THAT(to_text(report), HasSubstr("| 2 | 0 | 3 **differs** |"));
}

TEST(RepairCost, ThePlotHasALineForEachFigureAndWay) {
  const auto text =
      to_svg({{}, 7, {RepairCostRow{.departures = 1}, RepairCostRow{.departures = 2}}});
  std::size_t lines = 0;
  for (auto at = text.find("<polyline"); at != text.npos; at = text.find("<polyline", at + 1))
    ++lines;
  EXPECT_EQ(lines, 6U);
  EXPECT_TRUE(text.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace tide::sim
