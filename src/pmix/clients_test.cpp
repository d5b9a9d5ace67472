// Real processes and the server: what they are told, how they exchange data, how they go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pmix_common.h>

#include <optional>

#include "pmix/server.hpp"
#include "pmix/test_support.hpp"

namespace tide::pmix {
namespace {

using testing::Client;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::read_text;
using ::testing::StartsWith;
using testing::write_text;

const std::string kJob = "dvm-test@1";

class PmixClients : public testing::ServerFixture {
 protected:
  void register_and_start(const JobDescription& job, const std::vector<std::string>& argv) {
    ASSERT_TRUE(register_job(job).ok());
    start_all(job, argv);
  }
  // Every process ends well, with this as the last line of its output.
  void expect_all_say(const std::string& line) {
    ASSERT_TRUE(run_until([&] { return all_ended(); })) << complaints();
    EXPECT_EQ(complaints(), "");
    for (const auto& client : clients_) EXPECT_THAT(client->output(), EndsWith(line + "\n"));
  }
  Result<std::string> fetch(const ProcName& whose) {
    std::optional<Result<std::string>> answer;
    server_->fetch_modex(whose, Modex::kPut,
                         [&](Result<std::string> result) { answer = std::move(result); });
    EXPECT_TRUE(run_until([&] { return answer.has_value(); }));
    return answer ? *answer : Error{ErrorCode::kTimedOut, "no answer"};
  }
};

TEST_F(PmixClients, AProcessFindsItsServerAndItself) {
  on_node("v1", [&] {
    register_and_start(job(kJob, 1), {"pmix_hello"});
    ASSERT_TRUE(run_until([&] { return all_ended() && !handler_.finalized.empty(); }));
    EXPECT_EQ(complaints(), "");
    EXPECT_EQ(clients_[0]->output(),
              "dvm-test@1 rank 0 of 1, universe 8, nodes 1, apps 1, local peers 0\n"
              "peer 0 app 0 apprank 0 global 0 local 0 noderank 0 node 0 host v1\n");
    EXPECT_THAT(handler_.connected, ElementsAre(ProcName{kJob, 0}));
    EXPECT_THAT(handler_.finalized, ElementsAre(ProcName{kJob, 0}));
    EXPECT_THAT(handler_.lost, IsEmpty());
  });
}

TEST_F(PmixClients, ARankFindsEveryPeerOnEveryNode) {
  on_node("v1", [&] {
    JobDescription two_apps = job(kJob, 4, 2);
    two_apps.apps = {{0, 1, {"first"}, "/"}, {1, 5, {"second"}, "/tmp"}};
    two_apps.nodes = {{"v2", {0, 4}}, {"v1", {1, 2, 3, 5}}};
    two_apps.universe_size = 0;  // can't be: the job itself is larger
    two_apps.parent = ProcName{"dvm-test@0", 3};
    register_and_start(two_apps, {"pmix_hello"});
    ASSERT_TRUE(run_until([&] { return all_ended(); })) << complaints();
    EXPECT_EQ(complaints(), "");
    EXPECT_EQ(clients_[3]->output(),
              "dvm-test@1 rank 5 of 6, universe 6, nodes 2, apps 2, local peers 1,2,3,5\n"
              "parent dvm-test@0 3\n"
              "peer 0 app 0 apprank 0 global 0 local 0 noderank 0 node 0 host v2\n"
              "peer 1 app 1 apprank 0 global 1 local 0 noderank 0 node 1 host v1\n"
              "peer 2 app 1 apprank 1 global 2 local 1 noderank 1 node 1 host v1\n"
              "peer 3 app 1 apprank 2 global 3 local 2 noderank 2 node 1 host v1\n"
              "peer 4 app 1 apprank 3 global 4 local 1 noderank 1 node 0 host v2\n"
              "peer 5 app 1 apprank 4 global 5 local 3 noderank 3 node 1 host v1\n");
  });
}

TEST_F(PmixClients, AFenceOnOneNodeIsNotOurBusiness) {
  on_node("v1", [&] {
    register_and_start(job(kJob, 4), {"pmix_fence", "collect"});
    expect_all_say("sum 406");
    EXPECT_THAT(handler_.fences, IsEmpty());
  });
}

TEST_F(PmixClients, AFenceOverTwoNodesBringsAllData) {
  on_node("v2", [&] {
    register_and_start(job(kJob, 2, 2), {"pmix_fence", "collect"});
    ASSERT_TRUE(run_until([&] { return !handler_.fences.empty(); }));
    write_text(session_.file("v2"), handler_.fences[0].data);
  });
  on_node("v1", [&] {
    register_and_start(job(kJob, 2, 2), {"pmix_fence", "collect", "7"});
    ASSERT_TRUE(run_until([&] { return !handler_.fences.empty(); }));
    const auto& fence = handler_.fences[0];
    EXPECT_THAT(fence.participants, ElementsAre(ProcName{kJob, kAllRanks}));
    EXPECT_TRUE(fence.collect);
    EXPECT_EQ(fence.timeout_s, 7U);
    server_->collective_done(fence.ticket, ok_status(),
                             fence.data + read_text(session_.file("v2")));
    expect_all_say("sum 406");
    EXPECT_THAT(handler_.modexes, IsEmpty());
  });
}

TEST_F(PmixClients, WhatARemoteProcessPutComesWhenItIsAskedFor) {
  on_node("v2", [&] {
    register_and_start(job(kJob, 1, 2), {"pmix_fence", "direct"});
    for (const std::uint32_t rank : {1U, 2U}) {
      const auto data = fetch({kJob, rank});
      ASSERT_TRUE(data.ok()) << data.error().message;
      write_text(session_.file(std::to_string(rank)), *data);
    }
  });
  on_node("v1", [&] {
    register_and_start(job(kJob, 1, 2), {"pmix_fence", "direct"});
    ASSERT_TRUE(run_until([&] { return !handler_.fences.empty(); }));
    EXPECT_FALSE(handler_.fences[0].collect);
    server_->collective_done(handler_.fences[0].ticket, ok_status(), "");
    for (const std::uint32_t rank : {1U, 2U}) {
      ASSERT_TRUE(run_until([&] { return handler_.modexes.size() == rank; })) << complaints();
      const auto& modex = handler_.modexes.back();
      EXPECT_EQ(modex.whose, (ProcName{kJob, rank}));
      server_->modex_done(modex.ticket, ok_status(),
                          read_text(session_.file(std::to_string(rank))));
    }
    expect_all_say("sum 303");
  });
}

TEST_F(PmixClients, AFetchWaitsUntilTheProcessHasCommitted) {
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job(kJob, 1, 1)).ok());
    std::optional<Result<std::string>> answer;
    server_->fetch_modex({kJob, 0}, Modex::kPut,
                         [&](Result<std::string> result) { answer = std::move(result); });
    start({kJob, 0}, {"pmix_fence", "direct"});
    ASSERT_TRUE(run_until([&] { return answer.has_value(); }));
    ASSERT_TRUE(answer->ok()) << answer->error().message;
    EXPECT_FALSE((*answer)->empty());
  });
}

// libpmix takes keys of a process only when one of its job has come.
TEST_F(PmixClients, AFetchForStrangersSaysWhoTheProcessIsHoweverEarlyItComes) {
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job(kJob, 1, 1)).ok());
    std::vector<std::string> answers;
    const auto ask = [&](Modex what) {
      server_->fetch_modex({kJob, 0}, what, [&](const Result<std::string>& result) {
        answers.push_back(result.ok() ? *result : result.error().message);
      });
    };
    ask(Modex::kPutAndKeys);
    start({kJob, 0}, {"pmix_fence", "direct"});
    ASSERT_TRUE(run_until([&] { return answers.size() == 1; }));
    ask(Modex::kPutAndKeys);
    ASSERT_TRUE(run_until([&] { return answers.size() == 2; }));
    for (const std::string& answer : answers) EXPECT_THAT(answer, HasSubstr(PMIX_HOSTNAME));
  });
}

TEST_F(PmixClients, AFetchEndsWithTheProcess) {
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job(kJob, 1, 1)).ok());
    std::optional<Result<std::string>> answer;
    server_->fetch_modex({kJob, 0}, Modex::kPut,
                         [&](Result<std::string> result) { answer = std::move(result); });
    start({kJob, 0}, {"pmix_leave", "0", "kill"});
    ASSERT_TRUE(run_until([&] { return !handler_.lost.empty() && all_ended(); }));
    EXPECT_FALSE(answer) << "libpmix does not tell";
    server_->process_ended({kJob, 0});
    ASSERT_TRUE(run_until([&] { return answer.has_value(); }));
    ASSERT_FALSE(answer->ok());
    EXPECT_EQ(answer->error().code, ErrorCode::kNotFound);
    EXPECT_EQ(fetch({kJob, 0}).error().code, ErrorCode::kNotFound);
  });
}

TEST_F(PmixClients, AFetchEndsWithTheJob) {
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job(kJob, 1, 1)).ok());
    std::optional<Result<std::string>> answer;
    std::optional<Result<std::string>> strangers;
    server_->fetch_modex({kJob, 0}, Modex::kPut,
                         [&](Result<std::string> result) { answer = std::move(result); });
    server_->fetch_modex({kJob, 0}, Modex::kPutAndKeys,
                         [&](Result<std::string> result) { strangers = std::move(result); });
    server_->deregister_job(kJob);
    ASSERT_TRUE(run_until([&] { return answer.has_value() && strangers.has_value(); }));
    ASSERT_FALSE(answer->ok());
    EXPECT_EQ(answer->error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(strangers->ok());
  });
}

TEST_F(PmixClients, FindWhichCpusTheirPeersHaveOnEveryNode) {
  on_node("v1", [&] {
    JobDescription one = job(kJob, 3, 1);
    one.nodes[0].cpus = {"0", "", "1"};
    one.nodes[0].all_cpus = "0-1";
    one.nodes[1].all_cpus = "0-63";
    ASSERT_TRUE(register_job(one).ok());
    Client& client = start({kJob, 0}, {"pmix_hello", "places"});
    ASSERT_TRUE(run_until([&] { return client.ended(); }));
    const std::string text = client.output();
    EXPECT_EQ(client.exit_status(), 0) << text;
    EXPECT_THAT(text, HasSubstr("place 0 cpuset hwloc:0, shares node"));
    EXPECT_THAT(text, HasSubstr("place 1 cpuset hwloc:0-1, shares node"));
    EXPECT_THAT(text, HasSubstr("place 2 cpuset hwloc:1, shares node"));
    EXPECT_THAT(text, HasSubstr("place 3 cpuset hwloc:0-63, shares nothing"));
    const std::size_t self = text.find("place 0");
    EXPECT_THAT(text.substr(self, text.find('\n', self) - self), HasSubstr("hwthread"));
  });
}

TEST_F(PmixClients, HaveTheCpusOfTheNodeIfNothingElseIsSaid) {
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job(kJob, 1)).ok());
    Client& client = start({kJob, 0}, {"pmix_hello", "places"});
    ASSERT_TRUE(run_until([&] { return client.ended(); }));
    EXPECT_THAT(client.output(), HasSubstr("place 0 cpuset hwloc:0"));
  });
}

TEST_F(PmixClients, MayBeKilledAtAnyTime) {
  constexpr std::uint32_t kCount = 60;
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job(kJob, kCount, 1)).ok());
    for (std::uint32_t rank = 0; rank < kCount; ++rank) {
      Client& client = start({kJob, rank}, {"pmix_fence"});
      const auto when = std::chrono::steady_clock::now() + rank * std::chrono::microseconds(120);
      ASSERT_TRUE(run_until([&] { return std::chrono::steady_clock::now() > when; }));
      client.kill(SIGKILL);
    }
    clients_.clear();
    ASSERT_TRUE(run_until([&] { return handler_.lost.size() == handler_.connected.size(); }));
    ASSERT_TRUE(register_job(job("dvm-test@after", 1)).ok());
    Client& last = start({"dvm-test@after", 0}, {"pmix_hello"});
    ASSERT_TRUE(run_until([&] { return last.ended(); }));
    EXPECT_EQ(last.exit_status(), 0) << last.output();
  });
}

TEST_F(PmixClients, AFenceThatFailsSaysWhy) {
  on_node("v1", [&] {
    const std::vector<std::pair<ErrorCode, std::string>> cases = {
        {ErrorCode::kConnectionLost, "LOST_CONNECTION"}, {ErrorCode::kTimedOut, "TIMEOUT"}};
    for (const auto& [code, name] : cases) {
      const JobDescription one = job("dvm-test@" + name, 2, 1);
      register_and_start(one, {"pmix_fence"});
      ASSERT_TRUE(run_until([&] { return !handler_.fences.empty(); }));
      server_->collective_done(handler_.fences[0].ticket, Error{code, "for a test"}, "");
      ASSERT_TRUE(run_until([&] { return all_ended(); })) << complaints();
      for (const auto& client : clients_) {
        EXPECT_EQ(client->exit_status(), 3);
        EXPECT_THAT(client->output(), HasSubstr(name));
      }
      clients_.clear();
      handler_.fences.clear();
    }
  });
}

TEST_F(PmixClients, AFailedModexIsAnError) {
  on_node("v1", [&] {
    register_and_start(job(kJob, 1, 1), {"pmix_fence", "none"});
    ASSERT_TRUE(run_until([&] { return !handler_.modexes.empty(); }));
    server_->modex_done(handler_.modexes[0].ticket, Error{ErrorCode::kNotFound, "gone"}, "");
    ASSERT_TRUE(run_until([&] { return all_ended(); }));
    EXPECT_EQ(clients_[0]->exit_status(), 1);
    EXPECT_THAT(clients_[0]->output(), HasSubstr("NOT-FOUND"));
  });
}

TEST_F(PmixClients, OneThatExitsOrIsKilledWithoutAWordIsLost) {
  on_node("v1", [&] {
    for (const std::string how : {"exit", "kill"}) {
      handler_.lost.clear();
      handler_.finalized.clear();
      const JobDescription one = job("dvm-test@" + how, 1);
      register_and_start(one, {"pmix_leave", "0", how});
      EXPECT_TRUE(run_until([&] { return !handler_.lost.empty(); }));
      EXPECT_THAT(handler_.lost, ElementsAre(ProcName{one.nspace, 0}));
      EXPECT_THAT(handler_.finalized, IsEmpty());
      server_->deregister_job(one.nspace);
    }
  });
}

// libpmix tells of losses at the same moment by one event.
TEST_F(PmixClients, EveryOneOfManyThatAreLostTogetherIsTold) {
  constexpr std::size_t kCount = 8;
  on_node("v1", [&] {
    for (int round = 0; round < 5; ++round) {
      const JobDescription one = job("dvm-test@" + std::to_string(round), kCount, 1);
      register_and_start(one, {"pmix_fence"});
      ASSERT_TRUE(run_until([&] { return !handler_.fences.empty(); }));
      for (const auto& client : clients_) client->kill(SIGKILL);
      EXPECT_TRUE(run_until([&] { return handler_.lost.size() == kCount; }))
          << handler_.lost.size() << " in round " << round;
      clients_.clear();
      handler_.lost.clear();
      handler_.fences.clear();
      server_->deregister_job(one.nspace);
    }
  });
}

TEST_F(PmixClients, AFenceThatALocalParticipantWillNotEnterIsBroken) {
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job(kJob, 2, 1)).ok());
    start({kJob, 1}, {"pmix_leave", "1", "kill"});
    ASSERT_TRUE(run_until([&] { return !handler_.lost.empty(); }));
    start({kJob, 0}, {"pmix_leave", "1"});
    ASSERT_TRUE(run_until([&] { return !handler_.fences.empty(); }));
    EXPECT_TRUE(handler_.fences[0].broken);
    EXPECT_FALSE(clients_[1]->ended());
    server_->collective_done(handler_.fences[0].ticket, Error{ErrorCode::kConnectionLost, "gone"},
                             "");
    ASSERT_TRUE(run_until([&] { return all_ended(); }));
    EXPECT_EQ(clients_[1]->output(), "fence: LOST_CONNECTION\n");
  });
}

// libpmix sees to it when the others are in the fence already, and waits for ever when they are
// not.
TEST_F(PmixClients, ALocalFenceWithOneThatEndedIsOursToFail) {
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job(kJob, 3)).ok());
    start({kJob, 1}, {"pmix_leave", "1", "kill"});
    ASSERT_TRUE(run_until([&] { return clients_[0]->ended(); }));
    server_->process_ended({kJob, 1});
    server_->process_ended({kJob, 1});
    ASSERT_TRUE(run_until([&] { return !handler_.lost.empty(); }));
    start({kJob, 0}, {"pmix_leave", "1"});
    start({kJob, 2}, {"pmix_leave", "1"});
    ASSERT_TRUE(run_until([&] { return !handler_.fences.empty(); }));
    EXPECT_THAT(handler_.fences[0].participants, ElementsAre(ProcName{kJob, kAllRanks}));
    EXPECT_TRUE(handler_.fences[0].broken);
    server_->collective_done(handler_.fences[0].ticket, Error{ErrorCode::kConnectionLost, "gone"},
                             "");
    ASSERT_TRUE(run_until([&] { return all_ended(); }));
    EXPECT_EQ(clients_[1]->output(), "fence: LOST_CONNECTION\n");
    EXPECT_EQ(clients_[2]->output(), "fence: LOST_CONNECTION\n");
  });
}

TEST_F(PmixClients, WhatAProcessPutOutlivesIt) {
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job(kJob, 2, 1)).ok());
    start({kJob, 0}, {"pmix_leave", "0", "put"});
    start({kJob, 1}, {"pmix_leave", "0", "kill"});
    ASSERT_TRUE(run_until([&] { return handler_.finalized.size() == 1; }));
    ASSERT_TRUE(run_until([&] { return clients_[0]->ended(); }));
    server_->process_ended({kJob, 0});
    const auto data = fetch({kJob, 0});
    ASSERT_TRUE(data.ok()) << data.error().message;
    EXPECT_THAT(*data, HasSubstr("test.number"));
  });
}

TEST_F(PmixClients, AnAbortIsAskedForAndAnswered) {
  on_node("v1", [&] {
    register_and_start(job(kJob, 3), {"pmix_abort", "42", "it is over", "1", "2"});
    ASSERT_TRUE(run_until([&] { return !handler_.aborts.empty(); }));
    const auto& abort = handler_.aborts[0];
    EXPECT_EQ(abort.who, (ProcName{kJob, 0}));
    EXPECT_EQ(abort.status, 42);
    EXPECT_EQ(abort.message, "it is over");
    EXPECT_THAT(abort.whom, ElementsAre(ProcName{kJob, 1}, ProcName{kJob, 2}));
    EXPECT_FALSE(clients_[0]->ended()) << "it waits for the answer";
    server_->done(abort.ticket, ok_status());
    EXPECT_TRUE(run_until([&] { return clients_[0]->ended(); }));
    EXPECT_EQ(clients_[0]->exit_status(), 0);
  });
}

TEST_F(PmixClients, AnAbortOfEverybodyNamesNobody) {
  on_node("v1", [&] {
    register_and_start(job(kJob, 1), {"pmix_abort", "1", ""});
    ASSERT_TRUE(run_until([&] { return !handler_.aborts.empty(); }));
    EXPECT_THAT(handler_.aborts[0].whom, IsEmpty());
    EXPECT_EQ(handler_.aborts[0].message, "");
  });
}

TEST_F(PmixClients, OpenTicketsFailWhenTheJobIsTakenAway) {
  on_node("v1", [&] {
    register_and_start(job(kJob, 1, 1), {"pmix_fence"});
    ASSERT_TRUE(run_until([&] { return !handler_.fences.empty(); }));
    server_->deregister_job(kJob);
    server_->collective_done(handler_.fences[0].ticket, ok_status(), "too late");
    EXPECT_TRUE(run_until([&] { return all_ended(); }));
    EXPECT_NE(clients_[0]->exit_status(), 0);
  });
}

TEST_F(PmixClients, OpenTicketsFailWhenTheServerEnds) {
  on_node("v1", [&] {
    register_and_start(job(kJob, 1, 1), {"pmix_fence"});
    ASSERT_TRUE(run_until([&] { return !handler_.fences.empty(); }));
    server_.reset();
    EXPECT_TRUE(run_until([&] { return all_ended(); }));
    EXPECT_NE(clients_[0]->exit_status(), 0);
  });
}

}  // namespace
}  // namespace tide::pmix
