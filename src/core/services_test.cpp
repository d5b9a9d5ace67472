// Fences and modex between one head and its daemons, message by message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/services_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ProcNames, TheOrderOfParticipantsDoesNotMatter) {
  const auto one = names_of({name_of("b", 1), name_of("a", 2), name_of("a", 2)});
  const auto two = names_of({name_of("a", 2), name_of("b", 1)});
  EXPECT_EQ(canonical(one), canonical(two));
  EXPECT_NE(canonical(one), canonical(names_of({name_of("a", 2)})));
  EXPECT_TRUE(involves(canonical(one), "a"));
  EXPECT_FALSE(involves(canonical(one), "c"));
  EXPECT_EQ(names_in("\xff").names_size(), 0);
}

TEST_F(ServicesTest, AFenceEndsWhenAllHaveComeAndGivesEverybodyEverything) {
  daemon(1).enter(11, all_of_a, "one");
  daemon(3).enter(33, all_of_a, "three");
  settle();
  EXPECT_THAT(daemon(1).fences(), IsEmpty());
  daemon(2).enter(22, all_of_a, "two");
  settle();
  EXPECT_THAT(daemon(1).fences(), ElementsAre(std::tuple(11, true, "onetwothree")));
  EXPECT_THAT(daemon(2).fences(), ElementsAre(std::tuple(22, true, "onetwothree")));
  EXPECT_THAT(daemon(3).fences(), ElementsAre(std::tuple(33, true, "onetwothree")));
  EXPECT_TRUE(desk.idle());
}

TEST_F(ServicesTest, FencesOfTheSameParticipantsAreToldApartByTheirNumber) {
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (std::uint32_t rank = 1; rank <= 3; ++rank) {
      daemon(rank).enter(round, all_of_a, std::to_string(round));
    }
    settle();
  }
  EXPECT_THAT(daemon(2).fences(),
              ElementsAre(std::tuple(1, true, "111"), std::tuple(2, true, "222"),
                          std::tuple(3, true, "333")));
}

TEST_F(ServicesTest, WhatIsSaidAgainOnANewPathCountsOnce) {
  daemon(1).enter(11, all_of_a, "one");
  daemon(2).enter(22, all_of_a, "two");
  settle();
  daemon(1).services.contribute_again();
  EXPECT_THAT(daemon(1).reductions, SizeIs(1));
  settle();
  EXPECT_THAT(daemon(1).fences(), IsEmpty());
  daemon(3).enter(33, all_of_a, "three");
  const auto late = daemon(3).reductions.front();
  settle();
  desk.collectives().on_contributions(late);
  EXPECT_TRUE(desk.idle()) << "a fence that is over is not opened again";
  EXPECT_THAT(daemon(1).fences(), SizeIs(1));
}

TEST_F(ServicesTest, OnlyTheParticipantsTakePart) {
  const auto two = names_of({name_of("a", 0), name_of("a", 1)});
  daemon(1).enter(11, two, "one");
  daemon(2).enter(22, two, "two");
  settle();
  EXPECT_THAT(daemon(1).fences(), SizeIs(1));
  EXPECT_THAT(daemon(3).fences(), IsEmpty());
}

TEST_F(ServicesTest, ALostNodeFailsTheFenceForAllOthers) {
  daemon(1).enter(11, all_of_a, "one");
  settle();
  lost.insert(Rank(3));
  desk.on_node_lost(Rank(3), "v3");
  EXPECT_THAT(daemon(1).fences(), ElementsAre(std::tuple(11, false, "")));
  daemon(2).enter(22, all_of_a, "two");
  EXPECT_THAT(daemon(2).fences(), ElementsAre(std::tuple(22, false, ""))) << "it had failed before";
  EXPECT_TRUE(desk.idle());
}

TEST_F(ServicesTest, ATimeOutFailsTheFenceForAll) {
  daemon(1).enter(11, all_of_a, "one", 500);
  daemon(2).enter(22, all_of_a, "two");
  settle();
  const auto fired = firing(daemon(1).out, TimerKind::kCollective, 1);
  ASSERT_TRUE(daemon(1).timers.take(fired));
  daemon(1).services.handle_timer(TimerKind::kCollective, 1);
  settle();
  EXPECT_THAT(daemon(1).fences(), ElementsAre(std::tuple(11, false, "")));
  EXPECT_THAT(daemon(2).fences(), ElementsAre(std::tuple(22, false, "")));
  EXPECT_TRUE(desk.idle());
}

TEST_F(ServicesTest, ALostProcessFailsTheFenceForAll) {
  daemon(1).enter(11, all_of_a, "one");
  auto broken = entered(22, all_of_a, "");
  broken.broken = true;
  daemon(2).services.handle(broken);
  settle();
  EXPECT_THAT(daemon(1).fences(), ElementsAre(std::tuple(11, false, "")));
  EXPECT_THAT(daemon(2).fences(), ElementsAre(std::tuple(22, false, "")));
  EXPECT_TRUE(desk.idle());
}

TEST_F(ServicesTest, TheEndOfAJobEndsWhatWaitsForIt) {
  const auto both = names_of({name_of("a", 0), name_of("b", 0)});
  daemon(1).enter(11, both, "one");
  settle();
  jobs_known.erase("b");
  desk.on_job_gone("b");
  EXPECT_THAT(daemon(1).fences(), ElementsAre(std::tuple(11, false, "")));
  daemon(1).enter(12, both, "again");
  settle();
  EXPECT_THAT(daemon(1).fences(), SizeIs(2)) << "nobody waits for a job that is not known";
  EXPECT_TRUE(desk.idle());
}

TEST_F(ServicesTest, ADaemonThatForgetsAJobAnswersItsFences) {
  daemon(1).enter(11, all_of_a, "one");
  daemon(1).services.forget("a");
  EXPECT_THAT(daemon(1).fences(), ElementsAre(std::tuple(11, false, "")));
}

TEST_F(ServicesTest, WhatAProcessHasPutIsFetchedFromItsDaemon) {
  daemon(1).host(1, "a", 0);
  daemon(1).host(2, "b", 0);
  daemon(1).services.handle(ModexAsked{5, name_of("a", 2), 0});
  settle();
  const auto fetches = all_of<FetchModex>(daemon(3).out);
  ASSERT_THAT(fetches, SizeIs(1));
  EXPECT_EQ(fetches[0].whose.rank(), 2U);
  daemon(3).services.handle(ModexFetched{fetches[0].fetch, ok_status(), Bytes("blob")});
  settle();
  const auto answers = all_of<AnswerModex>(daemon(1).out);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].ticket, 5U);
  EXPECT_TRUE(answers[0].status.ok());
  EXPECT_EQ(answers[0].data.view(), "blob");
  EXPECT_TRUE(desk.idle());
}

TEST_F(ServicesTest, WhoHostsNoneOfAJobFetchesAsAStranger) {
  daemon(3).host(4, "c", 0, {2, 3});
  for (const std::uint32_t origin : {1U, 2U}) {
    wire::DownBody body;
    body.mutable_modex_request()->set_origin(origin);
    *body.mutable_modex_request()->mutable_whose() = name_of("c", 0);
    daemon(3).services.deliver(body, {});
  }
  const auto fetches = all_of<FetchModex>(daemon(3).out);
  ASSERT_THAT(fetches, SizeIs(2));
  EXPECT_TRUE(fetches[0].for_strangers);
  EXPECT_FALSE(fetches[1].for_strangers);
}

TEST_F(ServicesTest, NobodyWaitsForAProcessThatIsNot) {
  daemon(1).host(1, "a", 0);
  daemon(1).host(2, "b", 0);
  daemon(1).services.handle(ModexAsked{5, name_of("a", 77), 0});
  daemon(1).services.handle(ModexAsked{6, name_of("c", 0), 0});
  settle();
  const auto answers = all_of<AnswerModex>(daemon(1).out);
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_EQ(answers[0].status.error().code, ErrorCode::kNotFound);
}

TEST_F(ServicesTest, ALostOwnerAnOverJobAndATimeOutAnswerTheQuestion) {
  daemon(1).host(1, "a", 0);
  daemon(1).host(2, "b", 0);
  daemon(1).services.handle(ModexAsked{5, name_of("a", 1), 0});
  daemon(1).services.handle(ModexAsked{6, name_of("b", 0), 0});
  daemon(1).services.handle(ModexAsked{7, name_of("a", 2), 500});
  settle();
  desk.on_node_lost(Rank(2), "v2");
  EXPECT_THAT(all_of<AnswerModex>(daemon(1).out), SizeIs(1));
  desk.on_job_gone("b");
  EXPECT_THAT(all_of<AnswerModex>(daemon(1).out), SizeIs(2));
  daemon(1).services.handle_timer(TimerKind::kModex, 3);
  const auto answers = all_of<AnswerModex>(daemon(1).out);
  ASSERT_THAT(answers, SizeIs(3));
  EXPECT_EQ(answers[2].ticket, 7U);
  EXPECT_EQ(answers[2].status.error().code, ErrorCode::kTimedOut);
  const auto fetches = all_of<FetchModex>(daemon(3).out);
  daemon(3).services.handle(ModexFetched{fetches.back().fetch, ok_status(), Bytes("late")});
  settle();
  EXPECT_THAT(all_of<AnswerModex>(daemon(1).out), SizeIs(3)) << "one answer per question";
}

TEST_F(ServicesTest, OnlyTheOwnerAnswersForAProcess) {
  daemon(1).host(1, "a", 0);
  daemon(1).host(2, "b", 0);
  daemon(1).services.handle(ModexAsked{5, name_of("a", 1), 0});
  settle();
  wire::ModexAnswer forged;
  forged.set_origin(1);
  forged.set_token(1);
  desk.on_modex_answer(Rank(3), forged, Bytes("lie"));
  EXPECT_THAT(all_of<AnswerModex>(daemon(1).out), IsEmpty());
}

}  // namespace
}  // namespace tide::core
