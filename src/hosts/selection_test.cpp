#include "hosts/selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/hostfile.hpp"

namespace tide::hosts {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<Candidate> kFive = {{"n0"}, {"n1"}, {"n2"}, {"n3"}, {"n4"}};

// The chosen ones as text, name and slots.
std::vector<std::string> chosen(std::string_view list,
                                const std::vector<Candidate>& candidates = kFive) {
  const auto words = parse_host_list(list, "--host");
  EXPECT_TRUE(words) << words.error().message;
  const auto choices = select(*words, candidates, "this DVM");
  if (!choices) return {"error: " + choices.error().message};
  std::vector<std::string> out;
  for (const auto& choice : *choices) {
    out.push_back(candidates[choice.candidate].name);
    if (choice.slots > 0) out.back() += ":" + std::to_string(choice.slots);
  }
  return out;
}

TEST(Selection, ByNameInTheOrderOfTheList) {
  EXPECT_THAT(chosen("n3,n1:2"), ElementsAre("n1:2", "n3"));
  EXPECT_THAT(chosen("n[0-2]"), ElementsAre("n0", "n1", "n2"));
}

TEST(Selection, NamedAgainEachTimeCounts) {
  EXPECT_THAT(chosen("n1,n1"), ElementsAre("n1:2"));
  EXPECT_THAT(chosen("n1:3,n1"), ElementsAre("n1:4"));
  EXPECT_THAT(chosen("n1:3,+n1:2"), ElementsAre("n1:5"));
}

TEST(Selection, PlacesCountFromZero) {
  EXPECT_THAT(chosen("+n0,+n4:2"), ElementsAre("n0", "n4:2"));
  EXPECT_THAT(chosen("+n5"), ElementsAre(HasSubstr("there is no '+n5' in this DVM, which has 5 "
                                                   "nodes\n  try: +n0 to +n4")));
}

TEST(Selection, EmptyNodesAreThoseThatNobodyUses) {
  auto nodes = kFive;
  nodes[0].empty = false;
  EXPECT_THAT(chosen("+e", nodes), ElementsAre("n1", "n2", "n3", "n4"));
  EXPECT_THAT(chosen("+e:2", nodes), ElementsAre("n1", "n2"));
  EXPECT_THAT(chosen("n1,+e:2", nodes), ElementsAre("n1", "n2", "n3"));
  EXPECT_THAT(chosen("+e:1,+e:1,n0", nodes), ElementsAre("n0", "n1", "n2"));
  EXPECT_THAT(chosen("+e:5", nodes),
              ElementsAre(HasSubstr("more empty nodes than this DVM has: 4\n  try: +e:4")));
  EXPECT_THAT(chosen("+e,+e", nodes), ElementsAre(HasSubstr("has: none\n")));
}

TEST(Selection, EverySpellingOfAHostMeansIt) {
  const std::vector<Candidate> nodes = {{.name = "Head", .aliases = {"localhost", "172.17.0.1"}},
                                        {.name = "n1", .aliases = {"fd00::7", "172.17.0.1"}},
                                        {.name = "n2.cluster", .aliases = {"n2"}}};
  EXPECT_THAT(chosen("LocalHost,N1", nodes), ElementsAre("Head", "n1"));
  EXPECT_THAT(chosen("head,[FD00:0::7]:2", nodes), ElementsAre("Head", "n1:2"));
  EXPECT_THAT(chosen("N2,n2.CLUSTER", nodes), ElementsAre("n2.cluster:2"));
  EXPECT_THAT(chosen("^localhost", nodes), ElementsAre("n1", "n2.cluster"));
  EXPECT_THAT(chosen("172.17.0.1", nodes), ElementsAre(HasSubstr("Head, n1")));
}

TEST(Selection, ExclusionLeavesTheOthers) {
  EXPECT_THAT(chosen("^n1,^+n2"), ElementsAre("n0", "n3", "n4"));
  EXPECT_THAT(chosen("n0,n1,^n1"), ElementsAre("n0"));
  EXPECT_THAT(chosen("^nowhere,n0"), ElementsAre("n0"));
  EXPECT_THAT(chosen("n0,^n0"), ElementsAre(HasSubstr("no host is left: --host excludes all")));
}

TEST(Selection, WhatWasLeftOutBeforeIsNotChosenAgain) {
  auto nodes = kFive;
  nodes[1].usable = false;
  EXPECT_THAT(chosen("^n0", nodes), ElementsAre("n2", "n3", "n4"));
  EXPECT_THAT(chosen("+e", nodes), ElementsAre("n0", "n2", "n3", "n4"));
  EXPECT_THAT(chosen("n1", nodes),
              ElementsAre(HasSubstr("'n1' stands for n1, which the hostfile")));
  EXPECT_THAT(chosen("+n1", nodes), ElementsAre(HasSubstr("'+n1' stands for n1")));
}

TEST(Selection, UnknownNames) {
  EXPECT_THAT(chosen("x7"), ElementsAre(HasSubstr("'x7' is not in this DVM, which has n0, n1")));
  EXPECT_THAT(chosen("nn2"), ElementsAre(HasSubstr("'nn2' is not in this DVM; did you mean n2?")));
}

TEST(Selection, ShortAndLongNamesAreTheSameWhereThatIsClear) {
  const std::vector<Candidate> nodes = {{"a.x"}, {"b"}, {"c.x"}, {"c.y"}, {"10.0.0.1"}};
  EXPECT_THAT(chosen("a", nodes), ElementsAre("a.x"));
  EXPECT_THAT(chosen("b.x", nodes), ElementsAre("b"));
  EXPECT_THAT(chosen("c.x", nodes), ElementsAre("c.x"));
  EXPECT_THAT(chosen("c", nodes), ElementsAre(HasSubstr("'c' could be c.x, c.y")));
  EXPECT_THAT(chosen("a.y", nodes), ElementsAre(HasSubstr("is not in this DVM")));
  EXPECT_THAT(chosen("10", nodes), ElementsAre(HasSubstr("is not in this DVM")));
  EXPECT_THAT(chosen("10.0.0.2", nodes), ElementsAre(HasSubstr("is not in this DVM")));
}

}  // namespace
}  // namespace tide::hosts
