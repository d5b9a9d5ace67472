// Who waits for others, and what becomes of it when these end, are lost, or never come; and that
// nothing is kept of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/services_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ServicesLossesTest : public ServicesTest {
 public:
  wire::ServiceRequest request(const wire::ProcName& who) {
    wire::ServiceRequest out;
    *out.mutable_who() = who;
    return out;
  }
  wire::ServiceRequest lookup(const wire::ProcName& who, const std::string& key) {
    auto out = request(who);
    out.mutable_lookup()->add_keys(key);
    out.mutable_lookup()->set_wait_for(1);
    return out;
  }
  wire::ServiceRequest publish(const wire::ProcName& who, const std::string& key,
                               wire::Persistence persistence) {
    auto out = request(who);
    out.mutable_publish()->add_data()->set_key(key);
    out.mutable_publish()->set_range(wire::RANGE_SESSION);
    out.mutable_publish()->set_persistence(persistence);
    return out;
  }
  std::vector<std::pair<std::uint64_t, bool>> answers(std::uint32_t rank) {
    std::vector<std::pair<std::uint64_t, bool>> out;
    for (const auto& one : all_of<AnswerService>(daemon(rank).out)) {
      out.emplace_back(one.ticket, one.answer.error_code() == 0);
    }
    return out;
  }
  const wire::ProcNames both = names_of({name_of("a", 0), name_of("b", 0)});
};

TEST_F(ServicesLossesTest, NobodyWaitsForProcessesThatEndedBeforeTheFence) {
  ended.insert(Rank(2));
  daemon(1).enter(11, all_of_a, "one");
  settle();
  EXPECT_THAT(daemon(1).fences(), ElementsAre(std::tuple(11, false, "")));
  daemon(3).enter(33, all_of_a, "three");
  EXPECT_THAT(daemon(3).fences(), ElementsAre(std::tuple(33, false, "")));
  EXPECT_TRUE(desk.idle());
}

TEST_F(ServicesLossesTest, AFenceEndsWithTheLastProcessOfADaemonThatDidNotCome) {
  daemon(1).enter(11, all_of_a, "one");
  settle();
  desk.collectives().on_share_ended(Rank(1), "a");
  EXPECT_THAT(daemon(1).fences(), IsEmpty()) << "those had come before they ended";
  desk.collectives().on_share_ended(Rank(2), "a");
  EXPECT_THAT(daemon(1).fences(), ElementsAre(std::tuple(11, false, "")));
}

// Process 2 of job a is on the daemon of job b, and takes no part.
TEST_F(ServicesLossesTest, TheEndOfOthersOnADaemonHarmsNobody) {
  daemon(1).enter(11, both, "one");
  settle();
  desk.collectives().on_share_ended(Rank(3), "a");
  EXPECT_THAT(daemon(1).fences(), IsEmpty());
  daemon(3).enter(33, both, "three");
  settle();
  EXPECT_THAT(daemon(1).fences(), ElementsAre(std::tuple(11, true, "onethree")));
}

TEST_F(ServicesLossesTest, AResultForAJobThatIsForgottenIsNotKept) {
  daemon(3).enter(33, both, "three");
  settle();
  daemon(3).services.forget("b");
  daemon(3).jobs.forget(JobId(2));
  daemon(3).services.forget("a");
  daemon(3).jobs.forget(JobId(1));
  jobs_known.erase("b");
  desk.on_job_gone("b");
  EXPECT_TRUE(daemon(3).services.idle());
  EXPECT_TRUE(desk.idle());
}

TEST_F(ServicesLossesTest, NobodyAsksALostNodeForWhatAProcessHasPut) {
  desk.on_node_lost(Rank(2), "v2");
  lost.insert(Rank(2));
  daemon(1).services.handle(ModexAsked{5, name_of("a", 1), 0});
  settle();
  const auto given = all_of<AnswerModex>(daemon(1).out);
  ASSERT_THAT(given, SizeIs(1));
  EXPECT_EQ(given[0].status.error().code, ErrorCode::kConnectionLost);
  EXPECT_TRUE(desk.idle());
}

TEST_F(ServicesLossesTest, ALookupThatTookTooLongIsNotAnsweredLater) {
  auto wish = lookup(name_of("a", 0), "key");
  wish.set_timeout_ms(500);
  daemon(1).services.handle(ServiceAsked{7, wish, {}});
  settle();
  EXPECT_FALSE(desk.idle());
  daemon(1).services.handle_timer(TimerKind::kRequest, 1);
  settle();
  EXPECT_THAT(answers(1), ElementsAre(std::pair(7, false)));
  EXPECT_TRUE(desk.idle()) << "the head does not keep it";
  daemon(2).services.handle(
      ServiceAsked{8, publish(name_of("a", 1), "key", wire::PERSIST_FIRST_READ), {}});
  settle();
  EXPECT_EQ(desk.published(), 1U) << "nobody has read it";
}

TEST_F(ServicesLossesTest, WhatAForgottenJobAskedForIsNotWantedAnyMore) {
  daemon(1).services.handle(ServiceAsked{7, lookup(name_of("a", 0), "key"), {}});
  daemon(3).services.handle(ServiceAsked{8, lookup(name_of("b", 0), "key"), {}});
  settle();
  daemon(1).services.forget("a");
  settle();
  EXPECT_TRUE(daemon(1).services.idle());
  EXPECT_FALSE(desk.idle());
  desk.on_node_lost(Rank(3), "v3");
  EXPECT_TRUE(desk.idle()) << "nor what one on a lost node waits for";
  EXPECT_THAT(answers(1), IsEmpty());
}

TEST_F(ServicesLossesTest, WhatIsKeptForAsLongAsAProcessLivesGoesWithIt) {
  daemon(1).services.handle(
      ServiceAsked{7, publish(name_of("a", 0), "mine", wire::PERSIST_PROC), {}});
  daemon(1).services.handle(
      ServiceAsked{8, publish(name_of("a", 0), "ours", wire::PERSIST_APP), {}});
  settle();
  EXPECT_EQ(desk.published(), 2U);
  daemon(1).services.on_proc_ended(name_of("a", 0));
  daemon(1).services.on_proc_ended(name_of("a", 0));
  settle();
  EXPECT_EQ(desk.published(), 1U);
  EXPECT_THAT(answers(1), SizeIs(2)) << "nobody waits for the answer to that";
  desk.on_job_gone("a");
  EXPECT_EQ(desk.published(), 0U);
  EXPECT_TRUE(daemon(1).services.idle());
}

// row:C4 who asked for a change and is gone is not told of its end
TEST_F(ServicesLossesTest, TheEndOfAProcessThatAskedForNodesIsTold) {
  wire::ServiceRequest request;
  *request.mutable_who() = name_of("a", 0);
  request.mutable_allocation()->set_what(wire::AllocationRequest::NEW);
  daemon(1).services.handle(ServiceAsked{7, request, {}});
  settle();
  EXPECT_THAT(answers(1), SizeIs(1));
  EXPECT_THAT(procs_gone, IsEmpty());
  daemon(1).services.on_proc_ended(name_of("a", 0));
  daemon(1).services.on_proc_ended(name_of("a", 0));
  settle();
  EXPECT_THAT(procs_gone, ElementsAre("a"));
  EXPECT_TRUE(daemon(1).services.idle());
}

TEST_F(ServicesLossesTest, OneThatNeverEndsIsForgottenWithItsJob) {
  daemon(1).services.handle(
      ServiceAsked{7, publish(name_of("a", 0), "mine", wire::PERSIST_PROC), {}});
  settle();
  daemon(1).services.forget("a");
  EXPECT_TRUE(daemon(1).services.idle());
}

// Its word may come late, by another way than that of its end.
TEST_F(ServicesLossesTest, WhoIsGoneDoesNotPublish) {
  jobs_known.erase("a");
  desk.on_job_gone("a");
  daemon(1).services.handle(
      ServiceAsked{7, publish(name_of("a", 0), "late", wire::PERSIST_APP), {}});
  settle();
  EXPECT_THAT(answers(1), ElementsAre(std::pair(7, false)));
  EXPECT_EQ(desk.published(), 0U);
}

// ---- groups ----

class GroupsTest : public ServicesTest {
 public:
  void change(wire::CollectiveId::Kind kind, const std::string& name, const wire::ProcNames& who,
              std::initializer_list<std::uint32_t> ranks) {
    for (const auto rank : ranks) {
      auto event = entered(++ticket, who, "");
      event.kind = kind;
      event.name = name;
      daemon(rank).services.handle(event);
    }
    settle();
  }
  std::vector<std::uint64_t> contexts(std::uint32_t rank) {
    std::vector<std::uint64_t> out;
    for (const auto& one : all_of<AnswerCollective>(daemon(rank).out)) out.push_back(one.context);
    return out;
  }
  std::uint64_t ticket = 0;
};

TEST_F(GroupsTest, EveryGroupHasANumberOfItsOwn) {
  const auto two = names_of({name_of("a", 0), name_of("a", 1)});
  change(wire::CollectiveId::GROUP_CONSTRUCT, "one", two, {1, 2});
  EXPECT_EQ(contexts(1), contexts(2));
  EXPECT_EQ(desk.groups().at("one").context, contexts(1)[0]);
  change(wire::CollectiveId::GROUP_DESTRUCT, "one", two, {1, 2});
  EXPECT_THAT(desk.groups(), IsEmpty());
  change(wire::CollectiveId::GROUP_CONSTRUCT, "two", two, {1, 2});
  EXPECT_THAT(contexts(1), ElementsAre(1, 0, 2));
}

TEST_F(GroupsTest, ThoseWhoAreLeftHearOfTheEndOfAMembersJob) {
  const auto who = names_of({name_of("a", 0), name_of("b", 0)});
  change(wire::CollectiveId::GROUP_CONSTRUCT, "mixed", who, {1, 3});
  jobs_known.erase("b");
  desk.on_job_gone("b");
  const auto told = all_of<DeliverEvent>(daemon(1).out);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].notice.range(), wire::RANGE_CUSTOM);
  EXPECT_EQ(told[0].notice.facts(0).text(), "mixed");
  EXPECT_EQ(told[0].notice.facts(1).proc().nspace(), "b");
  EXPECT_THAT(all_of<DeliverEvent>(daemon(3).out), IsEmpty());
  EXPECT_THAT(desk.groups().at("mixed").members.names(), SizeIs(1));
  jobs_known.erase("a");
  desk.on_job_gone("a");
  EXPECT_THAT(desk.groups(), IsEmpty());
}

// ---- events ----

class EventsTest : public ServicesTest {
 public:
  std::vector<std::uint32_t> told(wire::Range range, const wire::ProcNames& targets = {}) {
    for (auto& one : daemons) one.clear();
    wire::EventNotice notice;
    *notice.mutable_source() = name_of("b", 0);
    notice.set_range(range);
    *notice.mutable_targets() = targets;
    daemon(2).services.handle(EventRaised{notice});
    settle();
    std::vector<std::uint32_t> out;
    for (std::uint32_t rank = 1; rank <= 3; ++rank) {
      const auto count = all_of<DeliverEvent>(daemon(rank).out).size();
      EXPECT_LE(count, 1U);
      if (count > 0) out.push_back(rank);
    }
    return out;
  }
};

TEST_F(EventsTest, AreToldToThoseWhomTheyConcernElsewhere) {
  EXPECT_THAT(told(wire::RANGE_SESSION), ElementsAre(1, 3)) << "its own daemon has told its own";
  EXPECT_THAT(told(wire::RANGE_GLOBAL), ElementsAre(1, 3));
  EXPECT_THAT(told(wire::RANGE_NAMESPACE), ElementsAre(3));
  EXPECT_THAT(told(wire::RANGE_LOCAL), IsEmpty());
  EXPECT_THAT(told(wire::RANGE_PROC_LOCAL), IsEmpty());
  EXPECT_THAT(told(wire::RANGE_MANAGER), IsEmpty());
  const auto some = names_of({name_of("a", 0), name_of("a", 1), name_of("nobody", 3)});
  EXPECT_THAT(told(wire::RANGE_CUSTOM, some), ElementsAre(1));
}

TEST_F(EventsTest, AlsoToolsCanBeMeant) {
  daemon(3).services.handle(ToolArrived{1, name_of("debugger", 4)});
  settle();
  EXPECT_THAT(told(wire::RANGE_CUSTOM, names_of({name_of("debugger", 4)})), ElementsAre(3));
  EXPECT_THAT(told(wire::RANGE_CUSTOM, names_of({name_of("debugger", kAllRanks)})), ElementsAre(3));
  EXPECT_THAT(told(wire::RANGE_CUSTOM, names_of({name_of("debugger", 5)})), IsEmpty());
  daemon(3).services.handle(ToolGone{name_of("debugger", 4)});
  settle();
  EXPECT_THAT(told(wire::RANGE_CUSTOM, names_of({name_of("debugger", 4)})), IsEmpty());
}

}  // namespace
}  // namespace tide::core
