#include "cli/values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace tide::cli {
namespace {

using testing::HasSubstr;

template <class T>
std::string why(const Result<T>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? "" : result.error().message;
}

TEST(ParseMapBy, SlotAndNodeInAnyCaseAndShortened) {
  EXPECT_EQ(parse_map_by("slot")->map_by, wire::JobSpec::SLOT);
  EXPECT_EQ(parse_map_by("NODE")->map_by, wire::JobSpec::NODE);
  EXPECT_EQ(parse_map_by("nod")->map_by, wire::JobSpec::NODE);
  EXPECT_EQ(parse_map_by("Sl")->map_by, wire::JobSpec::SLOT);
}

TEST(ParseMapBy, Qualifiers) {
  EXPECT_EQ(parse_map_by("node")->oversubscribe, std::nullopt);
  EXPECT_EQ(parse_map_by("node:OVERSUBSCRIBE")->oversubscribe, true);
  EXPECT_EQ(parse_map_by(":over")->oversubscribe, true);
  EXPECT_EQ(parse_map_by(":over")->map_by, wire::JobSpec::SLOT);
  EXPECT_EQ(parse_map_by("slot:noover")->oversubscribe, false);
  EXPECT_EQ(parse_map_by("slot:over=no")->oversubscribe, false);
  EXPECT_EQ(parse_map_by("slot:nooversubscribe=Disable")->oversubscribe, true);
}

TEST(ParseMapBy, Refusals) {
  EXPECT_THAT(why(parse_map_by("s")), HasSubstr("could be slot, socket, seq"));
  EXPECT_THAT(why(parse_map_by("core")), HasSubstr("not built yet; slot and node are"));
  EXPECT_THAT(why(parse_map_by("ppr:2:node")), HasSubstr("ppr is not built yet"));
  EXPECT_THAT(why(parse_map_by("node:PE=2")), HasSubstr(":PE is not built yet"));
  EXPECT_THAT(why(parse_map_by("slit")), HasSubstr("is no value of --map-by"));
  EXPECT_THAT(why(parse_map_by("slit")), HasSubstr("did you mean slot?"));
  EXPECT_THAT(why(parse_map_by("quux")), testing::Not(HasSubstr("did you mean")));
  EXPECT_THAT(why(parse_map_by(":oversubscirbe")), HasSubstr("did you mean OVERSUBSCRIBE?"));
  EXPECT_THAT(why(parse_map_by("")), HasSubstr("is no value of --map-by"));
  EXPECT_THAT(why(parse_map_by("node:")), HasSubstr("is no qualifier of --map-by"));
  EXPECT_THAT(why(parse_map_by("node:over=2")), HasSubstr("neither yes nor no"));
  EXPECT_THAT(why(parse_map_by("node:over:noover")), HasSubstr("both"));
  EXPECT_THAT(why(parse_map_by("node=3")), HasSubstr("takes no '='"));
}

TEST(ParseOutput, TagAndMerge) {
  OutputStyle style;
  ASSERT_TRUE(parse_output("TAG,merge", style).ok());
  EXPECT_EQ(style, (OutputStyle{true, true}));
  ASSERT_TRUE(parse_output("tag=no", style).ok());
  EXPECT_EQ(style, (OutputStyle{false, true}));
  EXPECT_THAT(why(parse_output("timestamp", style)), HasSubstr("not built yet"));
  EXPECT_THAT(why(parse_output("dir=/x:nocopy", style)), HasSubstr("dir is not built yet"));
  EXPECT_THAT(why(parse_output("tag:raw", style)), HasSubstr("qualifiers are not built yet"));
  EXPECT_THAT(why(parse_output("tog", style)), HasSubstr("is no value of --output"));
  EXPECT_THAT(why(parse_output("tog", style)), HasSubstr("did you mean tag?"));
}

TEST(ParseStdinRank, RankOrNone) {
  EXPECT_EQ(*parse_stdin_rank("3"), 3);
  EXPECT_EQ(*parse_stdin_rank("None"), -1);
  EXPECT_THAT(why(parse_stdin_rank("all")), HasSubstr("not built yet"));
  EXPECT_THAT(why(parse_stdin_rank("-2")), HasSubstr("between 0"));
  EXPECT_THAT(why(parse_stdin_rank("some")), HasSubstr("is no value of --stdin"));
}

TEST(ParseSignal, NamesAndNumbers) {
  EXPECT_EQ(*parse_signal("TERM"), SIGTERM);
  EXPECT_EQ(*parse_signal("sigusr1"), SIGUSR1);
  EXPECT_EQ(*parse_signal("9"), SIGKILL);
  EXPECT_FALSE(parse_signal("0").ok());
  EXPECT_FALSE(parse_signal("TER").ok());
  EXPECT_FALSE(parse_signal("").ok());
}

TEST(ParseTimeout, Durations) {
  EXPECT_EQ(*parse_timeout_ms("90", "--timeout"), 90'000U);
  EXPECT_EQ(*parse_timeout_ms("5m", "--timeout"), 300'000U);
  EXPECT_THAT(why(parse_timeout_ms("soon", "--timeout")), HasSubstr("is no time"));
  EXPECT_THAT(why(parse_timeout_ms("5000h", "--timeout")), HasSubstr("too long"));
}

TEST(ParseJobName, NumberOrNamespace) {
  EXPECT_EQ(parse_job_name("3")->number, 3U);
  EXPECT_EQ(parse_job_name("tide-h-1-2@3")->nspace, "tide-h-1-2@3");
  EXPECT_FALSE(parse_job_name("0").ok());
  EXPECT_FALSE(parse_job_name("three").ok());
}

TEST(ExplainName, IsAJobAChangeOrAnAllocation) {
  EXPECT_EQ(parse_explain_name("3")->job->number, 3U);
  EXPECT_EQ(parse_explain_name("tide-h-1-2@3")->job->nspace, "tide-h-1-2@3");
  for (const auto* text : {"change:4", "grow:4", "shrink:4"}) {
    ASSERT_TRUE(parse_explain_name(text)) << text;
    EXPECT_EQ(parse_explain_name(text)->change, 4U);
    EXPECT_FALSE(parse_explain_name(text)->job);
  }
  EXPECT_EQ(parse_explain_name("a12")->allocation, "a12");
  for (const auto* text : {"", "a", "v3", "change:", "change:x", "change:0", "push:3", "0"}) {
    EXPECT_FALSE(parse_explain_name(text)) << text;
  }
}

}  // namespace
}  // namespace tide::cli
