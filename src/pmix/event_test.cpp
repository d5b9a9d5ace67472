// Events that processes tell each other, and those of the DVM itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pmix.h>

#include "pmix/event_notice.hpp"
#include "pmix/packing.hpp"
#include "pmix/server.hpp"
#include "pmix/test_support.hpp"
#include "pmix/two_nodes.hpp"

namespace tide::pmix {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kFirst = "dvm-test@1";
const std::string kSecond = "dvm-test@2";
const std::string kEnd = "end from dvm-test@1:0\n";
const std::string kAll = "event from dvm-test@1:0: hello\n" + kEnd;
// The codes of tests/programs/pmix_event.c.
constexpr int kEventCode = PMIX_EXTERNAL_ERR_BASE - 7;
constexpr int kEndCode = PMIX_EXTERNAL_ERR_BASE - 8;

std::string range(pmix_data_range_t number) {
  return std::to_string(number);
}

class Events : public testing::TwoNodes {
 protected:
  // Of two processes on each of two nodes.
  void tell(const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {"pmix_event", "0"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    run(job(kFirst, 2, 2), argv);
  }
  static wire::EventNotice notice(int code, wire::Range range) {
    wire::EventNotice made;
    made.set_code(code);
    made.mutable_source()->set_nspace("dvm-test");
    made.mutable_source()->set_rank(1);  // the server itself
    made.set_range(range);
    return made;
  }
  void add_text(wire::EventNotice& notice) {
    auto* fact = notice.add_facts();
    fact->set_key("test.text");
    fact->set_text("fact");
  }
  void start_hearing(const JobDescription& job, const std::vector<std::string>& argv) {
    ASSERT_TRUE(register_job(job).ok());
    start_all(job, argv);
  }
  void expect_output(std::size_t client, const std::string& output) {
    EXPECT_EQ(clients_.at(client)->output(), output) << client;
  }
};

TEST_F(Events, TheSessionHearsItOnce) {
  tell({range(PMIX_RANGE_SESSION)});
  for (std::uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(output_of({kFirst, rank}), kAll) << rank;
}

TEST_F(Events, ThoseThatAreNamedHearItAndNobodyElse) {
  tell({range(PMIX_RANGE_CUSTOM), "to=1,3"});
  EXPECT_EQ(output_of({kFirst, 0}), kEnd);
  EXPECT_EQ(output_of({kFirst, 1}), kAll);
  EXPECT_EQ(output_of({kFirst, 2}), kEnd);
  EXPECT_EQ(output_of({kFirst, 3}), kAll);
}

TEST_F(Events, ALocalOneStaysOnItsNode) {
  tell({range(PMIX_RANGE_LOCAL)});
  EXPECT_EQ(output_of({kFirst, 1}), kAll);
  EXPECT_EQ(output_of({kFirst, 2}), kEnd);
}

TEST_F(Events, OneForAJobReachesAllOfItAndNoOtherJobElsewhere) {
  JobDescription other = job(kSecond, 1);
  other.nodes[0].name = "v2";
  run_all({{job(kFirst, 2, 2), {"pmix_event", "0", range(PMIX_RANGE_NAMESPACE), "with=" + kSecond}},
           {other, {"pmix_event", "-1", "0", "with=" + kFirst}}});
  for (std::uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(output_of({kFirst, rank}), kAll) << rank;
  EXPECT_EQ(output_of({kSecond, 0}), kEnd);
}

TEST_F(Events, OneForTheSessionReachesOtherJobs) {
  run_all({{job(kFirst, 1, 1), {"pmix_event", "0", range(PMIX_RANGE_SESSION), "with=" + kSecond}},
           {job(kSecond, 1, 1), {"pmix_event", "-1", "0", "with=" + kFirst}}});
  EXPECT_EQ(output_of({kSecond, 0}), kAll);
  EXPECT_EQ(output_of({kSecond, 1}), kAll);
}

TEST_F(Events, HandlersThatComeLateGetWhatWasKept) {
  tell({range(PMIX_RANGE_SESSION), "late"});
  for (std::uint32_t rank = 1; rank < 4; ++rank) EXPECT_EQ(output_of({kFirst, rank}), kAll) << rank;
}

// libpmix 4.2.2 does not tell default handlers, except of what their own process tells.
TEST_F(Events, ADefaultHandlerHearsItsOwnProcess) {
  tell({range(PMIX_RANGE_SESSION), "default"});
  EXPECT_EQ(output_of({kFirst, 0}), kAll);
  EXPECT_EQ(output_of({kFirst, 2}), kEnd);
}

TEST_F(Events, WeAreToldWhatIsNotOnlyForThisNode) {
  on_node("v1", [&] {
    start_hearing(job(kFirst, 2), {"pmix_event", "0", range(PMIX_RANGE_CUSTOM), "to=1"});
    ASSERT_TRUE(run_until([&] { return all_ended() && handler_.events.size() == 2; }));
    const wire::EventNotice& told = handler_.events[0];
    EXPECT_EQ(told.code(), kEventCode);
    EXPECT_EQ(told.source().nspace(), kFirst);
    EXPECT_EQ(told.source().rank(), 0U);
    EXPECT_EQ(told.range(), wire::RANGE_CUSTOM);
    ASSERT_THAT(told.targets().names(), SizeIs(1));
    EXPECT_EQ(told.targets().names(0).rank(), 1U);
    InfoList list;
    EXPECT_TRUE(unpack_info(told.info(), list));
    EXPECT_EQ(handler_.events[1].range(), wire::RANGE_SESSION);
    expect_output(0, kEnd);
    expect_output(1, kAll);
  });
}

TEST_F(Events, TheEndOfAProcessIsNoEventForUs) {
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job(kFirst, 1)).ok());
    start({kFirst, 0}, {"pmix_leave", "0", "kill"});
    ASSERT_TRUE(run_until([&] { return !handler_.lost.empty() && all_ended(); }));
    ASSERT_TRUE(register_job(job(kSecond, 1)).ok());  // libpmix has had time to say more
    EXPECT_THAT(handler_.events, IsEmpty());
  });
}

// ---- of the DVM ----

TEST_F(Events, ANoticeOfOurOwnReachesThoseThatAreNamed) {
  on_node("v1", [&] {
    start_hearing(job(kFirst, 2, 1), {"pmix_event", "-1", "0"});
    ASSERT_TRUE(run_until([&] { return !handler_.fences.empty(); })) << complaints();
    wire::EventNotice directed = notice(kEventCode, wire::RANGE_CUSTOM);
    add_text(directed);
    for (const std::uint32_t rank : {1U, 2U}) {
      auto* target = directed.mutable_targets()->add_names();
      target->set_nspace(kFirst);
      target->set_rank(rank);
    }
    server_->notify(directed);
    server_->notify(notice(kEndCode, wire::RANGE_SESSION));
    server_->collective_done(handler_.fences[0].ticket, ok_status(), handler_.fences[0].data);
    ASSERT_TRUE(run_until([&] { return all_ended(); })) << complaints();
    expect_output(0, "end from dvm-test:1\n");
    expect_output(1, "event from dvm-test:1: fact\nend from dvm-test:1\n");
    EXPECT_THAT(handler_.events, IsEmpty()) << "our own came back";
  });
}

TEST_F(Events, NoticesForAJobAreNotForOthers) {
  on_node("v1", [&] {
    start_hearing(job(kFirst, 1, 1), {"pmix_event", "-1", "0"});
    start_hearing(job(kSecond, 1, 1), {"pmix_event", "-1", "0"});
    ASSERT_TRUE(run_until([&] { return handler_.fences.size() == 2; })) << complaints();
    wire::EventNotice for_job = notice(kEventCode, wire::RANGE_NAMESPACE);
    for_job.mutable_source()->set_nspace(kSecond);
    for_job.mutable_source()->set_rank(1);
    server_->notify(for_job);
    server_->notify(notice(kEndCode, wire::RANGE_GLOBAL));
    for (const auto& fence : handler_.fences)
      server_->collective_done(fence.ticket, ok_status(), "");
    ASSERT_TRUE(run_until([&] { return all_ended(); })) << complaints();
    expect_output(0, "end from dvm-test:1\n");
    expect_output(1, "event from dvm-test@2:1: nothing\nend from dvm-test:1\n");
  });
}

TEST_F(Events, NoticesThatMakeNoSenseDoNothing) {
  on_node("v1", [&] {
    start_hearing(job(kFirst, 1, 1), {"pmix_event", "-1", "0"});
    ASSERT_TRUE(run_until([&] { return !handler_.fences.empty(); })) << complaints();
    server_->notify({});
    server_->notify(notice(kEventCode, wire::RANGE_CUSTOM));
    server_->notify(notice(kEventCode, wire::RANGE_MANAGER));
    wire::EventNotice mangled = notice(kEventCode, wire::RANGE_SESSION);
    mangled.set_info("no bytes of ours");
    server_->notify(mangled);
    wire::EventNotice elsewhere = notice(kEventCode, wire::RANGE_CUSTOM);
    elsewhere.mutable_targets()->add_names()->set_nspace(kFirst);
    elsewhere.mutable_targets()->mutable_names(0)->set_rank(1);
    server_->notify(elsewhere);
    server_->notify(notice(kEndCode, wire::RANGE_SESSION));
    server_->collective_done(handler_.fences[0].ticket, ok_status(), handler_.fences[0].data);
    ASSERT_TRUE(run_until([&] { return all_ended(); })) << complaints();
    expect_output(0, "end from dvm-test:1\n");
  });
}

TEST(EventNotice, FactsHaveTheTypesThatTheirReadersExpect) {
  wire::EventNotice notice;
  const auto add = [&notice](const char* key) {
    auto* fact = notice.add_facts();
    fact->set_key(key);
    return fact;
  };
  add("some.number")->set_number(1ULL << 40U);
  add(PMIX_TIME_REMAINING)->set_number(60);
  add(PMIX_EXIT_CODE)->set_number(3);
  add(PMIX_JOB_TERM_STATUS)->set_status(PMIX_ERR_TIMEOUT);
  auto* proc = add(PMIX_EVENT_AFFECTED_PROC)->mutable_proc();
  proc->set_nspace(kFirst);
  proc->set_rank(kAllRanks);
  add(PMIX_EVENT_NON_DEFAULT)->set_flag(true);
  const auto info = event_info(notice);
  ASSERT_TRUE(info.ok());
  ASSERT_EQ(info->size(), 6U);
  const pmix_info_t* entries = info->data();
  EXPECT_EQ(entries[0].value.type, PMIX_UINT64);
  EXPECT_EQ(entries[0].value.data.uint64, 1ULL << 40U);
  EXPECT_EQ(entries[1].value.type, PMIX_UINT32);
  EXPECT_EQ(entries[2].value.type, PMIX_INT);
  EXPECT_EQ(entries[2].value.data.integer, 3);
  EXPECT_EQ(entries[3].value.type, PMIX_STATUS);
  EXPECT_EQ(entries[3].value.data.status, PMIX_ERR_TIMEOUT);
  EXPECT_EQ(entries[4].value.data.proc->rank, PMIX_RANK_WILDCARD);
  EXPECT_TRUE(entries[5].value.data.flag);
}

TEST(EventNotice, WhatIsNoEventIsRefused) {
  wire::EventNotice notice;
  pmix_proc_t source{};
  source.rank = PMIX_RANK_UNDEF;
  EXPECT_EQ(read_event(-1, source, PMIX_RANGE_SESSION, nullptr, 0, notice), PMIX_ERR_BAD_PARAM);
  source.rank = 0;
  EXPECT_EQ(read_event(-1, source, 99, nullptr, 0, notice), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(read_event(-1, source, PMIX_RANGE_CUSTOM, nullptr, 0, notice), PMIX_ERR_BAD_PARAM);
  pmix_info_t info{};
  PMIX_INFO_LOAD(&info, PMIX_EVENT_CUSTOM_RANGE, "rank 1", PMIX_STRING);
  EXPECT_EQ(read_event(-1, source, PMIX_RANGE_CUSTOM, &info, 1, notice), PMIX_ERR_BAD_PARAM);
  release(info.value);
  info.value.type = PMIX_POINTER;
  EXPECT_EQ(read_event(-1, source, PMIX_RANGE_SESSION, &info, 1, notice),
            PMIX_ERR_UNKNOWN_DATA_TYPE);
}

}  // namespace
}  // namespace tide::pmix
