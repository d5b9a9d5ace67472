#include "base/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace tide {
namespace {

TEST(Text, EditDistanceCountsSwapsOnce) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("radix", "raidx"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Text, NearestFindsTypingMistakesAndFragments) {
  constexpr std::array<std::string_view, 3> kNames = {"rml_radix", "plm_base_verbose", "status"};
  EXPECT_EQ(nearest("rml_raddix", kNames), "rml_radix");
  EXPECT_EQ(nearest("statsu", kNames), "status");
  EXPECT_EQ(nearest("radix", kNames), "rml_radix");
  EXPECT_EQ(nearest("elephant", kNames), std::nullopt);
  EXPECT_EQ(nearest("", kNames), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'x'), kNames), std::nullopt);
}

TEST(Text, Integers) {
  EXPECT_EQ(*parse_int("-12"), -12);
  EXPECT_EQ(*parse_int("+7"), 7);
  for (const char* bad : {"", "+", "+-7", "1x", " 1", "99999999999999999999"}) {
    EXPECT_FALSE(parse_int(bad)) << bad;
  }
}

TEST(Text, ANumberTooLargeIsANumber) {
  for (const char* number : {"7", "-12", "+7", "99999999999999999999"}) {
    EXPECT_TRUE(is_whole_number(number)) << number;
  }
  for (const char* bad : {"", "+", "+-7", "1x", " 1", "1.5"}) {
    EXPECT_FALSE(is_whole_number(bad)) << bad;
  }
}

TEST(Text, TruthValues) {
  for (const char* yes : {"1", "true", "YES", "t", "Y", "Enable"}) {
    EXPECT_TRUE(*parse_bool(yes)) << yes;
  }
  for (const char* no : {"0", "False", "no", "F", "n", "disable"}) {
    EXPECT_FALSE(*parse_bool(no)) << no;
  }
  for (const char* bad : {"", "2", "on", "tru"}) EXPECT_FALSE(parse_bool(bad).ok()) << bad;
}

TEST(Text, Durations) {
  EXPECT_EQ(*parse_duration_ms("90"), 90'000U);
  EXPECT_EQ(*parse_duration_ms("90s"), 90'000U);
  EXPECT_EQ(*parse_duration_ms("5m"), 300'000U);
  EXPECT_EQ(*parse_duration_ms("250ms"), 250U);
  EXPECT_EQ(*parse_duration_ms("2H"), 7'200'000U);
  for (const char* bad : {"", "s", "-1s", "1.5s", "5 m", "3d", "18446744073709551615h"}) {
    EXPECT_FALSE(parse_duration_ms(bad)) << bad;
  }
}

TEST(Text, Sizes) {
  EXPECT_EQ(*parse_size_bytes("4096"), 4096U);
  EXPECT_EQ(*parse_size_bytes("64k"), 65536U);
  EXPECT_EQ(*parse_size_bytes("1M"), 1048576U);
  EXPECT_EQ(*parse_size_bytes("2gb"), 2147483648U);
  for (const char* bad : {"", "k", "-1", "64q", "99999999999g"}) {
    EXPECT_FALSE(parse_size_bytes(bad)) << bad;
  }
}

TEST(Text, DurationsForPeople) {
  EXPECT_EQ(human_duration_ms(0), "0 ms");
  EXPECT_EQ(human_duration_ms(250), "250 ms");
  EXPECT_EQ(human_duration_ms(1000), "1 s");
  EXPECT_EQ(human_duration_ms(1540), "1.5 s");
  EXPECT_EQ(human_duration_ms(125'000), "2 min 5 s");
  EXPECT_EQ(human_duration_ms(3 * 3'600'000 + 240'000), "3 h 4 min");
  EXPECT_EQ(human_duration_ms(51ULL * 3'600'000), "2 d 3 h");
}

TEST(Text, SplitJoinTrim) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
  EXPECT_EQ(join(std::vector<std::string>{"a", "b"}, ", "), "a, b");
  EXPECT_EQ(trim(" \t x y\n"), "x y");
  EXPECT_EQ(trim("  "), "");
}

TEST(Text, QuotesOnlyWhereNeeded) {
  EXPECT_EQ(quote_argv(std::vector<std::string>{"sh", "-c", "echo 'a' $X", ""}),
            R"(sh -c 'echo '\''a'\'' $X' '')");
  EXPECT_EQ(quote_argument("a\nb\\'"), R"($'a\nb\\\'')");
  EXPECT_EQ(one_line("a\tb\x01\n"), R"(a\tb\x01\n)");
  EXPECT_EQ(one_line("\xc3\xbc\xe2\x80\xa6"), "\xc3\xbc\xe2\x80\xa6") << "whole characters stay";
  EXPECT_EQ(one_line("a\xc3"), R"(a\xc3)");
  EXPECT_EQ(one_line("\xfc"
                     "ber\x80"),
            R"(\xfcber\x80)");
}

}  // namespace
}  // namespace tide
