// Requests that a scheduler lets wait, and those that nobody waits for any more, seen through the
// head.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/allocation_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kPending = "Slurm job 17 is pending (Priority)";
constexpr const char* kResources = "Slurm job 17 is pending (Resources)";
constexpr std::uint64_t kDayMs = 24ULL * 3'600 * 1'000;

std::vector<std::string> news(const Actions& actions) {
  std::vector<std::string> out;
  for (const auto& reply : all_of<Reply>(actions)) {
    if (reply.reply.has_change_news()) out.push_back(reply.reply.change_news().text());
  }
  return out;
}

std::vector<std::uint32_t> cancelled(const Actions& actions) {
  std::vector<std::uint32_t> out;
  for (const auto& one : all_of<CancelAsk>(actions)) out.push_back(one.ask);
  return out;
}

std::vector<std::string> happened(const ElasticRig& rig, std::string_view kind) {
  std::vector<std::string> out;
  for (const auto& event : rig.head.events().events()) {
    if (event.kind() == kind) out.push_back(event.detail());
  }
  return out;
}

wire::JobSpec adding(const std::string& node) {
  auto out = job_spec(1);
  out.add_add_hosts()->set_node(node);
  return out;
}

std::string waits_of(const ElasticRig& rig, std::uint32_t job) {
  wire::JobRef ref;
  ref.set_number(job);
  const auto said = rig.head.explain(ref);
  std::string out;
  for (const auto& point : said->waits()) out += point.kind() + ": " + point.text() + "\n";
  return out;
}

// ---- commands ----

class Queued : public ::testing::Test {
 public:
  // Waits in the queue of a scheduler.
  std::uint32_t ask(std::uint32_t count) {
    const auto number = all_of<AskForNodes>(rig.ask(count)).at(0).ask;
    rig.on(NodesQueued{number, kPending});
    return number;
  }
  std::uint32_t ask_for(const std::vector<std::string>& nodes) {
    wire::ClientRequest message;
    for (const auto& node : nodes) message.mutable_grow()->add_hosts()->set_node(node);
    const auto asked = all_of<AskForNodes>(rig.request(kAsker, std::move(message)));
    rig.on(NodesQueued{asked.at(0).ask, kPending});
    return asked.at(0).ask;
  }
  Actions client_goes(std::uint64_t client = kAsker) {
    return rig.on(ClientGone{ClientId(client)});
  }
  // Whether it has a limit, which is over now.
  [[nodiscard]] bool runs_out(std::uint32_t number) {
    const auto fired = rig.fire(TimerKind::kGrant, number);
    return !refusal(fired).empty() || !endings(fired).empty();
  }
  ElasticRig rig{1};
};

TEST_F(Queued, ARequestIsNotGivenUpAndSaysWhatItWaitsFor) {
  const auto number = ask(2);
  EXPECT_THAT(news(rig.seen), ElementsAre(HasSubstr("waiting for 2 nodes: Slurm job 17")));
  rig.now_ms += kDayMs;
  EXPECT_FALSE(runs_out(number)) << "a scheduler may take as long as it likes";
  const auto status = rig.head.status(0, rig.now_ms);
  ASSERT_EQ(status.asks_size(), 1);
  EXPECT_EQ(status.asks(0).queued(), kPending);
  EXPECT_EQ(status.asks(0).left_ms(), 0U);
  EXPECT_EQ(status.asks(0).age_ms(), kDayMs);
  rig.seen.clear();
  rig.grant(number, 2);
  EXPECT_THAT(begun(rig.seen), SizeIs(1));
  EXPECT_THAT(cancelled(rig.seen), IsEmpty());
  EXPECT_EQ(rig.head.status(0, rig.now_ms).asks_size(), 0);
}

TEST_F(Queued, EachNewReasonIsToldOnce) {
  const auto number = ask(1);
  rig.on(NodesQueued{number, kPending});
  EXPECT_THAT(news(rig.seen), SizeIs(1)) << "that is known";
  rig.on(NodesQueued{number, std::string(kResources) + "\n  more"});
  rig.on(NodesQueued{number, ""});
  EXPECT_THAT(news(rig.seen),
              ElementsAre(HasSubstr("(Priority)"), "waiting for 1 node: " + std::string(kResources),
                          "waiting for 1 node: in the queue of a scheduler"));
  EXPECT_EQ(happened(rig, "request-queued"), news(rig.seen));
}

TEST_F(Queued, OneThatIsRefusedLateIsToldOf) {
  const auto number = ask(1);
  rig.seen.clear();
  rig.on(NodesRefused{number, {ErrorCode::kOutOfResources, "Slurm job 17 was cancelled"}});
  EXPECT_EQ(refusal(rig.seen), "Slurm job 17 was cancelled");
  EXPECT_THAT(happened(rig, "request-refused"),
              ElementsAre("not waiting any more for 1 node: Slurm job 17 was cancelled"));
  EXPECT_THAT(cancelled(rig.seen), IsEmpty()) << "it is answered";
  rig.on(NodesQueued{number, kPending});
  EXPECT_THAT(news(rig.seen), IsEmpty()) << "too late";
  EXPECT_EQ(rig.head.status(0, rig.now_ms).asks_size(), 0);
}

// Each is a program on the machine of the head, for as long as the scheduler likes.
TEST_F(Queued, ThereAreNeverTooManyOfThem) {
  for (int i = 0; i < 255; ++i) ask(1);
  const auto last = ask(1);
  const auto refused = rig.ask(1);
  EXPECT_THAT(all_of<AskForNodes>(refused), IsEmpty());
  EXPECT_THAT(refusal(refused), HasSubstr("256 requests for nodes wait already"));
  rig.on(NodesRefused{last, Error{ErrorCode::kOutOfResources, "no"}});
  ask(1);
}

TEST_F(Queued, WhatIsRefusedAtOnceIsNoEvent) {
  const auto number = all_of<AskForNodes>(rig.ask(1)).at(0).ask;
  rig.on(NodesRefused{number, {ErrorCode::kOutOfResources, "no"}});
  EXPECT_THAT(happened(rig, "request-refused"), IsEmpty());
}

TEST_F(Queued, IsTakenBackWhenTheCommandHasGone) {
  const auto number = ask(1);
  EXPECT_THAT(cancelled(client_goes(kAsker + 1)), IsEmpty()) << "somebody else";
  rig.seen.clear();
  client_goes();
  EXPECT_THAT(cancelled(rig.seen), ElementsAre(number));
  EXPECT_THAT(happened(rig, "request-refused"),
              ElementsAre("not waiting any more for 1 node: whoever asked has gone"));
  EXPECT_TRUE(rig.head.elastic().idle());
  const auto late = rig.grant(number, 1);  // it has crossed
  EXPECT_THAT(all_of<ReturnNodes>(late), SizeIs(1));
  EXPECT_THAT(all_of<LaunchDaemons>(late), IsEmpty());
  client_goes();
  EXPECT_THAT(cancelled(rig.seen), SizeIs(1)) << "once";
}

TEST_F(Queued, WhatIsNotAnsweredIsTakenBackToo) {
  const auto unanswered = all_of<AskForNodes>(rig.ask(1)).at(0).ask;
  EXPECT_THAT(cancelled(client_goes()), ElementsAre(unanswered));
  const auto silent = all_of<AskForNodes>(rig.ask(1)).at(0).ask;
  const auto over = rig.fire(TimerKind::kGrant, silent);
  EXPECT_THAT(cancelled(over), ElementsAre(silent));
  EXPECT_THAT(refusal(over), HasSubstr("no resource manager answered"));
}

TEST_F(Queued, WhatHasBegunGoesOnWithoutTheCommand) {
  const auto number = ask(1);
  rig.grant(number, 1);
  EXPECT_THAT(cancelled(client_goes()), IsEmpty());
  EXPECT_FALSE(rig.head.elastic().idle());
  EXPECT_THAT(all_of<ReturnNodes>(rig.seen), IsEmpty());
}

// row:E15
TEST_F(Queued, NothingIsAskedForWhenTheDvmHasEnded) {
  const auto first = ask(1);
  const auto second = all_of<AskForNodes>(rig.ask(1, 8)).at(0).ask;
  const auto down = rig.down(kUser);
  EXPECT_THAT(cancelled(down), ElementsAre(first, second));
  EXPECT_THAT(refusal(down), HasSubstr("is ending"));
  rig.on(ClientGone{ClientId(8)});
  EXPECT_THAT(cancelled(rig.seen), SizeIs(2));
}

// ---- jobs ----

TEST_F(Queued, AJobSaysWhatItWaitsFor) {
  rig.submit(kUser, adding("v2"));
  const auto number = all_of<AskForNodes>(rig.seen).at(0).ask;
  EXPECT_THAT(waits_of(rig, 1), ::testing::Not(HasSubstr("queue: ")));
  rig.on(NodesQueued{number, kResources});
  EXPECT_THAT(waits_of(rig, 1), HasSubstr("queue: waiting for v2: " + std::string(kResources)));
  EXPECT_EQ(rig.head.status(0, rig.now_ms).asks(0).job(), 1U);
  rig.now_ms += kDayMs;
  EXPECT_FALSE(runs_out(number));
  rig.grant(number, 1);
  EXPECT_THAT(waits_of(rig, 1), ::testing::Not(HasSubstr("queue: ")));
}

// row:E17
TEST_F(Queued, WhatAJobAskedForIsTakenBackWithIt) {
  rig.submit(kUser, adding("v2"));
  const auto number = all_of<AskForNodes>(rig.seen).at(0).ask;
  rig.on(NodesQueued{number, kResources});
  rig.seen.clear();
  client_goes(kUser);
  EXPECT_THAT(cancelled(rig.seen), ElementsAre(number));
  EXPECT_TRUE(rig.head.elastic().idle());
  EXPECT_THAT(all_of<ReturnNodes>(rig.grant(number, 1)), SizeIs(1));
  EXPECT_THAT(rig.names(), ElementsAre("v1"));
}

TEST_F(Queued, KeepsNobodyElseWaiting) {
  const auto number = ask(4);
  rig.submit(kUser, adding("v2"));
  EXPECT_THAT(all_of<AskForNodes>(rig.seen), SizeIs(2));
  rig.grant(all_of<AskForNodes>(rig.seen).back().ask, 1);
  EXPECT_THAT(rig.names(), ElementsAre("v1", "v2"));
  EXPECT_EQ(rig.head.status(0, rig.now_ms).asks_size(), 1);
  rig.grant(number, 4);
  EXPECT_EQ(rig.head.status(0, rig.now_ms).asks_size(), 0);
}

TEST_F(Queued, WhoNamesTheSameNodeAsksNext) {
  const auto number = ask_for({"v2"});
  rig.submit(kUser, adding("v2"));
  rig.submit(kUser + 1, adding("v3"));
  ASSERT_THAT(all_of<AskForNodes>(rig.seen), SizeIs(2)) << "v3 is asked for, v2 is once";
  EXPECT_THAT(waits_of(rig, 1), HasSubstr("queue: another request names a node"));
  rig.on(NodesQueued{all_of<AskForNodes>(rig.seen).back().ask, kPending});
  rig.grant(number, 1);
  EXPECT_THAT(all_of<AskForNodes>(rig.seen), SizeIs(2));
  EXPECT_THAT(waits_of(rig, 1), HasSubstr("grow 2 (v2)"));
}

// One whom the scheduler would let wait for ever: it has given that node already
TEST_F(Queued, WhatHasComeOtherwiseIsNotWaitedFor) {
  const auto named = ask_for({"v2", "v3"});
  rig.submit(kUser, adding("v4"));
  const auto by_job = all_of<AskForNodes>(rig.seen).back().ask;
  rig.on(NodesQueued{by_job, kPending});
  rig.seen.clear();
  rig.on(NodesPushed{{{"v2", HeadRig::kSlots, HeadRig::incarnation(2)},
                      {"v4", HeadRig::kSlots, HeadRig::incarnation(3)}}});
  EXPECT_THAT(cancelled(rig.seen), ElementsAre(named, by_job));
  const auto anew = all_of<AskForNodes>(rig.seen);
  ASSERT_THAT(anew, SizeIs(1)) << "the job has what it wants";
  ASSERT_THAT(anew[0].hosts, SizeIs(1));
  EXPECT_EQ(anew[0].hosts[0].node(), "v3");
  rig.on(NodesGranted{anew[0].ask, {{"v3", HeadRig::kSlots, HeadRig::incarnation(4)}}});
  EXPECT_THAT(waits_of(rig, 1), HasSubstr("(v2, v4)"));
  ASSERT_THAT(begun(rig.seen), SizeIs(1));
  EXPECT_THAT(begun(rig.seen)[0].already(), ElementsAre("v2"));
}

// ---- tools ----

class QueuedAllocations : public Allocations {
 protected:
  std::uint32_t queue(const AllocationRequest& request, const std::string& tool = kTool) {
    const auto number = all_of<AskForNodes>(ask(request, tool)).at(0).ask;
    rig.on(NodesQueued{number, kPending});
    rig.seen.clear();
    return number;
  }
  Actions by_command(const AllocationRequest& request, std::uint64_t client = kAsker) {
    wire::ClientRequest message;
    *message.mutable_allocation() = request;
    return rig.request(client, std::move(message));
  }
};

TEST_F(QueuedAllocations, AreTakenBackByTheirName) {
  const auto number = queue(about(wants(AllocationRequest::NEW, 1), "", "mine"));
  EXPECT_EQ(rig.head.status(0, rig.now_ms).asks(0).request_id(), "mine");
  const auto cancel = about(wants(AllocationRequest::CANCEL, 0), "", "mine");
  attach_tool(1, "stranger");
  EXPECT_EQ(code_of(ask(cancel, "stranger")), ErrorCode::kNotFound);
  EXPECT_THAT(cancelled(rig.seen), IsEmpty());
  const auto said = ask(cancel);
  EXPECT_EQ(code_of(said), ErrorCode::kOk);
  EXPECT_THAT(cancelled(said), ElementsAre(number));
  EXPECT_THAT(answers(said), SizeIs(2)) << "also of the request itself";
  EXPECT_EQ(code_of(ask(cancel)), ErrorCode::kNotFound) << "once";
  EXPECT_THAT(cancelled(rig.seen), SizeIs(1));
}

TEST_F(QueuedAllocations, OfOneNameTheNewerIsTakenBackFirst) {
  const auto older = queue(about(wants(AllocationRequest::NEW, 1), "", "mine"));
  const auto newer = queue(about(wants(AllocationRequest::NEW, 1), "", "mine"));
  const auto cancel = about(wants(AllocationRequest::CANCEL, 0), "", "mine");
  EXPECT_THAT(cancelled(ask(cancel)), ElementsAre(newer));
  EXPECT_THAT(cancelled(ask(cancel)), ElementsAre(older));
}

TEST_F(QueuedAllocations, OfTheUserAreTakenBackByCommand) {
  const auto of_tool = queue(about(wants(AllocationRequest::NEW, 1), "", "tools"));
  const auto made = by_command(about(wants(AllocationRequest::NEW, 2), "", "mine"), 8);
  const auto cancel = [this](const std::string& name) {
    return by_command(about(wants(AllocationRequest::CANCEL, 0), "", name));
  };
  EXPECT_THAT(cancelled(cancel("tools")), ElementsAre(of_tool));
  const auto taken = cancel("mine");
  EXPECT_THAT(cancelled(taken), ElementsAre(all_of<AskForNodes>(made).at(0).ask));
  EXPECT_THAT(refusal(taken), HasSubstr("'mine' was cancelled"));
  ASSERT_THAT(begun(taken), SizeIs(1));
  EXPECT_TRUE(begun(taken)[0].complete());
  EXPECT_TRUE(rig.head.elastic().idle());
}

TEST_F(QueuedAllocations, OfAJobAreNotTakenBackByCommand) {
  rig.submit(kUser, job_spec(1));
  const auto process = proc_name("dvm@1", 0);
  ask(1, process, about(wants(AllocationRequest::NEW, 1), "", "its"));
  EXPECT_THAT(refusal(by_command(about(wants(AllocationRequest::CANCEL, 0), "", "its"))),
              HasSubstr("'its'"));
  EXPECT_THAT(cancelled(rig.seen), IsEmpty());
}

// row:C4
TEST_F(QueuedAllocations, OfWhoeverIsGoneAreTakenBack) {
  std::vector<std::uint32_t> asked;
  asked.push_back(queue(wants(AllocationRequest::NEW, 1)));
  wire::UpBody body;
  body.mutable_service_cancel()->set_token(1);
  EXPECT_THAT(cancelled(rig.up(1, std::move(body))), ElementsAre(asked.back()));
  asked.push_back(queue(wants(AllocationRequest::NEW, 1)));
  detach_tool(1, kTool);
  EXPECT_THAT(cancelled(rig.seen), ElementsAre(asked.back()));
  attach_tool(2, "second");
  const auto of_second = ask(2, proc_name("second", 0), wants(AllocationRequest::NEW, 1));
  rig.seen.clear();
  exits(2);
  EXPECT_THAT(cancelled(rig.seen), ElementsAre(all_of<AskForNodes>(of_second).at(0).ask));
  EXPECT_TRUE(rig.head.elastic().idle());
}

// row:R12
TEST_F(QueuedAllocations, ForAnOwnerThatHasEndedAreRefused) {
  attach_tool(2, "owner");
  auto request = wants(AllocationRequest::NEW, 1);
  request.set_target("owner");
  const auto number = queue(request);
  detach_tool(2, "owner");
  EXPECT_THAT(cancelled(rig.seen), ElementsAre(number));
  EXPECT_EQ(code_of(rig.seen), ErrorCode::kNotFound);
  EXPECT_TRUE(rig.head.elastic().idle());
}

// row:R11
TEST_F(QueuedAllocations, ThatExtendWhatHasEndedAreRefused) {
  const auto id = granted(wants(AllocationRequest::NEW, 0, {"v2", "v3"}), 1).allocation();
  complete_grow(3, 1, 2);
  const auto number = queue(about(wants(AllocationRequest::EXTEND, 2), id));
  const auto report = rig.head.elastic().explain_allocation(id);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->asks_size(), 1);
  EXPECT_EQ(report->asks(0).queued(), kPending);
  ask(about(wants(AllocationRequest::RELEASE, 0), id));
  EXPECT_THAT(cancelled(rig.seen), ElementsAre(number));
  EXPECT_THAT(answers(rig.seen), SizeIs(2)) << "the release, and the extension";
  EXPECT_EQ(rig.head.status(0, rig.now_ms).asks_size(), 0);
}

}  // namespace
}  // namespace tide::core
