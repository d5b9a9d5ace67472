#include "rm/slurm_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/host_word.hpp"

namespace tide::rm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names(std::string_view list) {
  const auto read = expand_slurm_list(list, "NODES");
  if (!read) return {"error: " + read.error().message};
  return *read;
}

std::vector<std::uint32_t> counts(std::string_view list) {
  const auto read = expand_slurm_counts(list, "COUNTS");
  EXPECT_TRUE(read) << list << ": " << read.error().message;
  return read ? *read : std::vector<std::uint32_t>();
}

std::string count_error(std::string_view list) {
  const auto read = expand_slurm_counts(list, "COUNTS");
  return read ? "none" : read.error().message;
}

TEST(SlurmList, NamesAreWrittenOut) {
  EXPECT_THAT(names("node1"), ElementsAre("node1"));
  EXPECT_THAT(names("node[1-3,5],login"), ElementsAre("node1", "node2", "node3", "node5", "login"));
  EXPECT_THAT(names("node[08-11]"), ElementsAre("node08", "node09", "node10", "node11"));
  EXPECT_THAT(names("node[1-3,07-10]"),
              ElementsAre("node1", "node2", "node3", "node07", "node08", "node09", "node10"));
  EXPECT_THAT(names("gpu[1-2]-ib"), ElementsAre("gpu1-ib", "gpu2-ib"));
  EXPECT_THAT(names("a[1-2]b[3-4]"), ElementsAre("a1b3", "a1b4", "a2b3", "a2b4"));
  EXPECT_THAT(names("b,a[2],a1"), ElementsAre("b", "a2", "a1")) << "in the order given";
  EXPECT_THAT(names("n1.east.example,x_y"), ElementsAre("n1.east.example", "x_y"));
  EXPECT_THAT(names("007"), ElementsAre("007"));
}

TEST(SlurmList, BrokenListsSayWhereTheyBreak) {
  EXPECT_THAT(names(""), ElementsAre(HasSubstr("NODES, column 1: '' names no host")));
  EXPECT_THAT(names("a,,b"), ElementsAre(HasSubstr("column 3: '' names no host")));
  EXPECT_THAT(names("a,"), ElementsAre(HasSubstr("column 3")));
  EXPECT_THAT(names("a,node[1-2"), ElementsAre(HasSubstr("column 7: '[1-2' has a '['")));
  EXPECT_THAT(names("a]b"), ElementsAre(HasSubstr("column 2: ']' has a ']' without")));
  EXPECT_THAT(names("n[3-1]"), ElementsAre(HasSubstr("column 3: '3-1' is no range")));
  EXPECT_THAT(names("n[1-]"), ElementsAre(HasSubstr("'1-' is no range")));
  EXPECT_THAT(names("n[[1-2]]"), ElementsAre(HasSubstr("'[1-2' is no range")));
  EXPECT_THAT(names("n[]"), ElementsAre(HasSubstr("is no range")));
  EXPECT_THAT(names("n[0-99999999999999999999]"), ElementsAre(HasSubstr("is no range")));
}

TEST(SlurmList, NoNameCanBeMoreThanAName) {
  EXPECT_THAT(names("a,-oProxyCommand=x"), ElementsAre(HasSubstr("column 3: '-oProxyCommand=x'")));
  for (const auto* const evil : {"a;b", "$(id)", "a b", "a`id`", "a/b", "a\nb", "a&b", "(null)"}) {
    EXPECT_THAT(names(evil), ElementsAre(HasSubstr("error: NODES, column"))) << evil;
  }
  EXPECT_THAT(names("-[1-2]"), ElementsAre(HasSubstr("begins with '-'")));
  EXPECT_THAT(names(std::string(300, 'n')), ElementsAre(HasSubstr("longer than a name")));
}

TEST(SlurmList, ListsAreBounded) {
  EXPECT_EQ(names("n[1-100000]").size(), hosts::kMaxHosts);
  EXPECT_THAT(names("n[1-100001]"), ElementsAre(HasSubstr("more than 100000 hosts")));
  EXPECT_THAT(names("n[1-100000],m"), ElementsAre(HasSubstr("column 13: 'm' makes more than")));
  EXPECT_THAT(names("a[1-400]b[1-400]"), ElementsAre(HasSubstr("more than 100000 hosts")));
  EXPECT_THAT(names("n[1-999999999999]"), ElementsAre(HasSubstr("more than 100000 hosts")));
}

TEST(SlurmList, CountsAreWrittenOut) {
  EXPECT_THAT(counts("4"), ElementsAre(4U));
  EXPECT_THAT(counts("4(x3),2"), ElementsAre(4U, 4U, 4U, 2U));
  EXPECT_THAT(counts("72(x1),128,1(x2)"), ElementsAre(72U, 128U, 1U, 1U));
}

TEST(SlurmList, BrokenCountsSayWhereTheyBreak) {
  for (const auto* const wrong :
       {"", "four", "-4", "0", "4(x0)", "4(x", "4(x3", "4x3", "4(3)", "4()", "4(x)", "4(x-1)",
        "4(x3)2", "65537", "99999999999", "4(x99999999999)", "4 (x2)"}) {
    EXPECT_THAT(count_error(wrong), HasSubstr("COUNTS, column 1: '")) << wrong;
  }
  EXPECT_THAT(count_error("4,"), HasSubstr("COUNTS, column 3: ''"));
  EXPECT_THAT(count_error("4(x2),none"), HasSubstr("COUNTS, column 7: 'none'"));
  EXPECT_EQ(counts("1(x100000)").size(), hosts::kMaxHosts);
  EXPECT_THAT(count_error("1(x99999),2(x2)"),
              AllOf(HasSubstr("column 11"), HasSubstr("more than 100000 hosts")));
}

}  // namespace
}  // namespace tide::rm
