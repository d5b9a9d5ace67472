#include "core/slot_advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/mapper_samples.hpp"

namespace tide::core {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

say::SlotAdvice advice_for(const wire::JobSpec& spec, const std::vector<MapNode>& nodes) {
  const auto result = map_job(spec, nodes);
  return advise_on_slots(spec, nodes, result.failure.value());
}

std::string explained(const wire::JobSpec& spec, const std::vector<MapNode>& nodes) {
  const auto result = map_job(spec, nodes);
  return explain_map_failure(spec, nodes, result.failure.value(), {});
}

TEST(SlotAdvice, TheLargestNumberThatFitsNowAndLater) {
  auto nodes = three_nodes();
  nodes[1].used = 2;
  const auto busy = advice_for(job(6), nodes);
  EXPECT_EQ(busy.fits_now, 5U);
  EXPECT_EQ(busy.fits_when_idle, 6U);
  EXPECT_TRUE(busy.oversubscribe);
  const auto impossible = advice_for(job(20), nodes);
  EXPECT_EQ(impossible.fits_now, 5U);
  EXPECT_EQ(impossible.fits_when_idle, 7U);
}

TEST(SlotAdvice, NothingFitsIntoAFullDvm) {
  auto nodes = three_nodes();
  for (auto& node : nodes) node.used = node.slots;
  const auto advice = advice_for(job(0), nodes);
  EXPECT_EQ(advice.fits_now, 0U);
  EXPECT_EQ(advice.fits_when_idle, 1U);
  EXPECT_THAT(explained(job(0), nodes), HasSubstr("not enough slots for 1 process of 'prog': 0"));
}

TEST(SlotAdvice, ALimitByHostIsRaisedNoFurtherThanNeeded) {
  auto spec = job(4);
  ask_host(*spec.mutable_apps(0), "v1", 1);
  ask_host(*spec.mutable_apps(0), "v2", 1);
  EXPECT_EQ(advice_for(spec, three_nodes()).hosts, "v1:2,v2:2");
  spec.mutable_apps(0)->set_processes(3);
  EXPECT_EQ(advice_for(spec, three_nodes()).hosts, "v1:2,v2:1");
  spec.mutable_apps(0)->set_processes(6);
  const auto advice = advice_for(spec, three_nodes());
  EXPECT_EQ(advice.hosts, "") << "v1 and v2 have five together";
  EXPECT_TRUE(advice.without_hosts);
}

// The second program has the room that the first leaves; the third wants some, too.
TEST(SlotAdvice, OtherProgramsKeepWhatTheyAskFor) {
  auto spec = job(2);
  add_app(spec, 9);
  add_app(spec, 1);
  const auto advice = advice_for(spec, three_nodes());
  EXPECT_EQ(advice.fits_now, 4U);
  EXPECT_THAT(explained(spec, three_nodes()), HasSubstr("(program 2 of 3)"));
  EXPECT_THAT(explained(spec, three_nodes()), HasSubstr("THIS JOB"));
}

TEST(SlotAdvice, WhoOversubscribesAlreadyIsNotToldTo) {
  auto nodes = three_nodes();
  for (auto& node : nodes) node.used = node.slots;
  auto spec = job(0);
  spec.set_oversubscribe(true);
  const auto text = explained(spec, nodes);
  EXPECT_THAT(text, Not(HasSubstr("OVERSUBSCRIBE")));
  EXPECT_THAT(text, HasSubstr("try: -n 1"));
}

TEST(SlotAdvice, AMaximumIsShownAndAdviceKeepsToIt) {
  auto nodes = three_nodes();
  for (auto& node : nodes) node.max_slots = node.slots;
  EXPECT_THAT(explained(job(8), nodes), Not(HasSubstr("OVERSUBSCRIBE")));
  auto spec = job(9);
  spec.set_oversubscribe(true);
  nodes[1].max_slots = 4;
  const auto text = explained(spec, nodes);
  EXPECT_THAT(text, HasSubstr("never more than 4"));
  EXPECT_THAT(text, HasSubstr("try: -n 8  fits now"));
}

TEST(SlotAdvice, NoNodesAtAll) {
  EXPECT_THAT(explained(job(1), {}), HasSubstr("no nodes to run on"));
}

bool placed_with(wire::JobSpec spec, int app, std::uint32_t processes,
                 const std::vector<MapNode>& nodes) {
  spec.mutable_apps(app)->set_processes(processes);
  return map_job(spec, nodes).verdict == MapVerdict::kPlaced;
}

// What is suggested works, and one more does not.
RC_GTEST_PROP(SlotAdvice, SuggestedNumbersAreTheLargestThatFit, ()) {
  const auto nodes = any_nodes();
  const auto spec = any_job(nodes);
  const auto result = map_job(spec, nodes);
  if (result.verdict == MapVerdict::kPlaced) return;
  const auto& failure = *result.failure;
  const auto advice = advise_on_slots(spec, nodes, failure);
  RC_CLASSIFY(advice.fits_now > 0, "fits now");
  if (advice.fits_now > 0) RC_ASSERT(placed_with(spec, failure.app, advice.fits_now, nodes));
  RC_ASSERT(!placed_with(spec, failure.app, advice.fits_now + 1, nodes));
  auto idle = nodes;
  for (auto& node : idle) node.used = 0;
  RC_CLASSIFY(advice.fits_when_idle > advice.fits_now, "fits once idle");
  RC_ASSERT(advice.fits_when_idle <= failure.asked);
  RC_ASSERT(advice.fits_when_idle >= advice.fits_now);
  if (advice.fits_when_idle > 0) {
    RC_ASSERT(placed_with(spec, failure.app, advice.fits_when_idle, idle));
  }
  if (advice.fits_when_idle < failure.asked) {
    RC_ASSERT(!placed_with(spec, failure.app, advice.fits_when_idle + 1, idle));
  }
}

// `v1:2,v3` as the client reads it.
void set_hosts(wire::AppSpec& app, const std::string& text) {
  app.clear_hosts();
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto item = text.substr(begin, end - begin);
    const auto colon = item.find(':');
    ask_host(app, item.substr(0, colon),
             colon == std::string::npos
                 ? 0
                 : static_cast<std::uint32_t>(std::stoul(item.substr(colon + 1))));
    begin = end + 1;
  }
}

RC_GTEST_PROP(SlotAdvice, OtherSuggestionsWorkToo, ()) {
  const auto nodes = any_nodes();
  auto spec = any_job(nodes);
  const auto result = map_job(spec, nodes);
  if (result.verdict == MapVerdict::kPlaced) return;
  const auto& failure = *result.failure;
  const auto advice = advise_on_slots(spec, nodes, failure);
  auto& app = *spec.mutable_apps(failure.app);
  app.set_processes(failure.asked);
  RC_CLASSIFY(!advice.hosts.empty(), "raises a limit");
  RC_CLASSIFY(advice.without_hosts, "leaves --host out");
  if (advice.oversubscribe) {
    auto crowded = spec;
    crowded.set_oversubscribe(true);
    for (auto& other : *crowded.mutable_apps()) {
      if (other.processes() == 0) other.set_processes(1);
    }
    RC_ASSERT(map_job(crowded, nodes).verdict == MapVerdict::kPlaced);
  }
  if (!advice.hosts.empty()) {
    set_hosts(app, advice.hosts);
    RC_ASSERT(map_job(spec, nodes).verdict == MapVerdict::kPlaced);
  } else if (advice.without_hosts) {
    app.clear_hosts();
    RC_ASSERT(map_job(spec, nodes).verdict == MapVerdict::kPlaced);
  }
}

}  // namespace
}  // namespace tide::core
