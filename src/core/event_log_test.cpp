#include "core/event_log.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "core/head_rig.hpp"

namespace tide::core {
namespace {

wire::EventsQuery after(std::uint64_t number, bool follow = false) {
  wire::EventsQuery out;
  out.set_after(number);
  out.set_follow(follow);
  return out;
}

class EventLogTest : public ::testing::Test {
 public:
  void happen(int times) {
    for (int i = 0; i < times; ++i) log.add_of_node(EventKind::kNodeUp, "v1", "");
  }
  std::vector<wire::ClientReply> replies() {
    std::vector<wire::ClientReply> out;
    for (const auto& reply : all_of<Reply>(std::exchange(actions, {}))) out.push_back(reply.reply);
    return out;
  }

  Actions actions;
  EventLog log{16, actions};
};

TEST_F(EventLogTest, TellsWhatItRemembersAndCountsTheRest) {
  happen(20);
  log.ask(ClientId(1), 7, after(0));
  const auto told = replies();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].request(), 7U);
  EXPECT_EQ(told[0].events().dropped(), 4U);
  ASSERT_EQ(told[0].events().events_size(), 16);
  EXPECT_EQ(told[0].events().events(0).number(), 5U);
  EXPECT_EQ(told[0].events().events(15).number(), 20U);
  EXPECT_FALSE(told[0].events().more());
}

TEST_F(EventLogTest, AnAnswerIsBoundedAndSaysThatThereIsMore) {
  EventLog large{1000, actions};
  for (int i = 0; i < 450; ++i) large.add_of_dvm(EventKind::kDvmReady, std::string(5000, 'x'));
  std::uint64_t seen = 0;
  for (const bool more : {true, true, false}) {
    large.ask(ClientId(1), 1, after(seen));
    const auto told = replies();
    EXPECT_EQ(told[0].events().more(), more);
    EXPECT_LT(told[0].ByteSizeLong(), 128U << 10U);
    seen = told[0].events().events().rbegin()->number();
  }
  EXPECT_EQ(seen, 450U);
}

TEST_F(EventLogTest, AFollowerIsAnsweredOnceWhenSomethingHappens) {
  happen(1);
  log.ask(ClientId(1), 2, after(1, true));
  log.tell();
  EXPECT_TRUE(replies().empty());
  happen(2);
  log.tell();
  happen(1);
  log.tell();
  const auto told = replies();
  ASSERT_EQ(told.size(), 1U) << "what comes next is for the next question";
  EXPECT_EQ(told[0].events().events_size(), 2);
  EXPECT_EQ(log.followers(), 0U);
}

TEST_F(EventLogTest, AFollowerThatDoesNotReadCostsNothingAndHearsWhatItMissed) {
  log.ask(ClientId(1), 2, after(0, true));
  happen(1);
  log.tell();
  replies();
  for (int i = 0; i < 10'000; ++i) {
    happen(1);
    log.tell();
  }
  EXPECT_TRUE(replies().empty());
  EXPECT_EQ(log.events().size(), 16U);
  log.ask(ClientId(1), 3, after(1, true));
  EXPECT_EQ(replies()[0].events().dropped(), 10'000U - 16U);
}

TEST_F(EventLogTest, OneQuestionOfAClientWaits) {
  log.ask(ClientId(1), 2, after(0, true));
  log.ask(ClientId(1), 3, after(0, true));
  log.ask(ClientId(2), 4, after(0, true));
  log.client_gone(ClientId(2));
  happen(1);
  log.tell();
  const auto told = replies();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].request(), 3U);
}

TEST_F(EventLogTest, NumbersFromTheFutureAreNotWaitedFor) {
  happen(1);
  log.ask(ClientId(1), 2, after(UINT64_MAX, true));
  happen(1);
  log.tell();
  EXPECT_EQ(replies().size(), 1U);
}

std::vector<std::string> kinds(const HeadRig& rig) {
  std::vector<std::string> out;
  for (const auto& event : rig.head.events().events()) out.push_back(event.kind());
  return out;
}

TEST(HeadEvents, FromTheStartToTheEnd) {
  HeadRig rig(1);
  rig.make_ready();
  rig.submit(1, job_spec(1, "sleep"));
  rig.launched(1, 1, {0});
  rig.ended(1, 1, {0}, ProcState::kTerminated, 3);
  wire::ClientRequest follow;
  follow.mutable_events()->set_after(rig.head.events().last());
  follow.mutable_events()->set_follow(true);
  rig.request(8, follow);
  const auto ending = rig.down(9);
  ASSERT_EQ(all_of<Reply>(ending).size(), 1U) << "the follower is told that it ends";
  follow.mutable_events()->set_after(rig.head.events().last());
  rig.request(8, follow);
  const auto last = all_of<Reply>(rig.on(DaemonExited{Rank(1), "exit 0"}));
  ASSERT_FALSE(last.empty());
  EXPECT_EQ(last[0].reply.events().events(0).kind(), "dvm-ended");
  const auto late = all_of<Reply>(rig.request(8, follow));
  ASSERT_EQ(late.size(), 1U) << "who asks when all is over hears of it";
  EXPECT_EQ(late[0].reply.events().events(0).kind(), "dvm-ended");
  EXPECT_EQ(kinds(rig), (std::vector<std::string>{
                            "dvm-starting", "node-up", "dvm-ready", "job-submitted", "job-started",
                            "job-running", "job-failing", "job-ended", "dvm-ending", "dvm-ended"}));
  const auto& ended = rig.head.events().events().at(7);
  EXPECT_EQ(ended.job(), 1U);
  EXPECT_EQ(ended.exit_status(), 3);
  EXPECT_EQ(ended.state(), "PRTE_JOB_STATE_ABORTED");
}

TEST(HeadEvents, NodesAreSuspectedBackAndLost) {
  HeadRig rig(2);
  rig.make_ready();
  rig.on(LinkDown{LinkId(2), LinkEnd::kClosed, "reset"});
  rig.link_up(2);
  rig.attach(2);
  rig.on(DaemonExited{Rank(2), "exit 1"});
  const auto seen = kinds(rig);
  EXPECT_EQ(std::vector<std::string>(seen.begin() + 4, seen.end()),
            (std::vector<std::string>{"node-suspected", "node-back", "node-lost"}));
}

}  // namespace
}  // namespace tide::core
