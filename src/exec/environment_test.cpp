#include "exec/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tide::exec {
namespace {

using ::testing::ElementsAre;
using wire::EnvDirective;

EnvDirective directive(EnvDirective::Kind kind, const std::string& name,
                       const std::string& value = "", const std::string& separator = "") {
  EnvDirective result;
  result.set_kind(kind);
  result.set_name(name);
  result.set_value(value);
  result.set_separator(separator);
  return result;
}

// row:L20
TEST(Environment, DirectivesAreAppliedInTheOrderGiven) {
  const Environment base = {"PATH=/bin", "HOME=/root", "OLD=1"};
  const std::vector<EnvDirective> directives = {
      directive(EnvDirective::SET, "NEW", "a"),
      directive(EnvDirective::SET, "NEW", "b"),
      directive(EnvDirective::UNSET, "OLD"),
      directive(EnvDirective::UNSET, "NEVER"),
      directive(EnvDirective::PREPEND, "PATH", "/p"),
      directive(EnvDirective::APPEND, "PATH", "/q"),
      directive(EnvDirective::APPEND, "L", "x", ","),
      directive(EnvDirective::APPEND, "L", "y", ","),
      directive(EnvDirective::PREPEND, "L", "w", ", "),
  };
  EXPECT_THAT(apply_directives(base, directives),
              ElementsAre("PATH=/p:/bin:/q", "HOME=/root", "NEW=b", "L=w, x,y"));
}

TEST(Environment, AnEmptyValueIsNotJoined) {
  const std::vector<EnvDirective> directives = {directive(EnvDirective::APPEND, "A", "x"),
                                                directive(EnvDirective::PREPEND, "B", "y")};
  EXPECT_THAT(apply_directives({"A=", "AB=z"}, directives), ElementsAre("A=x", "AB=z", "B=y"));
}

TEST(Environment, UnsetRemovesDoublesToo) {
  const std::vector<EnvDirective> directives = {directive(EnvDirective::UNSET, "A")};
  EXPECT_THAT(apply_directives({"A=1", "B=2", "A=3"}, directives), ElementsAre("B=2"));
}

TEST(EnvironmentBlock, FindsWholeNamesOnly) {
  const Environment base = {"PATHS=no", "PATH=yes", "P=short"};
  const EnvironmentBlock block(base);
  EXPECT_EQ(block.find("PATH"), "yes");
  EXPECT_EQ(block.find("PAT"), std::nullopt);
  EXPECT_EQ(block.pointers()[3], nullptr);
}

std::vector<EnvDirective> directives_of(const std::string& job, int rank) {
  std::vector<EnvDirective> directives;
  for (int i = 0; i < 50; ++i) {
    directives.push_back(directive(EnvDirective::SET, "V" + std::to_string(i), job));
  }
  directives.push_back(directive(EnvDirective::SET, "RANK", std::to_string(rank)));
  directives.push_back(directive(EnvDirective::UNSET, "V7"));
  return directives;
}

TEST(EnvironmentCache, SharedDirectivesAreAppliedOnceNotPerProcess) {
  const Environment base = {"HOME=/root", "V3=old"};
  EnvironmentCache cache(base);
  for (const std::string job : {"one", "two", "one"}) {
    for (int rank = 0; rank < 256; ++rank) {
      const auto directives = directives_of(job, rank);
      ASSERT_EQ(cache.build(directives).strings(), apply_directives(base, directives));
    }
  }
  EXPECT_LE(cache.rebuilds(), 6U);  // the first two processes of each job
}

TEST(EnvironmentCache, WithoutDirectivesTheBaseIsUsed) {
  EnvironmentCache cache({"A=1"});
  EXPECT_THAT(cache.build({}).strings(), ElementsAre("A=1"));
  const std::vector<EnvDirective> directives = {directive(EnvDirective::SET, "B", "2")};
  EXPECT_THAT(cache.build(directives).strings(), ElementsAre("A=1", "B=2"));
  EXPECT_THAT(cache.build({}).strings(), ElementsAre("A=1"));
  EXPECT_LE(cache.rebuilds(), 2U);
}

}  // namespace
}  // namespace tide::exec
