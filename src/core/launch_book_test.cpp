#include "core/launch_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

LaunchTarget target(std::uint32_t rank, std::vector<LaunchTarget> below = {}) {
  return {Rank(rank), "n" + std::to_string(rank), Incarnation(rank), 1, std::move(below)};
}

class LaunchBookTest : public testing::Test {
 public:
  LaunchBookTest() { book.expect(kHeadRank, {target(1, {target(3), target(4)}), target(2)}); }

  LaunchBook book;
};

TEST_F(LaunchBookTest, KnowsWhoStartsWhom) {
  EXPECT_EQ(book.size(), 4U);
  EXPECT_TRUE(book.starts(kHeadRank, Rank(1)));
  EXPECT_TRUE(book.starts(Rank(1), Rank(3)));
  EXPECT_FALSE(book.starts(kHeadRank, Rank(3)));
  EXPECT_FALSE(book.starts(Rank(2), Rank(9)));
}

TEST_F(LaunchBookTest, IsSettledWhenAllHaveReported) {
  for (const std::uint32_t rank : {4U, 2U, 2U, 1U}) book.reported(Rank(rank));
  EXPECT_EQ(book.reports(), 3U) << "each counts once";
  EXPECT_FALSE(book.settled());
  EXPECT_THAT(book.silent(), ElementsAre("n3"));
  book.reported(Rank(3));
  EXPECT_TRUE(book.settled());
  EXPECT_FALSE(book.has_failures());
}

TEST_F(LaunchBookTest, WaitsForNobodyBelowOneThatFailed) {
  book.failed(Rank(1), "refused");
  EXPECT_THAT(book.silent(), ElementsAre("n2"));
  book.reported(Rank(2));
  EXPECT_TRUE(book.settled());
  EXPECT_THAT(book.reasons(), ElementsAre("refused"));
}

TEST_F(LaunchBookTest, TheFirstReasonCountsAndStrangersDoNot) {
  book.failed(Rank(2), "first");
  book.failed(Rank(2), "second");
  book.failed(Rank(9), "who?");
  EXPECT_THAT(book.reasons(), ElementsAre("first"));
}

TEST_F(LaunchBookTest, ALossAfterTheReportIsAFailure) {
  for (const std::uint32_t rank : {1U, 2U, 3U, 4U}) book.reported(Rank(rank));
  book.failed(Rank(3), "lost");
  EXPECT_TRUE(book.settled());
  EXPECT_TRUE(book.has_failures());
  EXPECT_THAT(book.silent(), IsEmpty());
}

// Whatever comes in whatever order: once every rank without a failed starter above it was heard of,
// nobody is waited for, and not before.
RC_GTEST_PROP(LaunchBook, IsSettledExactlyWhenNobodyCanStillBeHeardOf, ()) {
  LaunchBook book;
  std::map<std::uint32_t, std::uint32_t> starter;
  const auto ranks = *rc::gen::inRange<std::uint32_t>(1, 20);
  for (std::uint32_t rank = 1; rank <= ranks; ++rank) {
    starter[rank] = *rc::gen::inRange<std::uint32_t>(0, rank);
    book.expect(Rank(starter[rank]), {target(rank)});
  }
  std::set<std::uint32_t> heard;
  std::set<std::uint32_t> failed;
  for (auto steps = *rc::gen::inRange(0, 40); steps > 0; --steps) {
    const auto rank = *rc::gen::inRange<std::uint32_t>(1, ranks + 1);
    if (*rc::gen::inRange(0, 3) == 0) {
      failed.insert(rank);
      book.failed(Rank(rank), "failed");
    } else {
      heard.insert(rank);
      book.reported(Rank(rank));
    }
  }
  bool settled = true;
  for (std::uint32_t rank = 1; rank <= ranks; ++rank) {
    bool waited_for = !heard.contains(rank);
    for (auto at = rank; at != 0; at = starter[at]) waited_for = waited_for && !failed.contains(at);
    settled = settled && !waited_for;
  }
  RC_ASSERT(book.settled() == settled);
  RC_ASSERT(book.silent().empty() == settled);
}

}  // namespace
}  // namespace tide::core
