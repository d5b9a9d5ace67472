#include "launch/step_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tide::launch {
namespace {

using ::testing::ElementsAre;
using What = StepWord::What;

TEST(StepWords, AreReadBackWhateverStandsBeforeThem) {
  for (const std::string before : {"", "3: ", " 12: ", "node4: noise "}) {
    EXPECT_EQ(step_word_of(before + step_greeting_text(Rank(3), {1, "0.2 beta"})),
              (StepWord{What::kGreets, Rank(3), 1, "0.2 beta"}));
    EXPECT_EQ(step_word_of(before + step_joined_text(Rank(3), 4711)),
              (StepWord{What::kJoined, Rank(3), 4711, ""}));
    EXPECT_EQ(step_word_of(before + step_leaves_text(Rank(3))),
              (StepWord{What::kLeaves, Rank(3), 0, ""}));
    EXPECT_EQ(step_word_of(before + step_says_text(Rank(3), "no\nmemory 5")),
              (StepWord{What::kSays, Rank(3), 0, "no\\nmemory 5"}));
    EXPECT_EQ(step_word_of(before + step_ended_text(Rank(3), 256)),
              (StepWord{What::kEnded, Rank(3), 256, ""}));
  }
}

TEST(StepWords, WhatIsNoneIsNone) {
  for (const char* line : {"", "hello", "tide-step-", "tide-step-joined ", "tide-step-joined x 3",
                           "tide-step-joined 3", "tide-step-joined 3 x", "tide-step-ended 1 -1",
                           "tide-step-joined 99999999999 1"}) {
    EXPECT_EQ(step_word_of(line), std::nullopt) << line;
  }
}

TEST(StepWords, OrdersNameOneDaemon) {
  EXPECT_EQ(end_order_text(Rank(17)), "end 17\n");
  EXPECT_EQ(end_order_of("end 17"), Rank(17));
  for (const char* line : {"", "end", "end ", "end x", "end 17 18", "END 17", "the end 17"}) {
    EXPECT_EQ(end_order_of(line), std::nullopt) << line;
  }
}

TEST(StepWords, LabelsOfTasksAreTakenAway) {
  const auto label_of = [](const char* line) { return without_label(line).label; };
  EXPECT_EQ(label_of("3: text"), 3);
  EXPECT_EQ(without_label(" 12: a: b").text, "a: b");
  EXPECT_EQ(label_of("007: text"), 7);
  for (const char* line : {"text", "3", "3 : text", "x3: text", "3:text", "-3: text", ""}) {
    EXPECT_EQ(label_of(line), std::nullopt) << line;
    EXPECT_EQ(without_label(line).text, line);
  }
}

TEST(LineReader, CutsAtLineEndsWhereverTheStreamIsCut) {
  std::vector<std::string> lines;
  LineReader reader([&](std::string_view line) { lines.emplace_back(line); });
  for (const char* piece : {"one\ntw", "o\n\n", "  \n", "three", " is long\nlast"}) {
    reader.feed(piece);
  }
  EXPECT_THAT(lines, ElementsAre("one", "two", "three is long"));
  reader.finish();
  EXPECT_EQ(lines.back(), "last");
}

TEST(LineReader, PassesOverWhatIsTooLong) {
  std::vector<std::string> lines;
  LineReader reader([&](std::string_view line) { lines.emplace_back(line); });
  reader.feed(std::string(3000, 'x'));
  reader.feed(std::string(3000, 'x'));
  reader.feed("x\nshort\n" + std::string(5000, 'y') + "\nagain\n");
  EXPECT_THAT(lines, ElementsAre("short", "again"));
}

}  // namespace
}  // namespace tide::launch
