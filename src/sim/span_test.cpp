// Ranks are never given out again, so the span of a DVM that changes its size again and again grows
// for ever. What that costs: docs/scale.md.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/scale.hpp"
#include "sim/scale_world.hpp"

namespace tide::sim {
namespace {

using wire::LinkMessage;

constexpr std::uint32_t kDaemons = 16;
constexpr std::uint32_t kEarly = 1'000;
constexpr std::uint32_t kLate = 10'000;
constexpr int kLookedAt = 16;  // cycles before a span: together they meet the tree in many ways
constexpr std::uint64_t kSettleMs = 5'000;
constexpr std::uint64_t kAncestorBytes = 512;  // what a daemon may keep of each: how to reach it

// What a grow and a shrink cost together; of several cycles, the most that one did.
struct Cost {
  std::uint32_t span = 0;
  std::uint64_t depth = 0;  // of the daemons that are left
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t took_us = 0;
  // Those that go to each daemon once, or come from it, wherever it is; and the trees computed.
  std::uint64_t reports = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t operations = 0;
  std::uint64_t let_go = 0;
  std::uint64_t repairs = 0;
  std::uint64_t daemon_memory = 0;
  std::uint64_t head_memory = 0;
};

Cost most(const Cost& one, const Cost& other) {
  return {.span = std::max(one.span, other.span),
          .depth = std::max(one.depth, other.depth),
          .messages = std::max(one.messages, other.messages),
          .bytes = std::max(one.bytes, other.bytes),
          .took_us = std::max(one.took_us, other.took_us),
          .reports = std::max(one.reports, other.reports),
          .snapshots = std::max(one.snapshots, other.snapshots),
          .operations = std::max(one.operations, other.operations),
          .let_go = std::max(one.let_go, other.let_go),
          .repairs = std::max(one.repairs, other.repairs)};
}

std::string to_text(const Cost& cost) {
  return fmt::format(
      "span {}: depth {}, {} messages, {} B, {} µs; {} reports, {} snapshots, {} operations, {} "
      "let "
      "go, {} repairs; memory: {} B of a daemon's core, {} B of the head's",
      cost.span, cost.depth, cost.messages, cost.bytes, cost.took_us, cost.reports, cost.snapshots,
      cost.operations, cost.let_go, cost.repairs, cost.daemon_memory, cost.head_memory);
}

std::uint64_t heap_bytes() {
  return ::mallinfo2().uordblks;
}

// As many daemons come as there are, and those who were there leave: then all ranks but the newest
// are holes, and whoever is left stands on the lowest level of the tree.
class Cycles {
 public:
  explicit Cycles(std::uint32_t radix) : world_(kDaemons, radix, 50) {
    world_.start();
    world_.run_for(kSettleMs);
  }

  // The most of the last cycles until the span is that large. Afterwards it is of no more use.
  Cost until(std::uint32_t span) {
    std::vector<Cost> costs;
    while (tree().span() < span) costs.push_back(next());
    Cost out;
    const auto skipped = std::max<std::ptrdiff_t>(std::ssize(costs) - kLookedAt, 0);
    for (auto at = costs.begin() + skipped; at != costs.end(); ++at) out = most(out, *at);
    const auto full = heap_bytes();
    world_.drop_daemons();
    const auto without_daemons = heap_bytes();
    world_.drop_head();
    out.daemon_memory = (full - without_daemons) / kDaemons;
    out.head_memory = without_daemons - heap_bytes();
    return out;
  }

 private:
  [[nodiscard]] const core::RoutingTree& tree() const {
    return world_.head().overlay().membership().tree();
  }

  Cost next() {
    const Traffic before = world_.traffic();
    const auto repairs = world_.repairs();
    auto took_us = change([&] { world_.grow(kDaemons); });
    std::vector<Rank> old;
    for (std::uint32_t i = 0; i < kDaemons; ++i) old.emplace_back(oldest_++);
    took_us += change([&] { world_.shrink(old); });
    const Traffic traffic = world_.traffic().since(before);
    std::uint32_t depth = 0;
    for (std::uint32_t i = 0; i < kDaemons; ++i) {
      depth = std::max(depth, tree().depth(Rank(oldest_ + i)));
    }
    return {.span = tree().span(),
            .depth = depth,
            .messages = traffic.all(),
            .bytes = traffic.bytes,
            .took_us = took_us,
            .reports = traffic.of(LinkMessage::kReport),
            .snapshots = traffic.of(LinkMessage::kSnapshot),
            .operations = traffic.of(LinkMessage::kOperation),
            .let_go = traffic.of(LinkMessage::kLetGo),
            .repairs = world_.repairs() - repairs};
  }

  template <class Begin>
  std::uint64_t change(const Begin& begin) {
    const auto begin_us = world_.now_us();
    begin();
    world_.run_for(kSettleMs);
    EXPECT_EQ(world_.changes_done(), ++changes_);
    return world_.changed_us() - begin_us;
  }

  ScaleWorld world_;
  std::uint32_t oldest_ = 1;
  std::uint64_t changes_ = 0;
};

class Span : public ::testing::TestWithParam<std::uint32_t> {};

// row:S10 row:S2 The span costs what the levels of the tree cost that it makes, and nothing else.
TEST_P(Span, OfTenThousandCostsTheLevelsOfTheTreeAlone) {
  const Cost early = Cycles(GetParam()).until(kEarly);
  const Cost late = Cycles(GetParam()).until(kLate);
  SCOPED_TRACE(to_text(early) + "\n" + to_text(late));
  RecordProperty("early", to_text(early));
  RecordProperty("late", to_text(late));

  EXPECT_EQ(early.depth, full_depth(early.span - 1, GetParam()));
  EXPECT_EQ(late.depth, full_depth(late.span - 1, GetParam()));
  for (const Cost& cost : {early, late}) {
    EXPECT_EQ(cost.reports, kDaemons);
    EXPECT_EQ(cost.snapshots, kDaemons);
    EXPECT_EQ(cost.operations, 3 * kDaemons) << "of the grow to the old, of the shrink to all";
    EXPECT_EQ(cost.let_go, kDaemons);
    EXPECT_EQ(cost.repairs, 2 * kDaemons + 1) << "of the shrink: the head, and all";
  }
  // For each level not more, but for ranks whose numbers take a byte more.
  EXPECT_LE(late.messages * early.depth * 10, early.messages * late.depth * 11);
  EXPECT_LE(late.bytes * early.depth * 4, early.bytes * late.depth * 5);
  EXPECT_LE(late.took_us * early.depth * 10, early.took_us * late.depth * 11);
  EXPECT_LE(late.daemon_memory, early.daemon_memory + (late.depth - early.depth) * kAncestorBytes);
  EXPECT_LE(late.head_memory * 10, early.head_memory * 11);
}

INSTANTIATE_TEST_SUITE_P(Radix, Span, ::testing::Values(2, 64));

}  // namespace
}  // namespace tide::sim
