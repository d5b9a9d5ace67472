// What is asked of Slurm.
#include "rm/slurm_manager.hpp"

#include "rm/slurm_manager_fixture.hpp"

namespace tide::rm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::SlurmManagerTest;
using ::testing::StartsWith;
using testing::word;

const Error kNotReached{ErrorCode::kUnavailable, "Unable to contact slurm controller"};
const Error kCannot{ErrorCode::kNotSupported, "the DB index is being set"};
const Error kDenied{ErrorCode::kOutOfResources, "Access/permission denied"};

// ---- nodes ----

// row:E17 what the scheduler has given already needs no word with it
TEST_F(SlurmManagerTest, WhatIsFreeHereIsGrantedAtOnce) {
  start();
  ask(1, 2);
  EXPECT_THAT(notes_.take(), ElementsAre("granted 1: n3 n4 for 3597000"));
  EXPECT_THAT(slurm_.asked(), IsEmpty());
}

TEST_F(SlurmManagerTest, TheRestIsAskedForAsTheParentIs) {
  start();
  ask(1, 3);
  EXPECT_THAT(notes_.take(), IsEmpty()) << "as a whole or not at all";
  ASSERT_THAT(slurm_.requests, SizeIs(1));
  const auto& wish = slurm_.requests[0]->wish;
  EXPECT_EQ(wish.count, 1U);
  EXPECT_THAT(wish.names, IsEmpty());
  EXPECT_THAT(wish.without, ElementsAre("n1", "n2", "n3", "n4"));
  EXPECT_EQ(wish.cores, 4U);
  EXPECT_EQ(wish.minutes, 59U) << "as long as the parent lasts";
  EXPECT_EQ(wish.partition, "all");
  EXPECT_EQ(wish.account, "physics");
  EXPECT_EQ(wish.qos, "normal");
  EXPECT_EQ(wish.job_name, "tide-x");
  slurm_.grant(0, job("18", {"n5"}));
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("granted 1: n3 n4 n5 for 3537000"));
  EXPECT_THAT(slurm_.asked(), ElementsAre("allocate 1", "show 18")) << "no more than that";
  EXPECT_EQ(manager().job_of("n5"), "18");
}

TEST_F(SlurmManagerTest, WhoHasWholeNodesAsksForWholeNodes) {
  slurm_.jobs["17"].whole_nodes = true;
  start();
  ask(1, 3);
  EXPECT_TRUE(slurm_.requests.at(0)->wish.whole_nodes) << "of whatever size they are";
}

TEST_F(SlurmManagerTest, TheSmallestNodeSaysHowManyCores) {
  slurm_.jobs["17"].nodes[2].slots = 2;
  start();
  ask(1, 3);
  EXPECT_EQ(slurm_.requests.at(0)->wish.cores, 2U);
}

TEST_F(SlurmManagerTest, WhatIsNamedIsAskedForByName) {
  start();
  ask(1, 1, {word("n4"), word("n9", 2), word("n8")});
  ASSERT_THAT(slurm_.requests, SizeIs(1));
  EXPECT_EQ(slurm_.requests[0]->wish.count, 2U);
  EXPECT_THAT(slurm_.requests[0]->wish.names, ElementsAre("n9", "n8"));
  slurm_.grant(0, job("18", {"n8", "n9"}));
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 1: n4 n3 n8 n9 for")));
  EXPECT_EQ(notes_.last_hosts.at(2).slots, 4U);
  EXPECT_EQ(notes_.last_hosts.at(3).slots, 2U) << "no more than was asked for";
}

TEST_F(SlurmManagerTest, NamesThatAreNoneAreKeptFromSlurm) {
  start();
  for (const auto* name : {"n[5-6]", "$(id)", "n5,n6", "--help", ""}) {
    ask(1, 0, {word(name)});
    EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("refused 1: "))) << name;
  }
  EXPECT_THAT(slurm_.asked(), IsEmpty());
}

TEST_F(SlurmManagerTest, WhatIsTakenIsRefused) {
  start();
  ask(1, 0, {word("n3"), word("n2")});
  EXPECT_THAT(notes_.take(), ElementsAre(HasSubstr("node n2 is taken")));
  ask(2, 2);
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 2: n3 n4"))) << "n3 was not kept";
}

TEST_F(SlurmManagerTest, WhatIsToBeHereAlreadyIsNotAskedFor) {
  start();
  const core::AskForNodes wanted{.ask = 1, .hosts = {}};
  const std::vector none = {word("n9")};
  manager().ask(wanted, {}, none, known_);
  EXPECT_THAT(notes_.take(), ElementsAre(AllOf(HasSubstr("n9"), HasSubstr("n3, n4"))));
  const std::vector one = {word("n3")};
  manager().ask(wanted, {}, one, known_);
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 1: n3 for")));
  EXPECT_THAT(slurm_.asked(), IsEmpty());
}

TEST_F(SlurmManagerTest, AllThatIsFreeMayBeNothing) {
  start();
  const core::AskForNodes wanted{.ask = 1, .hosts = {}, .all = true};
  manager().ask(wanted, {}, {}, known_);
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 1: n3 n4 for")));
  manager().ask(wanted, {}, {}, known_);
  EXPECT_THAT(notes_.take(), ElementsAre("granted 1: for 0"));
  EXPECT_THAT(slurm_.asked(), IsEmpty());
}

TEST_F(SlurmManagerTest, WhatTheDvmLostCanBeHadByNameAndGoesWithItsJob) {
  with_child({"n5"});
  known_.erase("n4");
  known_.erase("n5");
  ask(2, 0, {word("n4")});
  EXPECT_THAT(notes_.take(), IsEmpty()) << "Slurm may know better whether it is there";
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 2: n4 for")));
  EXPECT_FALSE(slurm_.requests[0]->is_held) << "n5 was all that job 18 had";
}

TEST_F(SlurmManagerTest, WhoIsCancelledWhileALostNodeIsLookedAtAsksForNothing) {
  with_child({"n5"});
  known_.erase("n4");
  ask(2, 0, {word("n4"), word("n9")});
  manager().cancel(2);
  slurm_.run();
  EXPECT_THAT(slurm_.asked(), ElementsAre("show 17"));
  ask(3, 0, {word("n4")});
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 3: n4 for")));
}

// A site's own options may make Slurm give nodes that the DVM has.
TEST_F(SlurmManagerTest, AJobWithFewerNewNodesThanWereAskedForIsGivenBack) {
  start();
  const std::vector<std::vector<std::string>> answers = {{"n1"}, {"n5", "n1"}};
  for (const auto& names : answers) {
    ask(1, 2 + static_cast<std::uint32_t>(names.size()));
    slurm_.grant(slurm_.requests.size() - 1, job("18", names));
    slurm_.run();
    EXPECT_THAT(notes_.take(),
                ElementsAre(StartsWith(fmt::format("refused 1: Slurm job 18 has {} of the {} nodes",
                                                   names.size() - 1, names.size()))));
    EXPECT_FALSE(slurm_.requests.back()->is_held);
  }
  ask(2, 2);
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 2: n3 n4 for")));
}

// ---- for how long ----

TEST_F(SlurmManagerTest, AWishForTimeIsMetExactly) {
  start();
  ask(1, 3, {}, {.time_ms = 300'000});
  EXPECT_EQ(slurm_.requests.at(0)->wish.minutes, 6U);
  slurm_.grant(0, job("18", {"n5"}, kStartS + 360));
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("granted 1: n3 n4 n5 for 300000"));
}

TEST_F(SlurmManagerTest, AWishThatFillsItsMinutesNeedsOneMore) {
  start();
  ask(1, 3, {}, {.time_ms = 55'500});
  EXPECT_EQ(slurm_.requests.at(0)->wish.minutes, 2U) << "some is gone before it is known here";
}

TEST_F(SlurmManagerTest, NobodyStaysLongerThanTheParent) {
  start();
  ask(1, 3, {}, {.time_ms = 7'200'000});
  EXPECT_EQ(slurm_.requests.at(0)->wish.minutes, 60U);
  slurm_.grant(0, job("18", {"n5"}, kStartS + 61 * 60));
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("granted 1: n3 n4 n5 for 3597000 cut"))
      << "Slurm counts in minutes, a lease is exact";
}

TEST_F(SlurmManagerTest, AMinuteIsTheLeast) {
  start();
  pass(3'570'000);
  notes_.take();
  ask(1, 3);
  EXPECT_EQ(slurm_.requests.at(0)->wish.minutes, 1U);
}

TEST_F(SlurmManagerTest, WithoutLimitsThereIsNoLease) {
  slurm_.jobs["17"].ends_s.reset();
  start();
  ask(1, 3);
  EXPECT_EQ(slurm_.requests.at(0)->wish.minutes, 0U);
  slurm_.grant(0, job("18", {"n5"}, std::nullopt));
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("granted 1: n3 n4 n5 for 0"));
  EXPECT_EQ(manager().parent_left_ms(), 0U);
}

TEST_F(SlurmManagerTest, AnEndThatIsNotToldIsTheOneThatWasAskedFor) {
  start();
  ask(1, 3, {}, {.time_ms = 300'000});
  slurm_.errors["show"] = {kNotReached};
  slurm_.grant(0, job("18", {"n5"}));
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre("granted 1: n3 n4 n5 for 300000"));
}

// ---- requests that wait ----

TEST_F(SlurmManagerTest, ARequestThatWaitsSaysWhyAndEachReasonOnce) {
  start();
  ask(1, 3);
  slurm_.queue(0, "18");
  EXPECT_THAT(notes_.take(), ElementsAre("queued 1: Slurm job 18 waits in the queue"));
  look();
  EXPECT_THAT(notes_.take(), IsEmpty());
  slurm_.reasons["18"] = "Priority";
  look();
  look();
  EXPECT_THAT(notes_.take(), ElementsAre("queued 1: Slurm job 18 waits in the queue: Priority"));
  slurm_.reasons["18"] = "Resources";
  look();
  EXPECT_THAT(notes_.take(), ElementsAre("queued 1: Slurm job 18 waits in the queue: Resources"));
  slurm_.grant(0, job("18", {"n5"}));
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 1: n3 n4 n5")));
}

// row:R10 what can never be is refused, with nothing left of it
TEST_F(SlurmManagerTest, ARequestThatWouldWaitForEverIsRefused) {
  start();
  for (const auto* reason : {"PartitionNodeLimit", "PartitionTimeLimit", "PartitionConfig",
                             "BadConstraints", "QOSMaxNodePerJobLimit"}) {
    ask(1, 3);
    const auto number = slurm_.requests.size() - 1;
    slurm_.queue(number, "18");
    slurm_.reasons["18"] = reason;
    notes_.take();
    look();
    EXPECT_THAT(notes_.take(), ElementsAre(AllOf(StartsWith("refused 1: Slurm job 18 would wait "),
                                                 HasSubstr(reason))));
    EXPECT_FALSE(slurm_.requests[number]->is_held);
    slurm_.jobs.erase("18");
  }
  for (const auto* reason : {"ReqNodeNotAvail, UnavailableNodes:n5", "PartitionDown", "Resources",
                             "AssocGrpNodeLimit", "BeginTime"}) {
    EXPECT_FALSE(slurm_waits_in_vain(reason)) << reason;
  }
  ask(2, 2);
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 2: n3 n4"))) << "free again";
}

TEST_F(SlurmManagerTest, WhatEndsInTheQueueIsRefusedAlsoWhenItsHolderDoesNotNotice) {
  start();
  ask(1, 3);
  slurm_.queue(0, "18");
  slurm_.jobs["18"].life = SlurmLife::kOver;
  slurm_.jobs["18"].state = "CANCELLED";
  notes_.take();
  look();
  EXPECT_THAT(notes_.take(), ElementsAre(HasSubstr("refused 1: Slurm job 18 was cancelled")));
  EXPECT_FALSE(slurm_.requests[0]->is_held);
}

TEST_F(SlurmManagerTest, ARefusalFreesWhatWasToBePartOfIt) {
  start();
  ask(1, 3);
  slurm_.refuse(0, kDenied);
  EXPECT_THAT(notes_.take(),
              ElementsAre(AllOf(StartsWith("refused 1: 1 node beside those of the DVM"),
                                HasSubstr(kDenied.message))));
  ask(2, 2);
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 2: n3 n4")));
}

// Node n6 of job 18 can't go back, and is free until a request has it that comes to nothing.
TEST_F(SlurmManagerTest, AJobOfWhichARefusalLeavesNothingInUseGoes) {
  with_child({"n5", "n6"});
  slurm_.errors["resize"] = {kCannot};
  give_back(1, {"n6"});
  slurm_.run();
  ask(2, 2);
  give_back(2, {"n5"});
  EXPECT_TRUE(slurm_.requests[0]->is_held) << "ask 2 has n6";
  slurm_.refuse(1, kDenied);
  EXPECT_FALSE(slurm_.requests[0]->is_held);
}

TEST_F(SlurmManagerTest, ARequestThatWaitsIsTakenBack) {
  start();
  ask(1, 3);
  slurm_.queue(0, "18");
  notes_.take();
  manager().cancel(1);
  EXPECT_FALSE(slurm_.requests[0]->is_held);
  ask(2, 2);
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 2: n3 n4")));
  manager().cancel(1);
  manager().cancel(2);
  EXPECT_THAT(notes_.take(), IsEmpty());
}

TEST_F(SlurmManagerTest, ARequestIsTakenBackWhileTheEndOfItsJobIsAskedFor) {
  start();
  ask(1, 3);
  slurm_.grant(0, job("18", {"n5"}));
  manager().cancel(1);
  EXPECT_FALSE(slurm_.requests[0]->is_held) << "at once";
  slurm_.run();
  EXPECT_THAT(notes_.take(), IsEmpty());
  EXPECT_EQ(manager().job_of("n5"), "");
}

// ---- jobs that end before anybody has their nodes ----

TEST_F(SlurmManagerTest, AJobThatEndsAtOnceIsARefusalAndNoLoss) {
  start();
  ask(1, 3);
  slurm_.grant(0, job("18", {"n5"}));
  slurm_.end("18", "CANCELLED");
  slurm_.run();
  EXPECT_THAT(notes_.take(),
              ElementsAre("refused 1: Slurm job 18 was cancelled before its nodes could be used"));
  EXPECT_FALSE(slurm_.requests[0]->is_held);
  ask(2, 2);
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 2: n3 n4")));
}

TEST_F(SlurmManagerTest, AJobThatSlurmForgotAtOnceIsARefusal) {
  start();
  ask(1, 3);
  slurm_.grant(0, job("18", {"n5"}));
  slurm_.jobs.erase("18");
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("refused 1: Slurm job 18 is over before")));
}

// Its end is being asked for already.
TEST_F(SlurmManagerTest, AJobThatIsComingIsNotLookedAt) {
  start();
  timers_.begin()->second();
  ask(1, 3);
  slurm_.grant(0, job("18", {"n5"}));
  slurm_.run();
  EXPECT_THAT(slurm_.asked(), ElementsAre("list", "allocate 1", "show 18"));
  EXPECT_THAT(notes_.take(), ElementsAre(StartsWith("granted 1: n3 n4 n5")));
}

// ---- what nobody could give back ----

TEST_F(SlurmManagerTest, WhatIsLeftIsCancelledUntilSlurmHears) {
  start();
  ask(1, 3);
  slurm_.queue(0, "18");
  manager().cancel(1);
  slurm_.errors["cancel"] = {kNotReached, kDenied, kNotReached};
  slurm_.requests[0]->events.left("18");
  slurm_.run();
  EXPECT_THAT(slurm_.asked(), ElementsAre("allocate 1", "cancel 18 tide-x"));
  const auto cancels = [this](std::uint64_t ms) {
    pass(ms);
    const auto calls = slurm_.asked();
    return std::ranges::count(calls, "cancel 18 tide-x");
  };
  EXPECT_EQ(cancels(4'999), 0);
  EXPECT_EQ(cancels(1), 1);
  EXPECT_EQ(cancels(9'999), 0);
  EXPECT_EQ(cancels(1), 1);
  EXPECT_EQ(cancels(19'999), 0);
  EXPECT_EQ(cancels(1), 1);
  EXPECT_EQ(slurm_.jobs.at("18").life, SlurmLife::kOver);
  EXPECT_EQ(cancels(3'600'000), 0);
}

TEST_F(SlurmManagerTest, WhatCannotBeCancelledIsToldInTheEnd) {
  start();
  slurm_.errors["cancel"] = std::deque<Error>(30, kDenied);
  ask(1, 3);
  slurm_.jobs["18"] = job("18", {"n5"});
  slurm_.requests.at(0)->events.left("18");
  slurm_.run();
  pass(7'200'000);
  EXPECT_THAT(notes_.take(), ElementsAre(HasSubstr("squeue --me --name=tide-x")));
  EXPECT_EQ(slurm_.errors["cancel"].size(), 10U);
}

}  // namespace
}  // namespace tide::rm
