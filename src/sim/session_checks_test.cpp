// Each promise about sessions, kept and broken.
#include "sim/session_checks.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "say/reservations.hpp"
#include "sim/journal.hpp"

namespace tide::sim {
namespace {

using core::CampaignKind;
using core::EventKind;
using core::Inheritance;
using core::NodeState;
using Wanted = wire::AllocationRequest;
using Sights = std::vector<SessionSight>;

constexpr const char* kUser = "sim@user";
constexpr const char* kTool = "tool";
constexpr CampaignId kShrink{3};

// "" if all of them are kept.
std::string broken_by(Sights sights) {
  SessionChecks checks(kUser);
  try {
    for (auto& sight : sights) checks.take(std::move(sight));
  } catch (const BrokenPromise& broken) {
    return broken.promise();
  }
  return "";
}

// What was of one step only.
SessionSight next(SessionSight sight) {
  sight.news.clear();
  sight.tools_in.clear();
  sight.tools_out.clear();
  sight.request.reset();
  sight.hit.clear();
  sight.of_a_loss = sight.by_hand = false;
  return sight;
}

SessionRequest wish(Wanted::What what, const std::string& who = kTool, const std::string& id = "") {
  SessionRequest out{.who = who};
  out.wanted.set_what(what);
  out.wanted.set_allocation(id);
  out.wanted.set_request_id("wish");
  return out;
}

void tell(SessionSight& sight, EventKind kind, const std::string& what) {
  sight.news.push_back({kind, "a1", "a1 (reserved for " + std::string(kTool) + "): " + what});
}

SessionSight::Job job_in(const std::set<std::string>& sessions, const std::string& spawner = "") {
  return {.spawner = spawner, .sessions = sessions};
}

// Three nodes and a tool.
SessionSight empty() {
  SessionSight out;
  for (std::uint32_t rank = 1; rank <= 3; ++rank) out.nodes[Rank(rank)] = {};
  out.tools_in = {std::string(kTool) + ":0"};
  return out;
}

// It reserves the second node, which was there, and the third, which comes with it.
SessionSight reserved(Inheritance inheritance = Inheritance::kNotSaid) {
  SessionSight out = next(empty());
  out.request = wish(Wanted::NEW);
  out.request->wanted.set_inheritance(static_cast<std::uint32_t>(inheritance));
  out.allocations["a1"] = {
      .owner = kTool, .asker = kTool, .request_id = "wish", .inheritance = inheritance};
  out.nodes[Rank(2)].session = "a1";
  out.nodes[Rank(3)] = {.session = "a1", .allocation = "a1"};
  tell(out, EventKind::kAllocationMade, say::by_request());
  return out;
}

SessionSight over(SessionSight out, const std::string& cause) {
  out.allocations.clear();
  for (auto& [rank, node] : out.nodes) node.session.clear();
  tell(out, EventKind::kAllocationEnded, cause);
  return out;
}

SessionSight tool_gone(SessionSight sight) {
  sight = next(std::move(sight));
  sight.tools_out = {std::string(kTool) + ":0"};
  return sight;
}

SessionSight leaving(SessionSight sight) {
  sight.allocations.at("a1").ending = true;
  sight.nodes.at(Rank(3)).state = NodeState::kLeaving;
  sight.open = {{kShrink, CampaignKind::kShrink}};
  return sight;
}

SessionSight born(SessionSight sight, const std::string& nspace, const SessionSight::Job& job,
                  const std::vector<std::string>& targets = {}) {
  sight = next(std::move(sight));
  sight.jobs[nspace] = job;
  sight.request = SessionRequest{.who = job.spawner, .is_job = true};
  if (targets.empty()) return sight;
  sight.request->targets.emplace();
  for (const auto& id : targets) sight.request->targets->add_allocations(id);
  return sight;
}

SessionSight launched(SessionSight sight, const std::string& nspace) {
  sight = next(std::move(sight));
  sight.jobs.at(nspace).launched = true;
  sight.jobs.at(nspace).mapped = {Rank(2)};
  sight.allocations.at("a1").users.insert(nspace);
  tell(sight, EventKind::kAllocationTargeted, say::used_by_job(nspace));
  return sight;
}

TEST(SessionChecks, AreContentWithAReservationAsItShouldBe) {
  const auto aimed = born(reserved(), "sim@1", job_in({"a1"}, kTool), {"a1"});
  const auto running = launched(aimed, "sim@1");
  auto gone = over(tool_gone(running), say::by_inheritance());
  EXPECT_EQ(broken_by({empty(), reserved(), aimed, running, gone}), "");
  auto back = next(leaving(tool_gone(reserved(Inheritance::kNone))));
  auto left = over(back, say::by_inheritance());
  left.nodes.erase(Rank(3));
  left.open.clear();
  EXPECT_EQ(broken_by({empty(), reserved(Inheritance::kNone),
                       leaving(tool_gone(reserved(Inheritance::kNone))), back, left}),
            "");
}

// row:R7
TEST(SessionChecks, NoticeAJobOnNodesOfOthers) {
  const auto usual = born(reserved(), "sim@1", job_in({""}));
  auto stray = next(usual);
  stray.jobs.at("sim@1").mapped = {Rank(1)};
  EXPECT_EQ(broken_by({empty(), reserved(), usual, stray}), "");
  stray.jobs.at("sim@1").mapped = {Rank(2)};
  EXPECT_EQ(broken_by({empty(), reserved(), usual, stray}),
            "jobs are mapped onto nodes of their sessions");
  const auto aimed = born(reserved(), "sim@1", job_in({"a1"}, kTool), {"a1"});
  auto outside = next(aimed);
  outside.jobs.at("sim@1").mapped = {Rank(1)};
  EXPECT_EQ(broken_by({empty(), reserved(), aimed, outside}),
            "jobs are mapped onto nodes of their sessions");
}

// row:R6 row:R9 row:R1 row:R8
TEST(SessionChecks, NoticeAJobOfOtherSessionsThanWereMeant) {
  const auto is_of = [](const std::set<std::string>& sessions, const std::string& who,
                        const std::vector<std::string>& targets) {
    return broken_by(
        {empty(), reserved(), born(reserved(), "sim@1", job_in(sessions, who), targets)});
  };
  EXPECT_EQ(is_of({"a1", ""}, kTool, {"a1"}), "a job is of the sessions that were meant");
  EXPECT_EQ(is_of({"a1"}, kTool, {}), "a job is of the sessions that were meant");
  EXPECT_EQ(is_of({"a1"}, kTool, {"a1", "a7"}), "a job is aimed at what is there");
  EXPECT_EQ(is_of({"a1"}, "other", {"a1"}), "who aims a job owns the sessions");
  const auto parent = born(reserved(), "sim@1", job_in({"a1"}, kTool), {"a1"});
  EXPECT_EQ(broken_by({empty(), reserved(), parent, born(parent, "sim@2", job_in({""}, "sim@1"))}),
            "a job is of the sessions that were meant");
}

// row:R8
TEST(SessionChecks, NoticeOwnersThatAreNone) {
  auto other = reserved();
  other.allocations.at("a1").owner = "other";
  EXPECT_EQ(broken_by({empty(), other}), "who was meant owns it");
  const auto usual = born(reserved(), "sim@1", job_in({""}, kTool));
  auto stranger = launched(usual, "sim@1");
  stranger.jobs.at("sim@1").mapped = {Rank(1)};
  EXPECT_EQ(broken_by({empty(), reserved(), usual, stranger}),
            "owners are the owning namespace and who was launched into it");
  const auto aimed = born(reserved(), "sim@1", job_in({"a1"}, kTool), {"a1"});
  auto forgotten = launched(aimed, "sim@1");
  forgotten.allocations.at("a1").users.clear();
  EXPECT_EQ(broken_by({empty(), reserved(), aimed, forgotten}),
            "owners are the owning namespace and who was launched into it");
}

// row:R8 row:R20
TEST(SessionChecks, NoticeARequestOfOthersThatIsTaken) {
  auto released = over(next(reserved()), say::by_request());
  released.request = wish(Wanted::RELEASE, kTool, "a1");
  released.nodes.erase(Rank(3));
  EXPECT_EQ(broken_by({empty(), reserved(), released}), "");
  released.request = wish(Wanted::RELEASE, "sim@7", "a1");
  EXPECT_EQ(broken_by({empty(), reserved(), released}),
            "only who owns an allocation extends and releases it");
  auto one_node = next(reserved());
  one_node.request = wish(Wanted::RELEASE, "sim@7");
  one_node.nodes.at(Rank(2)).session = "";
  EXPECT_EQ(broken_by({empty(), reserved(), one_node}),
            "only who owns an allocation extends and releases it");
}

// row:R10
TEST(SessionChecks, NoticeWhatARefusedRequestChanges) {
  const std::vector<std::function<void(SessionSight&)>> changes = {
      [](SessionSight& now) { now.allocations.at("a1").users.insert("x"); },
      [](SessionSight& now) { now.nodes.at(Rank(1)).session = "a1"; },
      [](SessionSight& now) { now.nodes.at(Rank(1)).state = NodeState::kLeaving; },
      [](SessionSight& now) { now.open = {{kShrink, CampaignKind::kShrink}}; },
      [](SessionSight& now) { now.asked = {7}; },
      [](SessionSight& now) { tell(now, EventKind::kAllocationExtended, say::by_request()); }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    auto refused = next(reserved());
    refused.request = wish(Wanted::EXTEND, "sim@7", "a1");
    refused.request->refused = true;
    EXPECT_EQ(broken_by({empty(), reserved(), refused}), "");
    changes[i](refused);
    EXPECT_EQ(broken_by({empty(), reserved(), refused}), "what is refused changes nothing");
  }
}

// row:R12
TEST(SessionChecks, NoticeADispositionAtAnotherMoment) {
  for (const auto inheritance : {Inheritance::kNotSaid, Inheritance::kNone, Inheritance::kDefault,
                                 Inheritance::kChild, Inheritance::kChildDefault}) {
    const auto made = reserved(inheritance);
    EXPECT_EQ(broken_by({empty(), made, tool_gone(made)}),
              "what an owner leaves is dealt with when it has ended");
    EXPECT_EQ(broken_by({empty(), made, over(next(made), say::by_inheritance())}),
              "a reservation ends with its owner, or when it is wanted");
  }
}

// row:R12 row:R19 over three generations, of which the second is gone, elsewhere
TEST(SessionChecks, NoticeADispositionBeforeTheLastDescendant) {
  const auto made = reserved(Inheritance::kChildDefault);
  const auto child = born(made, "sim@1", job_in({""}, kTool));
  const auto grandchild = born(child, "sim@2", job_in({""}, "sim@1"));
  auto childless = next(grandchild);
  childless.jobs.erase("sim@1");
  const auto orphan = tool_gone(childless);
  auto last = next(orphan);
  last.jobs.clear();
  const Sights way = {empty(), made, child, grandchild, childless};
  const auto broken_after = [&way](const Sights& rest) {
    Sights all = way;
    all.insert(all.end(), rest.begin(), rest.end());
    return broken_by(std::move(all));
  };
  EXPECT_EQ(broken_after({orphan, over(last, say::by_inheritance())}), "");
  EXPECT_EQ(broken_after({over(orphan, say::by_inheritance())}),
            "a reservation ends with its owner, or when it is wanted");
  EXPECT_EQ(broken_after({orphan, last}), "what an owner leaves is dealt with when it has ended");
}

// row:R13
TEST(SessionChecks, NoticeTermsThatNobodyHasSaid) {
  auto other = next(reserved());
  other.allocations.at("a1").inheritance = Inheritance::kNone;
  EXPECT_EQ(broken_by({empty(), reserved(), other}), "terms are those that were said");
}

// row:R14
TEST(SessionChecks, NoticeAJobThatTheEndDisturbs) {
  auto usual = born(reserved(), "sim@1", job_in({""}));
  auto running = next(usual);
  running.jobs.at("sim@1").launched = true;
  running.jobs.at("sim@1").mapped = {Rank(1)};
  auto gone = over(tool_gone(running), say::by_inheritance());
  EXPECT_EQ(broken_by({empty(), reserved(), usual, running, gone}), "");
  gone.jobs.at("sim@1").lives = false;
  EXPECT_EQ(broken_by({empty(), reserved(), usual, running, gone}),
            "the end of a reservation disturbs nobody");
}

// row:R14
TEST(SessionChecks, NoticeAJobThatGoesOnWithoutItsProcesses) {
  const auto usual = born(reserved(Inheritance::kNone), "sim@1", job_in({""}));
  auto gone = leaving(tool_gone(usual));
  gone.hit = {"sim@1"};
  const Sights way = {empty(), reserved(Inheritance::kNone), usual};
  EXPECT_EQ(broken_by({way[0], way[1], way[2], gone}),
            "whose processes are released does not succeed");
  gone.jobs.at("sim@1").recoverable = true;
  EXPECT_EQ(broken_by({way[0], way[1], way[2], gone}), "");
}

// row:R15
TEST(SessionChecks, NoticeNodesThatDoNotGoWhereTheyBelong) {
  const auto kept = over(tool_gone(reserved()), say::by_inheritance());
  auto still_reserved = kept;
  still_reserved.nodes.at(Rank(2)).session = "a1";
  EXPECT_EQ(broken_by({empty(), reserved(), still_reserved}), "what is over reserves nothing");
  auto leaves = kept;
  leaves.nodes.at(Rank(2)).state = NodeState::kLeaving;
  EXPECT_EQ(broken_by({empty(), reserved(), leaves}), "what was taken goes back to everybody");
  const auto none = reserved(Inheritance::kNone);
  EXPECT_EQ(broken_by({empty(), none, over(tool_gone(none), say::by_inheritance())}),
            "what was brought leaves");
  EXPECT_EQ(broken_by({empty(), reserved(), leaving(tool_gone(reserved()))}),
            "what stays with everybody does not leave");
}

// The reservation took the second node from what the tool shares and wants to be treated like this.
SessionSight reserved_of_shared(SessionSight& made, Inheritance inheritance) {
  made = next(empty());
  made.request = wish(Wanted::NEW);
  made.request->wanted.set_request_id("shared");
  made.request->wanted.set_share(true);
  made.request->wanted.set_inheritance(static_cast<std::uint32_t>(inheritance));
  made.allocations["a2"] = {.owner = kTool,
                            .asker = kTool,
                            .request_id = "shared",
                            .shared = true,
                            .inheritance = inheritance};
  made.nodes.at(Rank(2)).allocation = "a2";
  made.news.push_back({EventKind::kAllocationMade, "a2",
                       "a2 (shared by " + std::string(kTool) + "): " + say::by_request()});
  auto out = reserved();
  out.nodes.at(Rank(2)).allocation = "a2";
  out.allocations["a2"] = made.allocations.at("a2");
  return out;
}

// row:R13 row:R15 both end in one step: what the one took of the other leaves, and nothing else
TEST(SessionChecks, NoticeWhatLeavesThoughItCameWithNothingThatIsGivenBack) {
  constexpr const char* kPromise = "what was taken goes back to everybody";
  SessionSight made;
  const auto taken = reserved_of_shared(made, Inheritance::kChild);
  auto gone = over(tool_gone(taken), say::by_inheritance());
  gone.allocations["a2"] = taken.allocations.at("a2");
  gone.allocations.at("a2").ending = true;
  gone.nodes.at(Rank(2)).state = NodeState::kLeaving;
  gone.open = {{kShrink, CampaignKind::kShrink}};
  EXPECT_EQ(broken_by({empty(), made, taken, gone}), "");
  auto of_nothing = gone;
  auto before = taken;
  for (auto* sight : {&before, &of_nothing}) sight->nodes.at(Rank(2)).allocation.clear();
  EXPECT_EQ(broken_by({empty(), made, before, of_nothing}), kPromise);

  const auto stays = reserved_of_shared(made, Inheritance::kDefault);
  gone = over(tool_gone(stays), say::by_inheritance());
  gone.news.push_back({EventKind::kAllocationEnded, "a2",
                       "a2 (shared by " + std::string(kTool) + "): " + say::by_inheritance()});
  gone.nodes.at(Rank(2)).state = NodeState::kLeaving;
  EXPECT_EQ(broken_by({empty(), made, stays, gone}), kPromise);
}

// row:R18
TEST(SessionChecks, NoticeWhatIsToldTwiceOrNot) {
  constexpr const char* kPromise = "what happens to an allocation is told once, with its cause";
  auto silent = reserved();
  silent.news.clear();
  EXPECT_EQ(broken_by({empty(), silent}), kPromise);
  auto twice = reserved();
  twice.news.push_back(twice.news.front());
  EXPECT_EQ(broken_by({empty(), twice}), kPromise);
  auto quiet = over(tool_gone(reserved()), "");
  EXPECT_EQ(broken_by({empty(), reserved(), quiet}), kPromise) << "without a cause";
  quiet.news.clear();
  EXPECT_EQ(broken_by({empty(), reserved(), quiet}), kPromise);
  EXPECT_EQ(broken_by({empty(), reserved(), over(tool_gone(reserved()), say::by_request())}),
            kPromise)
      << "with another one";
}

// row:R18
TEST(SessionChecks, NoticeNodesThatGoForNoCause) {
  auto leaves = next(empty());
  leaves.open = {{kShrink, CampaignKind::kShrink}};
  EXPECT_EQ(broken_by({empty(), leaves}), "nodes leave for a cause");
  leaves.by_hand = true;
  EXPECT_EQ(broken_by({empty(), leaves}), "");
  auto returns = next(empty());
  returns.returns.push_back({3, "m1", {"v1"}});
  EXPECT_EQ(broken_by({empty(), returns}), "only who has left goes back to a manager");
  returns.returned = {"v1"};
  EXPECT_EQ(broken_by({empty(), returns}), "");
}

// row:R18 row:R21
TEST(SessionChecks, NoticeAnAllocationThatNobodyAskedFor) {
  auto stray = reserved();
  stray.request.reset();
  EXPECT_EQ(broken_by({empty(), stray}), "every allocation was asked for");
  auto pushed = reserved();
  pushed.request->key = kSchedulerKey;
  EXPECT_EQ(broken_by({empty(), pushed}), "what a scheduler pushes is everybody's");
}

}  // namespace
}  // namespace tide::sim
