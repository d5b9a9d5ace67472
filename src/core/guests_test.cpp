// Jobs that are known where they have no process, and the tools of a daemon.
#include "core/guests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/services_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The test answers for the local server.
class GuestsTest : public ServicesTest {
 protected:
  // Without the server's answer.
  void carry_words() {
    Daemon& one = daemon(1);
    for (auto ups = std::exchange(one.ups, {}); auto& [body, payload] : ups) {
      if (body.has_service_request()) desk.on_request(one.self, body.service_request(), payload);
      if (body.has_modex_request()) desk.on_modex_request(one.self, body.modex_request());
    }
  }
  std::vector<std::string> registered() {
    std::vector<std::string> out;
    for (const auto& one : all_of<RegisterGuest>(daemon(1).out))
      out.push_back(one.launch->nspace());
    return out;
  }
  std::vector<std::string> deregistered() {
    std::vector<std::string> out;
    for (const auto& one : all_of<DeregisterGuest>(daemon(1).out)) out.push_back(one.nspace);
    return out;
  }
  // A process here has spawned job b, and the head says so.
  void spawn_b(std::uint64_t ticket) {
    ServiceAsked asked;
    asked.ticket = ticket;
    asked.request.mutable_spawn();
    daemon(1).services.handle(asked);
    wire::DownBody body;
    body.mutable_service_answer()->set_token(daemon(1).ups.back().first.service_request().token());
    body.mutable_service_answer()->mutable_spawned()->set_nspace("b");
    daemon(1).ups.pop_back();
    daemon(1).services.deliver(body, {});
  }
  std::vector<std::uint64_t> answered() {
    std::vector<std::uint64_t> out;
    for (const auto& one : all_of<AnswerService>(daemon(1).out)) out.push_back(one.ticket);
    return out;
  }
};

TEST_F(GuestsTest, TheHeadAndTheServerAreAskedOnceForAll) {
  spawn_b(5);
  spawn_b(6);
  ASSERT_THAT(daemon(1).ups, SizeIs(1));
  carry_words();
  EXPECT_THAT(registered(), ElementsAre("b"));
  EXPECT_THAT(answered(), IsEmpty()) << "before the server knows it, nobody hears of b";
  daemon(1).services.handle(GuestRegistered{"b", ok_status()});
  EXPECT_THAT(answered(), ElementsAre(5, 6));
  daemon(1).services.handle(ModexAsked{7, name_of("b", 0), 0});
  EXPECT_THAT(daemon(1).ups, SizeIs(1)) << "at once";
  EXPECT_THAT(registered(), SizeIs(1));
}

TEST_F(GuestsTest, NothingIsAskedAboutAJobThatTheServerDoesNotKnow) {
  daemon(1).services.handle(ModexAsked{5, name_of("b", 0), 0});
  EXPECT_THAT(daemon(1).ups, IsEmpty());
  const auto answers = all_of<AnswerModex>(daemon(1).out);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].status.error().code, ErrorCode::kNotFound);
}

TEST_F(GuestsTest, WhatTheServerRefusesIsAnswered) {
  spawn_b(5);
  carry_words();
  daemon(1).services.handle(GuestRegistered{"b", Error{ErrorCode::kSystem, "full"}});
  EXPECT_THAT(answered(), ElementsAre(5));
  EXPECT_TRUE(daemon(1).services.idle());
}

TEST_F(GuestsTest, AJobThatIsNotKnownIsNoGuest) {
  jobs_known.erase("b");
  spawn_b(5);
  carry_words();
  EXPECT_THAT(registered(), IsEmpty());
  EXPECT_THAT(answered(), ElementsAre(5)) << "it was started, and is over already";
  EXPECT_TRUE(daemon(1).services.idle());
}

TEST_F(GuestsTest, AGuestIsForgottenWithItsJob) {
  spawn_b(5);
  settle();
  EXPECT_THAT(answered(), ElementsAre(5));
  EXPECT_FALSE(daemon(1).services.idle());
  desk.on_job_gone("b");
  EXPECT_THAT(deregistered(), ElementsAre("b"));
  EXPECT_TRUE(daemon(1).services.idle());
}

TEST_F(GuestsTest, OneWhoseJobEndsMeanwhileIsNotWaitedFor) {
  spawn_b(5);
  carry_words();
  desk.on_job_gone("b");
  EXPECT_THAT(answered(), ElementsAre(5));
  EXPECT_THAT(deregistered(), ElementsAre("b"));
  daemon(1).services.handle(GuestRegistered{"b", ok_status()});
  EXPECT_TRUE(daemon(1).services.idle());
}

TEST_F(GuestsTest, AJobThatComesHereMeanwhileIsNoGuest) {
  spawn_b(5);
  daemon(1).host(2, "b", 1);
  carry_words();
  EXPECT_THAT(registered(), IsEmpty());
  EXPECT_THAT(answered(), ElementsAre(5));
  desk.on_job_gone("b");
  EXPECT_THAT(deregistered(), IsEmpty()) << "it is deregistered as what it is";
}

TEST_F(GuestsTest, WhoIsConnectedKnowsTheOthersAfterwards) {
  const auto both = names_of({name_of("a", 0), name_of("b", kAllRanks)});
  for (const std::uint32_t rank : {1U, 3U}) {
    auto event = entered(rank * 11, both, "");
    event.kind = wire::CollectiveId::CONNECT;
    daemon(rank).services.handle(event);
    desk.collectives().on_contributions(daemon(rank).reductions.front());
    daemon(rank).reductions.clear();
  }
  EXPECT_THAT(daemon(1).fences(), IsEmpty()) << "not before the server knows b";
  EXPECT_THAT(daemon(3).fences(), SizeIs(1)) << "both are there";
  settle();
  EXPECT_THAT(daemon(1).fences(), ElementsAre(std::tuple(11, true, "")));
  EXPECT_THAT(registered(), ElementsAre("b"));
}

// ---- tools ----

class LocalToolsTest : public ServicesTest {
 protected:
  std::vector<AnswerTool> arrive(std::uint32_t rank, const wire::ProcName& wish) {
    daemon(rank).clear();
    daemon(rank).services.handle(ToolArrived{5, wish});
    settle();
    return all_of<AnswerTool>(daemon(rank).out);
  }
};

TEST_F(LocalToolsTest, GetANameOfTheirOwnUnlessTheyHaveOne) {
  const auto first = arrive(2, {});
  const auto second = arrive(2, {});
  const auto third = arrive(2, name_of("mine", 3));
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].name.nspace(), "dvm.tool2.1");
  EXPECT_EQ(second.at(0).name.nspace(), "dvm.tool2.2");
  EXPECT_EQ(third.at(0).name.nspace(), "mine");
  EXPECT_EQ(desk.tools(), 3U);
  const auto taken = arrive(2, name_of("mine", 3));
  EXPECT_EQ(taken.at(0).status.error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(desk.tools(), 3U);
}

TEST_F(LocalToolsTest, LeaveOnceAndTakeWhatTheyAskedForAlong) {
  arrive(1, name_of("mine", 0));
  wire::ServiceRequest wish;
  *wish.mutable_who() = name_of("mine", 0);
  wish.mutable_publish()->add_data()->set_key("key");
  wish.mutable_publish()->set_persistence(wire::PERSIST_PROC);
  daemon(1).services.handle(ServiceAsked{7, wish, {}});
  wish.mutable_lookup()->add_keys("other");
  wish.mutable_lookup()->set_wait_for(1);
  daemon(1).services.handle(ServiceAsked{8, wish, {}});
  settle();
  EXPECT_EQ(desk.published(), 1U);
  EXPECT_FALSE(desk.idle());
  daemon(1).services.handle(ToolGone{name_of("mine", 0)});
  daemon(1).services.handle(ToolGone{name_of("mine", 0)});
  settle();
  EXPECT_THAT(tools_gone, ElementsAre("mine"));
  EXPECT_EQ(desk.published(), 0U);
  EXPECT_TRUE(desk.idle());
  EXPECT_TRUE(daemon(1).services.idle());
}

TEST_F(LocalToolsTest, GoWithTheirNode) {
  arrive(1, name_of("here", 0));
  arrive(2, name_of("there", 0));
  desk.on_node_lost(Rank(2), "v2");
  EXPECT_THAT(tools_gone, ElementsAre("there"));
  EXPECT_EQ(desk.tools(), 1U);
  wire::ToolLeft left;
  *left.mutable_tool() = name_of("here", 0);
  desk.on_tool_left(Rank(3), left);
  EXPECT_EQ(desk.tools(), 1U) << "only its own daemon says that it left";
}

TEST_F(LocalToolsTest, WhatTheyReadIsToldOnceToTheHead) {
  wire::ToolOutput output;
  *output.mutable_source() = name_of("a", 1);
  output.set_stream(wire::STDERR);
  daemon(1).clear();
  wire::DownBody body;
  *body.mutable_tool_output() = output;
  daemon(1).services.deliver(body, Bytes("four"));
  const auto given = all_of<DeliverOutput>(daemon(1).out);
  ASSERT_THAT(given, SizeIs(1));
  EXPECT_EQ(given[0].data.view(), "four");
  EXPECT_THAT(daemon(1).ups, IsEmpty());
  daemon(1).services.handle(OutputDelivered{given[0].delivery});
  daemon(1).services.handle(OutputDelivered{given[0].delivery});
  ASSERT_THAT(daemon(1).ups, SizeIs(1));
  const auto& taken = daemon(1).ups[0].first.tool_output_taken();
  EXPECT_EQ(taken.source().rank(), 1U);
  EXPECT_EQ(taken.stream(), wire::STDERR);
  EXPECT_EQ(taken.bytes(), 4U);
}

}  // namespace
}  // namespace tide::core
