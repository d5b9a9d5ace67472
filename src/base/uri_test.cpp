#include "base/uri.hpp"

#include <gtest/gtest.h>

namespace tide {
namespace {

TEST(Uri, ComposesAndParsesBothFamilies) {
  const DvmUri four{"tide-host.example-12-ab", kHeadRank, "127.0.0.1", 4711};
  EXPECT_EQ(compose_dvm_uri(four), "tide-host.example-12-ab.0;tcp4://127.0.0.1:4711");
  const DvmUri six{"tide-h-12-ab", Rank(3), "::1", 65535};
  EXPECT_EQ(compose_dvm_uri(six), "tide-h-12-ab.3;tcp6://[::1]:65535");
  for (const DvmUri& uri : {four, six}) {
    const Result<DvmUri> parsed = parse_dvm_uri(compose_dvm_uri(uri) + "\n");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, uri);
  }
}

TEST(Uri, RefusesWhatIsNone) {
  for (const char* bad :
       {"", "x", "x.0", "x;tcp4://1.2.3.4:5", ".0;tcp4://1.2.3.4:5", "x.y;tcp4://1.2.3.4:5",
        "x.0;udp4://1.2.3.4:5", "x.0;tcp4://1.2.3.4", "x.0;tcp4://1.2.3.4:0",
        "x.0;tcp4://1.2.3.4:65536", "x.0;tcp4://1.2.3.4:+5", "x.0;tcp4://1.2.3:5",
        "x.0;tcp4://host:5", "x.0;tcp6://::1:5", "x.0;tcp6://[1.2.3.4]:5", "x.0;tcp6://[:5",
        "x.99999999999;tcp4://1.2.3.4:5"}) {
    EXPECT_FALSE(parse_dvm_uri(bad)) << bad;
  }
}

TEST(Uri, ANulEndsNoAddress) {
  using namespace std::string_view_literals;
  EXPECT_FALSE(parse_dvm_uri("x.0;tcp4://1.2.3.4\0:5"sv));
  EXPECT_FALSE(parse_dvm_uri("x.0;tcp4://1.2.3.4\0:6:5"sv));
  EXPECT_FALSE(parse_dvm_uri("x.0;tcp6://[::1\0]:5"sv));
}

}  // namespace
}  // namespace tide
