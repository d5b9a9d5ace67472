#include "exec/process_scan.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace tide::exec {
namespace {

TEST(ProcessScan, ParsesNamesWithParenthesesAndBlanks) {
  const auto entry = parse_process_stat("42 (a) b) (c) S 7 41 40 0 -1 4194560 1 2 3");
  ASSERT_TRUE(entry);
  EXPECT_EQ(*entry, (ProcessEntry{42, 7, 41, false}));
  EXPECT_TRUE(parse_process_stat("42 (x) Z 7 41 40 0")->zombie);
}

TEST(ProcessScan, RefusesWhatIsNoStatLine) {
  EXPECT_FALSE(parse_process_stat(""));
  EXPECT_FALSE(parse_process_stat("42 (x"));
  EXPECT_FALSE(parse_process_stat("42 (x)"));
  EXPECT_FALSE(parse_process_stat("42 (x) S"));
  EXPECT_FALSE(parse_process_stat("42 (x) S seven"));
}

TEST(ProcessScan, FindsThisProcess) {
  const auto processes = scan_processes();
  const auto self =
      std::ranges::find_if(processes, [](const auto& entry) { return entry.pid == ::getpid(); });
  ASSERT_NE(self, processes.end());
  EXPECT_EQ(self->parent, ::getppid());
  EXPECT_EQ(self->group, ::getpgrp());
}

TEST(ProcessScan, DescentFollowsParentsAndEndsInACycle) {
  const std::vector<ProcessEntry> processes = {
      {2, 1, 0, false}, {3, 2, 0, false}, {8, 9, 0, false}, {9, 8, 0, false}};
  EXPECT_TRUE(descends_from(processes, 3, 1));
  EXPECT_TRUE(descends_from(processes, 3, 3));
  EXPECT_FALSE(descends_from(processes, 2, 3));
  EXPECT_FALSE(descends_from(processes, 8, 1));
}

}  // namespace
}  // namespace tide::exec
