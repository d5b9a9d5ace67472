// What becomes of allocations with their owners, at the wish of a scheduler, and with the DVM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/reservation_rig.hpp"

namespace tide::core {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Ranks = std::set<std::uint32_t>;

class Disposed : public Owned {
 protected:
  [[nodiscard]] bool leaves(std::uint32_t rank) const {
    const auto node = rig.head.roster().nodes().find(Rank(rank));
    return node == rig.head.roster().nodes().end() || node->second.state >= NodeState::kLeaving;
  }
  // With a node that it brings and one, v2, that it takes.
  std::string brought_and_taken(std::uint32_t inheritance, const std::string& tool,
                                AllocationRequest request = {}) {
    const auto name = "v" + std::to_string(next_rank());
    if (request.what() == AllocationRequest::UNKNOWN) {
      request = wants(AllocationRequest::NEW, 0, {"v2", name});
    }
    return grown(inherited(request, inheritance), tool);
  }
  std::uint64_t lease_left_ms(const std::string& id) const {
    const auto status = rig.head.status(0, rig.now_ms);
    for (const auto& one : status.allocations()) {
      if (one.name() == id) return one.lease().left_ms();
    }
    return 0;
  }
  bool is_over(const std::string& id) const { return find(id) == nullptr || find(id)->ending; }
  void departs(std::uint32_t rank) {
    exits(rank);
    rig.give_back();
  }
};

// ---- the disposition table ----

// row:R12 row:R15 row:R14 row:C5
TEST_F(Disposed, TheTableWithAndWithoutDescendants) {
  struct Row {
    std::uint32_t inheritance;
    bool with_child;
    bool at_owners_end;
    bool nodes_leave;
  };
  const std::vector<Row> rows = {
      {0, false, true, false},
      {0, true, true, false},
      {kNone, false, true, true},
      {kNone, true, true, true},
      {kDefault, false, true, false},
      {kDefault, true, true, false},
      {kChild, false, true, true},
      {kChild, true, false, true},
      {kChildDefault, false, true, false},
      {kChildDefault, true, false, false},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(i);
    const auto& row = rows[i];
    const auto tool = "owner" + std::to_string(i);
    attach_tool(1, tool);
    const auto rank = next_rank();
    const auto id = brought_and_taken(row.inheritance, tool);
    const auto child =
        row.with_child ? running(spawn(proc_name(tool, 0), on_node("v1"))) : std::string();
    rig.seen.clear();
    detach_tool(1, tool);
    EXPECT_EQ(is_over(id), row.at_owners_end);
    if (row.with_child) ends(child);
    EXPECT_TRUE(is_over(id));
    EXPECT_EQ(leaves(rank), row.nodes_leave);
    if (row.nodes_leave) departs(rank);
    EXPECT_EQ(find(id), nullptr);
    EXPECT_EQ(session_of(2), "") << "what was taken goes back";
    EXPECT_THAT(told(rig.seen), IsEmpty()) << "nobody asked";
    EXPECT_EQ(news(id), (std::vector<std::string>{"made", "ended"}));
  }
}

// row:R19 row:R12
TEST_F(Disposed, TheLastDescendantMayBeThreeGenerationsAwayAndElsewhere) {
  const auto id = brought_and_taken(kChild, kTool);
  const auto first = running(spawn(proc_name(kTool, 0), aimed(at({id}))));
  const auto second = running(spawn(proc_name(first, 0), aimed(at({}, true))));
  const auto third = running(spawn(proc_name(second, 0), on_node("v1")));
  detach_tool(1, kTool);
  ends(first);
  ends(second);
  EXPECT_FALSE(is_over(id)) << "the last one runs";
  ends(third);
  EXPECT_TRUE(is_over(id));
  EXPECT_TRUE(leaves(3));
}

// row:R19 also who was there before the reservation, and who is only aimed at it
TEST_F(Disposed, WhoWasThereBeforeAndWhoIsAimedAtItCount) {
  const auto before = running(spawn(proc_name(kTool, 0), on_node("v1")));
  const auto id = brought_and_taken(kChildDefault, kTool);
  const auto submitted = rig.submit(kUser, aimed(at({id})));
  const auto aimed_at_it = "dvm@" + std::to_string(rig.head.jobs().submitted());
  EXPECT_THAT(find(id)->derived, ElementsAre(before, aimed_at_it));
  detach_tool(1, kTool);
  ends(before);
  EXPECT_FALSE(is_over(id));
  running(submitted);
  ends(aimed_at_it);
  EXPECT_TRUE(is_over(id));
  EXPECT_FALSE(leaves(3));
}

// row:R12 nothing fires while the owner lives
TEST_F(Disposed, NothingHappensWhileTheOwnerLives) {
  for (const auto inheritance : {kNone, kChild, kDefault, kChildDefault}) {
    const auto id = reserve(inherited(wants(AllocationRequest::NEW, 0, {"v2"}), inheritance));
    const auto child = running(spawn(proc_name(kTool, 0), on_node("v1")));
    ends(child);
    EXPECT_FALSE(is_over(id));
    ask(about(wants(AllocationRequest::RELEASE, 0), id));
  }
}

// row:R12 an owner may be a job that is killed, or one whose node is lost
TEST_F(Disposed, AJobThatFailsIsAnOwnerThatHasEnded) {
  const auto owner = job();
  const auto id =
      reserve(inherited(for_owner(wants(AllocationRequest::NEW, 0, {"v2"}), owner), kDefault));
  rig.ended(1, 1, {0}, ProcState::kKilledByCmd, 0, 9);
  EXPECT_TRUE(is_over(id));
  EXPECT_EQ(session_of(2), "");
}

// row:R12 a tool of several processes ends with the last of them
TEST_F(Disposed, AToolEndsWithItsLastProcess) {
  wire::UpBody body;
  *body.mutable_tool_joined()->mutable_tool() = proc_name(kTool, 1);
  rig.up(1, std::move(body));
  const auto id = reserve(wants(AllocationRequest::NEW, 0, {"v2"}));
  detach_tool(1, kTool);
  EXPECT_FALSE(is_over(id));
  wire::UpBody left;
  *left.mutable_tool_left()->mutable_tool() = proc_name(kTool, 1);
  rig.up(1, std::move(left));
  EXPECT_TRUE(is_over(id));
}

// row:R13
TEST_F(Disposed, SharedAllocationsTakeOutJustTheirNodes) {
  struct Row {
    std::uint32_t inheritance;
    bool nodes_leave;
  };
  const std::vector<Row> rows = {
      {kNone, true}, {kChild, true}, {kDefault, false}, {kChildDefault, false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.inheritance);
    const auto tool = "sharer" + std::to_string(row.inheritance);
    attach_tool(1, tool);
    const auto rank = next_rank();
    const auto id =
        brought_and_taken(row.inheritance, tool, shared(wants(AllocationRequest::NEW, 1)));
    detach_tool(1, tool);
    EXPECT_EQ(leaves(rank), row.nodes_leave);
    EXPECT_FALSE(leaves(2));
    if (row.nodes_leave) departs(rank);
    EXPECT_EQ(find(id), nullptr);
  }
}

// row:R13
TEST_F(Disposed, AnExtensionMayReplaceWhatBecomesOfIt) {
  const auto id = brought_and_taken(kNone, kTool);
  const auto extend = about(wants(AllocationRequest::EXTEND, 0, {"v1"}), id);
  EXPECT_EQ(code_of(ask(extend)), ErrorCode::kOk);
  EXPECT_EQ(find(id)->terms.inheritance, Inheritance::kNone) << "what is not said stays";
  const auto only = ask(inherited(about(wants(AllocationRequest::EXTEND, 0), id), kDefault));
  EXPECT_EQ(code_of(only), ErrorCode::kOk);
  EXPECT_TRUE(answers(only).at(0).allocation().complete());
  EXPECT_EQ(code_of(ask(inherited(about(wants(AllocationRequest::RELEASE, 0), "a77"), 77))),
            ErrorCode::kNotFound)
      << "it is not looked at where it means nothing";
  detach_tool(1, kTool);
  EXPECT_EQ(find(id), nullptr);
  EXPECT_FALSE(leaves(3));
}

// row:R13 row:E5
TEST_F(Disposed, AnExtensionThatFailsLeavesItAsItWas) {
  const auto id = brought_and_taken(kChild, kTool);
  const auto asked =
      all_of<AskForNodes>(ask(inherited(about(wants(AllocationRequest::EXTEND, 1), id), kNone)));
  rig.grant(asked.at(0).ask, 1);
  EXPECT_EQ(find(id)->terms.inheritance, Inheritance::kNone);
  rig.on(DaemonLaunchFailed{Rank(4), "no"});
  EXPECT_EQ(find(id)->terms.inheritance, Inheritance::kChild);
}

// row:E17 its nodes stay or go together
TEST_F(Disposed, NodesThatMayStayLessLongMakeTheLeaseOfWhatTheyExtendShorter) {
  const auto id = brought_and_taken(kChild, kTool);
  const auto extends = [&](std::uint32_t time_ms) {
    const auto asked = all_of<AskForNodes>(ask(about(wants(AllocationRequest::EXTEND, 1), id)));
    rig.grant(asked.at(0).ask, 1, {time_ms, 0});
  };
  extends(0);
  EXPECT_EQ(lease_left_ms(id), 0U);
  extends(60'000);
  EXPECT_EQ(lease_left_ms(id), 60'000U) << "it had none";
  extends(90'000);
  EXPECT_EQ(lease_left_ms(id), 60'000U);
  extends(30'000);
  EXPECT_EQ(lease_left_ms(id), 30'000U);
}

// row:E5
TEST_F(Disposed, AnExtensionThatFailsLeavesItsLeaseAsItWas) {
  const auto id = brought_and_taken(kChild, kTool);
  const auto fails = [&](std::uint32_t time_ms, std::uint32_t meanwhile_ms = 0) {
    const auto asked = all_of<AskForNodes>(ask(about(wants(AllocationRequest::EXTEND, 1), id)));
    rig.grant(asked.at(0).ask, 1, {time_ms, 0});
    const auto newest = rig.head.roster().nodes().rbegin()->first;
    if (meanwhile_ms > 0) rig.on(LeaseMoved{{"v3"}, meanwhile_ms});
    rig.on(DaemonLaunchFailed{newest, "no"});
    rig.give_back();
  };
  fails(60'000);
  EXPECT_EQ(lease_left_ms(id), 0U);
  rig.on(LeaseMoved{{"v3"}, 90'000});
  EXPECT_EQ(lease_left_ms(id), 90'000U);
  fails(60'000);
  EXPECT_EQ(lease_left_ms(id), 90'000U);
  fails(120'000);
  EXPECT_EQ(lease_left_ms(id), 90'000U);
  fails(60'000, 45'000);
  EXPECT_EQ(lease_left_ms(id), 45'000U) << "what was said meanwhile is true";
}

// row:R12 the moment of which the new word speaks has passed
TEST_F(Disposed, AnExtensionByADescendantMayEndIt) {
  const auto id = reserve(inherited(wants(AllocationRequest::NEW, 0, {"v1"}), kChildDefault));
  const auto child = running(spawn(proc_name(kTool, 0), aimed(at({id}))));
  detach_tool(1, kTool);
  EXPECT_FALSE(is_over(id));
  const auto word = inherited(about(wants(AllocationRequest::EXTEND, 0), id), kDefault);
  EXPECT_EQ(code_of(process_asks(child, word)), ErrorCode::kOk);
  EXPECT_TRUE(is_over(id));
}

// row:R12 row:R13 what it waited for in a queue comes with a change of somebody else
TEST_F(Disposed, AnExtensionThatGetsWhatOthersBringMayEndIt) {
  const auto id = grown(inherited(shared(wants(AllocationRequest::NEW, 1)), kChild));
  running(spawn(proc_name(kTool, 0), on_node("v1")));
  const auto more = inherited(about(wants(AllocationRequest::EXTEND, 0, {"v4"}), id), kDefault);
  const auto asked = all_of<AskForNodes>(ask(by_scheduler(more), "other"));
  rig.on(NodesQueued{asked.at(0).ask, "pending"});
  detach_tool(1, kTool);
  ASSERT_FALSE(is_over(id)) << "a child of the tool runs";
  rig.on(NodesPushed{{{"v4", HeadRig::kSlots, HeadRig::incarnation(4)}}});
  EXPECT_TRUE(is_over(id));
}

// row:R12 row:E20 nodes that are still coming
TEST_F(Disposed, AnOwnerThatEndsWhileItsNodesStart) {
  const auto stay = granted(wants(AllocationRequest::NEW, 1), 1).allocation();
  detach_tool(1, kTool);
  EXPECT_EQ(find(stay), nullptr);
  EXPECT_EQ(session_of(3), "") << "when it is up it is everybody's";
  complete_grow(3, 1, 2);
  attach_tool(1, "second");
  const auto asked =
      all_of<AskForNodes>(ask(inherited(wants(AllocationRequest::NEW, 1), kNone), "second"));
  rig.grant(asked.at(0).ask, 1);
  detach_tool(1, "second");
  EXPECT_FALSE(leaves(4)) << "it has not come";
  complete_grow(4, 1, 3);
  EXPECT_TRUE(leaves(4));
}

// row:R13 row:R15 in the order in which they were made: v3 is everybody's again before that ends
TEST_F(Disposed, WhatAReservationTookOfASharedOneLeavesWithThat) {
  const auto mine = reserve(inherited(wants(AllocationRequest::NEW, 0, {"v2"}), kDefault));
  const auto all = grown(inherited(shared(wants(AllocationRequest::NEW, 1)), kChild));
  ask(about(wants(AllocationRequest::EXTEND, 0, {"v3"}), mine));
  EXPECT_EQ(session_of(3), mine);
  detach_tool(1, kTool);
  EXPECT_TRUE(is_over(mine));
  EXPECT_TRUE(is_over(all));
  EXPECT_FALSE(leaves(2));
  EXPECT_TRUE(leaves(3));
}

// row:R12 in the step in which the node is ordered away, which ends the tool
TEST_F(Disposed, AToolThatGoesWithItsNodeLeavesItsReservationAtOnce) {
  const auto id = reserve(wants(AllocationRequest::NEW, 0, {"v2"}));
  rig.release({"v1"});
  EXPECT_TRUE(is_over(id));
  EXPECT_EQ(session_of(2), "");
}

// row:R12 in the step in which it may ask at last, and can't be given what it asks for
TEST_F(Disposed, AJobThatFailsWhenItAsksForItsNodesIsAnOwnerThatHasEnded) {
  const auto before = all_of<AskForNodes>(ask(wants(AllocationRequest::NEW, 1)));
  auto spec = job_spec(1);
  spec.add_add_hosts()->set_kind(wire::HostRequest::INDEX);
  rig.submit(kUser, spec);
  const auto id = reserve(for_owner(wants(AllocationRequest::NEW, 0, {"v2"}), "dvm@1"));
  rig.on(NodesRefused{before.at(0).ask, Error{ErrorCode::kNotFound, "none"}});
  ASSERT_THAT(rig.head.jobs().unended_jobs(), IsEmpty());
  EXPECT_TRUE(is_over(id));
  EXPECT_EQ(session_of(2), "");
}

// row:R7 a job that waits to hear of a node which is not for it any more
TEST_F(Disposed, WhoWaitsForANodeUnderSuspicionDoesNotWaitWhenItIsReserved) {
  wire::UpBody word;
  word.mutable_suspect()->set_rank(2);
  rig.up(1, std::move(word));
  rig.submit(kUser, job_spec(4));
  ASSERT_EQ(rig.head.jobs().unended_jobs().size(), 1U) << "two nodes have room, if both are well";
  reserve(wants(AllocationRequest::NEW, 0, {"v2"}));
  EXPECT_THAT(rig.head.jobs().unended_jobs(), IsEmpty());
}

TEST_F(Disposed, WhoWaitsForAReservedNodeUnderSuspicionEndsWithTheReservation) {
  const auto id = reserve(wants(AllocationRequest::NEW, 0, {"v2"}));
  wire::UpBody word;
  word.mutable_suspect()->set_rank(2);
  rig.up(1, std::move(word));
  rig.submit(kUser, aimed(at({id})));
  ASSERT_EQ(rig.head.jobs().unended_jobs().size(), 1U) << "that node may be back soon";
  ask(about(wants(AllocationRequest::RELEASE, 0), id));
  EXPECT_THAT(rig.head.jobs().unended_jobs(), IsEmpty());
  ASSERT_EQ(endings(rig.seen).size(), 1U);
  EXPECT_THAT(endings(rig.seen)[0].messages(0), HasSubstr("is over"));
}

TEST_F(Disposed, WhoWaitsForANodeUnderSuspicionTakesOneThatIsReservedNoMore) {
  const auto id = reserve(wants(AllocationRequest::NEW, 0, {"v1"}));
  wire::UpBody word;
  word.mutable_suspect()->set_rank(2);
  rig.up(1, std::move(word));
  ASSERT_THAT(launched_on(rig.submit(kUser, job_spec(1))), IsEmpty()) << "v2 may be back soon";
  EXPECT_EQ(launched_on(ask(about(wants(AllocationRequest::RELEASE, 0), id))), Ranks{1});
}

// row:R12 it is for somebody else, who has ended when its nodes are granted
TEST_F(Disposed, AnOwnerThatEndsBeforeItsNodesAreGranted) {
  const auto owner = job();
  const auto asked = all_of<AskForNodes>(ask(for_owner(wants(AllocationRequest::NEW, 1), owner)));
  ends(owner);
  const auto answer = answers(rig.grant(asked.at(0).ask, 1)).at(0).allocation();
  EXPECT_TRUE(is_over(answer.allocation()));
}

// row:R12 row:R18 what waits for another grow is not started for nobody
TEST_F(Disposed, NodesThatWaitToBeStartedGoBackWhenTheReservationIsOver) {
  const auto id = granted(wants(AllocationRequest::NEW, 1), 1).allocation();
  const auto more = about(wants(AllocationRequest::EXTEND, 0, {"v3", "v4"}), id);
  rig.grant(all_of<AskForNodes>(ask(more)).at(0).ask, 1);
  rig.seen.clear();
  detach_tool(1, kTool);
  EXPECT_EQ(find(id), nullptr);
  EXPECT_THAT(all_of<ReturnNodes>(rig.seen), SizeIs(1)) << "v4 is not wanted any more";
  rig.give_back();
  complete_grow(3, 1, 2);
  EXPECT_THAT(rig.names(), ElementsAre("v1", "v2", "v3"));
  EXPECT_TRUE(rig.head.elastic().idle());
}

// ---- a scheduler ----

// row:R11 row:R8
TEST_F(Disposed, ASchedulerOwnsEverySession) {
  const auto id = grown(wants(AllocationRequest::NEW, 1));
  const auto aimed_there = spawn(proc_name("other", 0), aimed(at({id})), kKey);
  EXPECT_EQ(launched_on(aimed_there), (Ranks{3}));
  running(aimed_there);
  EXPECT_EQ(code_of(spawn(proc_name("other", 0), aimed(at({id})), "wrong")),
            ErrorCode::kPermissionDenied);
  const auto more = ask(by_scheduler(about(wants(AllocationRequest::EXTEND, 1), id)), "other");
  EXPECT_THAT(all_of<AskForNodes>(more), SizeIs(1));
  EXPECT_EQ(code_of(ask(by_scheduler(about(wants(AllocationRequest::RELEASE, 0), id)), "other")),
            ErrorCode::kOk);
  EXPECT_TRUE(leaves(3));
}

// row:R21 row:R18
TEST_F(Disposed, WhatASchedulerPushesIsEverybodys) {
  grown(by_scheduler(wants(AllocationRequest::NEW, 1)));
  EXPECT_EQ(session_of(3), "");
  EXPECT_THAT(rig.head.elastic().sessions().all(), IsEmpty());
  const auto id = grown(by_scheduler(for_owner(wants(AllocationRequest::NEW, 1), "other")));
  EXPECT_EQ(session_of(4), id);
  EXPECT_EQ(find(id)->owner, "other");
}

TEST_F(Allocations, WithoutAKeyNobodyIsTheScheduler) {
  EXPECT_EQ(code_of(ask(by_scheduler(wants(AllocationRequest::NEW, 1)))),
            ErrorCode::kPermissionDenied);
  EXPECT_THAT(all_of<AskForNodes>(ask(by_scheduler(wants(AllocationRequest::NEW, 1), ""))),
              SizeIs(1))
      << "without one it is asked for as by anybody";
}

// ---- time ----

class Warned : public Disposed {
 protected:
  static std::vector<Told> warnings(const Actions& actions) {
    std::vector<Told> out;
    for (const auto& [rank, body] : downs(actions)) {
      if (body.event().code() == kEventAllocationWarning) out.push_back({rank, body.event()});
    }
    return out;
  }
  std::string leased(std::uint32_t time_ms, std::uint32_t warn_ms, bool wants_warning = true) {
    auto request = about(wants(AllocationRequest::NEW, 1), "", "mine");
    request.set_time_ms(time_ms);
    if (wants_warning) request.set_warn_ms(warn_ms);
    const auto asked = all_of<AskForNodes>(ask(request));
    EXPECT_EQ(asked.at(0).wish.time_ms, time_ms);
    EXPECT_EQ(asked.at(0).wish.warn_ms, wants_warning ? warn_ms : 0);
    const auto actions = rig.on(NodesGranted{
        asked.at(0).ask, {{"v3", HeadRig::kSlots, HeadRig::incarnation(3)}}, {time_ms, warn_ms}});
    complete_grow(3, 1, 2);
    return answers(actions).at(0).allocation().allocation();
  }
  void passes(std::uint64_t ms) {
    rig.now_ms += ms;
    rig.fire(TimerKind::kLease, 1);
  }
};

// row:R16
TEST_F(Warned, WhoAskedForItIsWarnedOnce) {
  const auto id = leased(60'000, 10'000);
  passes(50'000);
  const auto told_of = warnings(rig.seen);
  ASSERT_THAT(told_of, SizeIs(1));
  EXPECT_EQ(told_of[0].daemon, 1U);
  EXPECT_EQ(told_of[0].notice.targets().names(0).nspace(), kTool);
  EXPECT_EQ(told_of[0].text(kFactAllocation), id);
  EXPECT_EQ(told_of[0].text(kFactRequest), "mine");
  EXPECT_EQ(told_of[0].fact(kFactTimeLeft)->number(), 10U);
  EXPECT_FALSE(leaves(3)) << "it changes nothing";
  passes(10'000);
  EXPECT_TRUE(leaves(3));
  EXPECT_THAT(warnings(rig.seen), SizeIs(1));
  departs(3);
  EXPECT_EQ(find(id), nullptr);
  EXPECT_THAT(news(id), ElementsAre("made", "ended"));
}

// row:R16
TEST_F(Warned, AnExtensionInAnswerKeepsTheNodes) {
  const auto id = leased(60'000, 10'000);
  passes(50'000);
  auto more = about(wants(AllocationRequest::EXTEND, 0), id);
  more.set_time_ms(60'000);
  const auto asked = all_of<AskForTime>(ask(more));
  ASSERT_THAT(asked, SizeIs(1));
  const auto actions = rig.on(TimeGranted{asked[0].ask, 60'000});
  EXPECT_TRUE(answers(actions).at(0).allocation().complete());
  EXPECT_THAT(told(actions), IsEmpty()) << "it has been answered";
  passes(10'000);
  EXPECT_FALSE(leaves(3));
  passes(50'000);
  EXPECT_THAT(warnings(rig.seen), SizeIs(2)) << "before the new end again";
  EXPECT_THAT(news(id), ElementsAre("made", "extended"));
}

// row:R11 also where only what it took is left of it, or nothing
TEST_F(Warned, AReservationWhoseNodesHaveGoneEndsWithItsTime) {
  const auto id = leased(60'000, 10'000);
  ask(about(wants(AllocationRequest::EXTEND, 0, {"v2"}), id));
  rig.release({"v3"});
  departs(3);
  EXPECT_EQ(session_of(2), id);
  passes(50'000);
  EXPECT_THAT(warnings(rig.seen), SizeIs(1));
  passes(10'000);
  EXPECT_EQ(find(id), nullptr);
  EXPECT_EQ(session_of(2), "");
  EXPECT_THAT(news(id), ElementsAre("made", "extended", "ended"));
}

// row:R16
TEST_F(Warned, NobodyElseIsWarned) {
  leased(60'000, 10'000, false);
  passes(50'000);
  EXPECT_THAT(warnings(rig.seen), IsEmpty()) << "nobody asked for it";
}

// row:R16
TEST_F(Warned, WhoIsGoneIsNotWarned) {
  auto keeps =
      inherited(about(wants(AllocationRequest::EXTEND, 0), leased(60'000, 10'000)), kChild);
  ask(keeps);
  running(spawn(proc_name(kTool, 0), aimed(at({keeps.allocation()}))));
  detach_tool(1, kTool);
  ASSERT_FALSE(is_over(keeps.allocation()));
  passes(50'000);
  EXPECT_THAT(warnings(rig.seen), IsEmpty());
}

// row:R16
TEST_F(Warned, ASchedulersWordIsPassedOnAndNobodyElses) {
  const auto id = leased(60'000, 10'000);
  const auto warns = [&](const std::string& key, const std::string& who) {
    wire::UpBody body;
    auto& notice = *body.mutable_event();
    notice.set_code(kEventAllocationWarning);
    *notice.mutable_source() = proc_name(who, 0);
    notice.set_range(wire::RANGE_SESSION);
    notice.mutable_warning()->set_allocation(id);
    notice.mutable_warning()->set_left_s(7);
    notice.mutable_warning()->set_scheduler_key(key);
    return warnings(rig.up(1, std::move(body)));
  };
  EXPECT_THAT(warns("wrong", "other"), IsEmpty());
  EXPECT_THAT(warns("", "other"), IsEmpty());
  EXPECT_THAT(warns(kKey, job()), IsEmpty()) << "a process of a job is no scheduler";
  const auto told_of = warns(kKey, "other");
  ASSERT_THAT(told_of, SizeIs(1));
  EXPECT_EQ(told_of[0].notice.targets().names(0).nspace(), kTool);
  EXPECT_EQ(told_of[0].fact(kFactTimeLeft)->number(), 7U);
  EXPECT_FALSE(told_of[0].notice.has_warning()) << "the key goes no further";
}

// ---- the end of the DVM ----

// row:R11 row:R22 row:R18
TEST_F(Disposed, WhatAManagerGrantedGoesBackWhenTheDvmHasEnded) {
  const auto asked = all_of<AskForNodes>(ask(wants(AllocationRequest::NEW, 1)));
  NodesGranted granted{asked.at(0).ask, {{"v3", HeadRig::kSlots, HeadRig::incarnation(3)}}};
  granted.nodes[0].manager = "pool";
  const auto id = answers(rig.on(granted)).at(0).allocation().allocation();
  complete_grow(3, 1, 2);
  rig.seen.clear();
  rig.down(kUser);
  EXPECT_THAT(all_of<ReturnNodes>(rig.seen), IsEmpty()) << "its daemons are still there";
  for (const std::uint32_t rank : {1U, 2U, 3U}) exits(rank);
  const auto returned = all_of<ReturnNodes>(rig.seen);
  ASSERT_THAT(returned, SizeIs(1));
  EXPECT_EQ(returned[0].manager, "pool");
  EXPECT_THAT(returned[0].nodes, ElementsAre("v3"));
  EXPECT_THAT(news(id), ElementsAre("made", "ended"));
  EXPECT_THAT(told(rig.seen), IsEmpty());
}

// ---- released by name ----

// row:R15 row:R20
TEST_F(Disposed, ByNameAnOwnerGivesBackWhatItTook) {
  const auto id = brought_and_taken(kNone, kTool);
  const auto taken = ask(wants(AllocationRequest::RELEASE, 0, {"v2"}));
  EXPECT_TRUE(answers(taken).at(0).allocation().complete());
  EXPECT_FALSE(leaves(2));
  EXPECT_EQ(session_of(2), "");
  EXPECT_EQ(session_of(3), id);
  EXPECT_FALSE(
      answers(ask(wants(AllocationRequest::RELEASE, 0, {"v3"}))).at(0).allocation().complete());
  EXPECT_TRUE(leaves(3));
  EXPECT_FALSE(is_over(id)) << "nobody has released it as a whole";
}

// row:R11 a name that is over means nothing, although its nodes are there
TEST_F(Disposed, WhatIsOverIsNotReleasedByItsName) {
  const auto id = brought_and_taken(kDefault, kTool);
  detach_tool(1, kTool);
  EXPECT_EQ(code_of(ask(about(wants(AllocationRequest::RELEASE, 0), id), "other")),
            ErrorCode::kNotFound);
  EXPECT_EQ(code_of(ask(about(wants(AllocationRequest::EXTEND, 1), id), "other")),
            ErrorCode::kNotFound);
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::RELEASE, 0, {"v3"}), "other")), ErrorCode::kOk);
}

}  // namespace
}  // namespace tide::core
