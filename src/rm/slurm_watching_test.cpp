// What Slurm does without being asked.
#include "rm/slurm_manager_fixture.hpp"

namespace tide::rm {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::hosts_of;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::SlurmManagerTest;
using ::testing::StartsWith;

const Error kNotReached{ErrorCode::kUnavailable, "Unable to contact slurm controller"};
const Error kGarbage{ErrorCode::kProtocol, "what Slurm says can't be read"};

// ---- at the start ----

TEST_F(SlurmManagerTest, AParentThatIsNotShownIsToldOfAndLearntLater) {
  slurm_.errors["show"] = {kNotReached};
  manager().start();
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre(AllOf(StartsWith("note: "), HasSubstr("job 17"))));
  EXPECT_EQ(manager().parent_left_ms(), 0U);
  pass(2'000);
  EXPECT_EQ(manager().parent_left_ms(), kLeftMs - 2'000);
  EXPECT_EQ(notes_.parent_left_ms, kLeftMs + 3'000 - 2'000) << "what nodes may not use counts, too";
}

TEST_F(SlurmManagerTest, AParentThatIsOverIsNoPlaceToBe) {
  slurm_.jobs["17"].life = SlurmLife::kOver;
  slurm_.jobs["17"].state = "TIMEOUT";
  manager().start();
  slurm_.run();
  pass(600'000);
  EXPECT_THAT(notes_.take(), ElementsAre("parent over: Slurm job 17 reached its time limit"))
      << "told once";
}

TEST_F(SlurmManagerTest, NodesThatTheParentHasNoMoreAreGoneFromTheStart) {
  slurm_.jobs["17"].nodes = hosts_of({"n1", "n3"});
  manager().start();
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("reclaimed n2: Slurm job 17 was made smaller"));
}

TEST_F(SlurmManagerTest, NodesThatNobodyKnewAtTheStartAreFree) {
  slurm_.jobs["17"].nodes.push_back(hosts_of({"n9"}).front());
  manager().start();
  slurm_.run();
  EXPECT_THAT(notes_.take(), IsEmpty());
  ask(1, 3);
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 1: n3 n4 n9")));
}

TEST_F(SlurmManagerTest, AParentWhoseNodesAreBeingBootedLosesNone) {
  slurm_.jobs["17"].life = SlurmLife::kComes;
  slurm_.jobs["17"].nodes.clear();
  manager().start();
  slurm_.run();
  pass(10'000);
  EXPECT_THAT(notes_.take(), IsEmpty());
}

// ---- how often ----

TEST_F(SlurmManagerTest, LooksLessAndLessAndHurriesAfterAChange) {
  start();
  const auto looks_in = [this](std::uint64_t ms) {
    pass(ms);
    const auto calls = slurm_.asked();
    EXPECT_THAT(calls, ::testing::Each("list"));
    return calls.size();
  };
  for (const std::uint64_t pause_s : {2U, 4U, 8U, 16U, 32U, 60U, 60U, 60U}) {
    EXPECT_EQ(looks_in(pause_s * 1'000 - 1), 0U) << pause_s;
    EXPECT_EQ(looks_in(1), 1U) << pause_s;
  }
  ask(1, 3);
  slurm_.asked();
  EXPECT_EQ(looks_in(1'000), 0U);
  slurm_.queue(0, "18");
  EXPECT_EQ(looks_in(1'999), 0U);
  EXPECT_EQ(looks_in(1), 1U);
  EXPECT_EQ(looks_in(4'000), 1U);
}

TEST_F(SlurmManagerTest, ChangesThatComeAllTheTimeDoNotPutOffTheNextLook) {
  with_child({"n5", "n6"});
  for (std::uint64_t ends_s = kStartS + 600; ends_s < kStartS + 610; ++ends_s) {
    pass(500);
    slurm_.jobs["18"].ends_s = ends_s;
    manager().look_why("n5", [] {});  // a new limit is seen, which hurries
    slurm_.run();
    EXPECT_THAT(notes_.take(), SizeIs(1));
  }
  EXPECT_GE(std::ranges::count(slurm_.asked(), "list"), 2);
}

// row:C6 a handful of words with Slurm, however long it takes
TEST_F(SlurmManagerTest, AWholeHourOfWaitingIsAHandfulOfLooks) {
  start();
  ask(1, 3);
  slurm_.queue(0, "18");
  pass(3'000'000);
  EXPECT_LT(slurm_.asked().size(), 60U);
}

TEST_F(SlurmManagerTest, ALookThatIsNotAnsweredIsTheOnlyOne) {
  start();
  timers_.begin()->second();
  timers_.erase(timers_.begin());
  EXPECT_THAT(slurm_.asked(), ElementsAre("list"));
  ask(1, 3);
  slurm_.queue(0, "18");  // hurries
  auto hurried = timers_.extract(timers_.begin());
  hurried.mapped()();
  EXPECT_THAT(slurm_.asked(), ElementsAre("allocate 1"));
  slurm_.run();
  pass(2'000);
  EXPECT_THAT(slurm_.asked(), ElementsAre("list"));
}

TEST_F(SlurmManagerTest, LooksThatFailChangeNothingAndGoOn) {
  with_child({"n5"});
  slurm_.jobs.clear();
  slurm_.errors["list"] = {kNotReached, kGarbage, kNotReached};
  pass(2'000 + 4'000 + 8'000);
  EXPECT_THAT(slurm_.asked(), ElementsAre("list", "list", "list"));
  EXPECT_THAT(notes_.take(), IsEmpty());
}

// ---- jobs that end ----

// row:R11 the scheduler ends what it gave
TEST_F(SlurmManagerTest, AJobThatEndsIsReclaimedWithItsReason) {
  for (const auto& [state, words] :
       std::map<std::string, std::string>{{"CANCELLED", "was cancelled"},
                                          {"TIMEOUT", "reached its time limit"},
                                          {"NODE_FAIL", "lost a node"},
                                          {"PREEMPTED", "was preempted by another"},
                                          {"REVOKED", "is over: REVOKED"}}) {
    manager_.reset();
    timers_.clear();
    slurm_.requests.clear();
    slurm_.jobs = {{"17", parent()}};
    known_ = {"n1", "n2"};
    with_child({"n5", "n6"});
    slurm_.end("18", state);
    slurm_.run();
    EXPECT_THAT(notes_.take(), ElementsAre("reclaimed n5 n6: Slurm job 18 " + words));
    EXPECT_FALSE(slurm_.requests[0]->is_held);
    EXPECT_THAT(slurm_.asked(), ElementsAre("show 18"));
    look();
    EXPECT_THAT(notes_.take(), IsEmpty()) << "told once";
  }
}

TEST_F(SlurmManagerTest, AJobThatEndsIsSeenAlsoWhenItsHolderDoesNotNotice) {
  with_child({"n5"});
  slurm_.jobs["18"].life = SlurmLife::kOver;
  slurm_.jobs["18"].state = "COMPLETING";
  look();
  EXPECT_THAT(notes_.take(), ElementsAre("reclaimed n5: Slurm job 18 has ended"));
  EXPECT_FALSE(slurm_.requests[0]->is_held);
}

TEST_F(SlurmManagerTest, AJobThatSlurmForgotIsOver) {
  with_child({"n5"});
  slurm_.jobs.erase("18");
  pass(2'000);
  EXPECT_THAT(slurm_.asked(), ElementsAre("list", "show 18"));
  EXPECT_THAT(notes_.take(), ElementsAre("reclaimed n5: Slurm job 18 is over"));
}

TEST_F(SlurmManagerTest, AListWithoutAJobIsNoProof) {
  with_child({"n5"});
  slurm_.unlisted = {"17", "18"};
  slurm_.errors["show"] = {kGarbage, kNotReached};
  pass(2'000);
  EXPECT_THAT(slurm_.asked(), ElementsAre("list", "show 17", "show 18"));
  pass(600'000);
  EXPECT_THAT(notes_.take(), IsEmpty());
}

// Somebody has killed its salloc: the job runs on, and nobody gives it back.
TEST_F(SlurmManagerTest, AJobWithoutAHolderIsUsedOnAndCancelledInTheEnd) {
  with_child({"n5", "n6"});
  lose_holder();
  EXPECT_THAT(slurm_.asked(), ElementsAre("show 18"));
  look();
  EXPECT_THAT(notes_.take(), IsEmpty());
  give_back(1, {"n5"});
  slurm_.run();
  EXPECT_THAT(slurm_.asked(), ElementsAre("resize 18 to n6"));
  give_back(2, {"n6"});
  slurm_.run();
  EXPECT_THAT(slurm_.asked(), ElementsAre("cancel 18 tide-x"));
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: taken", "returned 2: taken"));
}

TEST_F(SlurmManagerTest, AJobWithoutAHolderIsOverWhenSlurmSaysSo) {
  for (const auto& error : {kNotReached, kGarbage}) {
    manager_.reset();
    timers_.clear();
    slurm_.requests.clear();
    slurm_.jobs = {{"17", parent()}};
    known_ = {"n1", "n2"};
    with_child({"n5"});
    slurm_.errors["show"] = {error};
    lose_holder();
    EXPECT_THAT(notes_.take(), IsEmpty()) << "nobody knows";
    slurm_.jobs["18"].life = SlurmLife::kOver;
    slurm_.jobs["18"].state = "CANCELLED";
    look();
    EXPECT_THAT(notes_.take(), ElementsAre("reclaimed n5: Slurm job 18 was cancelled"));
  }
}

TEST_F(SlurmManagerTest, JobsWithoutAHolderAreCancelledAtTheEnd) {
  with_child({"n5"});
  lose_holder();
  slurm_.asked();
  std::optional<bool> all;
  manager().finish([&all](bool given_back) { all = given_back; });
  EXPECT_THAT(slurm_.asked(), ElementsAre("cancel 18 tide-x", "settle 90000"));
  slurm_.run();
  slurm_.settled(true);
  EXPECT_EQ(all, true);
}

// ---- the parent ----

TEST_F(SlurmManagerTest, TheEndOfTheParentIsToldOnce) {
  with_child({"n5"});
  slurm_.jobs["17"].life = SlurmLife::kOver;
  slurm_.jobs["17"].state = "CANCELLED";
  pass(600'000);
  EXPECT_THAT(notes_.take(), ElementsAre("parent over: Slurm job 17 was cancelled"));
}

TEST_F(SlurmManagerTest, AParentThatSlurmForgotIsOver) {
  start();
  slurm_.jobs.clear();
  pass(600'000);
  EXPECT_THAT(notes_.take(), ElementsAre("parent over: Slurm job 17 is over"));
}

TEST_F(SlurmManagerTest, AParentOfAnotherUserIsLookedAtByItself) {
  start();
  slurm_.unlisted = {"17"};
  pass(2'000);
  EXPECT_THAT(slurm_.asked(), ElementsAre("list", "show 17"));
  EXPECT_THAT(notes_.take(), IsEmpty());
  slurm_.jobs["17"].nodes.push_back(hosts_of({"n9"}).front());
  pass(4'000);
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("pushed n9 for")));
  slurm_.jobs["17"].life = SlurmLife::kOver;
  slurm_.jobs["17"].state = "TIMEOUT";
  look();
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("parent over: ")));
}

TEST_F(SlurmManagerTest, AParentThatWasNeverSeenIsNotOver) {
  slurm_.jobs.clear();
  manager().start();
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("note: ")));
  pass(600'000);
  EXPECT_THAT(notes_.take(), IsEmpty());
}

// ---- daemons that end ----

TEST_F(SlurmManagerTest, WhyADaemonHasEndedIsAskedOnceForAllNodesOfAJob) {
  with_child({"n5", "n6"});
  slurm_.jobs["18"].life = SlurmLife::kOver;
  slurm_.jobs["18"].state = "CANCELLED";
  int told = 0;
  for (const auto* node : {"n5", "n6"}) {
    manager().look_why(node, [&] {
      ++told;
      EXPECT_THAT(notes_.take(), told == 1 ? SizeIs(1) : SizeIs(0)) << "the reason comes first";
    });
  }
  EXPECT_EQ(told, 0);
  slurm_.run();
  EXPECT_EQ(told, 2);
  EXPECT_THAT(slurm_.asked(), ElementsAre("show 18"));
}

TEST_F(SlurmManagerTest, ADaemonMayEndWhereItsJobGoesOn) {
  with_child({"n5", "n6"});
  slurm_.jobs["18"].nodes = hosts_of({"n6"});
  int told = 0;
  manager().look_why("n5", [&] { ++told; });
  manager().look_why("n1", [&] { ++told; });
  manager().look_why("n9", [&] { ++told; });
  EXPECT_EQ(told, 1) << "n9 is not Slurm's";
  slurm_.run();
  EXPECT_EQ(told, 3);
  EXPECT_THAT(notes_.take(), ElementsAre("reclaimed n5: Slurm job 18 was made smaller"));
}

TEST_F(SlurmManagerTest, NobodyWaitsLongToHearWhyADaemonHasEnded) {
  with_child({"n5"});
  int told = 0;
  manager().look_why("n5", [&] { ++told; });
  const auto [begin, end] = timers_.equal_range(now_ms_ + 2'000);
  const std::vector<std::pair<const std::uint64_t, std::function<void()>>> due(begin, end);
  for (const auto& [at_ms, then] : due) then();
  EXPECT_EQ(told, 1) << "though Slurm has not answered";
  slurm_.run();
  EXPECT_EQ(told, 1) << "once";
}

TEST_F(SlurmManagerTest, WhoAsksLaterHasThePatienceOfItsOwnQuestion) {
  with_child({"n5", "n6"});
  int told = 0;
  manager().look_why("n5", [] {});
  slurm_.run();
  pass(1'500);
  manager().look_why("n6", [&] { ++told; });
  EXPECT_EQ(std::ranges::count(slurm_.asked(), "show 18"), 2) << "the first was answered";
  now_ms_ += 500;
  while (timers_.begin()->first <= now_ms_) timers_.extract(timers_.begin()).mapped()();
  EXPECT_EQ(told, 0);
  slurm_.run();
  EXPECT_EQ(told, 1);
}

TEST_F(SlurmManagerTest, TheEndOfTheParentIsHeardOfByItsDaemons) {
  with_child({"n5"});
  slurm_.jobs["17"].life = SlurmLife::kOver;
  slurm_.jobs["17"].state = "TIMEOUT";
  manager().look_why("n1", [] {});
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("parent over: Slurm job 17 reached its time limit"));
}

// ---- nodes that come and go ----

// row:R21 what the scheduler pushes joins the DVM without having been asked for
TEST_F(SlurmManagerTest, NodesThatAreAddedToAJobArePushed) {
  with_child({"n5"});
  slurm_.jobs["17"].nodes.push_back(hosts_of({"n9"}).front());
  pass(2'000);
  EXPECT_THAT(notes_.take(), ElementsAre("pushed n9 for 3595000"));
  EXPECT_THAT(slurm_.asked(), ElementsAre("list", "show 17"));
  EXPECT_EQ(manager().job_of("n9"), "17");
  look();
  EXPECT_THAT(notes_.take(), IsEmpty());
}

TEST_F(SlurmManagerTest, NodesThatAJobLosesAreReclaimed) {
  with_child({"n5", "n6"});
  slurm_.jobs["18"].nodes = hosts_of({"n6"});
  slurm_.jobs["17"].nodes = hosts_of({"n1", "n3", "n4"});
  look();
  EXPECT_THAT(notes_.take(), ElementsAre("reclaimed n2: Slurm job 17 was made smaller",
                                         "reclaimed n5: Slurm job 18 was made smaller"));
}

TEST_F(SlurmManagerTest, WhatIsNotInUseIsMissedByNobody) {
  start();
  slurm_.jobs["17"].nodes = hosts_of({"n1", "n2", "n3"});
  look();
  EXPECT_THAT(notes_.take(), IsEmpty());
  ask(1, 2);
  EXPECT_THAT(slurm_.requests.at(0)->wish.without, ElementsAre("n1", "n2", "n3"));
}

TEST_F(SlurmManagerTest, WhatIsSeenDuringAnOrderIsNotLookedAt) {
  with_child({"n5", "n6", "n7"});
  give_back(1, {"n6"});
  slurm_.asked();
  // The order is done, and the word of it still on its way.
  slurm_.jobs["18"].nodes = hosts_of({"n5", "n7"});
  auto first = timers_.extract(timers_.begin());
  first.mapped()();
  while (!timers_.empty() && slurm_.calls.empty()) {
    auto next = timers_.extract(timers_.begin());
    next.mapped()();
  }
  EXPECT_THAT(slurm_.calls, Contains("list"));
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: taken"));
}

// ---- limits that move ----

// The command that asked ends late: meanwhile the job was made smaller.
TEST_F(SlurmManagerTest, WhatWasSeenBeforeAnOrderIsNotBelievedAfterIt) {
  with_child({"n5", "n6"});
  slurm_.shows_late = true;
  manager().look_why("n5", [] {});
  give_back(1, {"n6"});
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: taken"));
  slurm_.late();
  EXPECT_THAT(notes_.take(), IsEmpty()) << "n6 has not come again";
  slurm_.shows_late = false;
  look();
  EXPECT_THAT(notes_.take(), IsEmpty());
}

// What is kept for a request that waits may go before it is granted.
TEST_F(SlurmManagerTest, ARequestThatWaitsIsRefusedWhenWhatItHasIsGone) {
  start();
  ask(1, 3);
  slurm_.queue(0, "18");
  notes_.take();
  slurm_.jobs["17"].nodes = hosts_of({"n1", "n2", "n3"});
  look();
  EXPECT_THAT(notes_.take(),
              ElementsAre("refused 1: node n4, which was kept for it, is gone: Slurm job 17 was "
                          "made smaller\n  try: the same again",
                          "reclaimed n4: Slurm job 17 was made smaller"));
  EXPECT_FALSE(slurm_.requests[0]->is_held);
  ask(2, 1);
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 2: n3 for"))) << "which is free again";
}

TEST_F(SlurmManagerTest, ARequestWhoseNodesGetReadySaysSo) {
  start();
  ask(1, 3);
  slurm_.queue(0, "18");
  EXPECT_THAT(notes_.take(), ElementsAre("queued 1: Slurm job 18 waits in the queue"));
  slurm_.jobs["18"].life = SlurmLife::kComes;
  look();
  EXPECT_THAT(notes_.take(), ElementsAre("queued 1: Slurm makes the nodes of job 18 ready"));
}

// Slurm has granted it long since, and salloc does not say so.
TEST_F(SlurmManagerTest, ASallocThatMissesItsGrantIsNotWaitedForForEver) {
  start();
  ask(1, 3);
  slurm_.queue(0, "18");
  notes_.take();
  slurm_.jobs["18"] = job("18", {"n5"});
  pass(2'000 + 19'000);
  EXPECT_THAT(notes_.take(), IsEmpty()) << "it may take a moment";
  pass(20'000);
  EXPECT_THAT(notes_.take(),
              ElementsAre(StartsWith("refused 1: Slurm's salloc did not answer in time")));
  EXPECT_FALSE(slurm_.requests[0]->is_held);
}

TEST_F(SlurmManagerTest, AnotherLimitIsAnotherLease) {
  with_child({"n5"}, kStartS + 600);
  slurm_.jobs["18"].ends_s = kStartS + 1'200;
  pass(2'000);
  EXPECT_THAT(notes_.take(), ElementsAre("moved n5 to 1195000"));
  slurm_.jobs["18"].ends_s = kStartS + 300;
  pass(2'000);
  EXPECT_THAT(notes_.take(), ElementsAre("moved n5 to 293000")) << "after a change it hurries";
}

TEST_F(SlurmManagerTest, NobodyIsToldToStayLongerThanTheParent) {
  with_child({"n5"}, kStartS + 600);
  slurm_.jobs["18"].ends_s = kEndS + 600;
  pass(2'000);
  EXPECT_THAT(notes_.take(), ElementsAre("moved n5 to 3595000"));
}

TEST_F(SlurmManagerTest, TheLimitOfTheParentIsThatOfItsNodes) {
  with_child({"n5"});
  slurm_.jobs["17"].ends_s = kEndS + 600;
  pass(2'000);
  EXPECT_THAT(notes_.take(), ElementsAre("moved n1 n2 to 4195000"))
      << "n3 and n4 go with n5, as they were granted";
  EXPECT_EQ(manager().parent_left_ms(), 4'195'000U);
}

TEST_F(SlurmManagerTest, WhoMayStayAsLongAsTheParentIsToldOfItsNewLimit) {
  with_child({"n5"}, kStartS + 600);
  slurm_.jobs["18"].ends_s = kEndS + 600;
  look();
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("moved n5 to 3")));
  slurm_.jobs["17"].ends_s = kEndS + 1'200;
  look();
  EXPECT_THAT(notes_.take(),
              ElementsAre(StartsWith("moved n1 n2 to 4"), StartsWith("moved n5 to 4")));
  slurm_.jobs["17"].ends_s = kStartS + 900;
  look();
  EXPECT_THAT(notes_.take(),
              ElementsAre(StartsWith("moved n1 n2 to "), StartsWith("moved n5 to ")));
}

TEST_F(SlurmManagerTest, WhoWasPromisedLessKeepsToThatUnlessItIsTooMuchNow) {
  start();
  ask(1, 3, {}, {.time_ms = 300'000});
  slurm_.grant(0, job("18", {"n5"}, kStartS + 360));
  slurm_.run();
  notes_.take();
  slurm_.jobs["18"].ends_s = kStartS + 1'200;
  look();
  EXPECT_THAT(notes_.take(), IsEmpty());
  slurm_.jobs["18"].ends_s.reset();
  look();
  EXPECT_THAT(notes_.take(), IsEmpty());
  slurm_.jobs["18"].ends_s = kStartS + 200;
  look();
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("moved n5 to")));
}

// Two grants out of one job: each has its own end.
TEST_F(SlurmManagerTest, EachNodeHasItsOwnPromise) {
  with_child({"n5", "n6"}, kStartS + 600);
  give_back(1, {"n6"}, false);
  slurm_.errors["resize"] = {Error{ErrorCode::kNotSupported, "no"}};
  slurm_.run();
  ask(2, 1, {}, {.time_ms = 60'000});
  slurm_.asked();
  notes_.take();
  ask_time(3, {"n6"}, 60'000);
  EXPECT_THAT(slurm_.asked(), IsEmpty());
  ask_time(4, {"n5"}, 60'000);
  EXPECT_THAT(slurm_.asked(), ElementsAre("prolong 18 by 1", "show 18"));
  EXPECT_THAT(notes_.take(), ElementsAre("time 3: 60000", "time 4: 60000"));
}

}  // namespace
}  // namespace tide::rm
