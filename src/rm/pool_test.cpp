#include "rm/pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/hostfile.hpp"

namespace tide::rm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Names = std::vector<std::string>;

// v1 and v2 are in the DVM, v3 to v5 are to be had.
Pool five(std::uint32_t slots = 0, core::Lease limit = {}) {
  std::vector<Host> hosts;
  for (const auto* name : {"v1", "v2", "v3", "v4", "v5"}) hosts.push_back({name, "", slots, 0});
  return {hosts, 2, limit};
}

Names names_of(const Result<std::vector<Host>>& granted) {
  if (!granted) return {granted.error().message};
  Names out;
  for (const auto& host : *granted) out.push_back(host.name);
  return out;
}

Result<std::vector<Host>> by_name(Pool& pool, std::string_view list) {
  const auto words = hosts::parse_host_list(list, "--host");
  EXPECT_TRUE(words);
  return pool.grant(0, *words);
}

TEST(Pool, GivesTheFirstFreeOnesInOrder) {
  Pool pool = five();
  EXPECT_THAT(names_of(pool.grant(2, {})), ElementsAre("v3", "v4"));
  EXPECT_THAT(pool.free_names(), ElementsAre("v5"));
  EXPECT_THAT(names_of(pool.grant(1, {})), ElementsAre("v5"));
}

TEST(Pool, GivesAllOrNothing) {
  Pool pool = five();
  EXPECT_THAT(names_of(pool.grant(4, {})), ElementsAre(HasSubstr("the pool has 3")));
  EXPECT_THAT(names_of(by_name(pool, "v3,v2")), ElementsAre(HasSubstr("node v2 is taken")));
  EXPECT_THAT(names_of(by_name(pool, "v3,v9")), ElementsAre(HasSubstr("v1, v2, v3, v4, v5")));
  EXPECT_THAT(pool.free_names(), ElementsAre("v3", "v4", "v5"));
}

TEST(Pool, SaysWhenNothingIsLeft) {
  Pool pool = five();
  ASSERT_TRUE(pool.grant(3, {}));
  EXPECT_THAT(names_of(pool.grant(1, {})), ElementsAre(HasSubstr("the pool has none left")));
}

TEST(Pool, NamedOnesHaveTheSlotsThatAreAskedForAtMost) {
  Pool pool = five(4);
  const auto granted = by_name(pool, "me@v5:2,v3:8,v4");
  ASSERT_TRUE(granted) << granted.error().message;
  EXPECT_THAT(*granted,
              ElementsAre(Host{"v3", "", 4, 0}, Host{"v4", "", 4, 0}, Host{"v5", "me", 2, 0}));
  Pool open = five();
  EXPECT_THAT(*by_name(open, "v3:8"), ElementsAre(Host{"v3", "", 8, 0}));
}

TEST(Pool, TakesBackWhatIsItsOwn) {
  Pool pool = five();
  ASSERT_TRUE(pool.grant(1, {}));
  const Names back = {"node7", "v3", "v1", "v5"};
  EXPECT_EQ(pool.take_back(back), core::ReturnVerdict::kTaken);
  EXPECT_THAT(pool.free_names(), ElementsAre("v1", "v3", "v4", "v5"));
  EXPECT_EQ(pool.take_back(back), core::ReturnVerdict::kDeclined) << "nothing of it was in use";
  // What the DVM was started with can be had again.
  EXPECT_THAT(names_of(pool.grant(2, {})), ElementsAre("v1", "v3"));
}

TEST(Pool, ReclaimsTheLastGrantedFirst) {
  Pool pool = five();
  ASSERT_TRUE(by_name(pool, "v5"));
  ASSERT_TRUE(by_name(pool, "v3"));
  const std::set<std::string> there = {"v1", "v2", "v3", "v5", "node7"};
  EXPECT_THAT(*pool.reclaim(1, {}, there), ElementsAre("v3"));
  EXPECT_THAT(*pool.reclaim(4, {}, there), ElementsAre("v3", "v5", "v2", "v1"));
  EXPECT_THAT(*pool.reclaim(1, {}, {"v1", "v5"}), ElementsAre("v5")) << "v3 leaves already";
  EXPECT_THAT(pool.reclaim(5, {}, there).error().message, HasSubstr("the DVM has 4 of the pool"));
}

TEST(Pool, ReclaimsByName) {
  Pool pool = five();
  const std::set<std::string> there = {"v1", "v2", "node7"};
  EXPECT_THAT(*pool.reclaim(0, Names{"v2", "v1"}, there), ElementsAre("v2", "v1"));
  EXPECT_THAT(*pool.reclaim(0, Names{"v2", "v2"}, there), ElementsAre("v2")) << "one node";
  for (const auto* name : {"v3", "v9", "node7"}) {
    EXPECT_THAT(pool.reclaim(0, Names{"v1", name}, there).error().message,
                HasSubstr(std::string("no node '") + name + "' of the pool"));
  }
}

// row:E17 how long nodes stay is the pool's to say
TEST(Pool, ItsLimitHoldsForWhatIsWished) {
  const Pool open = five();
  EXPECT_EQ(open.lease({}), core::Lease{}) << "for ever";
  EXPECT_EQ(open.lease({5'000, 100}), (core::Lease{5'000, 100}));
  const Pool limited = five(0, {10'000, 300});
  EXPECT_EQ(limited.lease({}), (core::Lease{10'000, 300}));
  EXPECT_EQ(limited.lease({5'000, 0}), (core::Lease{5'000, 300}));
  EXPECT_EQ(limited.lease({90'000, 100}), (core::Lease{10'000, 100}));
}

TEST(Pool, WhatWasLostIsFreeAgain) {
  Pool pool = five();
  ASSERT_TRUE(pool.grant(2, {}));
  pool.note_started(Names{"v3", "node7"});
  pool.free_lost({"v1"});
  EXPECT_THAT(pool.free_names(), ElementsAre("v2", "v3", "v5")) << "v4 is still on its way";
}

}  // namespace
}  // namespace tide::rm
