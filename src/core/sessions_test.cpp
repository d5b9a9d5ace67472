// Which session a node is in, seen through the head, and who may change that.
#include "core/sessions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/allocation_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Reservations : public Allocations {
 protected:
  std::string reserve(const std::vector<std::string>& nodes, const std::string& request_id = "") {
    const auto actions = ask(about(wants(AllocationRequest::NEW, 0, nodes), "", request_id));
    EXPECT_EQ(code_of(actions), ErrorCode::kOk);
    return answers(actions).at(0).allocation().allocation();
  }
  Actions release(const std::string& id, const std::string& tool = kTool) {
    return ask(about(wants(AllocationRequest::RELEASE, 0), id), tool);
  }
  // The nodes that a job with a process on each may have.
  std::set<std::uint32_t> nodes_of_a_job(std::uint32_t processes) {
    return launched_on(rig.submit(kUser, job_spec(processes)));
  }
};

// row:C5 row:R15
TEST_F(Reservations, TakeNodesOutOfTheDefaultSessionWithoutAChangeOfSize) {
  const auto actions = ask(about(wants(AllocationRequest::NEW, 0, {"v2"}), "", "mine"));
  ASSERT_EQ(code_of(actions), ErrorCode::kOk);
  const auto answer = answers(actions)[0].allocation();
  EXPECT_TRUE(answer.complete());
  EXPECT_FALSE(answer.allocation().empty());
  EXPECT_EQ(answer.request_id(), "mine");
  EXPECT_EQ(session_of(2), answer.allocation());
  EXPECT_EQ(session_of(1), "");
  EXPECT_TRUE(rig.head.elastic().idle());
  EXPECT_EQ(rig.head.elastic().counts().grows, 0U);
  EXPECT_THAT(told(rig.seen), IsEmpty());
}

// row:R7
TEST_F(Reservations, AreNotSeenByJobsOfTheDefaultSession) {
  reserve({"v2"});
  EXPECT_EQ(nodes_of_a_job(2), (std::set<std::uint32_t>{1}));
  const auto named = rig.submit(kUser, on_node("v2"));
  ASSERT_THAT(endings(named), SizeIs(1));
  EXPECT_EQ(endings(named)[0].state(), static_cast<std::uint32_t>(JobState::kAllocFailed));
}

// row:C5 row:R15
TEST_F(Reservations, ThatBroughtNoNodeEndAtOnceAndTheirNodesStay) {
  const auto id = reserve({"v2"});
  const auto actions = release(id);
  ASSERT_EQ(code_of(actions), ErrorCode::kOk);
  EXPECT_TRUE(answers(actions)[0].allocation().complete());
  EXPECT_EQ(answers(actions)[0].allocation().allocation(), id);
  EXPECT_EQ(session_of(2), "");
  EXPECT_THAT(rig.names(), ElementsAre("v1", "v2"));
  EXPECT_THAT(told(rig.seen), IsEmpty());
  EXPECT_EQ(code_of(release(id)), ErrorCode::kNotFound) << "it means nothing any more";
  EXPECT_EQ(nodes_of_a_job(4), (std::set<std::uint32_t>{1, 2}));
}

// row:C1 row:R5 the id that was given means something to who looks
TEST_F(Reservations, AreExplained) {
  const auto id = reserve({"v2"});
  auto report = rig.head.elastic().explain_allocation(id);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->there(), ElementsAre("v2"));
  EXPECT_THAT(report->reserves(), ElementsAre("v2"));
  release(id);
  report = rig.head.elastic().explain_allocation(id);
  ASSERT_TRUE(report) << "one that is over, too";
  EXPECT_THAT(report->there(), ElementsAre("v2"));
  EXPECT_THAT(report->reserves(), IsEmpty());
  const auto shares = ask(shared(wants(AllocationRequest::NEW, 0, {"v1"})));
  const auto other = answers(shares).at(0).allocation().allocation();
  EXPECT_NE(other, "");
  report = rig.head.elastic().explain_allocation(other);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->there(), ElementsAre("v1"));
  EXPECT_THAT(report->reserves(), IsEmpty());
}

// What brought its own nodes is not said to have brought none, whatever it takes later.
TEST_F(Reservations, AreExplainedByWhatTheyBroughtAndTook) {
  const auto id = granted(wants(AllocationRequest::NEW, 1), 1).allocation();
  complete_grow(3, 1, 2);
  ask(about(wants(AllocationRequest::EXTEND, 0, {"v2"}), id));
  const auto report = rig.head.elastic().explain_allocation(id);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->allocation().nodes(), ElementsAre("v3"));
  EXPECT_THAT(report->there(), IsEmpty());
  EXPECT_THAT(report->reserves(), ElementsAre("v2"));
  ASSERT_EQ(report->changes_size(), 1) << "also one that a tool asked for";
  EXPECT_TRUE(report->changes(0).end().done());
  EXPECT_TRUE(rig.head.elastic().explain_change(2));
}

// row:R3
TEST_F(Reservations, AreNewEachTimeAndKeepWhatTheyHave) {
  const auto first = reserve({"v1"});
  const auto second = reserve({"v2"});
  EXPECT_NE(first, second);
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::NEW, 0, {"v1"}))), ErrorCode::kPermissionDenied);
  EXPECT_EQ(code_of(ask(shared(wants(AllocationRequest::NEW, 0, {"v1"})))),
            ErrorCode::kPermissionDenied);
  EXPECT_EQ(session_of(1), first);
  EXPECT_EQ(session_of(2), second);
}

// row:R21
TEST_F(Reservations, AreNotMadeByClientsPushesAndWhoShares) {
  const auto answer = granted(shared(wants(AllocationRequest::NEW, 1)), 1);
  EXPECT_FALSE(answer.allocation().empty());
  complete_grow(3, 1, 2);
  EXPECT_EQ(session_of(3), "");
  EXPECT_EQ(rig.head.roster().nodes().at(Rank(3)).allocation, answer.allocation());
  rig.grow_wholly(1, 3);
  EXPECT_EQ(session_of(4), "");
  EXPECT_EQ(nodes_of_a_job(8), (std::set<std::uint32_t>{1, 2, 3, 4}));
}

TEST_F(Reservations, HaveTheNodesThatAreGrantedForThem) {
  const auto answer = granted(wants(AllocationRequest::NEW, 1), 1);
  EXPECT_EQ(session_of(3), answer.allocation()) << "from the start";
  complete_grow(3, 1, 2);
  EXPECT_EQ(session_of(3), answer.allocation());
  EXPECT_EQ(nodes_of_a_job(4), (std::set<std::uint32_t>{1, 2}));
}

// row:E5 row:R10 what was taken for it goes back
TEST_F(Reservations, ThatFailLeaveTheSessionsAsTheyWere) {
  const auto answer = granted(wants(AllocationRequest::NEW, 0, {"v2", "v3"}), 1);
  EXPECT_EQ(session_of(2), answer.allocation());
  rig.on(DaemonLaunchFailed{Rank(3), "no"});
  EXPECT_EQ(session_of(2), "");
  EXPECT_EQ(code_of(release(answer.allocation())), ErrorCode::kNotFound);
}

// ---- extending ----

// row:R4
TEST_F(Reservations, AreExtendedByTheirIdAndByTheOwnersOwn) {
  const auto id = reserve({"v2"}, "mine");
  const auto first = granted(about(wants(AllocationRequest::EXTEND, 1), id), 1);
  EXPECT_EQ(first.allocation(), id);
  complete_grow(3, 1, 2);
  const auto second = granted(about(wants(AllocationRequest::EXTEND, 1), "", "mine"), 1);
  EXPECT_EQ(second.allocation(), id);
  complete_grow(4, 1, 3);
  EXPECT_EQ(session_of(3), id);
  EXPECT_EQ(session_of(4), id);
  const auto taken = ask(about(wants(AllocationRequest::EXTEND, 0, {"v1"}), id));
  EXPECT_TRUE(answers(taken).at(0).allocation().complete());
  EXPECT_EQ(session_of(1), id);
}

// row:R4 row:R10
TEST_F(Reservations, AreExtendedByTheirOwnerOnly) {
  const auto id = reserve({"v2"}, "mine");
  attach_tool(1, "stranger");
  EXPECT_EQ(code_of(ask(about(wants(AllocationRequest::EXTEND, 1), id), "stranger")),
            ErrorCode::kPermissionDenied);
  EXPECT_EQ(code_of(ask(about(wants(AllocationRequest::EXTEND, 1), "", "mine"), "stranger")),
            ErrorCode::kNotFound)
      << "its own request of that name";
  EXPECT_EQ(code_of(ask(about(wants(AllocationRequest::EXTEND, 1), "a99"))), ErrorCode::kNotFound);
  EXPECT_THAT(all_of<AskForNodes>(rig.seen), IsEmpty());
}

// row:E5
TEST_F(Reservations, AreAsBeforeIfAnExtensionFails) {
  const auto id = reserve({"v2"});
  granted(about(wants(AllocationRequest::EXTEND, 0, {"v1", "v3"}), id), 1);
  EXPECT_EQ(session_of(1), id);
  rig.on(DaemonLaunchFailed{Rank(3), "no"});
  rig.give_back();
  EXPECT_EQ(session_of(1), "");
  EXPECT_EQ(session_of(2), id);
  EXPECT_NE(rig.head.elastic().sessions().resolve(id), nullptr);
}

TEST_F(Reservations, ThatEndWhileNodesAreGrantedGetNone) {
  const auto id = reserve({"v2"});
  const auto asked = ask(about(wants(AllocationRequest::EXTEND, 1), id));
  release(id);
  const auto late = rig.grant(all_of<AskForNodes>(asked).at(0).ask, 1);
  EXPECT_EQ(code_of(late), ErrorCode::kNotFound);
  EXPECT_THAT(all_of<ReturnNodes>(late), SizeIs(1));
  EXPECT_THAT(all_of<LaunchDaemons>(late), IsEmpty());
}

TEST_F(Reservations, TakeNoNodeThatAnotherTookMeanwhile) {
  const auto asked = ask(wants(AllocationRequest::NEW, 0, {"v2", "v3"}));
  const auto id = reserve({"v2"});
  const auto late = rig.grant(all_of<AskForNodes>(asked).at(0).ask, 1);
  EXPECT_EQ(code_of(late), ErrorCode::kPermissionDenied);
  EXPECT_THAT(all_of<ReturnNodes>(late), SizeIs(1));
  EXPECT_EQ(session_of(2), id);
  EXPECT_TRUE(rig.head.elastic().idle());
}

// ---- releasing ----

// row:R15 row:R11
TEST_F(Reservations, GiveBackWhatTheyBroughtAndLeaveWhatTheyTook) {
  const auto id = granted(wants(AllocationRequest::NEW, 0, {"v2", "v3"}), 1).allocation();
  complete_grow(3, 1, 2);
  const auto begun = release(id);
  ASSERT_EQ(code_of(begun), ErrorCode::kOk);
  EXPECT_EQ(answers(begun)[0].allocation().allocation(), id);
  EXPECT_FALSE(answers(begun)[0].allocation().complete());
  EXPECT_EQ(code_of(release(id)), ErrorCode::kNotFound) << "it is ending";
  EXPECT_EQ(code_of(ask(about(wants(AllocationRequest::EXTEND, 1), id))), ErrorCode::kNotFound);
  exits(3);
  rig.give_back();
  EXPECT_THAT(rig.names(), ElementsAre("v1", "v2"));
  EXPECT_EQ(session_of(2), "");
  EXPECT_EQ(told(rig.seen).back().text(kFactAllocation), id);
}

// row:R20
TEST_F(Reservations, AreReleasedByTheirOwnerOnly) {
  const auto id = reserve({"v2"});
  attach_tool(1, "stranger");
  EXPECT_EQ(code_of(release(id, "stranger")), ErrorCode::kPermissionDenied);
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::RELEASE, 0, {"v1", "v2"}), "stranger")),
            ErrorCode::kPermissionDenied);
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::RELEASE, 2), "stranger")),
            ErrorCode::kInvalidArgument)
      << "one is everybody's";
  EXPECT_EQ(code_of(release("a99")), ErrorCode::kNotFound);
  EXPECT_TRUE(rig.head.elastic().idle());
  EXPECT_EQ(session_of(2), id);
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::RELEASE, 0, {"v2"}))), ErrorCode::kOk);
}

// row:R20 a process has a right to what its job brought, and to nothing else
TEST_F(Reservations, OfJobsAreReleasedByTheirProcesses) {
  rig.submit(kUser, on_node("v1"));
  const auto rank = proc_name("dvm@1", 0);
  EXPECT_EQ(code_of(ask(1, rank, wants(AllocationRequest::RELEASE, 0, {"v2"}))),
            ErrorCode::kPermissionDenied);
  EXPECT_EQ(code_of(ask(1, rank, wants(AllocationRequest::RELEASE, 1))),
            ErrorCode::kPermissionDenied);
  const auto asked = ask(1, rank, shared(wants(AllocationRequest::NEW, 1)));
  rig.grant(all_of<AskForNodes>(asked).at(0).ask, 1);
  complete_grow(3, 1, 2);
  EXPECT_EQ(code_of(ask(1, rank, wants(AllocationRequest::RELEASE, 1))), ErrorCode::kOk);
  exits(3);
  rig.give_back();
  EXPECT_THAT(rig.names(), ElementsAre("v1", "v2"));
}

TEST_F(Reservations, OfOthersAreNotChosenByCount) {
  reserve({"v2"});
  rig.grow_wholly(1, 2);
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::RELEASE, 1))), ErrorCode::kOk);
  EXPECT_EQ(rig.state_of(2), NodeState::kUp);
  EXPECT_NE(rig.state_of(3), NodeState::kUp) << "the newest of those that are everybody's";
}

// row:R8 a person's command has every right
TEST_F(Reservations, CanBeReleasedByACommand) {
  const auto id = granted(wants(AllocationRequest::NEW, 0, {"v2", "v3"}), 1).allocation();
  complete_grow(3, 1, 2);
  wire::ClientRequest message;
  message.mutable_shrink()->set_allocation(id);
  rig.request(kUser, std::move(message));
  exits(3);
  rig.give_back();
  EXPECT_EQ(session_of(2), "");
  EXPECT_EQ(rig.head.elastic().sessions().find(id), nullptr);
}

TEST_F(Reservations, AreBoundedInNumber) {
  for (std::size_t i = 0; i < kMaxAllocations; ++i) {
    ask(shared(wants(AllocationRequest::NEW, 0, {"v1"})));
  }
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::NEW, 0, {"v1"}))), ErrorCode::kOutOfResources);
}

}  // namespace
}  // namespace tide::core
