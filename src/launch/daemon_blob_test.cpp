#include "launch/daemon_blob.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tide::launch {
namespace {

using ::testing::HasSubstr;

wire::StepBlob step_of(const std::vector<std::string>& hosts) {
  wire::StepBlob step;
  step.mutable_common()->set_dvm_id("dvm");
  step.mutable_common()->set_in_step(true);
  for (const auto& host : hosts) {
    auto& seed = *step.add_daemons();
    seed.set_rank(static_cast<std::uint32_t>(step.daemons_size()));
    seed.set_node("n" + std::to_string(step.daemons_size()));
    seed.set_host(host);
  }
  return step;
}

std::uint32_t rank_for(const wire::StepBlob& step, const std::vector<std::string>& names) {
  const auto part = part_of(step, names);
  return part ? part->rank() : 0;
}

TEST(PartOfAStep, IsFoundByTheFirstNameThatFits) {
  const auto step = step_of({"a", "b.cluster", "c"});
  EXPECT_EQ(rank_for(step, {"C"}), 3U);
  EXPECT_EQ(rank_for(step, {"b.cluster"}), 2U);
  EXPECT_EQ(rank_for(step, {"a", "c"}), 1U);
  EXPECT_EQ(rank_for(step, {"x", "c"}), 3U);
  const auto part = part_of(step, {"c"});
  EXPECT_EQ(part->node(), "n3");
  EXPECT_EQ(part->dvm_id(), "dvm");
  EXPECT_TRUE(part->in_step());
}

TEST(PartOfAStep, MayBeFoundWithoutItsDomainWhereNoneFitsAsItIs) {
  const auto step = step_of({"a", "b.cluster"});
  EXPECT_EQ(rank_for(step, {"a.cluster"}), 1U);
  EXPECT_EQ(rank_for(step, {"b"}), 2U);
  EXPECT_EQ(rank_for(step_of({"a.one", "a.two"}), {"a.two"}), 2U);
}

TEST(PartOfAStep, NeedsNoNameWhereNobodyElseGetsIt) {
  auto step = step_of({"a"});
  EXPECT_EQ(rank_for(step, {"x"}), 0U);
  step.set_sole(true);
  EXPECT_EQ(rank_for(step, {"x"}), 1U);
  step = step_of({"a", "b"});
  step.set_sole(true);
  EXPECT_EQ(rank_for(step, {"x"}), 0U);
}

TEST(PartOfAStep, HasToBeThereOnce) {
  EXPECT_THAT(part_of(step_of({"a", "b"}), {"x", "x.cluster"}).error().message,
              HasSubstr("no daemon is meant for this machine, x or x.cluster; they are for a, b"));
  EXPECT_THAT(part_of(step_of({"a.one", "a.two"}), {"a"}).error().message,
              HasSubstr("more than one daemon is meant for a"));
}

}  // namespace
}  // namespace tide::launch
