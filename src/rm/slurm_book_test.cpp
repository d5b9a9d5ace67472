#include "rm/slurm_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "hosts/hostfile.hpp"

namespace tide::rm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using What = SlurmBook::Order::What;
using Names = std::vector<std::string>;

std::vector<Host> hosts(const Names& names, std::uint32_t slots = 4) {
  std::vector<Host> out;
  for (const auto& name : names) out.push_back({name, "", slots, 0});
  return out;
}

Names names_of(const std::vector<Host>& hosts) {
  Names out;
  for (const auto& host : hosts) out.push_back(host.name);
  return out;
}

SlurmJob job(const std::string& id, const Names& names,
             std::optional<std::uint64_t> ends_s = std::nullopt) {
  return {.id = id, .life = SlurmLife::kRuns, .nodes = hosts(names), .ends_s = ends_s};
}

std::vector<hosts::HostWord> words(std::string_view list) {
  const auto out = hosts::parse_host_list(list, "--host");
  EXPECT_TRUE(out);
  return out ? *out : std::vector<hosts::HostWord>();
}

// Of job 17 n1 and n2 are in the DVM, n3 and n4 are to be had.
SlurmBook four() {
  return {"17", hosts({"n1", "n2", "n3", "n4"}), 2};
}

// The nodes of job 18 are in the DVM, too.
SlurmBook with_child(const Names& names = {"n5", "n6"}) {
  auto book = four();
  book.add_child(job("18", names, 1000));
  book.note_started(names);
  return book;
}

std::string refusal(Result<SlurmBook::Share> share) {
  return share ? "granted" : share.error().message;
}

// ---- what comes ----

TEST(SlurmBook, GrantsWhatIsFreeFirstAndSaysWhatIsMissing) {
  auto book = four();
  const auto share = book.grant(3, {});
  ASSERT_TRUE(share);
  EXPECT_THAT(names_of(share->here), ElementsAre("n3", "n4"));
  EXPECT_EQ(share->count, 1U);
  EXPECT_THAT(share->named, IsEmpty());
  EXPECT_THAT(book.free_names(), IsEmpty());
}

TEST(SlurmBook, WhatIsNamedIsGrantedHereOrAskedFor) {
  auto book = four();
  const auto share = book.grant(1, words("n4,n9,n4,n9:2"));
  ASSERT_TRUE(share);
  EXPECT_THAT(names_of(share->here), ElementsAre("n4", "n3"));
  EXPECT_EQ(share->count, 0U);
  ASSERT_EQ(share->named.size(), 1U);
  EXPECT_EQ(share->named[0].name, "n9");
}

TEST(SlurmBook, WhatIsNamedMayHaveFewerSlots) {
  auto book = four();
  const auto share = book.grant(0, words("n3:2,n4:9"));
  ASSERT_TRUE(share);
  EXPECT_EQ(share->here[0].slots, 2U);
  EXPECT_EQ(share->here[1].slots, 4U);
  book.unuse(share->here);
  const auto again = book.grant(1, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->here[0].slots, 4U) << "that was about one grant";
}

TEST(SlurmBook, OneThatIsTakenTakesNothing) {
  auto book = four();
  EXPECT_THAT(refusal(book.grant(1, words("n3,n2"))), HasSubstr("node n2 is taken"));
  EXPECT_THAT(book.free_names(), ElementsAre("n3", "n4"));
}

TEST(SlurmBook, FindsNodesAsTheyAreSpelt) {
  auto book = SlurmBook("17", hosts({"n1.cluster", "n2.cluster"}), 1);
  EXPECT_EQ(book.find("n2.cluster"), "n2.cluster");
  EXPECT_EQ(book.find("n2"), "n2.cluster");
  EXPECT_EQ(book.find("n3"), std::nullopt);
}

TEST(SlurmBook, CountsWhatIsFreeBesideWhatIsNamed) {
  const auto book = four();
  EXPECT_EQ(book.count_free_beside({}), 2U);
  EXPECT_EQ(book.count_free_beside(words("n3,n9,n1")), 1U);
}

TEST(SlurmBook, WhatIsNotUsedAfterAllIsFree) {
  auto book = four();
  const auto share = book.grant(2, {});
  ASSERT_TRUE(share);
  EXPECT_THAT(book.unuse(share->here), ElementsAre("17"));
  EXPECT_THAT(book.free_names(), ElementsAre("n3", "n4"));
  EXPECT_THAT(book.unuse(share->here), IsEmpty());
}

TEST(SlurmBook, NodesOfAChildAreGrantedAtOnce) {
  const auto book = with_child();
  EXPECT_THAT(book.children(), ElementsAre("18"));
  EXPECT_THAT(book.used_of("18"), ElementsAre("n5", "n6"));
  EXPECT_THAT(book.nodes(), ElementsAre("n1", "n2", "n3", "n4", "n5", "n6"));
  EXPECT_EQ(book.job_of("n5"), "18");
  EXPECT_EQ(book.job_of("n9"), "");
  EXPECT_EQ(book.ends_s("18"), 1000);
  EXPECT_EQ(book.ends_s("17"), std::nullopt);
  EXPECT_EQ(book.ends_s("19"), std::nullopt);
}

// ---- what Slurm changes ----

SlurmRow row(const std::string& id, const Names& nodes,
             std::optional<std::uint64_t> ends_s = std::nullopt) {
  return {.id = id, .life = SlurmLife::kRuns, .state = "RUNNING", .ends_s = ends_s, .nodes = nodes};
}

TEST(SlurmBook, AgreesWithAListAboutNodesAndTheEnd) {
  const auto book = with_child();
  EXPECT_TRUE(book.agrees(row("18", {"n6", "n5"}, 1000)));
  EXPECT_FALSE(book.agrees(row("18", {"n5", "n6"}, 1001)));
  EXPECT_FALSE(book.agrees(row("18", {"n5", "n6"})));
  EXPECT_FALSE(book.agrees(row("18", {"n5"}, 1000)));
  EXPECT_FALSE(book.agrees(row("18", {"n5", "n7"}, 1000)));
  EXPECT_FALSE(book.agrees(row("18", {"n5", "n6", "n7"}, 1000)));
  EXPECT_FALSE(book.agrees(row("19", {}, 1000)));
}

TEST(SlurmBook, WhatSlurmTakesIsGone) {
  auto book = four();
  const auto news = book.update(job("17", {"n1", "n3"}), true);
  EXPECT_THAT(news.gone, ElementsAre("n2")) << "n4 was nobody's";
  EXPECT_THAT(news.come, IsEmpty());
  EXPECT_THAT(news.moved, IsEmpty());
  EXPECT_THAT(book.nodes(), ElementsAre("n1", "n3"));
}

TEST(SlurmBook, WhatSlurmGivesIsGrantedIfItIsWanted) {
  auto book = four();
  EXPECT_THAT(names_of(book.update(job("17", {"n1", "n2", "n3", "n4", "n5"}), true).come),
              ElementsAre("n5"));
  EXPECT_THAT(book.used_of("17"), ElementsAre("n1", "n2", "n5"));
  EXPECT_THAT(book.update(job("17", {"n1", "n2", "n3", "n4", "n5", "n6"}), false).come, IsEmpty());
  EXPECT_THAT(book.free_names(), ElementsAre("n3", "n4", "n6"));
}

TEST(SlurmBook, AnotherEndIsOneForThoseInUse) {
  auto book = with_child();
  book.give_back(Names{"n6"}, false);
  const auto news = book.update(job("18", {"n5", "n6"}, 2000), true);
  EXPECT_THAT(news.moved, ElementsAre("n5"));
  EXPECT_EQ(book.ends_s("18"), 2000);
  EXPECT_THAT(book.update(job("18", {"n5", "n6"}, 2000), true).moved, IsEmpty());
}

TEST(SlurmBook, ANodeIsOfOneJobOnly) {
  auto book = with_child();
  EXPECT_THAT(book.update(job("18", {"n5", "n6", "n1"}, 1000), true).come, IsEmpty());
  EXPECT_EQ(book.job_of("n1"), "17");
}

TEST(SlurmBook, AJobThatIsOverTakesItsNodesAlong) {
  auto book = with_child();
  book.give_back(Names{"n6"}, false);
  EXPECT_THAT(book.remove("18"), ElementsAre("n5"));
  EXPECT_FALSE(book.knows_job("18"));
  EXPECT_THAT(book.nodes(), ElementsAre("n1", "n2", "n3", "n4"));
  EXPECT_THAT(book.remove("18"), IsEmpty());
  EXPECT_THAT(book.remove("17"), ElementsAre("n1", "n2"));
  EXPECT_TRUE(book.knows_job("17")) << "the parent stays, with nothing";
  EXPECT_THAT(book.nodes(), IsEmpty());
}

TEST(SlurmBook, NothingIsLearntOfUnknownJobs) {
  auto book = four();
  const auto news = book.update(job("99", {"n8"}), true);
  EXPECT_THAT(news.come, IsEmpty());
  EXPECT_THAT(book.nodes(), ElementsAre("n1", "n2", "n3", "n4"));
}

TEST(SlurmBook, PromisesGoWithTheNode) {
  auto book = with_child();
  EXPECT_EQ(book.promised_ms("n5"), std::nullopt);
  book.promise("n5", 500);
  book.promise("n9", 500);
  EXPECT_EQ(book.promised_ms("n5"), 500);
  EXPECT_EQ(book.promised_ms("n6"), std::nullopt);
  EXPECT_EQ(book.promised_ms("n9"), std::nullopt);
  book.remove("18");
  EXPECT_EQ(book.promised_ms("n5"), std::nullopt);
}

// ---- what was lost ----

TEST(SlurmBook, WhoStartedAndIsKnownNoMoreWasLost) {
  auto book = with_child();
  EXPECT_THAT(book.free_lost({"n1", "n2", "n5", "n6"}), IsEmpty());
  EXPECT_THAT(book.free_lost({"n1", "n5"}), ElementsAre("17", "18"));
  EXPECT_THAT(book.free_names(), ElementsAre("n3", "n4")) << "not for who only counts";
  EXPECT_THAT(book.used_of("18"), ElementsAre("n5"));
  const auto share = book.grant(0, words("n2,n6"));
  ASSERT_TRUE(share) << "but for who names them";
  EXPECT_THAT(names_of(share->here), ElementsAre("n2", "n6"));
}

TEST(SlurmBook, WhoHasNotStartedYetWasNotLost) {
  auto book = four();
  ASSERT_TRUE(book.grant(1, {}));
  EXPECT_THAT(book.free_lost({"n1", "n2"}), IsEmpty());
  book.note_started(Names{"n3", "n4", "n9"});
  EXPECT_THAT(book.free_lost({"n1", "n2"}), ElementsAre("17"));
}

TEST(SlurmBook, AJobOfWhichAllWasLostIsCancelled) {
  auto book = with_child();
  book.free_lost({"n1", "n2", "n5"});
  EXPECT_EQ(book.order_for("18").what, What::kNothing);
  book.free_lost({"n1", "n2"});
  EXPECT_EQ(book.order_for("18").what, What::kCancel);
  book.free_lost({});
  EXPECT_EQ(book.order_for("17").what, What::kNothing) << "the parent is not ours to cancel";
}

// ---- what goes back ----

// row:R22 each job is asked for its own, and what is not in use is nobody's to give
TEST(SlurmBook, WhatGoesBackIsOfItsJobs) {
  auto book = with_child();
  EXPECT_THAT(book.give_back(Names{"n2", "n6", "n3", "n9"}, false), ElementsAre("17", "18"));
  EXPECT_THAT(book.give_back(Names{"n2", "n6"}, false), IsEmpty()) << "once";
  const auto of_parent = book.order_for("17");
  EXPECT_EQ(of_parent.what, What::kResize);
  EXPECT_THAT(of_parent.staying, ElementsAre("n1", "n3", "n4"));
  EXPECT_THAT(of_parent.leaving, ElementsAre("n2"));
  const auto of_child = book.order_for("18");
  EXPECT_EQ(of_child.what, What::kResize);
  EXPECT_THAT(of_child.staying, ElementsAre("n5"));
  EXPECT_THAT(refusal(book.grant(0, words("n6"))), HasSubstr("taken")) << "it is on its way";
  book.was_resized("18", of_child);
  EXPECT_THAT(book.nodes(), ElementsAre("n1", "n2", "n3", "n4", "n5"));
  EXPECT_EQ(book.order_for("18").what, What::kNothing);
  EXPECT_EQ(book.order_for("99").what, What::kNothing);
}

TEST(SlurmBook, AJobThatGivesAllBackIsCancelled) {
  auto book = with_child();
  book.give_back(Names{"n5"}, false);
  book.give_back(Names{"n6"}, false);
  EXPECT_EQ(book.order_for("18").what, What::kCancel);
}

TEST(SlurmBook, AFailedStartDoesNotMakeTheParentSmaller) {
  auto book = with_child();
  ASSERT_TRUE(book.grant(1, {}));
  EXPECT_THAT(book.give_back(Names{"n3", "n6"}, true), ElementsAre("17", "18"));
  EXPECT_EQ(book.order_for("17").what, What::kNothing);
  EXPECT_THAT(book.free_names(), ElementsAre("n3", "n4"));
  EXPECT_EQ(book.order_for("18").what, What::kResize) << "that job was made for it";
}

TEST(SlurmBook, TheNodeOfTheScriptStays) {
  auto book = SlurmBook("17", hosts({"n1", "n2", "n3"}), 3);
  auto parent = job("17", {"n1", "n2", "n3"});
  parent.batch_host = "n1";
  book.update(parent, false);
  book.give_back(Names{"n1"}, false);
  const auto alone = book.order_for("17");
  EXPECT_EQ(alone.what, What::kKeep);
  EXPECT_THAT(alone.kept, ElementsAre("n1"));
  EXPECT_THAT(alone.leaving, IsEmpty());
  book.give_back(Names{"n3"}, false);
  const auto two = book.order_for("17");
  EXPECT_EQ(two.what, What::kResize);
  EXPECT_THAT(two.staying, ElementsAre("n1", "n2"));
  EXPECT_THAT(two.leaving, ElementsAre("n3"));
  EXPECT_THAT(two.kept, ElementsAre("n1"));
  book.was_resized("17", two);
  EXPECT_THAT(book.free_names(), ElementsAre("n1"));
  EXPECT_EQ(book.order_for("17").what, What::kNothing);
}

TEST(SlurmBook, AJobKeepsOneNodeAtLeast) {
  auto book = SlurmBook("17", hosts({"n1", "n2"}), 2);
  book.give_back(Names{"n1", "n2"}, false);
  const auto order = book.order_for("17");
  EXPECT_EQ(order.what, What::kResize);
  EXPECT_THAT(order.staying, ElementsAre("n1"));
  EXPECT_THAT(order.leaving, ElementsAre("n2"));
  EXPECT_THAT(order.kept, ElementsAre("n1"));
  book.was_resized("17", order);
  EXPECT_THAT(book.free_names(), ElementsAre("n1"));
  ASSERT_TRUE(book.grant(1, {}));
  book.give_back(Names{"n1"}, false);
  EXPECT_EQ(book.order_for("17").what, What::kKeep);
}

TEST(SlurmBook, WhatComesToGoMeanwhileIsOfTheNextOrder) {
  auto book = with_child({"n5", "n6", "n7"});
  book.give_back(Names{"n6"}, false);
  const auto first = book.order_for("18");
  book.begin_order("18");
  EXPECT_TRUE(book.is_busy("18"));
  book.give_back(Names{"n7"}, false);
  EXPECT_EQ(book.order_for("18").what, What::kNothing);
  book.end_order("18");
  book.was_resized("18", first);
  const auto second = book.order_for("18");
  EXPECT_EQ(second.what, What::kResize);
  EXPECT_THAT(second.leaving, ElementsAre("n7"));
}

TEST(SlurmBook, TwoOrdersHaveTwoEnds) {
  auto book = with_child();
  book.begin_order("18");
  book.begin_order("18");
  book.end_order("18");
  EXPECT_TRUE(book.is_busy("18"));
  book.end_order("18");
  EXPECT_FALSE(book.is_busy("18"));
  book.end_order("18");
  book.end_order("99");
  EXPECT_FALSE(book.is_busy("18"));
  EXPECT_FALSE(book.is_busy("99"));
}

TEST(SlurmBook, AJobThatCantBeResizedKeepsWhatIsNotUsed) {
  auto book = with_child({"n5", "n6", "n7"});
  book.give_back(Names{"n6"}, false);
  book.cannot_resize("18");
  EXPECT_THAT(book.free_names(), ElementsAre("n3", "n4", "n6"));
  book.give_back(Names{"n7"}, false);
  EXPECT_EQ(book.order_for("18").what, What::kNothing) << "nor is it tried again";
  EXPECT_THAT(book.free_names(), ElementsAre("n3", "n4", "n6", "n7"));
  const auto share = book.grant(3, {});
  ASSERT_TRUE(share);
  EXPECT_THAT(names_of(share->here), ElementsAre("n3", "n4", "n6"));
  book.unuse(share->here);
  book.give_back(Names{"n5"}, false);
  EXPECT_EQ(book.order_for("18").what, What::kCancel) << "that is possible always";
  book.cannot_resize("99");
}

// ---- anything ----

// Each node is of exactly one job that is known, and in one state.
void check(const SlurmBook& book, std::uint32_t jobs) {
  auto names = book.nodes();
  std::ranges::sort(names);
  RC_ASSERT(std::ranges::adjacent_find(names) == names.end());
  for (const auto& name : names) {
    RC_ASSERT(book.knows_job(book.job_of(name)));
    RC_ASSERT(book.find(name) == name);
  }
  std::size_t used = 0;
  for (std::uint32_t id = 0; id <= jobs; ++id) {
    const auto of_job = book.used_of(std::to_string(id));
    RC_ASSERT(names_of(book.used_hosts_of(std::to_string(id))) == of_job);
    used += of_job.size();
  }
  RC_ASSERT(book.count_free_beside({}) == book.free_names().size());
  RC_ASSERT(used + book.free_names().size() <= names.size());
  RC_ASSERT(book.knows_job(book.parent()));
}

void check(const SlurmBook& book, const std::string& id, const SlurmBook::Order& order) {
  if (order.what == What::kCancel) RC_ASSERT(id != book.parent() && book.used_of(id).empty());
  if (order.what != What::kResize) return;
  RC_ASSERT(!order.staying.empty() && !order.leaving.empty());
  Names all = order.staying;
  all.insert(all.end(), order.leaving.begin(), order.leaving.end());
  std::ranges::sort(all);
  RC_ASSERT(std::ranges::adjacent_find(all) == all.end());
  for (const auto& name : all) RC_ASSERT(book.job_of(name) == id);
  for (const auto& name : book.used_of(id)) {
    RC_ASSERT(std::ranges::find(order.staying, name) != order.staying.end());
  }
}

Names some_names() {
  return *rc::gen::container<Names>(rc::gen::map(
      rc::gen::inRange(1, 13), [](int number) { return "n" + std::to_string(number); }));
}

Names different(Names names) {
  std::ranges::sort(names);
  const auto again = std::ranges::unique(names);
  names.erase(again.begin(), again.end());
  return names;
}

// Of ids "0" (the parent) to "3".
void step(SlurmBook& book) {
  const auto id = std::to_string(*rc::gen::inRange(0, 4));
  const auto names = some_names();
  switch (*rc::gen::inRange(0, 10)) {
    case 0: {
      std::vector<hosts::HostWord> named;
      for (const auto& name : names) named.emplace_back().name = name;
      const auto before = book.free_names();
      const auto share = book.grant(*rc::gen::inRange<std::uint32_t>(0, 5), named);
      if (!share) RC_ASSERT(book.free_names() == before);
      break;
    }
    case 1:
      book.unuse(hosts(names));
      break;
    case 2:
      if (!book.knows_job(id)) book.add_child(job(id, different(names), 5));
      break;
    case 3:
      book.update(job(id, different(names), *rc::gen::inRange(5, 8)), *rc::gen::arbitrary<bool>());
      break;
    case 4:
      if (book.knows_job(id)) book.remove(id);
      break;
    case 5:
      book.note_started(names);
      break;
    case 6:
      book.free_lost({names.begin(), names.end()});
      break;
    case 7:
      book.give_back(names, *rc::gen::arbitrary<bool>());
      break;
    case 8:
      book.cannot_resize(id);
      break;
    default: {
      const auto order = book.order_for(id);
      check(book, id, order);
      if (order.what == What::kCancel) book.remove(id);
      if (order.what == What::kResize || order.what == What::kKeep) {
        book.was_resized(id, order);
        RC_ASSERT(book.order_for(id).what == What::kNothing ||
                  book.order_for(id).what == What::kCancel);
      }
    }
  }
}

RC_GTEST_PROP(SlurmBookProperty, EachNodeIsOfOneJob, ()) {
  SlurmBook book("0", hosts(different(some_names())), *rc::gen::inRange<std::size_t>(0, 4));
  const auto steps = *rc::gen::inRange(0, 60);
  for (int i = 0; i < steps; ++i) {
    step(book);
    check(book, 3);
  }
}

}  // namespace
}  // namespace tide::rm
