#include "cli/runtime_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tide::cli {
namespace {

using ::testing::HasSubstr;

wire::JobSpec parsed(std::string_view text) {
  wire::JobSpec job;
  const Status status = parse_runtime_options(text, job);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return job;
}

std::string refusal(std::string_view text) {
  wire::JobSpec job;
  const Status status = parse_runtime_options(text, job);
  return status ? "" : status.error().message;
}

TEST(RuntimeOptions, FlagsInAnyCaseAndShortened) {
  const auto job = parsed("RECOV,notify=yes,report-child=1,donotl=0");
  EXPECT_TRUE(job.runtime().recoverable());
  EXPECT_TRUE(job.runtime().notify_errors());
  EXPECT_TRUE(job.runtime().children_apart());
  EXPECT_FALSE(job.runtime().do_not_launch());
}

TEST(RuntimeOptions, ANonzeroStatusIsAnErrorUnlessSwitchedOff) {
  EXPECT_FALSE(parsed("error-nonzero-status").runtime().nonzero_is_no_error());
  EXPECT_TRUE(parsed("error-nonzero-status=no").runtime().nonzero_is_no_error());
}

TEST(RuntimeOptions, RestartsHaveALimit) {
  EXPECT_EQ(parsed("autorestart").runtime().max_restarts(), 3U);
  EXPECT_EQ(parsed("autorestart,max-restarts=7").runtime().max_restarts(), 7U);
  EXPECT_EQ(parsed("max-restarts=7,autorestart").runtime().max_restarts(), 7U);
  EXPECT_EQ(parsed("continuous").runtime().max_restarts(), UINT32_MAX);
  EXPECT_TRUE(parsed("continuous").runtime().recoverable());
}

TEST(RuntimeOptions, Times) {
  EXPECT_EQ(parsed("timeout=5m").timeout_ms(), 300'000U);
  EXPECT_EQ(parsed("spawn-timeout=2").runtime().spawn_timeout_ms(), 2000U);
}

TEST(RuntimeOptions, WhereAJobIsHeldForADebugger) {
  EXPECT_EQ(parsed("recoverable").runtime().stop_at(), wire::STOP_NOWHERE);
  EXPECT_EQ(parsed("stop-on-exec").runtime().stop_at(), wire::STOP_ON_EXEC);
  EXPECT_EQ(parsed("stop-in-init").runtime().stop_at(), wire::STOP_IN_INIT);
  EXPECT_EQ(parsed("stop-in-app").runtime().stop_at(), wire::STOP_IN_APP);
  EXPECT_EQ(parsed("stop-in-app,stop-in-app=no").runtime().stop_at(), wire::STOP_NOWHERE);
  EXPECT_EQ(parsed("stop-in-app,stop-on-exec=no").runtime().stop_at(), wire::STOP_IN_APP);
  EXPECT_THAT(refusal("stop-in-app,stop-on-exec"), HasSubstr("stop at one place"));
}

TEST(RuntimeOptions, WhatMakesNoSenseIsNamed) {
  EXPECT_THAT(refusal("max-restarts"), HasSubstr("--runtime-options max-restarts needs a value"));
  EXPECT_THAT(refusal("max-restarts=many"), HasSubstr("many"));
  EXPECT_THAT(refusal("recoverable=perhaps"), HasSubstr("neither yes nor no"));
  EXPECT_THAT(refusal("recvoerable"), HasSubstr("recoverable"));
  EXPECT_THAT(refusal("exec-agent=x"), HasSubstr("exec-agent"));
  EXPECT_THAT(refusal(""), HasSubstr("value of --runtime-options"));
}

}  // namespace
}  // namespace tide::cli
