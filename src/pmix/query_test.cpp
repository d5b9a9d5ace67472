// Questions about the DVM: from PMIx's form to ours and back, and by real processes and tools.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pmix.h>

#include "pmix/query_plan.hpp"
#include "pmix/query_reply.hpp"
#include "pmix/tool_support.hpp"

namespace tide::pmix {
namespace {

using testing::Client;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Asked {
 public:
  explicit Asked(const std::vector<std::string>& keys) {
    PMIX_QUERY_CONSTRUCT(&query_);
    pmix_status_t status = PMIX_SUCCESS;
    for (const auto& key : keys) PMIX_ARGV_APPEND(status, query_.keys, key.c_str());
    EXPECT_EQ(status, PMIX_SUCCESS);
  }
  ~Asked() { PMIX_QUERY_DESTRUCT(&query_); }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  Asked& with(const char* key, const void* value, pmix_data_type_t type, bool required = false) {
    PMIX_INFO_CREATE(query_.qualifiers, 1);
    query_.nqual = 1;
    PMIX_INFO_LOAD(query_.qualifiers, key, value, type);
    if (required) query_.qualifiers[0].flags |= PMIX_INFO_REQD;
    return *this;
  }
  pmix_status_t read(QueryPlan& plan) { return plan.read(&query_, 1); }

 private:
  pmix_query_t query_{};
};

TEST(PmixQueryPlan, KnowsWhatIsAskedAbout) {
  QueryPlan plan;
  Asked asked({PMIX_QUERY_PROC_TABLE, PMIX_QUERY_JOB_STATUS, PMIX_NODE_LIST});
  ASSERT_EQ(asked.with(PMIX_NSPACE, "dvm@7", PMIX_STRING).read(plan), PMIX_SUCCESS);
  ASSERT_EQ(plan.query.questions_size(), 3);
  EXPECT_EQ(plan.query.questions(0).what(), wire::Question::PROCESSES);
  EXPECT_EQ(plan.query.questions(0).nspace(), "dvm@7");
  EXPECT_EQ(plan.query.questions(1).what(), wire::Question::JOB_STATUS);
  EXPECT_EQ(plan.query.questions(2).what(), wire::Question::PROCESSES) << "the job's own nodes";
  EXPECT_FALSE(plan.some_unknown);
}

TEST(PmixQueryPlan, TakesAProcessForItsJobAndForTheOneWhoAsks) {
  QueryPlan plan;
  const pmix_proc_t proc = {"dvm@7", 3};
  Asked asked({PMIX_JOB_SIZE});
  ASSERT_EQ(asked.with(PMIX_PROCID, &proc, PMIX_PROC).read(plan), PMIX_SUCCESS);
  EXPECT_EQ(plan.query.questions(0).nspace(), "dvm@7");
  EXPECT_EQ(plan.who, (ProcName{"dvm@7", 3}));
}

TEST(PmixQueryPlan, PassesOverUnknownKeysAndRefusesIfAllAre) {
  QueryPlan some;
  EXPECT_EQ(Asked({"who.knows", PMIX_QUERY_NAMESPACES}).read(some), PMIX_SUCCESS);
  EXPECT_TRUE(some.some_unknown);
  EXPECT_EQ(some.keys.size(), 1U);
  QueryPlan none;
  EXPECT_EQ(Asked({"who.knows"}).read(none), PMIX_ERR_NOT_SUPPORTED);
}

TEST(PmixQueryPlan, RefusesWhatMakesNoSense) {
  QueryPlan plan;
  const std::uint32_t number = 7;
  const int negative = -1;
  EXPECT_EQ(plan.read(nullptr, 0), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(plan.read(nullptr, 3), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Asked({}).read(plan), PMIX_ERR_BAD_PARAM);
  const auto with = [&](const char* key, const void* value, pmix_data_type_t type, bool required) {
    QueryPlan fresh;
    return Asked({PMIX_QUERY_NAMESPACES}).with(key, value, type, required).read(fresh);
  };
  EXPECT_EQ(with(PMIX_NSPACE, &number, PMIX_UINT32, false), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(with(PMIX_PROCID, "dvm@7", PMIX_STRING, false), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(with(PMIX_NODEID, &negative, PMIX_INT, false), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(with("who.knows", "x", PMIX_STRING, true), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(with("who.knows", "x", PMIX_STRING, false), PMIX_SUCCESS);
}

TEST(PmixQueryReply, StatesHaveTheirPmixNames) {
  EXPECT_EQ(process_state(4), PMIX_PROC_STATE_RUNNING);
  EXPECT_EQ(process_state(20), PMIX_PROC_STATE_TERMINATED);
  EXPECT_EQ(process_state(51), PMIX_PROC_STATE_KILLED_BY_CMD);
  EXPECT_EQ(process_state(56), PMIX_PROC_STATE_COMM_FAILED);
  EXPECT_EQ(process_state(59), PMIX_PROC_STATE_ERROR);
  EXPECT_EQ(process_state(3), PMIX_PROC_STATE_UNDEF);
  EXPECT_EQ(job_status(14), PMIX_OPERATION_IN_PROGRESS);
  EXPECT_EQ(job_status(31), PMIX_SUCCESS);
  EXPECT_EQ(job_status(52), PMIX_ERR_JOB_ABORTED);
  EXPECT_EQ(job_status(70), PMIX_ERR_JOB_FAILED_TO_LAUNCH);
}

TEST(PmixQueryReply, TooFewRepliesAreNothingFound) {
  QueryPlan plan;
  ASSERT_EQ(Asked({PMIX_QUERY_NAMESPACES}).read(plan), PMIX_SUCCESS);
  EXPECT_EQ(query_result(plan, {}).status, PMIX_ERR_NOT_FOUND);
}

class PmixQueries : public testing::ToolFixture {
 protected:
  // Answers every question with the same facts, as far as they are about it.
  void answer_queries() {
    handler_.when_request = [this](const testing::RecordingHandler::Request& request) {
      wire::ServiceAnswer answer;
      for (const auto& question : request.request.query().questions()) {
        *answer.mutable_replies()->add_replies() = facts(question);
      }
      server_->answer(request.ticket, answer);
    };
  }
  static wire::QueryReply facts(const wire::Question& question) {
    wire::QueryReply reply;
    reply.set_known(question.nspace().empty() || question.nspace() == "dvm-test@5");
    for (const auto* name : {"dvm-test@5", "dvm-test@6"}) {
      if (!question.nspace().empty() && question.nspace() != name) continue;
      auto* job = reply.add_jobs();
      job->set_nspace(name);
      job->set_command("./run fast");
      job->set_state(14);
      job->set_size(2);
    }
    auto* process = reply.add_processes();
    process->mutable_name()->set_nspace("dvm-test@5");
    process->mutable_name()->set_rank(1);
    process->set_node("n2");
    process->set_executable("./run");
    process->set_pid(4711);
    process->set_state(51);
    process->set_exit_code(137);
    for (const std::uint32_t rank : {1U, 2U}) {
      auto* node = reply.add_nodes();
      node->set_name("n" + std::to_string(rank));
      node->set_rank(rank);
      node->set_slots(8);
      node->set_slots_used(rank);
      node->set_uri("dvm-test." + std::to_string(rank) + ";tcp4://127.0.0.1:9");
    }
    reply.set_time_left_ms(61'500);
    auto* group = reply.add_groups();
    group->set_name("friends");
    *group->mutable_members()->add_names() = process->name();
    return reply;
  }
  std::string answer_to(std::vector<std::string> words) {
    words.insert(words.begin(), "query");
    Client& tool = start_attached(words);
    EXPECT_TRUE(run_until_ended(tool));
    return tool.output();
  }
};

TEST_F(PmixQueries, OfAToolAreAnswered) {
  with_server([&] {
    accept_tools();
    answer_queries();
    EXPECT_EQ(answer_to({"PMIX_QUERY_NAMESPACES"}),
              "pmix.qry.ns=dvm-test@5,dvm-test@6\nquery: SUCCESS\n");
    EXPECT_EQ(answer_to({"PMIX_QUERY_JOB_STATUS", "PMIX_JOB_SIZE", "NSPACE=dvm-test@5"}),
              "pmix.qry.jst=OPERATION-IN-PROGRESS\npmix.job.size=2\nquery: SUCCESS\n");
    EXPECT_EQ(answer_to({"PMIX_QUERY_PROC_TABLE", "NSPACE=dvm-test@5"}),
              "pmix.qry.ptable=[dvm-test@5:1 host n2 pid 4711 state PROC KILLED BY CMD exit 0 "
              "program ./run]\nquery: SUCCESS\n")
        << "libpmix 4.2.2 does not pass exit codes on";
    EXPECT_THAT(answer_to({"PMIX_QUERY_NAMESPACE_INFO", "NSPACE=dvm-test@5"}),
                HasSubstr("[pmix.job.arr=[pmix.nspace=dvm-test@5; pmix.cmd.line=./run fast; "
                          "pmix.job.size=2; pmix.qry.jst=OPERATION-IN-PROGRESS]]"));
    EXPECT_EQ(answer_to({"PMIX_ALLOCATED_NODELIST", "PMIX_NUM_SLOTS", "PMIX_QUERY_ALLOC_STATUS"}),
              "pmix.alist=n1,n2\npmix.num.slots=16\npmix.query.alloc=n1:8:1,n2:8:2\n"
              "query: SUCCESS\n");
    EXPECT_EQ(answer_to({"PMIX_TIME_REMAINING"}), "pmix.time.remaining=61\nquery: SUCCESS\n");
    EXPECT_EQ(answer_to({"PMIX_QUERY_GROUP_NAMES", "PMIX_QUERY_NUM_GROUPS"}),
              "pmix.qry.pgrp=[friends]\npmix.qry.pgrpnum=1\nquery: SUCCESS\n");
    EXPECT_EQ(answer_to({"PMIX_QUERY_GROUP_MEMBERSHIP", "PMIX_GROUP_ID=friends"}),
              "pmix.qry.pgrpmems=[dvm-test@5:1]\nquery: SUCCESS\n");
    EXPECT_EQ(answer_to({"PMIX_QUERY_GROUP_MEMBERSHIP", "PMIX_GROUP_ID=enemies"}),
              "query: NOT-FOUND\n");
  });
}

TEST_F(PmixQueries, SayWhoAsksIfItNamesItself) {
  with_server([&] {
    accept_tools();
    answer_queries();
    answer_to({"PMIX_QUERY_NAMESPACES"});
    answer_to({"PMIX_QUERY_NAMESPACES", "PROCID=debugger:0"});
    ASSERT_EQ(handler_.requests.size(), 2U);
    EXPECT_EQ(handler_.requests[0].request.who().nspace(), "dvm-test") << "the server itself";
    EXPECT_EQ(handler_.requests[0].request.who().rank(), 1U);
    EXPECT_EQ(handler_.requests[0].request.user(), ::getuid());
    EXPECT_EQ(handler_.requests[1].request.who().nspace(), "debugger");
  });
}

TEST_F(PmixQueries, AboutWhatIsNotKnownOnlyInPartAreAnsweredInPart) {
  with_server([&] {
    accept_tools();
    answer_queries();
    EXPECT_THAT(answer_to({"PMIX_QUERY_NAMESPACES", "who.knows"}),
                HasSubstr("query: QUERY-PARTIAL-SUCCESS\n"))
        << "what comes with it libpmix 4.2.2 throws away at the other end";
    EXPECT_EQ(answer_to({"who.knows"}), "query: NOT-SUPPORTED\n");
    EXPECT_EQ(answer_to({"PMIX_QUERY_PROC_TABLE", "NSPACE=nobody"}), "query: NOT-FOUND\n");
  });
}

TEST_F(PmixQueries, AboutWhatCanBeAskedAreAnsweredWithoutAsking) {
  with_server([&] {
    accept_tools();
    EXPECT_THAT(answer_to({"PMIX_QUERY_SUPPORTED_KEYS"}),
                HasSubstr("pmix.qry.ns,pmix.qry.nsinfo,pmix.qry.jst"));
    EXPECT_THAT(answer_to({"PMIX_QUERY_SPAWN_SUPPORT"}), HasSubstr("pmix.mapby"));
    EXPECT_THAT(answer_to({"PMIX_QUERY_ATTRIBUTE_SUPPORT"}), Not(HasSubstr("still")));
    EXPECT_THAT(handler_.requests, IsEmpty());
  });
}

TEST_F(PmixQueries, ThatFailSayWhy) {
  with_server([&] {
    accept_tools();
    handler_.when_request = [this](const testing::RecordingHandler::Request& request) {
      wire::ServiceAnswer answer;
      answer.set_error_code(static_cast<std::uint32_t>(ErrorCode::kTimedOut));
      server_->answer(request.ticket, answer);
    };
    EXPECT_EQ(answer_to({"PMIX_QUERY_NAMESPACES"}), "query: TIMEOUT\n");
  });
}

TEST_F(PmixQueries, OfAProcessAreAnswered) {
  on_node("v1", [&] {
    answer_queries();
    ASSERT_TRUE(register_job(job("dvm-test@5", 2)).ok());
    Client& one = start({"dvm-test@5", 0}, {"pmix_query", "PMIX_QUERY_NAMESPACES"});
    Client& own = start({"dvm-test@5", 1}, {"pmix_query", "PMIX_JOB_SIZE", "NSPACE=dvm-test@5"});
    ASSERT_TRUE(run_until([&] { return one.ended() && own.ended(); }));
    EXPECT_EQ(one.output(), "pmix.qry.ns=dvm-test@5,dvm-test@6\nquery: SUCCESS\n");
    EXPECT_EQ(own.output(), "pmix.job.size=2\nquery: SUCCESS\n");
  });
}

TEST_F(PmixQueries, ThatNobodyAnswersFailWhenTheToolHasGone) {
  with_server([&] {
    accept_tools();
    Client& tool = start_attached({"query", "PMIX_QUERY_NAMESPACES"});
    ASSERT_TRUE(run_until([&] { return !handler_.requests.empty(); }));
    tool.kill(SIGKILL);
    ASSERT_TRUE(run_until([&] { return !handler_.gone_tools.empty(); }));
    server_->answer(handler_.requests[0].ticket, {});  // too late, and harmless
    answer_queries();
    EXPECT_THAT(answer_to({"PMIX_QUERY_NAMESPACES"}), HasSubstr("SUCCESS"));
  });
}

}  // namespace
}  // namespace tide::pmix
