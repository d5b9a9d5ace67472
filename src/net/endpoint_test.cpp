#include "net/endpoint.hpp"

#include <gmock/gmock.h>

namespace tide::net {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Endpoint, OneAddressIsToldAsItIs) {
  for (const char* address : {"127.0.0.1", "::1", "10.1.2.3"}) {
    const auto endpoints = endpoints_to_tell(address, 4711);
    ASSERT_TRUE(endpoints.ok());
    ASSERT_EQ(endpoints->size(), 1U);
    EXPECT_EQ(endpoints->front().address(), address);
    EXPECT_EQ(endpoints->front().port(), 4711U);
  }
}

TEST(Endpoint, WildcardBecomesConcreteAddresses) {
  for (const char* wildcard : {"0.0.0.0", "::"}) {
    const auto endpoints = endpoints_to_tell(wildcard, 4711);
    ASSERT_TRUE(endpoints.ok());
    ASSERT_FALSE(endpoints->empty());
    for (const wire::Endpoint& endpoint : *endpoints) {
      EXPECT_NE(endpoint.address(), "0.0.0.0");
      EXPECT_NE(endpoint.address(), "::");
      EXPECT_EQ(endpoint.port(), 4711U);
    }
  }
}

TEST(Endpoint, TextHasBracketsAroundV6) {
  EXPECT_EQ(endpoint_text("127.0.0.1", 80), "127.0.0.1:80");
  EXPECT_EQ(endpoint_text("::1", 80), "[::1]:80");
}

TEST(Endpoint, NamesAreRefused) {
  const auto endpoints = endpoints_to_tell("localhost", 1);
  ASSERT_FALSE(endpoints.ok());
  EXPECT_EQ(endpoints.error().message, "'localhost' is no numeric network address");
}

const std::vector<Interface> kOurs = {
    {"lo", true, {{"127.0.0.1", 8, true}, {"::1", 128, true}}},
    {"eth0", true, {{"10.77.0.3", 16}}},
    {"eth1", true, {{"10.78.0.3", 16}, {"fd00:78::3", 64}}},
    {"ib0", false, {{"10.79.0.3", 16}}},
    {"docker0", true, {{"172.17.0.1", 16}}},
};

std::vector<std::string> ranked(const std::vector<std::string>& addresses) {
  std::vector<wire::Endpoint> endpoints;
  for (const auto& address : addresses) {
    endpoints.emplace_back().set_address(address);
    endpoints.back().set_port(4711);
  }
  std::vector<std::string> out;
  for (const auto& endpoint : ranked_endpoints(endpoints, kOurs)) out.push_back(endpoint.address());
  return out;
}

TEST(Ranking, NetworksThatWeAreInComeFirst) {
  EXPECT_THAT(ranked({"192.0.2.5", "10.78.0.5"}), ElementsAre("10.78.0.5", "192.0.2.5"));
  EXPECT_THAT(ranked({"192.0.2.5", "fd00:78::5"}), ElementsAre("fd00:78::5", "192.0.2.5"));
}

TEST(Ranking, OtherwiseTheOrderIsKept) {
  EXPECT_THAT(ranked({"10.78.0.5", "10.77.0.5"}), ElementsAre("10.78.0.5", "10.77.0.5"));
  EXPECT_THAT(ranked({"10.77.0.5", "10.78.0.5"}), ElementsAre("10.77.0.5", "10.78.0.5"));
  EXPECT_THAT(ranked({"192.0.2.5", "198.51.100.5"}), ElementsAre("192.0.2.5", "198.51.100.5"));
  EXPECT_THAT(ranked({}), IsEmpty());
}

TEST(Ranking, AnInterfaceThatIsDownDoesNotCount) {
  EXPECT_THAT(ranked({"10.79.0.5", "10.77.0.5"}), ElementsAre("10.77.0.5", "10.79.0.5"));
}

TEST(Ranking, OnThisMachineLoopbackComesFirst) {
  EXPECT_THAT(ranked({"10.77.0.3", "127.0.0.1", "172.17.0.1"}),
              ElementsAre("127.0.0.1", "10.77.0.3", "172.17.0.1"));
  EXPECT_THAT(ranked({"127.0.0.1"}), ElementsAre("127.0.0.1"));
  EXPECT_THAT(ranked({"10.78.0.3"}), ElementsAre("10.78.0.3"));
}

TEST(Ranking, OfAnotherMachineNothingIsTriedThatLeadsBackHere) {
  EXPECT_THAT(ranked({"127.0.0.1", "172.17.0.1", "192.0.2.5", "::1", "10.77.0.5"}),
              ElementsAre("10.77.0.5", "192.0.2.5"));
}

TEST(Ranking, WhatIsNoAddressIsLeftToWhoeverTriesIt) {
  EXPECT_THAT(ranked({"nowhere", "10.77.0.5"}), ElementsAre("10.77.0.5", "nowhere"));
}

}  // namespace
}  // namespace tide::net
