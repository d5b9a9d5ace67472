#include "rim/core_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tide::rim {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A core that answers every event with a note of what it saw, and an exit where it is asked to end.
class EchoCore {
 public:
  using Event = core::DaemonEvent;
  core::Actions on(const Event& event, std::uint64_t /*now_ms*/) {
    seen.push_back(describe(event));
    core::Actions out;
    out.emplace_back(core::Note{core::Subsystem::kState, 0, seen.back()});
    if (std::holds_alternative<core::EndRequested>(event)) out.emplace_back(core::Exit{0, "asked"});
    return out;
  }
  std::vector<std::string> seen;
};

class Recorder : public RimEffects {
 public:
  void perform(core::Action action) override { performed.push_back(describe(action)); }
  void fail(core::Action action) override { failed.push_back(describe(action)); }
  std::vector<std::string> performed;
  std::vector<std::string> failed;
};

class CoreHostTest : public ::testing::Test {
 public:
  CoreHost<EchoCore>& host(const std::string& failpoints) {
    auto parsed = Failpoints::parse(failpoints);
    EXPECT_TRUE(parsed);
    made = std::make_unique<CoreHost<EchoCore>>(io, core, effects, *parsed, 100, counters);
    return *made;
  }
  static core::TimerFired timer(std::uint64_t number) { return {number, 1}; }
  std::int64_t counted(const std::string& name) const {
    for (const auto& value : counters.snapshot()) {
      if (value.name == name) return value.value;
    }
    return -1;
  }
  std::vector<std::string> recorded() const {
    std::vector<std::string> out;
    for (const auto& line : made->recorder().lines()) out.push_back(line.text);
    return out;
  }

  asio::io_context io;
  EchoCore core;
  Recorder effects;
  Counters counters;
  std::unique_ptr<CoreHost<EchoCore>> made;
};

TEST_F(CoreHostTest, WithoutFailpointsEverythingPassesAndIsRecorded) {
  auto& host = this->host("");
  host.post(timer(1));
  host.post(core::EndRequested{"over"});
  EXPECT_THAT(core.seen, ElementsAre("timer_fired 0:1", "end_requested"));
  EXPECT_THAT(effects.performed,
              ElementsAre("note timer_fired 0:1", "note end_requested", "exit asked"));
  EXPECT_EQ(counted("core.events"), 2);
  EXPECT_EQ(counted("core.actions"), 3);
  EXPECT_THAT(recorded(), ElementsAre("timer_fired 0:1", "  note timer_fired 0:1", "end_requested",
                                      "  note end_requested", "  exit asked"));
  EXPECT_FALSE(host.release("event.timer_fired"));
}

TEST_F(CoreHostTest, HeldEventsComeInOrderWhenReleased) {
  auto& host = this->host("event.timer_fired:hold");
  host.post(timer(1));
  host.post(core::EndRequested{"over"});
  host.post(timer(2));
  EXPECT_THAT(core.seen, ElementsAre("end_requested")) << "only what is named is held";
  EXPECT_THAT(recorded(), Contains("failpoint event.timer_fired"));
  EXPECT_FALSE(host.release("event.end_requested"));
  EXPECT_TRUE(host.release("event.timer_fired"));
  EXPECT_THAT(core.seen, ElementsAre("end_requested", "timer_fired 0:1", "timer_fired 0:2"));
  host.post(timer(3));
  EXPECT_EQ(core.seen.size(), 4U) << "released for good";
  EXPECT_FALSE(host.release("event.timer_fired"));
}

TEST_F(CoreHostTest, HeldActionsWaitWhileTheOthersAreCarriedOut) {
  auto& host = this->host("action.note:hold");
  host.post(core::EndRequested{"over"});
  EXPECT_THAT(core.seen, ElementsAre("end_requested"));
  EXPECT_THAT(effects.performed, ElementsAre("exit asked"));
  EXPECT_TRUE(host.release("action.note"));
  EXPECT_THAT(effects.performed, ElementsAre("exit asked", "note end_requested"));
  EXPECT_THAT(effects.failed, IsEmpty());
}

TEST_F(CoreHostTest, AFailedEventNeverReachesTheCore) {
  auto& host = this->host("event.timer_fired:fail");
  host.post(timer(1));
  host.post(core::EndRequested{"over"});
  EXPECT_THAT(core.seen, ElementsAre("end_requested"));
  EXPECT_FALSE(host.release("event.timer_fired")) << "there is nothing to let go";
}

TEST_F(CoreHostTest, AFailedActionIsGivenToTheEffectsAsSuch) {
  auto& host = this->host("action.exit:fail");
  host.post(core::EndRequested{"over"});
  EXPECT_THAT(effects.performed, ElementsAre("note end_requested"));
  EXPECT_THAT(effects.failed, ElementsAre("exit asked"));
}

TEST_F(CoreHostTest, DelayedEventsComeAfterTheirTime) {
  auto& host = this->host("event.timer_fired:delay=30");
  const auto begin = steady_ms();
  host.post(timer(1));
  host.post(timer(2));
  host.post(core::EndRequested{"over"});
  EXPECT_THAT(core.seen, ElementsAre("end_requested"));
  io.run_for(std::chrono::seconds(10));
  EXPECT_THAT(core.seen, ElementsAre("end_requested", "timer_fired 0:1", "timer_fired 0:2"));
  EXPECT_GE(steady_ms() - begin, 29U);
}

TEST_F(CoreHostTest, DelayedActionsComeAfterTheirTime) {
  auto& host = this->host("action.note:delay=1");
  host.post(core::EndRequested{"over"});
  EXPECT_THAT(effects.performed, ElementsAre("exit asked"));
  io.run_for(std::chrono::seconds(10));
  EXPECT_THAT(effects.performed, ElementsAre("exit asked", "note end_requested"));
}

TEST_F(CoreHostTest, WhatIsStillDelayedAtTheEndNeverHappens) {
  auto& host = this->host("event.timer_fired:delay=60000");
  host.post(timer(1));
  host.stop();
  io.run_for(std::chrono::seconds(10));
  EXPECT_THAT(core.seen, IsEmpty());
  EXPECT_TRUE(io.stopped()) << "nothing keeps the loop alive";
}

TEST_F(CoreHostTest, ActionsFromOutsideAnEventPassTheSameGate) {
  auto& host = this->host("action.exit:fail");
  core::Actions actions;
  actions.emplace_back(core::Note{core::Subsystem::kState, 0, "first"});
  actions.emplace_back(core::Exit{0, "second"});
  host.perform_all(std::move(actions));
  EXPECT_THAT(effects.performed, ElementsAre("note first"));
  EXPECT_THAT(effects.failed, ElementsAre("exit second"));
}

}  // namespace
}  // namespace tide::rim
