// What a Slurm that lies, forgets or is away does not do to a DVM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rm/slurm_manager_fixture.hpp"

namespace tide::rm::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using SlurmLies = SlurmManagerTest;

Error away() {
  return {ErrorCode::kUnavailable, "Unable to contact slurm controller"};
}

TEST_F(SlurmLies, TheJobOfTheDvmIsNoneThatWasMadeForIt) {
  start();
  ask(1, 3);
  slurm_.grant(0, job("17", {"n9"}));
  slurm_.run();
  EXPECT_THAT(notes_.take(), ElementsAre(HasSubstr("refused 1: Slurm's salloc says that it made")));
  EXPECT_FALSE(slurm_.requests.at(0)->is_held);
}

TEST_F(SlurmLies, ARequestThatSlurmForgotIsRefused) {
  start();
  ask(1, 3);
  slurm_.queue(0, "18");
  slurm_.jobs.erase("18");
  notes_.take();
  pass(2'000);
  EXPECT_THAT(notes_.take(), ElementsAre(HasSubstr("refused 1: Slurm job 18 is over")));
  EXPECT_FALSE(slurm_.requests.at(0)->is_held);
}

TEST_F(SlurmLies, ARequestThatIsMissingInOneListOnlyWaitsOn) {
  start();
  ask(1, 3);
  slurm_.queue(0, "18");
  slurm_.unlisted.insert("18");
  notes_.take();
  pass(2'000);
  EXPECT_THAT(notes_.take(), IsEmpty());
  EXPECT_TRUE(slurm_.requests.at(0)->is_held);
}

TEST_F(SlurmLies, AListAloneEndsNothing) {
  with_child({"n9"});
  slurm_.listed_as = {{"17", SlurmLife::kOver}, {"18", SlurmLife::kOver}};
  pass(2'000);
  EXPECT_THAT(notes_.take(), IsEmpty());
  slurm_.jobs.at("17").life = SlurmLife::kOver;
  pass(60'000);
  EXPECT_THAT(notes_.take(), ElementsAre(HasSubstr("parent over")));
}

TEST_F(SlurmLies, AJobOfWhichAllNodesWereLostIsGivenBack) {
  with_child({"n8", "n9"});
  known_.erase("n9");
  look();
  EXPECT_TRUE(slurm_.requests.at(0)->is_held) << "n8 is used";
  known_.erase("n8");
  look();
  EXPECT_FALSE(slurm_.requests.at(0)->is_held);
  EXPECT_THAT(notes_.take(), IsEmpty());
}

TEST_F(SlurmLies, AJobThatLosesItsHolderAndIsGivenBackAtTheSameTimeIsCancelled) {
  with_child({"n9"});
  slurm_.requests.at(0)->job.clear();
  const auto over = slurm_.requests.at(0)->over;
  over();
  give_back(1, {"n9"});
  slurm_.run();
  EXPECT_THAT(slurm_.asked(), ElementsAre("show 18", "cancel 18 tide-x"));
  EXPECT_THAT(notes_.take(), ElementsAre("returned 1: taken"));
}

TEST_F(SlurmLies, AtTheEndSlurmIsAskedUntilItIsBack) {
  with_child({"n9"});
  lose_holder();
  std::optional<bool> all_back;
  slurm_.errors["cancel"] = {away(), away()};
  manager().finish([&all_back](bool all) { all_back = all; });
  for (int tries = 0; tries < 3; ++tries) {
    slurm_.run();
    EXPECT_FALSE(all_back.has_value());
    const auto settled = std::exchange(slurm_.settled, {});
    ASSERT_TRUE(settled);
    settled(true);
    pass(2'000);
  }
  EXPECT_EQ(all_back, true);
}

}  // namespace
}  // namespace tide::rm::testing
