// Changes of the DVM's size that processes and tools ask for, seen through the head.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/allocation_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- a grow ----

// row:C1 row:C2
TEST_F(Allocations, AreAnsweredAtTheGrantAndToldOfTheEndOnce) {
  const auto asked = ask(about(wants(AllocationRequest::NEW, 1), "", "mine"));
  EXPECT_THAT(answers(asked), IsEmpty()) << "not granted yet";
  rig.grant(all_of<AskForNodes>(asked).at(0).ask, 1);
  ASSERT_THAT(answers(rig.seen), SizeIs(1));
  const auto answer = answers(rig.seen)[0].allocation();
  EXPECT_FALSE(answer.allocation().empty());
  EXPECT_EQ(answer.request_id(), "mine");
  EXPECT_FALSE(answer.complete());
  EXPECT_THAT(told(rig.seen), IsEmpty());
  complete_grow(3, 1, 2);
  ASSERT_THAT(told(rig.seen), SizeIs(1));
  const auto event = told(rig.seen)[0];
  EXPECT_EQ(event.daemon, 1U);
  EXPECT_EQ(event.notice.code(), kEventDvmIsReady);
  EXPECT_EQ(event.notice.range(), wire::RANGE_CUSTOM);
  ASSERT_EQ(event.notice.targets().names_size(), 1);
  EXPECT_EQ(event.notice.targets().names(0).nspace(), kTool);
  EXPECT_EQ(event.text(kFactAllocation), answer.allocation());
  EXPECT_EQ(event.text(kFactRequest), "mine");
  EXPECT_EQ(event.text(kFactNodes), "v3");
  EXPECT_FALSE(event.fact(kFactJobStatus));
  EXPECT_TRUE(event.fact(kFactNonDefault)) << "who has no handler of its own is not disturbed";
  EXPECT_THAT(answers(rig.seen), SizeIs(1));
}

// row:C2 by names, for who asked for a number
TEST_F(Allocations, SayWhichNodesHaveCome) {
  granted(wants(AllocationRequest::NEW, 2), 2);
  complete_grow(3, 2, 2);
  ASSERT_THAT(told(rig.seen), SizeIs(1));
  EXPECT_EQ(told(rig.seen)[0].text(kFactNodes), "v3,v4");
  granted(wants(AllocationRequest::NEW, 0, {"v2", "v5"}), 1);
  complete_grow(5, 1, 3);
  ASSERT_THAT(told(rig.seen), SizeIs(2));
  EXPECT_EQ(told(rig.seen)[1].text(kFactNodes), "v5") << "v2 was there";
}

// row:C3 row:E5
TEST_F(Allocations, ThatFailAreToldWhyWhenNothingIsLeftOfThem) {
  const auto answer = granted(wants(AllocationRequest::NEW, 1), 1);
  rig.on(DaemonLaunchFailed{Rank(3), "no such file"});
  EXPECT_THAT(told(rig.seen), IsEmpty()) << "the node is not given back yet";
  EXPECT_EQ(rig.head.elastic().sessions().find(answer.allocation()), nullptr);
  rig.give_back();
  ASSERT_THAT(told(rig.seen), SizeIs(1));
  const auto event = told(rig.seen)[0];
  EXPECT_EQ(event.notice.code(), kEventDvmModFailed);
  EXPECT_EQ(event.text(kFactAllocation), answer.allocation());
  EXPECT_EQ(event.text(kFactRequest), "-");
  EXPECT_EQ(event.fact(kFactJobStatus)->status(), kStatusFailedToLaunch);
  EXPECT_FALSE(event.fact(kFactNodes)) << "none has come";
  EXPECT_EQ(code_of(ask(about(wants(AllocationRequest::EXTEND, 1), answer.allocation()))),
            ErrorCode::kNotFound);
}

// row:C3
TEST_F(Allocations, ThatFailForAnotherReasonAreToldAnother) {
  std::set<std::int32_t> causes;
  granted(wants(AllocationRequest::NEW, 1), 1);
  rig.on(DaemonLaunchFailed{Rank(3), "no"});
  rig.give_back();
  granted(wants(AllocationRequest::NEW, 1), 1);
  rig.fire(TimerKind::kStart, 3);
  rig.fire(TimerKind::kRollback, 3);
  rig.give_back();
  granted(wants(AllocationRequest::NEW, 1), 1);
  rig.report_of(5, 4);
  exits(5);
  rig.give_back();
  granted(wants(AllocationRequest::NEW, 1), 1);
  rig.down(kUser);
  ASSERT_THAT(told(rig.seen), SizeIs(4));
  for (const auto& one : told(rig.seen)) {
    EXPECT_EQ(one.notice.code(), kEventDvmModFailed);
    causes.insert(one.fact(kFactJobStatus)->status());
  }
  EXPECT_EQ(causes, (std::set<std::int32_t>{kStatusFailedToLaunch, kStatusTimeout,
                                            kStatusLostConnection, kStatusUnreachable}));
}

// row:C4 a tool at the head is told there
TEST_F(Allocations, OfAToolAtTheHeadAreToldThere) {
  rig.on(ToolArrived{7, proc_name("near", 0)});
  wire::ServiceRequest request;
  *request.mutable_who() = proc_name("near", 0);
  *request.mutable_allocation() = wants(AllocationRequest::NEW, 1);
  const auto asked = rig.on(ServiceAsked{8, request, {}});
  const auto actions = rig.grant(all_of<AskForNodes>(asked).at(0).ask, 1);
  ASSERT_THAT(all_of<AnswerService>(actions), SizeIs(1));
  EXPECT_EQ(all_of<AnswerService>(actions)[0].ticket, 8U);
  complete_grow(3, 1, 2);
  ASSERT_THAT(told(rig.seen), SizeIs(1));
  EXPECT_EQ(told(rig.seen)[0].daemon, 0U);
}

// row:C4
TEST_F(Allocations, OfAProcessAreToldWhereItIs) {
  rig.submit(kUser, on_node("v2"));
  rig.launched(2, 1, {0});
  const auto asked = ask(2, proc_name("dvm@1", 0), wants(AllocationRequest::NEW, 1));
  rig.grant(all_of<AskForNodes>(asked).at(0).ask, 1);
  complete_grow(3, 1, 2);
  ASSERT_THAT(told(rig.seen), SizeIs(1));
  EXPECT_EQ(told(rig.seen)[0].daemon, 2U);
  EXPECT_EQ(rig.head.elastic().sessions().all().at(0).owner, "dvm@1");
}

TEST_F(Allocations, OfOneThatIsNotThereAreRefused) {
  EXPECT_EQ(code_of(ask(2, proc_name(kTool, 0), wants(AllocationRequest::NEW, 1))),
            ErrorCode::kNotFound);
  EXPECT_EQ(code_of(ask(2, proc_name("dvm@9", 0), wants(AllocationRequest::NEW, 1))),
            ErrorCode::kNotFound);
  EXPECT_THAT(all_of<AskForNodes>(rig.seen), IsEmpty());
}

// row:C4
TEST_F(Allocations, OfAToolThatHasLeftAreToldToNobody) {
  granted(wants(AllocationRequest::NEW, 1), 1);
  detach_tool(1, kTool);
  complete_grow(3, 1, 2);
  EXPECT_THAT(told(rig.seen), IsEmpty());
  EXPECT_THAT(rig.names(), ElementsAre("v1", "v2", "v3")) << "what has begun goes on";
}

// row:C4
TEST_F(Allocations, OfAProcessThatHasEndedAreToldToNobody) {
  auto spec = job_spec(2);
  rig.submit(kUser, spec);
  const auto asked = ask(1, proc_name("dvm@1", 0), wants(AllocationRequest::NEW, 1));
  rig.grant(all_of<AskForNodes>(asked).at(0).ask, 1);
  wire::UpBody body;  // as its daemon tells it
  *body.mutable_service_request()->mutable_who() = proc_name("dvm@1", 0);
  body.mutable_service_request()->mutable_unpublish()->set_has_ended(true);
  rig.up(1, std::move(body));
  complete_grow(3, 1, 2);
  EXPECT_THAT(told(rig.seen), IsEmpty());
}

// row:C4
TEST_F(Allocations, OfALostNodeAreToldToNobody) {
  granted(wants(AllocationRequest::NEW, 1), 1);
  exits(1);
  rig.report_of(3, 2);
  rig.attach_at(3);
  rig.acknowledge(2);
  EXPECT_TRUE(rig.head.elastic().idle());
  EXPECT_THAT(told(rig.seen), IsEmpty());
}

TEST_F(Allocations, ThatNobodyWaitsForAreNotMade) {
  const auto asked = ask(wants(AllocationRequest::NEW, 1));
  detach_tool(1, kTool);
  const auto late = rig.grant(all_of<AskForNodes>(asked).at(0).ask, 1);
  EXPECT_THAT(all_of<ReturnNodes>(late), SizeIs(1));
  EXPECT_THAT(all_of<LaunchDaemons>(late), IsEmpty());
  EXPECT_TRUE(rig.head.elastic().idle());
}

TEST_F(Allocations, WhoseAnswerCameTooLateAreNotToldOf) {
  ask(wants(AllocationRequest::NEW, 1));
  rig.grant(1, 1);
  wire::UpBody body;
  body.mutable_service_cancel()->set_token(1);
  rig.up(1, std::move(body));
  complete_grow(3, 1, 2);
  EXPECT_THAT(told(rig.seen), IsEmpty());
}

// ---- refused: nothing has happened, and no event follows ----

class FixedAllocations : public Allocations {
 protected:
  FixedAllocations() : Allocations(false) {}
};

// row:E1 row:C5
TEST_F(FixedAllocations, AreNotSupportedWhereTheyWouldChangeTheSize) {
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::NEW, 1))), ErrorCode::kNotSupported);
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::NEW, 0, {"v9"}))), ErrorCode::kNotSupported);
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::RELEASE, 0, {"v1"}))), ErrorCode::kNotSupported);
  EXPECT_THAT(all_of<AskForNodes>(rig.seen), IsEmpty());
  EXPECT_TRUE(rig.head.elastic().idle());
  EXPECT_THAT(rig.head.elastic().sessions().all(), IsEmpty());
  const auto taken = ask(wants(AllocationRequest::NEW, 0, {"v1"}));
  EXPECT_EQ(code_of(taken), ErrorCode::kOk) << "no daemon comes or goes";
}

TEST_F(Allocations, ThatSayNothingMakeNoSense) {
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::NEW, 0))), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::NEW, 1, {"v9"}))), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::EXTEND, 1))), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::RELEASE, 0))), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::CANCEL, 0))), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::UNKNOWN, 1))), ErrorCode::kNotSupported);
  EXPECT_THAT(all_of<AskForNodes>(rig.seen), IsEmpty());
}

// row:C5
TEST_F(Allocations, ThatNobodyGrantsAreRefusedWithoutAnEvent) {
  const auto asked = all_of<AskForNodes>(ask(wants(AllocationRequest::NEW, 9))).at(0).ask;
  const auto refused = rig.on(NodesRefused{asked, {ErrorCode::kOutOfResources, "too few"}});
  EXPECT_EQ(code_of(refused), ErrorCode::kOutOfResources);
  EXPECT_THAT(told(rig.seen), IsEmpty());
  EXPECT_THAT(rig.head.elastic().sessions().all(), IsEmpty());
}

TEST_F(Allocations, ThatAreCancelledAreRefusedAndTheirNodesGoBack) {
  const auto asked = ask(about(wants(AllocationRequest::NEW, 1), "", "mine"));
  EXPECT_EQ(code_of(ask(about(wants(AllocationRequest::CANCEL, 0), "", "other"))),
            ErrorCode::kNotFound);
  attach_tool(1, "stranger");
  const auto cancel = about(wants(AllocationRequest::CANCEL, 0), "", "mine");
  EXPECT_EQ(code_of(ask(cancel, "stranger")), ErrorCode::kNotFound) << "not its own";
  const auto cancelled = answers(ask(cancel));
  ASSERT_THAT(cancelled, SizeIs(2));
  EXPECT_EQ(cancelled[0].token(), 1U);
  EXPECT_NE(cancelled[0].error_code(), 0U);
  EXPECT_EQ(cancelled[1].error_code(), 0U);
  EXPECT_EQ(cancelled[1].allocation().request_id(), "mine");
  const auto late = rig.grant(all_of<AskForNodes>(asked).at(0).ask, 1);
  EXPECT_THAT(all_of<ReturnNodes>(late), SizeIs(1));
  EXPECT_TRUE(rig.head.elastic().idle());
  EXPECT_EQ(code_of(ask(cancel)), ErrorCode::kNotFound) << "nothing waits any more";
}

TEST_F(Allocations, ThatAreGrantedCantBeCancelled) {
  granted(about(wants(AllocationRequest::NEW, 1), "", "mine"), 1);
  EXPECT_EQ(code_of(ask(about(wants(AllocationRequest::CANCEL, 0), "", "mine"))),
            ErrorCode::kNotFound);
}

// ---- a shrink ----

// row:C2 row:C6
TEST_F(Allocations, ThatReleaseAreToldWhenTheNodesAreGoneAndGivenBack) {
  const auto begun = ask(about(wants(AllocationRequest::RELEASE, 0, {"v2"}), "", "less"));
  ASSERT_EQ(code_of(begun), ErrorCode::kOk);
  const auto answer = answers(begun)[0].allocation();
  EXPECT_FALSE(answer.allocation().empty()) << "stands for the release";
  EXPECT_FALSE(answer.complete());
  exits(2);
  EXPECT_THAT(told(rig.seen), IsEmpty()) << "it is not given back yet";
  rig.give_back();
  ASSERT_THAT(told(rig.seen), SizeIs(1));
  EXPECT_EQ(told(rig.seen)[0].notice.code(), kEventDvmIsReady);
  EXPECT_EQ(told(rig.seen)[0].text(kFactAllocation), answer.allocation());
  EXPECT_EQ(told(rig.seen)[0].text(kFactRequest), "less");
  EXPECT_EQ(told(rig.seen)[0].text(kFactNodes), "v2");
  EXPECT_THAT(rig.names(), ElementsAre("v1"));
}

// row:C4
TEST_F(Allocations, ThatReleaseTheNodeOfWhoAsksAreToldToNobody) {
  ASSERT_EQ(code_of(ask(wants(AllocationRequest::RELEASE, 0, {"v1"}))), ErrorCode::kOk);
  exits(1);
  rig.give_back();
  EXPECT_THAT(rig.names(), ElementsAre("v2"));
  EXPECT_THAT(told(rig.seen), IsEmpty());
  EXPECT_TRUE(rig.head.elastic().idle());
}

// row:C7
TEST_F(Allocations, AreToldOfTheirEndWhileOtherChangesGoOn) {
  granted(about(wants(AllocationRequest::NEW, 1), "", "slow"), 1);
  ask(about(wants(AllocationRequest::RELEASE, 0, {"v2"}), "", "fast"));
  exits(2);
  rig.give_back();
  ASSERT_THAT(told(rig.seen), SizeIs(1));
  EXPECT_EQ(told(rig.seen)[0].text(kFactRequest), "fast");
  EXPECT_FALSE(rig.head.elastic().idle());
}

// row:E15
TEST_F(Allocations, AreToldOnceWhenTheDvmEnds) {
  granted(wants(AllocationRequest::NEW, 1), 1);
  ask(wants(AllocationRequest::NEW, 1));
  const auto down = rig.down(kUser);
  ASSERT_THAT(told(down), SizeIs(1));
  EXPECT_EQ(told(down)[0].notice.code(), kEventDvmModFailed);
  EXPECT_EQ(told(down)[0].fact(kFactJobStatus)->status(), kStatusUnreachable);
  EXPECT_EQ(code_of(down), ErrorCode::kUnavailable) << "what waits for a grant is refused";
  EXPECT_EQ(code_of(ask(wants(AllocationRequest::NEW, 1))), ErrorCode::kUnavailable);
}

// row:E15 a shrink that is ordered ends with the DVM, and whoever is at the head is told
TEST_F(Allocations, OfAToolAtTheHeadAreToldAlsoByTheEndOfTheDvm) {
  rig.on(ToolArrived{7, proc_name("near", 0)});
  wire::ServiceRequest request;
  *request.mutable_who() = proc_name("near", 0);
  *request.mutable_allocation() = wants(AllocationRequest::RELEASE, 0, {"v2"});
  rig.on(ServiceAsked{8, request, {}});
  rig.down(kUser);
  exits(1);
  EXPECT_THAT(told(rig.seen), IsEmpty());
  const auto last = exits(2);
  ASSERT_THAT(all_of<Exit>(last), SizeIs(1));
  EXPECT_THAT(told(rig.seen), SizeIs(1));
}

}  // namespace
}  // namespace tide::core
