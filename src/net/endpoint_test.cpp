#include "net/endpoint.hpp"

#include <gtest/gtest.h>

namespace tide::net {
namespace {

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

}  // namespace
}  // namespace tide::net
