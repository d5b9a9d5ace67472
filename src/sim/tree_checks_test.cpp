// Each promise about those who leave the tree, kept and broken.
#include "sim/tree_checks.hpp"
#include "core/pmix_words.hpp"
#include "core/proc_names.hpp"

#include <gtest/gtest.h>

#include "sim/journal.hpp"

namespace tide::sim {
namespace {

using core::Membership;

constexpr Rank kSelf{1};

wire::Operation order(std::uint64_t serial, Rank left) {
  wire::Operation out;
  out.set_serial(serial);
  out.mutable_membership()->set_orderly(true);
  *out.mutable_membership()->mutable_left() = core::RankSet(left).to_wire();
  return out;
}

wire::Snapshot snapshot() {
  wire::Snapshot out;
  out.set_serial(1);
  out.set_span(4);
  out.set_radix(2);
  *out.mutable_living() = core::RankSet::range(Rank(0), Rank(3)).to_wire();
  return out;
}

core::DaemonEvent told(const wire::Operation& operation) {
  wire::LinkMessage message;
  *message.mutable_operation() = operation;
  return core::MessageIn{LinkId(1), message, {}};
}

core::Send passed_on(const wire::Operation& operation) {
  wire::LinkMessage message;
  *message.mutable_operation() = operation;
  return core::Send{LinkId(2), core::MessageClass::kControl, message, {}};
}

core::Send report_of(Rank suspect) {
  wire::LinkMessage message;
  message.mutable_up()->set_origin(kSelf.value());
  message.mutable_up()->mutable_body()->mutable_suspect()->set_rank(suspect.value());
  return core::Send{LinkId(1), core::MessageClass::kControl, message, {}};
}

class TreeChecksTest : public ::testing::Test {
 protected:
  TreeChecksTest() : membership_(kSelf, 2), head_(kHeadRank, 2) {
    membership_.load(snapshot());
    head_.load(snapshot());
    checks_.on_head_step(head_);
    wire::LinkMessage message;
    *message.mutable_snapshot() = snapshot();
    take(core::MessageIn{LinkId(1), message, {}}, {}, false);
  }

  // "" if it is kept.
  std::string take(const core::DaemonEvent& event, const core::Actions& actions, bool leaving) {
    try {
      checks_.on_daemon_step({.host = 1,
                              .rank = kSelf,
                              .event = event,
                              .actions = actions,
                              .membership = membership_,
                              .leaving = leaving});
    } catch (const BrokenPromise& broken) {
      return broken.promise();
    }
    return "";
  }
  std::string agreement() const {
    try {
      checks_.check_agreement(1, kSelf, membership_, head_);
    } catch (const BrokenPromise& broken) {
      return broken.promise();
    }
    return "";
  }

  TreeChecks checks_;
  Membership membership_;
  Membership head_;
};

TEST_F(TreeChecksTest, AreContentWithAnOrderThatIsPassedOnFirst) {
  membership_.apply(order(2, kSelf));
  EXPECT_EQ(take(told(order(2, kSelf)), {passed_on(order(2, kSelf)), core::Exit{}}, true), "");
}

// row:S6
TEST_F(TreeChecksTest, NoticeAnOrderThatIsPassedOnTooLate) {
  membership_.apply(order(2, kSelf));
  EXPECT_EQ(take(told(order(2, kSelf)), {core::Exit{}, passed_on(order(2, kSelf))}, true),
            "an order to leave is passed on first");
}

// row:S3
TEST_F(TreeChecksTest, NoticeWhoLeavesUntoldAndWhoIsToldAndStays) {
  EXPECT_EQ(take(core::LinkDown{}, {}, true), "who leaves was told to");
  membership_.apply(order(2, kSelf));
  EXPECT_EQ(take(told(order(2, kSelf)), {}, false), "who is told to leave leaves");
}

// row:S3
TEST_F(TreeChecksTest, NoticeWhoWasToldToLeaveAndIsGivenUp) {
  membership_.apply(order(2, kSelf));
  EXPECT_EQ(take(told(order(2, kSelf)), {}, true), "");
  const core::Exit given_up{.status = 1, .reason = "given up"};
  EXPECT_EQ(take(core::LinkDown{}, {given_up}, true), "who was told to leave is not given up");
  EXPECT_EQ(take(core::LinkDown{}, {core::Exit{}}, true), "");
}

// row:S3 row:S4
TEST_F(TreeChecksTest, NoticeAReportOfOneWhoLeavesAndByOne) {
  membership_.apply(order(2, Rank(3)));
  EXPECT_EQ(take(told(order(2, Rank(3))), {}, false), "");
  EXPECT_EQ(take(core::LinkDown{}, {report_of(Rank(2))}, false), "");
  EXPECT_EQ(take(core::LinkDown{}, {report_of(Rank(3))}, false), "who has left is not reported");
  membership_.apply(order(3, kSelf));
  EXPECT_EQ(take(told(order(3, kSelf)), {}, true), "");
  EXPECT_EQ(take(core::LinkDown{}, {report_of(Rank(2))}, true), "") << "it said so before";
  EXPECT_EQ(take(core::LinkDown{}, {report_of(Rank(4))}, true), "who leaves reports nobody");
}

// row:S16
TEST_F(TreeChecksTest, NoticeToolsThatAreNotTakenLeaveOf) {
  core::DeliverEvent farewell;
  farewell.notice.set_code(core::kEventJobEnd);
  farewell.notice.mutable_source()->set_nspace("dvm");
  *farewell.notice.mutable_targets()->add_names() = core::proc_name("tool", 0);
  EXPECT_EQ(take(core::LinkDown{}, {farewell}, false), "who leaves tells its own tools");
  const core::AnswerTool let_in{1, ok_status(), core::proc_name("tool", 0)};
  EXPECT_EQ(take(core::LinkDown{}, {let_in}, false), "");
  membership_.apply(order(2, kSelf));
  EXPECT_EQ(take(told(order(2, kSelf)), {}, true), "who leaves tells its own tools");
}

TEST_F(TreeChecksTest, AreContentWithALeaveThatIsTaken) {
  core::DeliverEvent farewell;
  farewell.notice.set_code(core::kEventJobEnd);
  farewell.notice.mutable_source()->set_nspace("dvm");
  *farewell.notice.mutable_targets()->add_names() = core::proc_name("tool", 0);
  const core::AnswerTool let_in{1, ok_status(), core::proc_name("tool", 0)};
  EXPECT_EQ(take(core::LinkDown{}, {let_in}, false), "");
  membership_.apply(order(2, kSelf));
  EXPECT_EQ(take(told(order(2, kSelf)), {farewell}, true), "");
}

TEST_F(TreeChecksTest, NoticeAnOperationThatIsLeftOut) {
  membership_.apply(order(2, Rank(3)));
  membership_.apply(order(3, Rank(2)));
  EXPECT_EQ(take(told(order(3, Rank(2))), {}, false), "operations arrive once and in order");
}

// row:S10 row:S2
TEST_F(TreeChecksTest, NoticeAnotherTreeAndARepairTooMany) {
  EXPECT_EQ(agreement(), "");
  head_.apply(order(2, Rank(3)));
  EXPECT_EQ(agreement(), "everybody computes the same tree");
  membership_.apply(order(2, Rank(3)));
  EXPECT_EQ(agreement(), "");
  membership_.apply(order(3, Rank(3)));  // who is gone already: the same tree, computed once more
  EXPECT_EQ(agreement(), "a shrink costs one repair");
}

}  // namespace
}  // namespace tide::sim
