#include "rm/named_hosts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/hostfile.hpp"

namespace tide::rm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Names = std::vector<std::string>;

Result<std::vector<Host>> by_name(NamedHosts& hosts, std::string_view list) {
  const auto words = hosts::parse_host_list(list, "--host");
  EXPECT_TRUE(words);
  return hosts.grant(0, *words);
}

TEST(NamedHosts, GivesWhoeverIsNamedWithTheSlotsThatAreSaid) {
  NamedHosts hosts(3);
  EXPECT_TRUE(hosts.supplies("whoever"));
  EXPECT_THAT(*by_name(hosts, "me@node7:2,node8"),
              ElementsAre(Host{"node7", "me", 2, 0}, Host{"node8", "", 3, 0}));
  EXPECT_THAT(hosts.grant(2, {}).error().message, HasSubstr("no pool"));
}

TEST(NamedHosts, GivesThemForAsLongAsIsWished) {
  const NamedHosts hosts(0);
  EXPECT_EQ(hosts.lease({5'000, 100}), (core::Lease{5'000, 100}));
  EXPECT_EQ(hosts.lease({}), core::Lease{});
}

// row:C6 what it never granted is not its own to take back
TEST(NamedHosts, TakesBackWhatItGranted) {
  NamedHosts hosts(0);
  ASSERT_TRUE(by_name(hosts, "node7,node8"));
  EXPECT_EQ(hosts.take_back(Names{"v1"}), core::ReturnVerdict::kDeclined);
  EXPECT_EQ(hosts.take_back(Names{"v1", "node7"}), core::ReturnVerdict::kTaken);
  EXPECT_EQ(hosts.take_back(Names{"node7"}), core::ReturnVerdict::kDeclined) << "once";
  EXPECT_EQ(hosts.granted(), 1U);
}

TEST(NamedHosts, WhatWasLostIsNotKept) {
  NamedHosts hosts(0);
  ASSERT_TRUE(by_name(hosts, "node7,node8,node9"));
  hosts.note_started(Names{"node7", "node8", "v1"});
  hosts.free_lost({"node8"});
  EXPECT_EQ(hosts.granted(), 2U) << "node9 is still on its way";
}

}  // namespace
}  // namespace tide::rm
