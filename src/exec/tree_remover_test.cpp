#include "exec/tree_remover.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/test_files.hpp"

namespace tide::exec {
namespace {

namespace fs = std::filesystem;

TEST(TreeRemover, RemovesDeepAndWideAndOddTreesInSmallSteps) {
  const tide::testing::TemporaryDirectory folder;
  const fs::path top = folder.file("top");
  fs::path deep = top;
  for (int i = 0; i < 60; ++i) deep /= "d";
  fs::create_directories(deep);
  for (int i = 0; i < 50; ++i) std::ofstream(top / ("f" + std::to_string(i))) << "x";
  std::ofstream(deep / "last") << "x";
  fs::create_directories(top / "closed" / "inner");
  ::chmod((top / "closed").c_str(), 0500);
  fs::create_symlink("/", top / "root");
  TreeRemover remover(top);
  int steps = 0;
  for (;; ++steps) {
    const auto done = remover.step(7);
    ASSERT_TRUE(done.ok()) << done.error().message;
    if (*done) break;
    ASSERT_LT(steps, 1000);
  }
  EXPECT_GT(steps, 5);
  EXPECT_FALSE(fs::exists(top));
  EXPECT_TRUE(fs::exists("/"));
  EXPECT_TRUE(TreeRemover(top).run().ok()) << "not there: done";
}

}  // namespace
}  // namespace tide::exec
