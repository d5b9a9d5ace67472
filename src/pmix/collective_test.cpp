// What processes do together, on one node and on two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "pmix/server.hpp"
#include "pmix/test_support.hpp"
#include "pmix/two_nodes.hpp"

namespace tide::pmix {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kFirst = "dvm-test@1";
const std::string kSecond = "dvm-test@2";

class Together : public testing::TwoNodes {
 protected:
  // The next of what local processes do together, which wait for it.
  const testing::RecordingHandler::Collective& next() {
    EXPECT_TRUE(run_until([&] { return handler_.collectives.size() > seen_; })) << complaints();
    return handler_.collectives.at(seen_++);
  }
  void start_job(const JobDescription& job, const std::vector<std::string>& argv) {
    ASSERT_TRUE(register_job(job).ok());
    start_all(job, argv);
  }
  void expect_end(const std::string& output) {
    ASSERT_TRUE(run_until([&] { return all_ended(); })) << complaints();
    EXPECT_EQ(clients_[0]->output(), output);
  }
  // A job whose only processes are on this node.
  JobDescription job_on(const std::string& node, const std::string& nspace, std::uint32_t count) {
    JobDescription made = job(nspace, count);
    made.nodes[0].name = node;
    return made;
  }

  std::size_t seen_ = 0;
};

// ---- connections ----

TEST_F(Together, AConnectionIsAnsweredWhenAllAreThere) {
  on_node("v1", [&] {
    start_job(job(kFirst, 1, 1), {"pmix_connect", "-", "7"});
    const auto connect = next();
    EXPECT_EQ(connect.kind, wire::CollectiveId::CONNECT);
    EXPECT_THAT(connect.participants, ElementsAre(ProcName{kFirst, kAllRanks}));
    EXPECT_EQ(connect.timeout_s, 7U);
    EXPECT_FALSE(connect.broken);
    server_->collective_done(connect.ticket, ok_status(), "", 0);
    const auto disconnect = next();
    EXPECT_EQ(disconnect.kind, wire::CollectiveId::DISCONNECT);
    server_->collective_done(disconnect.ticket, Error{ErrorCode::kTimedOut, "late"}, "", 0);
    expect_end("connected: sum 9\ndisconnect: TIMEOUT\n");
  });
}

TEST_F(Together, AmongLocalProcessesWeHearNothing) {
  on_node("v1", [&] {
    start_job(job(kFirst, 2), {"pmix_connect", "-"});
    expect_end("connected: sum 9\n");
    EXPECT_THAT(handler_.collectives, IsEmpty());
  });
}

TEST_F(Together, AFailureReachesAll) {
  on_node("v1", [&] {
    start_job(job(kFirst, 2, 1), {"pmix_connect", "-"});
    server_->collective_done(next().ticket, Error{ErrorCode::kConnectionLost, "a node"}, "", 0);
    expect_end("connect: LOST_CONNECTION\n");
    EXPECT_EQ(clients_[1]->output(), clients_[0]->output());
  });
}

TEST_F(Together, WithOneThatIsGoneAConnectionIsBroken) {
  on_node("v1", [&] {
    const JobDescription one = job(kFirst, 3, 1);
    ASSERT_TRUE(register_job(one).ok());
    start({kFirst, 1}, {"pmix_connect", "-", "0", "1", "exit"});
    ASSERT_TRUE(run_until([&] { return clients_[0]->ended() && !handler_.lost.empty(); }));
    server_->process_ended({kFirst, 1});
    start({kFirst, 0}, {"pmix_connect", "-"});
    start({kFirst, 2}, {"pmix_connect", "-"});
    const auto connect = next();
    EXPECT_TRUE(connect.broken);
    server_->collective_done(connect.ticket, Error{ErrorCode::kConnectionLost, "one"}, "", 0);
    ASSERT_TRUE(run_until([&] { return all_ended(); })) << complaints();
    EXPECT_EQ(clients_[1]->output(), "connect: LOST_CONNECTION\n");
  });
}

TEST_F(Together, TwoJobsOnTwoNodesConnect) {
  run_all({{job_on("v1", kFirst, 2), {"pmix_connect", kSecond}},
           {job_on("v2", kSecond, 3), {"pmix_connect", kFirst}}});
  EXPECT_EQ(output_of({kFirst, 1}), "connected: sum 19\n");
  EXPECT_EQ(output_of({kSecond, 2}), "connected: sum 19\n");
}

TEST_F(Together, WhatAProcessHasPutComesWithWhoItIs) {
  run_all({{job_on("v1", kFirst, 2), {"pmix_keys", kSecond, "put"}},
           {job_on("v2", kSecond, 1), {"pmix_keys", kFirst, "put"}}});
  EXPECT_EQ(output_of({kFirst, 1}), "0: local 0 node 0 global 0 app 0 on v2\n");
  EXPECT_EQ(output_of({kSecond, 0}),
            "0: local 0 node 0 global 0 app 0 on v1\n1: local 1 node 1 global 1 app 0 on v1\n");
}

TEST_F(Together, EverythingOfAProcessIsEverythingOfItsJob) {
  run_all({{job_on("v1", kFirst, 1), {"pmix_keys", kSecond, "all"}},
           {job_on("v2", kSecond, 2), {"pmix_keys", kFirst, "all"}}});
  EXPECT_EQ(output_of({kFirst, 0}),
            "0: local 0 node 0 global 0 app 0 on v2\n1: local 1 node 1 global 1 app 0 on v2\n");
}

TEST_F(Together, TwoJobsOfBothNodesConnect) {
  run_all({{job(kFirst, 1, 1), {"pmix_connect", kSecond}},
           {job(kSecond, 1, 2), {"pmix_connect", kFirst}}});
  EXPECT_EQ(output_of({kFirst, 1}), "connected: sum 19\n");
  EXPECT_EQ(output_of({kSecond, 0}), "connected: sum 19\n");
}

// libpmix 4.2.2 loses its mind, but not ours: see docs/pmix.md.
TEST_F(Together, TimeoutsOfSeveralDoNotKeepTheServerFromItsEnd) {
  on_node("v1", [&] {
    start_job(job(kFirst, 2, 1), {"pmix_connect", "-", "60"});
    server_->collective_done(next().ticket, ok_status(), "", 0);
    server_->collective_done(next().ticket, ok_status(), "", 0);
    expect_end("connected: sum 10\n");
    const auto begin = std::chrono::steady_clock::now();
    server_.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, testing::kLimit);
  });
}

// ---- groups ----

TEST_F(Together, AGroupIsMadeAndDestroyed) {
  on_node("v1", [&] {
    start_job(job(kFirst, 1, 2), {"pmix_group", "some", "context", "timeout=9"});
    const auto made = next();
    EXPECT_EQ(made.kind, wire::CollectiveId::GROUP_CONSTRUCT);
    EXPECT_EQ(made.name, "some");
    EXPECT_THAT(made.participants, SizeIs(3));
    EXPECT_EQ(made.timeout_s, 9U);
    server_->collective_done(made.ticket, ok_status(), made.data, 17);
    const auto destroyed = next();
    EXPECT_EQ(destroyed.kind, wire::CollectiveId::GROUP_DESTRUCT);
    EXPECT_EQ(destroyed.name, "some");
    EXPECT_THAT(destroyed.participants, SizeIs(3));
    server_->collective_done(destroyed.ticket, ok_status(), "", 0);
    expect_end("group of 3 context 17\n");
  });
}

TEST_F(Together, AGroupWithoutAWishHasNoNumber) {
  on_node("v1", [&] {
    start_job(job(kFirst, 2, 1), {"pmix_group", "some"});
    const auto made = next();
    server_->collective_done(made.ticket, ok_status(), made.data, 17);
    server_->collective_done(next().ticket, ok_status(), "", 0);
    expect_end("group of 3\n");
  });
}

// libpmix makes it with us or without, as it happens, and destroys it with us.
TEST_F(Together, OfALocalGroupWeHearTheEnd) {
  on_node("v1", [&] {
    start_job(job(kFirst, 2), {"pmix_group", "some"});
    auto last = next();
    if (last.kind == wire::CollectiveId::GROUP_CONSTRUCT) {
      server_->collective_done(last.ticket, ok_status(), last.data, 17);
      last = next();
    }
    EXPECT_EQ(last.kind, wire::CollectiveId::GROUP_DESTRUCT);
    server_->collective_done(last.ticket, ok_status(), "", 0);
    expect_end("group of 2\n");
  });
}

TEST_F(Together, AGroupThatFailsAndBytesThatAreNone) {
  on_node("v1", [&] {
    start_job(job(kFirst, 1, 1), {"pmix_group", "some", "context"});
    server_->collective_done(next().ticket, Error{ErrorCode::kTimedOut, "late"}, "", 0);
    expect_end("construct: TIMEOUT\n");
    start({kFirst, 0}, {"pmix_group", "some", "context"});
    server_->collective_done(next().ticket, ok_status(), "no bytes of ours", 0);
    ASSERT_TRUE(run_until([&] { return all_ended(); })) << complaints();
    EXPECT_EQ(clients_[1]->output(), "construct: UNPACK-FAILURE\n");
  });
}

TEST_F(Together, MembersOnTwoNodesGetWhatAllHavePut) {
  run(job(kFirst, 2, 2), {"pmix_group", "some", "context", "get"});
  EXPECT_EQ(output_of({kFirst, 0}), "group of 4 context 42 sum 406\n");
  EXPECT_EQ(output_of({kFirst, 3}), "group of 4 context 42 sum 406\n");
}

TEST_F(Together, MembersOnTwoNodesGetWhatAllHaveGiven) {
  run(job(kFirst, 2, 2), {"pmix_group", "some", "context", "info", "get"});
  EXPECT_EQ(output_of({kFirst, 0}), "group of 4 context 42 sum 4412\n");
  EXPECT_EQ(output_of({kFirst, 3}), "group of 4 context 42 sum 4412\n");
}

TEST_F(Together, AGroupOfSome) {
  run(job(kFirst, 2, 2), {"pmix_group", "some", "context", "get", "members=3"});
  EXPECT_EQ(output_of({kFirst, 2}), "group of 3 context 42 sum 303\n");
  EXPECT_EQ(output_of({kFirst, 3}), "");
}

// By events, without a collective.
TEST_F(Together, MembersThatAreInvitedJoin) {
  run(job(kFirst, 2, 1), {"pmix_invite", "some"});
  EXPECT_EQ(output_of({kFirst, 0}), "invite: SUCCESS\njoined\n");
  EXPECT_EQ(output_of({kFirst, 2}), "joined\n");
}

}  // namespace
}  // namespace tide::pmix
