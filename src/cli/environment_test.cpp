#include "cli/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tide::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kEnvironment[] = {"A=1", "OMP_X=2", "OMP_Y=3,4", "AB=5", "EMPTY=", nullptr};

std::vector<std::string> directives(const std::vector<GivenOption>& options,
                                    std::vector<std::string>* warnings = nullptr) {
  std::vector<std::string> ignored;
  const auto result = environment_directives(options, Environment(kEnvironment),
                                             warnings == nullptr ? ignored : *warnings);
  if (!result.ok()) return {"error: " + result.error().message};
  std::vector<std::string> texts;
  for (const wire::EnvDirective& one : *result) {
    texts.push_back(wire::EnvDirective::Kind_Name(one.kind()) + " " + one.name() + "=" +
                    one.value() + one.separator());
  }
  return texts;
}

std::vector<std::string> forwarded(const std::string& value,
                                   std::vector<std::string>* warnings = nullptr) {
  return directives({{Option::kEnvForward, "-x", value, {}}}, warnings);
}

TEST(EnvironmentDirectives, ForwardTakesTheClientsValue) {
  EXPECT_THAT(forwarded("A"), ElementsAre("SET A=1"));
  EXPECT_THAT(forwarded("EMPTY"), ElementsAre("SET EMPTY="));
  EXPECT_THAT(forwarded("A=9"), ElementsAre("SET A=9"));
  EXPECT_THAT(forwarded("NEW="), ElementsAre("SET NEW="));
}

TEST(EnvironmentDirectives, ForwardTakesListsAndPrefixes) {
  EXPECT_THAT(forwarded("A,AB"), ElementsAre("SET A=1", "SET AB=5"));
  EXPECT_THAT(forwarded("A,B=1,2=3"), ElementsAre("SET A=1", "SET B=1,2=3"));
  EXPECT_THAT(forwarded("OMP_*"), ElementsAre("SET OMP_X=2", "SET OMP_Y=3,4"));
}

TEST(EnvironmentDirectives, WhatIsMissingIsWarnedAbout) {
  std::vector<std::string> warnings;
  EXPECT_THAT(forwarded("NOPE,A,ZZ*", &warnings), ElementsAre("SET A=1"));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("-x NOPE"), HasSubstr("-x ZZ*")));
}

TEST(EnvironmentDirectives, OrderIsKeptAndOtherOptionsPassedOver) {
  EXPECT_THAT(directives({{Option::kEnvSet, "--set-env", "F=1", {}},
                          {Option::kNumProcs, "-n", "3", {}},
                          {Option::kEnvPrepend, "--prepend-env", "F", "x"},
                          {Option::kEnvAppend, "--append-env", "F[;]", "y"},
                          {Option::kEnvUnset, "--unset-env", "G", {}}}),
              ElementsAre("SET F=1", "PREPEND F=x:", "APPEND F=y;", "UNSET G="));
}

TEST(EnvironmentDirectives, Refusals) {
  EXPECT_THAT(forwarded(""), ElementsAre(HasSubstr("names no variable")));
  EXPECT_THAT(forwarded("*"), ElementsAre(HasSubstr("names no variable")));
  EXPECT_THAT(forwarded("A*=3"), ElementsAre(HasSubstr("gives one value to a pattern")));
  EXPECT_THAT(forwarded("B,A*=3"), ElementsAre(HasSubstr("'A*=3'")));
  EXPECT_THAT(forwarded("=3"), ElementsAre(HasSubstr("names no variable")));
  EXPECT_THAT(forwarded("A,,B"), ElementsAre(HasSubstr("names no variable")));
  EXPECT_THAT(directives({{Option::kEnvSet, "--set-env", "F", {}}}),
              ElementsAre(HasSubstr("write VAR=VALUE")));
  EXPECT_THAT(directives({{Option::kEnvUnset, "--unset-env", "F=1", {}}}),
              ElementsAre(HasSubstr("names no variable")));
  EXPECT_THAT(directives({{Option::kEnvPrepend, "--prepend-env", "F[;", "x"}}),
              ElementsAre(HasSubstr("no ']'")));
  EXPECT_THAT(directives({{Option::kEnvPrepend, "--prepend-env", "[;]", "x"}}),
              ElementsAre(HasSubstr("names no variable")));
}

TEST(Environment, LooksUpWholeNamesOnly) {
  const Environment environment(kEnvironment);
  EXPECT_EQ(environment.get("A"), "1");
  EXPECT_EQ(environment.get("OMP_"), std::nullopt);
  EXPECT_THAT(environment.with_prefix("ZZ"), IsEmpty());
}

}  // namespace
}  // namespace tide::cli
