#include "net/protocol.hpp"

#include <gtest/gtest.h>

namespace tide::net {
namespace {

TEST(Protocol, RangesThatOverlapAgree) {
  EXPECT_TRUE(check_protocol(kProtocol, kProtocolMinimum).ok());
  EXPECT_TRUE(check_protocol(kProtocol + 5, kProtocolMinimum).ok());
  EXPECT_TRUE(check_protocol(kProtocol + 5, kProtocol).ok());
}

TEST(Protocol, RangesApartAreRefusedWithBothNamed) {
  const Status newer = check_protocol(99, 98);
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().code, ErrorCode::kProtocol);
  EXPECT_EQ(newer.error().message,
            "no common protocol version: one side speaks 1 (oldest 1), the other 99 (oldest 98)");
  EXPECT_FALSE(check_protocol(kProtocolMinimum - 1, 0).ok());
}

}  // namespace
}  // namespace tide::net
