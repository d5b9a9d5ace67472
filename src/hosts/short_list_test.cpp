#include "hosts/short_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "hosts/name_pattern.hpp"

namespace tide::hosts {
namespace {

// The commas outside of brackets part its patterns.
std::set<std::string> names_in(const std::string& list) {
  std::set<std::string> out;
  std::string pattern;
  bool inside = false;
  for (const char c : list + ",") {
    if (c == '[' || c == ']') inside = c == '[';
    if (c != ',' || inside) {
      pattern += c;
      continue;
    }
    const auto names = written_out(pattern, 100'000);
    const auto* known = std::get_if<std::vector<std::string>>(&names);
    if (known == nullptr) {
      out.insert("bad: " + pattern);
    } else {
      out.insert(known->begin(), known->end());
    }
    pattern.clear();
  }
  return out;
}

TEST(ShortList, NamesThatDifferInTheirNumberShareABracket) {
  EXPECT_EQ(short_list({"node3", "node1", "node2", "node7"}), "node[1-3,7]");
  EXPECT_EQ(short_list({"gpu01", "gpu02", "gpu1", "login"}), "gpu1,gpu[01-02],login");
  EXPECT_EQ(short_list({"a9", "a10", "a9"}), "a[9-10]");
  EXPECT_EQ(short_list({"a099", "a100"}), "a099,a100");
  EXPECT_EQ(short_list({"node1"}), "node1");
}

TEST(ShortList, AddressesAndNumbersStayAsTheyAre) {
  EXPECT_EQ(short_list({"10.0.0.1", "10.0.0.2", "17", "n1.cluster"}),
            "10.0.0.1,10.0.0.2,17,n1.cluster");
  EXPECT_EQ(short_list({"n12345678901", "n12345678902"}), "n12345678901,n12345678902");
}

RC_GTEST_PROP(ShortList, SaysNeitherMoreNorLess, ()) {
  const auto numbers = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 120));
  std::set<std::string> names = {"head"};
  for (const int number : numbers) {
    const std::string stem = number % 3 == 0 ? "a" : "rack-2n";
    names.insert(stem + (number % 2 == 0 ? "0" : "") + std::to_string(number));
  }
  RC_ASSERT(names_in(short_list({names.begin(), names.end()})) == names);
}

}  // namespace
}  // namespace tide::hosts
