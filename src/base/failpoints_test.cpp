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
  EXPECT_EQ(points->lookup("a_one"), (Failpoint{Failpoint::Kind::kHold, 0}));
  EXPECT_EQ(points->lookup("b.two"), (Failpoint{Failpoint::Kind::kDelay, 250}));
  EXPECT_EQ(points->lookup("c-3"), (Failpoint{Failpoint::Kind::kFail, 0}));
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

TEST(Failpoints, BadSpecsAreErrors) {
  for (const char* bad :
       {"a", "a:", ":hold", "a:holt", "a:delay", "a:delay=", "a:delay=-1", "a:delay=9999999",
        "a:hold,", "a:hold,a:fail", "a*:hold", "a@:hold", "a@0:hold", "a@x:hold", "@2:hold"}) {
    EXPECT_FALSE(Failpoints::parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace tide
