#include "net/interfaces.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace tide::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<Interface> kNode3 = {
    {"lo", true, {{"127.0.0.1", 8, true}, {"::1", 128, true}}},
    {"eth0", true, {{"10.77.0.3", 16}, {"fd00:77::3", 64}}},
    {"eth1", true, {{"10.78.0.3", 16}}},
    {"ib0", false, {{"10.79.0.3", 16}}},
    {"eth2", true, {}},
};

Result<std::vector<std::string>> included(const std::string& value) {
  return chosen_addresses(kNode3, {"prte_if_include", value, "node3", false});
}

Result<std::vector<std::string>> without(const std::string& value) {
  return chosen_addresses(kNode3, {"prte_if_exclude", value, "node3", true});
}

TEST(Interfaces, LoopbackIsThereWithItsNetwork) {
  const auto all = interfaces_of_this_machine();
  ASSERT_TRUE(all.ok());
  const auto loopback = std::ranges::find_if(*all, [](const Interface& each) {
    return std::ranges::any_of(each.addresses, &InterfaceAddress::loopback);
  });
  ASSERT_NE(loopback, all->end());
  EXPECT_GT(loopback->addresses.front().prefix_bits, 0U);
}

TEST(Interfaces, IncludedAreThoseNamedAndNoOthers) {
  EXPECT_THAT(*included("eth1"), ElementsAre("10.78.0.3"));
  EXPECT_THAT(*included("eth1, eth0"), ElementsAre("10.77.0.3", "fd00:77::3", "10.78.0.3"));
  EXPECT_THAT(*included("10.78.0.0/16"), ElementsAre("10.78.0.3"));
  EXPECT_THAT(*included("fd00::/16"), ElementsAre("fd00:77::3"));
  EXPECT_THAT(*included("10.78.0.0/16,eth1,10.0.0.0/8"), ElementsAre("10.77.0.3", "10.78.0.3"));
}

TEST(Interfaces, LoopbackIsTakenOnlyWhereItIsAskedFor) {
  EXPECT_THAT(*included("lo"), ElementsAre("127.0.0.1", "::1"));
  EXPECT_THAT(*without("eth0"), ElementsAre("10.78.0.3"));
}

TEST(Interfaces, ExcludedAreThoseNamedOnly) {
  EXPECT_THAT(*without("10.77.0.0/16"), ElementsAre("fd00:77::3", "10.78.0.3"));
  EXPECT_THAT(*without("192.0.2.0/24"), ElementsAre("10.77.0.3", "fd00:77::3", "10.78.0.3"));
  EXPECT_THAT(*without("fd00::/16,eth1,ib0"), ElementsAre("10.77.0.3"));
}

TEST(Interfaces, AnUnknownNameIsAnErrorThatListsThoseThereAre) {
  for (const auto& refused : {included("eth1,eth7"), without("eth7")}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("names the interface 'eth7', which node3 does"));
    EXPECT_THAT(refused.error().message,
                HasSubstr("eth0 10.77.0.3/16 fd00:77::3/64, eth1 10.78.0.3/16, ib0 10.79.0.3/16 "
                          "(down), eth2 without address"));
  }
  EXPECT_THAT(without("eth7").error().message, HasSubstr("prte_if_exclude"));
}

TEST(Interfaces, NoneLeftIsAnErrorThatListsThoseThereAre) {
  for (const auto& refused : {included("ib0"), included("eth2"), included("192.0.2.0/24"),
                              without("eth0,eth1"), without("0.0.0.0/0,::/0")}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("leaves node3 no address to listen on"));
    EXPECT_THAT(refused.error().message, HasSubstr("eth1 10.78.0.3/16"));
  }
}

}  // namespace
}  // namespace tide::net
