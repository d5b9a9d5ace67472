#include "base/failpoints.hpp"

#include <gtest/gtest.h>

namespace tide {
namespace {

TEST(Failpoints, EmptyMeansNone) {
  const Result<Failpoints> none = Failpoints::parse(" ");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->lookup("x"), std::nullopt);
  EXPECT_EQ(Failpoints().lookup("x"), std::nullopt);
}

TEST(Failpoints, ParsesAllKinds) {
  const Result<Failpoints> points = Failpoints::parse("b.two:delay=250, a_one:hold,c-3:fail");
  ASSERT_TRUE(points) << points.error().message;
  EXPECT_EQ(points->lookup("a_one"), (Failpoint{.kind = Failpoint::Kind::kHold}));
  EXPECT_EQ(points->lookup("b.two"), (Failpoint{.kind = Failpoint::Kind::kDelay, .delay_ms = 250}));
  EXPECT_EQ(points->lookup("c-3"), (Failpoint{.kind = Failpoint::Kind::kFail}));
  EXPECT_EQ(points->lookup("a_one2"), std::nullopt);
  EXPECT_EQ(points->names(), (std::vector<std::string>{"a_one", "b.two", "c-3"}));
}

TEST(Failpoints, ReleaseEndsHoldsOnly) {
  Result<Failpoints> points = Failpoints::parse("a:hold,b:fail");
  ASSERT_TRUE(points);
  EXPECT_TRUE(points->release("a"));
  EXPECT_FALSE(points->release("a"));
  EXPECT_FALSE(points->release("b"));
  EXPECT_FALSE(points->release("c"));
  EXPECT_EQ(points->lookup("a"), std::nullopt);
  EXPECT_TRUE(points->lookup("b").has_value());
}

TEST(Failpoints, MayCountFromALaterTimeOn) {
  Result<Failpoints> points = Failpoints::parse("a@3:fail,b@1:hold");
  ASSERT_TRUE(points) << points.error().message;
  EXPECT_EQ(points->meet("a"), std::nullopt);
  EXPECT_EQ(points->meet("b")->kind, Failpoint::Kind::kHold);
  EXPECT_EQ(points->meet("a"), std::nullopt);
  EXPECT_TRUE(points->lookup("a").has_value());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(points->meet("a")->kind, Failpoint::Kind::kFail);
  EXPECT_EQ(points->meet("c"), std::nullopt);
}

TEST(Failpoints, MayCountInOneProgramOnly) {
  const Result<Failpoints> points = Failpoints::parse("a:fail,b/v2@2:hold,c/head:fail");
  ASSERT_TRUE(points) << points.error().message;
  EXPECT_EQ(points->at("v1").names(), (std::vector<std::string>{"a"}));
  EXPECT_EQ(points->at("v2").names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(points->at("v2").lookup("b")->passes, 1U);
  EXPECT_EQ(points->at("head").names(), (std::vector<std::string>{"a", "c"}));
}

TEST(Failpoints, BadSpecsAreErrors) {
  for (const char* bad :
       {"a", "a:", ":hold", "a:holt", "a:delay", "a:delay=", "a:delay=-1", "a:delay=9999999",
        "a:hold,", "a:hold,a:fail", "a*:hold", "a@:hold", "a@0:hold", "a@x:hold", "@2:hold",
        "a/:hold", "/v1:hold", "a/v1/v2:hold"}) {
    EXPECT_FALSE(Failpoints::parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace tide
