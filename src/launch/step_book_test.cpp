#include "launch/step_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tide::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = StepBook::State;

StepBook three() {
  return StepBook({{Rank(4), "node2"}, {Rank(5), "node3"}, {Rank(6), "node4.cluster"}});
}

TEST(StepBook, FollowsEachByItsWords) {
  StepBook book = three();
  EXPECT_EQ(book.count(State::kSilent), 3U);
  EXPECT_TRUE(book.heard("0: tide-step-greets 4 1 0.2"));
  EXPECT_FALSE(book.heard("0: tide-step-greets 4 1 0.2")) << "once";
  EXPECT_TRUE(book.heard("0: tide-step-joined 4 99"));
  EXPECT_FALSE(book.heard("0: tide-step-joined 4 99"));
  EXPECT_FALSE(book.heard("7: tide-step-joined 7 99")) << "none of them";
  EXPECT_FALSE(book.heard("motd"));
  EXPECT_EQ(book.state(Rank(4)), State::kJoined);
  EXPECT_THAT(book.in_state(State::kSilent), ElementsAre(Rank(5), Rank(6)));
  EXPECT_TRUE(book.heard("tide-step-ended 4 9"));
  book.over(Rank(4));
  EXPECT_FALSE(book.heard("tide-step-ended 4 9"));
  EXPECT_THAT(book.living(), ElementsAre(Rank(5), Rank(6)));
  EXPECT_EQ(book.count(State::kOver), 1U);
}

TEST(StepBook, WhomTheCommandNamesWithAnErrorIsSuspected) {
  StepBook book = three();
  book.complained("srun: Job step's node list: node2");
  book.complained("srun: error: node33: task 1: Exited with exit code 2");
  EXPECT_FALSE(book.has_suspects());
  book.complained("srun: error: node3: task 1: Exited with exit code 2");
  EXPECT_THAT(book.take_suspects(), ElementsAre(Rank(5)));
  EXPECT_FALSE(book.has_suspects());
  book.complained(
      "srun: error: Task launch for StepId=4.0 failed on node node4.cluster: Communication "
      "connection failure");
  EXPECT_THAT(book.take_suspects(), ElementsAre(Rank(6)));
}

TEST(StepBook, SeveralMayBeNamedInOneWord) {
  StepBook book = three();
  book.complained("srun: error: node[2-3]: tasks 0-1: Killed");
  EXPECT_THAT(book.take_suspects(), ElementsAre(Rank(4), Rank(5)));
  book.complained("srun: error: node[2-999999999]: tasks 0-1: Killed");
  EXPECT_FALSE(book.has_suspects());
}

TEST(StepBook, WhoIsUpIsNotSuspected) {
  StepBook book = three();
  book.heard("tide-step-joined 4 99");
  book.complained("srun: error: node2: task 0: Killed");
  EXPECT_THAT(book.take_suspects(), IsEmpty());
  book.complained("srun: error: node3: task 1: Killed");
  book.heard("1: tide-step-joined 5 99");
  EXPECT_THAT(book.take_suspects(), IsEmpty()) << "it came between";
}

TEST(StepBook, TheWordsOfATaskAreFoundByItsLabel) {
  StepBook book = three();
  book.complained("1: sh: cannot execute");
  book.complained("2: not of it");
  book.complained("srun: error: node3: task 1: Exited with exit code 126");
  EXPECT_THAT(
      book.words_of(Rank(5)),
      ElementsAre("sh: cannot execute", "srun: error: node3: task 1: Exited with exit code 126"));
  book.complained("0: slurmstepd-node2: error: execve(): /x: No such file or directory");
  EXPECT_THAT(book.words_of(Rank(4)),
              ElementsAre("slurmstepd-node2: error: execve(): /x: No such file or directory"));
  EXPECT_FALSE(book.has_suspects() && !book.take_suspects().contains(Rank(5)));
}

TEST(StepBook, ItsOwnWordsTellMoreThanTheCommands) {
  StepBook book = three();
  book.complained("srun: error: node3: task 1: Exited with exit code 71");
  book.heard("1: tide-step-says 5 no space left on device");
  EXPECT_THAT(book.words_of(Rank(5)), ElementsAre("no space left on device"));
}

TEST(StepBook, WithoutAnyWordsTheCommandsOwnAreTold) {
  StepBook book = three();
  book.complained("srun: cluster configuration lacks support for cpu binding");
  for (int i = 1; i <= 9; ++i) book.complained("srun: error: reason " + std::to_string(i));
  const auto words = book.words_of(Rank(4));
  EXPECT_EQ(words.size(), 6U);
  EXPECT_EQ(words.front(), "srun: error: reason 1");
}

TEST(StepBook, WhoEndsWithTheCommandIsToldWhyThatEnded) {
  StepBook book = three();
  book.complained("srun: error: Task launch for StepId=4.0 failed on node node3: no answer");
  book.complained("srun: error: node2: task 0: Killed");
  EXPECT_THAT(book.words_at_the_end(Rank(4)),
              ElementsAre("srun: error: Task launch for StepId=4.0 failed on node node3: no answer",
                          "srun: error: node2: task 0: Killed"));
  EXPECT_EQ(book.words_at_the_end(Rank(5)).size(), 1U);
}

TEST(StepBook, ALineThatNamesTooManyIsNotWrittenOut) {
  StepBook book = three();
  book.complained("srun: error: x[1-50000] node[2-3]: tasks 0-1: Killed");
  EXPECT_THAT(book.take_suspects(), ElementsAre(Rank(4), Rank(5)));
  book.complained("srun: error: x[1-50000] x[1-49998] node[2-3]: tasks 0-1: Killed");
  EXPECT_FALSE(book.has_suspects());
}

TEST(StepBook, NoiseCostsNoMemory) {
  StepBook book = three();
  for (int i = 0; i < 1000; ++i) book.complained(std::to_string(i) + ": line " + std::to_string(i));
  for (int i = 0; i < 1000; ++i) book.complained("0: tail " + std::to_string(i));
  book.heard("0: tide-step-greets 4 1 0.2");
  EXPECT_EQ(book.words_of(Rank(4)).size(), 6U);
  EXPECT_EQ(book.words_of(Rank(4)).back(), "tail 999");
}

}  // namespace
}  // namespace tide::launch
