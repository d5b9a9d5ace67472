#include "exec/command_output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <vector>

namespace tide::exec {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Result<std::string> output_of(const std::string& script, const CommandLimits& limits = {}) {
  const std::vector<std::string> argv = {"sh", "-c", script};
  auto output = command_output(argv, limits);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
  return output;
}

std::string error_of(const std::string& script, const CommandLimits& limits = {}) {
  const auto output = output_of(script, limits);
  return output ? "none" : output.error().message;
}

TEST(CommandOutput, IsWhatItPrints) {
  EXPECT_EQ(*output_of("echo one; echo two >&2; cat"), "one\n") << "its input is empty";
  EXPECT_EQ(*output_of(""), "");
  const auto large = output_of("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2");
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(large->size(), 1'000'000U);
}

TEST(CommandOutput, NoShellIsBetween) {
  const std::vector<std::string> argv = {"echo", "$(id)", "a b", ";"};
  EXPECT_EQ(*command_output(argv), "$(id) a b ;\n");
}

TEST(CommandOutput, FailuresSayWhatItSaid) {
  EXPECT_THAT(error_of("echo no broker >&2; exit 3"),
              AllOf(HasSubstr("'sh -c 'echo no"), HasSubstr("failed with status 3: no broker")));
  EXPECT_THAT(error_of("kill -9 $$"), HasSubstr("failed with status 137"));
  const std::vector<std::string> missing = {"no-such-command-anywhere"};
  const auto output = command_output(missing);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(output.error().message, HasSubstr("no-such-command-anywhere"));
}

TEST(CommandOutput, IsBounded) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(error_of("sleep 600 & sleep 600", {.time_ms = 200}),
              HasSubstr("did not answer within 200 ms"));
  EXPECT_THAT(error_of("sleep 600 & exit 0", {.time_ms = 200}), HasSubstr("did not answer"))
      << "somebody may still write";
  EXPECT_THAT(error_of("exec >&- 2>&-; sleep 600", {.time_ms = 200}), HasSubstr("did not answer"));
  EXPECT_THAT(error_of("yes", {.bytes = 100'000}), HasSubstr("prints more than 100000 bytes"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

}  // namespace
}  // namespace tide::exec
