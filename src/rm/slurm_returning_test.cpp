// What is given back to Slurm, and what is to stay longer.
#include "rm/slurm_manager.hpp"

#include "rm/slurm_manager_fixture.hpp"

namespace tide::rm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SlurmManagerTest;
using ::testing::StartsWith;
using testing::word;

const Error kNotReached{ErrorCode::kUnavailable, "Unable to contact slurm controller"};
const Error kCannot{ErrorCode::kNotSupported, "the DB index is being set"};
const Error kDenied{ErrorCode::kOutOfResources, "Access/permission denied"};

// ---- giving back ----

TEST_F(SlurmManagerTest, AJobThatGivesAllBackGoesWithoutAWord) {
  with_child({"n5", "n6"});
  give_back(1, {"n5", "n6"});
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: taken"));
  EXPECT_FALSE(slurm_.requests[0]->is_held);
  EXPECT_THAT(slurm_.asked(), IsEmpty()) << "its salloc does it";
  EXPECT_EQ(manager().job_of("n5"), "");
}

// row:C6 offered, and answered once Slurm has it
TEST_F(SlurmManagerTest, AJobThatGivesSomeBackBecomesSmaller) {
  with_child({"n5", "n6", "n7"});
  give_back(1, {"n6"});
  EXPECT_THAT(notes_.take(), IsEmpty());
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: taken"));
  EXPECT_THAT(slurm_.asked(), ElementsAre("resize 18 to n5,n7"));
  EXPECT_EQ(manager().job_of("n6"), "");
  look();
  EXPECT_THAT(notes_.take(), IsEmpty()) << "Slurm says the same";
}

// row:R15 what the scheduler gave goes back to it
TEST_F(SlurmManagerTest, TheParentBecomesSmallerToo) {
  with_child({"n5"});
  give_back(1, {"n2", "n5"});
  EXPECT_THAT(notes_.take(), IsEmpty()) << "two jobs have to do with it";
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: taken"));
  EXPECT_THAT(slurm_.asked(), ElementsAre("resize 17 to n1,n3,n4"));
  EXPECT_FALSE(slurm_.requests[0]->is_held);
}

TEST_F(SlurmManagerTest, AFailedStartGivesBackNothingOfTheParent) {
  start();
  ask(1, 2);
  give_back(1, {"n3"}, true);
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted"), "returned 1: taken"));
  EXPECT_THAT(slurm_.asked(), IsEmpty());
  ask(2, 1);
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 2: n3")));
}

// row:R22 once, and by who granted them
TEST_F(SlurmManagerTest, WhatIsNotInUseIsNotTakenBack) {
  start();
  give_back(1, {"n3", "n9"});
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: declined"));
  give_back(2, {"n2"});
  give_back(3, {"n2"});
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("returned 3: declined", "returned 2: taken"));
}

TEST_F(SlurmManagerTest, TheNodeOfTheScriptIsKept) {
  slurm_.jobs["17"].batch_host = "n1";
  start();
  give_back(1, {"n1"});
  EXPECT_THAT(notes_.take(), ElementsAre(AllOf(StartsWith("note: Slurm job 17 keeps n1:")),
                                         "returned 1: declined"));
  EXPECT_THAT(slurm_.asked(), IsEmpty());
  ask(1, 1);
  give_back(2, {"n1", "n2"});
  notes_.take();
  slurm_.run();
  EXPECT_THAT(slurm_.asked(), ElementsAre("resize 17 to n1,n3,n4"));
  EXPECT_THAT(notes_.take(),
              ElementsAre(StartsWith("note: Slurm job 17 keeps n1:"), "returned 2: taken"));
}

TEST_F(SlurmManagerTest, WhatCannotGoWithTheOthersIsTold) {
  slurm_.jobs["17"].batch_host = "n1";
  start();
  give_back(1, {"n1", "n2"});
  slurm_.run();
  EXPECT_THAT(slurm_.asked(), ElementsAre("resize 17 to n1,n3,n4"));
  EXPECT_THAT(notes_.take(),
              ElementsAre(StartsWith("note: Slurm job 17 keeps n1:"), "returned 1: taken"));
}

// Without slurmdbd Slurm makes a job smaller once.
TEST_F(SlurmManagerTest, WhatAJobCannotGiveBackIsTheFirstToBeGranted) {
  with_child({"n5", "n6", "n7"});
  give_back(1, {"n6"});
  slurm_.run();
  notes_.take();
  slurm_.errors["resize"] = {kCannot};
  give_back(2, {"n7"});
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre(AllOf(StartsWith("note: Slurm does not take n7 back "),
                                               HasSubstr(kCannot.message)),
                                         "returned 2: declined"));
  EXPECT_THAT(slurm_.asked(), ElementsAre("resize 18 to n5,n7", "resize 18 to n5"));
  ask(2, 1);
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 2: n7 for")));
  give_back(3, {"n7"});
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("returned 3: declined"));
  EXPECT_THAT(slurm_.asked(), IsEmpty()) << "it is not tried again";
  give_back(4, {"n5"});
  EXPECT_FALSE(slurm_.requests[0]->is_held) << "but the whole can go";
}

TEST_F(SlurmManagerTest, AnOrderThatDoesNotReachSlurmIsTriedAgain) {
  with_child({"n5", "n6"});
  slurm_.errors["resize"] = std::deque<Error>(6, kNotReached);
  give_back(1, {"n6"});
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: deferred"));
  EXPECT_THAT(slurm_.asked(), ElementsAre("resize 18 to n5"));
  for (const std::uint64_t pause_s : {5U, 10U, 20U, 40U, 60U, 60U}) {
    pass(pause_s * 1'000 - 1);
    EXPECT_THAT(slurm_.asked(), Not(::testing::Contains(StartsWith("resize")))) << pause_s;
    pass(1);
    EXPECT_THAT(slurm_.asked(), ::testing::Contains("resize 18 to n5")) << pause_s;
  }
  EXPECT_THAT(notes_.take(), IsEmpty()) << "it was answered";
  EXPECT_EQ(manager().job_of("n6"), "");
  pass(600'000);
  EXPECT_THAT(slurm_.asked(), Not(::testing::Contains(StartsWith("resize"))));
}

TEST_F(SlurmManagerTest, MoreThatComesToGoWhileSlurmIsAwayGoesAlong) {
  with_child({"n5", "n6", "n7"});
  slurm_.errors["resize"] = {kNotReached, kNotReached};
  give_back(1, {"n6"});
  slurm_.run();
  give_back(2, {"n7"});
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: deferred", "returned 2: deferred"));
  slurm_.asked();
  pass(20'000);
  const auto calls = slurm_.asked();
  EXPECT_EQ(std::ranges::count(calls, "resize 18 to n5"), 1);
  EXPECT_EQ(manager().job_of("n6"), "");
  EXPECT_EQ(manager().job_of("n7"), "");
}

TEST_F(SlurmManagerTest, MoreThatComesToGoDoesNotMakeItTryMoreOften) {
  with_child({"n5", "n6", "n7"});
  slurm_.errors["resize"] = std::deque<Error>(9, kNotReached);
  give_back(1, {"n6"});
  slurm_.run();
  give_back(2, {"n7"});
  slurm_.run();
  slurm_.asked();
  pass(24'999);
  const auto calls = slurm_.asked();
  EXPECT_EQ(std::ranges::count(calls, "resize 18 to n5"), 1);
}

TEST_F(SlurmManagerTest, AllHearAtOnceThatSlurmIsAway) {
  with_child({"n5", "n6", "n7"});
  slurm_.errors["resize"] = {kNotReached};
  give_back(1, {"n6"});
  give_back(2, {"n7"});
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: deferred", "returned 2: deferred"));
}

TEST_F(SlurmManagerTest, WhatComesToGoMeanwhileIsTheNextOrder) {
  with_child({"n5", "n6", "n7"});
  give_back(1, {"n6"});
  give_back(2, {"n7"});
  EXPECT_THAT(slurm_.asked(), ElementsAre("resize 18 to n5,n7")) << "one at a time";
  slurm_.errors["resize"] = {};
  slurm_.run();
  EXPECT_THAT(slurm_.asked(), ElementsAre("resize 18 to n5"));
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: taken", "returned 2: taken"));
  EXPECT_EQ(manager().job_of("n7"), "");
}

TEST_F(SlurmManagerTest, EachReturnHasTheAnswerToItsOwnOrder) {
  with_child({"n5", "n6", "n7"});
  give_back(1, {"n6"});
  give_back(2, {"n7"});
  slurm_.list([this](const auto&) { slurm_.errors["resize"] = {kCannot}; });  // behind the first
  slurm_.run();
  EXPECT_THAT(notes_.take(),
              ElementsAre("returned 1: taken", StartsWith("note: "), "returned 2: declined"));
}

TEST_F(SlurmManagerTest, AJobThatLosesTheLastInUseMeanwhileGoes) {
  with_child({"n5", "n6"});
  give_back(1, {"n6"});
  give_back(2, {"n5"});
  EXPECT_TRUE(slurm_.requests[0]->is_held);
  slurm_.run();
  EXPECT_FALSE(slurm_.requests[0]->is_held);
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: taken", "returned 2: taken"));
}

TEST_F(SlurmManagerTest, AJobThatEndsDuringAnOrderHasGivenAllBack) {
  with_child({"n5", "n6"});
  slurm_.errors["resize"] = {kDenied};
  give_back(1, {"n6"});
  slurm_.end("18", "TIMEOUT");
  slurm_.list([](const auto&) {});
  slurm_.run();
  EXPECT_THAT(notes_.take(), ::testing::Contains(HasSubstr("reclaimed n5")));
}

TEST_F(SlurmManagerTest, AnOrderAboutAJobThatIsOverIsCarriedOut) {
  with_child({"n5", "n6"});
  slurm_.jobs.erase("18");
  give_back(1, {"n6"});
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: taken"));
  look();
  EXPECT_THAT(notes_.take(), ElementsAre("reclaimed n5: Slurm job 18 is over"));
}

// ---- more time ----

// row:R16 more time keeps the job
TEST_F(SlurmManagerTest, MoreTimeIsAskedForInMinutes) {
  with_child({"n5"}, kStartS + 600);
  ask_time(2, {"n5"}, 90'000);
  EXPECT_THAT(slurm_.asked(), ElementsAre("prolong 18 by 2", "show 18"));
  EXPECT_THAT(notes_.take(), ElementsAre("time 2: 90000"));
  ask_time(3, {"n5"}, 30'000);
  EXPECT_THAT(slurm_.asked(), IsEmpty()) << "that much was left of the minutes";
  EXPECT_THAT(notes_.take(), ElementsAre("time 3: 30000"));
  ask_time(4, {"n5"}, 1'000);
  EXPECT_THAT(slurm_.asked(), ElementsAre("prolong 18 by 1", "show 18"));
  notes_.take();
  look();
  EXPECT_THAT(notes_.take(), IsEmpty()) << "what Slurm gives more is not told";
}

TEST_F(SlurmManagerTest, WhoWasPromisedLessThanSlurmGivesIsProlongedByThat) {
  start();
  ask(1, 3, {}, {.time_ms = 300'000});
  slurm_.grant(0, job("18", {"n5"}, kStartS + 360));
  slurm_.run();
  slurm_.asked();
  notes_.take();
  ask_time(2, {"n5"}, 57'000);
  EXPECT_THAT(slurm_.asked(), IsEmpty());
  ask_time(3, {"n5"}, 1'000);
  EXPECT_THAT(slurm_.asked(), ElementsAre("prolong 18 by 1", "show 18"));
}

TEST_F(SlurmManagerTest, NobodyIsProlongedBeyondTheParent) {
  with_child({"n5"}, kEndS - 100);
  ask_time(2, {"n5"}, 7'200'000);
  EXPECT_THAT(slurm_.asked(), ElementsAre("prolong 18 by 2", "show 18"));
  EXPECT_THAT(notes_.take(), ElementsAre("time 2: 100000 cut"));
  ask_time(3, {"n5"}, 60'000);
  EXPECT_THAT(notes_.take(), ElementsAre(HasSubstr("can't stay longer than Slurm job 17")));
  EXPECT_THAT(slurm_.asked(), IsEmpty());
}

TEST_F(SlurmManagerTest, TheParentItselfCanBeProlonged) {
  with_child({"n5"});
  ask_time(2, {"n3"}, 60'000);
  EXPECT_THAT(slurm_.asked(), IsEmpty()) << "it was granted with n5, which goes a minute sooner";
  ask_time(3, {"n3"}, 60'000);
  EXPECT_THAT(slurm_.asked(), ElementsAre("prolong 17 by 1", "show 17"));
  EXPECT_THAT(notes_.take(),
              ElementsAre("time 2: 60000", "moved n1 n2 to 3657000", "time 3: 60000"));
}

TEST_F(SlurmManagerTest, TwoJobsAreProlongedTogetherOrRefused) {
  with_child({"n5"}, kStartS + 600);
  ask(2, 1);
  slurm_.grant(1, job("19", {"n6"}, kStartS + 600));
  slurm_.run();
  slurm_.asked();
  notes_.take();
  ask_time(3, {"n5", "n6"}, 60'000);
  EXPECT_THAT(notes_.take(), ElementsAre("time 3: 60000"));
  EXPECT_THAT(slurm_.asked(),
              ElementsAre("prolong 18 by 1", "prolong 19 by 1", "show 18", "show 19"));
  for (const auto first : {true, false}) {
    slurm_.errors["prolong"] = {kDenied};
    if (!first) {
      slurm_.errors["prolong"].clear();
      slurm_.list([this](const auto&) { slurm_.errors["prolong"] = {kDenied}; });
    }
    ask_time(4, {"n5", "n6"}, 60'000);
    EXPECT_THAT(notes_.take(), ElementsAre("refused 4: " + kDenied.message));
  }
}

TEST_F(SlurmManagerTest, NodesThatAreNotOursAreNotProlonged) {
  start();
  ask_time(2, {"n9"}, 60'000);
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("refused 2: none of these nodes")));
}

TEST_F(SlurmManagerTest, WithoutALimitThereIsNothingToAskFor) {
  slurm_.jobs["17"].ends_s.reset();
  with_child({"n5"}, std::nullopt);
  ask_time(2, {"n5"}, 60'000);
  EXPECT_THAT(notes_.take(), ElementsAre("time 2: 60000"));
  EXPECT_THAT(slurm_.asked(), IsEmpty());
}

TEST_F(SlurmManagerTest, WhoWasNotAskedForHearsThatItsJobLastsLonger) {
  with_child({"n5", "n6"}, kStartS + 600);
  ask_time(2, {"n5"}, 60'000);
  EXPECT_THAT(notes_.take(), ElementsAre("moved n6 to 657000", "time 2: 60000"));
}

TEST_F(SlurmManagerTest, ALookDuringTheOrderDoesNotGiveTheTimeTwice) {
  with_child({"n5"}, kStartS + 600);
  manager().ask(
      core::AskForTime{.ask = 2, .managers = {"slurm"}, .time_ms = 60'000, .nodes = {"n5"}});
  slurm_.jobs["18"].ends_s = kStartS + 660;  // done, and the word of it still on its way
  slurm_.errors["prolong"] = {};
  slurm_.list([](const auto&) {});
  look();
  const auto notes = notes_.take();
  EXPECT_THAT(notes, ElementsAre("time 2: 60000"));
}

TEST_F(SlurmManagerTest, WhatGoesBackWhileItsJobIsProlongedGoesAfterwards) {
  with_child({"n5", "n6"}, kStartS + 600);
  manager().ask(
      core::AskForTime{.ask = 2, .managers = {"slurm"}, .time_ms = 60'000, .nodes = {"n5"}});
  give_back(1, {"n6"});
  EXPECT_THAT(slurm_.asked(), ElementsAre("prolong 18 by 1"));
  slurm_.run();
  EXPECT_THAT(slurm_.asked(), ElementsAre("show 18", "resize 18 to n5"));
  EXPECT_THAT(notes_.take(), ElementsAre("time 2: 60000", "returned 1: taken"));
}

TEST_F(SlurmManagerTest, MoreTimeThatNobodyWaitsForAnyMoreIsNoPromise) {
  with_child({"n5"}, kStartS + 600);
  manager().ask(
      core::AskForTime{.ask = 2, .managers = {"slurm"}, .time_ms = 60'000, .nodes = {"n5"}});
  manager().cancel(2);
  slurm_.run();
  EXPECT_THAT(slurm_.asked(), ElementsAre("prolong 18 by 1", "show 18"));
  EXPECT_THAT(notes_.take(), ElementsAre("moved n5 to 657000")) << "as by anybody else";
  ask_time(3, {"n5"}, 60'000);
  EXPECT_THAT(notes_.take(), ElementsAre("time 3: 60000"));
  EXPECT_EQ(slurm_.jobs["18"].ends_s, kStartS + 720);
}

TEST_F(SlurmManagerTest, AJobThatCanShrinkNoMoreGoesWhenItsLastNodeIsGivenBackMeanwhile) {
  with_child({"n5", "n6"});
  slurm_.errors["resize"] = {Error{ErrorCode::kNotSupported, "no"}};
  give_back(1, {"n6"});
  give_back(2, {"n5"});
  slurm_.run();
  EXPECT_THAT(slurm_.asked(), ElementsAre("resize 18 to n5"));
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: taken", "returned 2: taken"));
  EXPECT_FALSE(slurm_.requests[0]->is_held);
}

// slurmctld may forget a job, and give its number to the next.
TEST_F(SlurmManagerTest, AJobThatWasLeftIsNotMistakenForANewOneOfItsNumber) {
  start();
  ask(1, 3);
  slurm_.errors["cancel"] = {kNotReached};
  slurm_.requests.at(0)->events.left("18");
  slurm_.run();
  EXPECT_THAT(slurm_.asked(), ElementsAre("allocate 1", "cancel 18 tide-x"));
  slurm_.refuse(0, kNotReached);
  ask(2, 3);
  slurm_.grant(1, job("18", {"n5"}));
  slurm_.run();
  slurm_.asked();
  pass(600'000);
  EXPECT_THAT(slurm_.asked(), ::testing::Not(::testing::Contains("cancel 18 tide-x")));
}

// It was prolonged as we advised, and no look came since.
TEST_F(SlurmManagerTest, ALongerParentIsSeenBeforeAnybodyIsCutShort) {
  with_child({"n5"}, kEndS - 60);
  now_ms_ += 30'000;
  slurm_.jobs["17"].ends_s = kEndS + 3'600;
  ask_time(2, {"n5"}, 1'800'000);
  EXPECT_THAT(slurm_.asked(), ElementsAre("show 17", "prolong 18 by 30", "show 18"));
  EXPECT_THAT(notes_.take(), ::testing::Contains("time 2: 1800000"));
  slurm_.jobs["17"].ends_s = kEndS + 7'200;
  now_ms_ += 30'000;
  ask(3, 1, {}, {.time_ms = 9'000'000});
  EXPECT_THAT(slurm_.asked(), ElementsAre("show 17"));
  slurm_.run();
  EXPECT_EQ(slurm_.requests.at(1)->wish.minutes, 151U) << "150, and what is needed to hear of it";
  manager().cancel(3);
  now_ms_ += 30'000;
  ask(4, 1, {}, {.time_ms = 90'000'000});
  manager().cancel(4);
  slurm_.run();
  EXPECT_EQ(slurm_.requests.size(), 2U) << "nobody waits for it any more";
}

TEST_F(SlurmManagerTest, WhoGetsNothingBackSaysWhy) {
  with_child({"n5", "n6", "n7"});
  slurm_.errors["resize"] = {Error{ErrorCode::kNotSupported, "once only"}};
  give_back(1, {"n6"});
  slurm_.run();
  EXPECT_THAT(notes_.take(), ::testing::Contains("returned 1: declined"));
  EXPECT_EQ(notes_.last_why, "once only");
  give_back(2, {"n7"});
  EXPECT_THAT(notes_.take(), ElementsAre("returned 2: declined"));
  EXPECT_THAT(notes_.last_why, ::testing::StartsWith("Slurm job 18 keeps them"));
}

// ---- the end ----

TEST_F(SlurmManagerTest, AtTheEndAllIsGivenBack) {
  with_child({"n5"});
  ask(2, 1);
  std::optional<bool> all;
  manager().finish([&all](bool given_back) { all = given_back; });
  EXPECT_FALSE(slurm_.requests[0]->is_held);
  EXPECT_FALSE(slurm_.requests[1]->is_held);
  EXPECT_THAT(slurm_.asked(), ElementsAre("allocate 1", "settle 90000")) << "not the parent";
  EXPECT_EQ(all, std::nullopt);
  slurm_.settled(true);
  EXPECT_EQ(all, true);
  pass(600'000);
  EXPECT_THAT(slurm_.asked(), IsEmpty()) << "nobody looks any more";
  EXPECT_THAT(notes_.take(), IsEmpty());
}

TEST_F(SlurmManagerTest, TimeThatIsAskedForWhenTheEndComesIsNotAskedOfSlurm) {
  with_child({"n5"});
  now_ms_ += 30'000;
  manager().ask(
      core::AskForTime{.ask = 2, .managers = {"slurm"}, .time_ms = 1'800'000, .nodes = {"n5"}});
  EXPECT_THAT(slurm_.asked(), ElementsAre("show 17"));
  slurm_.jobs["17"].ends_s = kEndS + 3'600;
  manager().finish([](bool) {});
  slurm_.run();
  EXPECT_THAT(slurm_.asked(), ElementsAre("settle 90000"));
  EXPECT_THAT(notes_.take(), IsEmpty());
}

TEST_F(SlurmManagerTest, WhatIsLeftAtTheEndIsCancelledAndElseTold) {
  start();
  ask(1, 3);
  slurm_.jobs["18"] = job("18", {"n5"});
  slurm_.errors["cancel"] = {kNotReached};
  slurm_.requests.at(0)->events.left("18");
  slurm_.run();
  slurm_.asked();
  slurm_.errors["cancel"] = {kNotReached};
  std::optional<bool> all;
  manager().finish([&all](bool given_back) { all = given_back; });
  EXPECT_THAT(slurm_.asked(), ElementsAre("cancel 18 tide-x", "settle 90000"));
  slurm_.run();
  slurm_.settled(true);
  EXPECT_EQ(all, std::nullopt) << "Slurm may come back";
  slurm_.errors["cancel"] = std::deque<Error>(100, kNotReached);
  while (!all && now_ms_ < kStartS * 1'000 + 200'000) {
    pass(2'000);
    slurm_.settled(true);
  }
  EXPECT_EQ(all, false);
  EXPECT_GE(now_ms_, kStartS * 1'000 + 90'000);
}

TEST_F(SlurmManagerTest, WhatTakesTooLongAtTheEndIsTold) {
  with_child({"n5"});
  std::optional<bool> all;
  manager().finish([&all](bool given_back) { all = given_back; });
  pass(4'900);
  EXPECT_THAT(notes_.take(), IsEmpty());
  pass(85'100);
  EXPECT_THAT(notes_.take(), ElementsAre("note: the DVM ends when Slurm has taken its nodes back, "
                                         "or in 1 min 25 s"));
  slurm_.settled(false);
  EXPECT_EQ(all, false);
}

}  // namespace
}  // namespace tide::rm
