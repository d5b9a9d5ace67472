#include "exec/thread_stacks.hpp"

#include <gtest/gtest.h>

namespace tide::exec {
namespace {

constexpr std::string_view kOutput =
    "[New LWP 8807]\n"
    "[Thread debugging using libthread_db enabled]\n"
    "0x00007fba6628bdf2 in pause ()\n"
    "\n"
    "Thread 1 (LWP 8805):\n"
    "#0  0x00007fba6628bdf2 in pause ()\n"
    "\n"
    "Thread 2 (LWP 8807):\n"
    "#0  0x00007fba6628bdf2 in pause ()\n"
    "[Inferior 1 (process 8805) detached]\n";
constexpr std::string_view kStacks =
    "Thread 1 (LWP 8805):\n"
    "#0  0x00007fba6628bdf2 in pause ()\n"
    "\n"
    "Thread 2 (LWP 8807):\n"
    "#0  0x00007fba6628bdf2 in pause ()";

TEST(ThreadStacks, AreWhatIsBetweenTheNewsOfGdb) {
  for (std::size_t size = 1; size <= kOutput.size(); ++size) {
    ThreadStacks stacks(1000);
    for (std::size_t at = 0; at < kOutput.size(); at += size) stacks.take(kOutput.substr(at, size));
    EXPECT_EQ(stacks.text(), kStacks) << "in pieces of " << size;
    EXPECT_FALSE(stacks.cut());
  }
}

TEST(ThreadStacks, AreCutAfterAWholeLine) {
  ThreadStacks stacks(30);
  stacks.take(kOutput);
  EXPECT_TRUE(stacks.cut());
  EXPECT_EQ(stacks.text(), "Thread 1 (LWP 8805):");
  stacks.take("more");
  EXPECT_EQ(stacks.text(), "Thread 1 (LWP 8805):");
}

TEST(ThreadStacks, NewsWithoutEndAreNotKept) {
  ThreadStacks stacks(1000);
  for (int i = 0; i < 1000; ++i) stacks.take(std::string(1000, 'x') + (i % 3 == 0 ? "\n" : ""));
  EXPECT_TRUE(stacks.empty());
  stacks.take(" Thread 1 is not at the beginning of a line\nThread 2 is\n");
  EXPECT_EQ(stacks.text(), "Thread 2 is");
}

TEST(ThreadStacks, NothingIsNothing) {
  ThreadStacks stacks(1000);
  stacks.take("ptrace: Operation not permitted.\n");
  EXPECT_TRUE(stacks.empty());
  EXPECT_EQ(stacks.text(), "");
}

}  // namespace
}  // namespace tide::exec
