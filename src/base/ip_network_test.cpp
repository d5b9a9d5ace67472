#include "base/ip_network.hpp"

#include <gtest/gtest.h>

namespace tide {
namespace {

bool is_in(const char* network, const char* address) {
  const auto parsed = IpNetwork::parse(network);
  EXPECT_TRUE(parsed.has_value()) << network;
  return parsed && parsed->contains(address);
}

TEST(IpNetwork, HasTheAddressesThatBeginAsItDoes) {
  EXPECT_TRUE(is_in("10.78.0.0/16", "10.78.255.1"));
  EXPECT_FALSE(is_in("10.78.0.0/16", "10.79.0.1"));
  EXPECT_TRUE(is_in("192.168.4.0/22", "192.168.7.255"));
  EXPECT_FALSE(is_in("192.168.4.0/22", "192.168.8.0"));
  EXPECT_TRUE(is_in("10.1.2.3/32", "10.1.2.3"));
  EXPECT_FALSE(is_in("10.1.2.3/32", "10.1.2.2"));
  EXPECT_TRUE(is_in("0.0.0.0/0", "203.0.113.9"));
}

TEST(HostSpelling, IsTheSameForAllSpellingsOfAHost) {
  EXPECT_EQ(usual_host_spelling("Node7.Cluster"), "node7.cluster");
  EXPECT_EQ(usual_host_spelling("FD00:0:0:0::7"), "fd00::7");
  EXPECT_EQ(usual_host_spelling("10.0.0.7"), "10.0.0.7");
  EXPECT_EQ(usual_host_spelling(""), "");
}

TEST(IpNetwork, BitsBehindTheLengthDoNotCount) {
  EXPECT_TRUE(is_in("10.78.3.7/16", "10.78.0.1"));
}

TEST(IpNetwork, KnowsIPv6) {
  EXPECT_TRUE(is_in("fd00:1::/32", "fd00:1:2::3"));
  EXPECT_FALSE(is_in("fd00:1::/32", "fd00:2::3"));
  EXPECT_TRUE(is_in("::1/128", "::1"));
}

TEST(IpNetwork, FamiliesAreApart) {
  EXPECT_FALSE(is_in("::/0", "10.0.0.1"));
  EXPECT_FALSE(is_in("0.0.0.0/0", "::1"));
  EXPECT_FALSE(is_in("0.0.0.0/0", "localhost"));
}

TEST(IpNetwork, NothingElseIsOne) {
  for (const char* text :
       {"", "/", "/8", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/-0",
        "10.0.0.0/+8", "10.0.0.0/8x", "10.0.0.0/ 8", "10.0.0/8", "300.0.0.0/8", "eth0/8",
        "fd00::/129", "10.0.0.0/255.0.0.0", "10.0.0.0/8/8", "10.0.0.0/99999999999999999999"}) {
    EXPECT_FALSE(IpNetwork::parse(text).has_value()) << text;
  }
}

TEST(IpNetwork, AddressesAreToldFromNames) {
  EXPECT_TRUE(is_ip_address("10.0.0.1"));
  EXPECT_TRUE(is_ip_address("fd00::1"));
  EXPECT_FALSE(is_ip_address("eth0"));
  EXPECT_FALSE(is_ip_address(""));
  EXPECT_TRUE(is_ipv4_address("10.0.0.1"));
  EXPECT_FALSE(is_ipv4_address("fd00::1"));
  EXPECT_TRUE(is_ipv6_address("fd00::1"));
  EXPECT_FALSE(is_ipv6_address("10.0.0.1"));
}

TEST(IpNetwork, ANulEndsNoAddress) {
  using namespace std::string_view_literals;
  EXPECT_FALSE(is_ip_address("10.0.0.1\0"sv));
  EXPECT_FALSE(is_ip_address("fd00::1\0rest"sv));
  EXPECT_FALSE(IpNetwork::parse("10.0.0.0\0/8"sv).has_value());
}

}  // namespace
}  // namespace tide
