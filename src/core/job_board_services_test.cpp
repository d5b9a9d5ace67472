// What processes and tools want of jobs, seen through the head.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/head_rig.hpp"
#include "core/pmix_words.hpp"
#include "wire/exit_status.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Three nodes of two slots. Job 1 of client 5 has process 0 on v1, and runs. A tool is on v3.
class JobServicesTest : public ::testing::Test {
 public:
  void SetUp() override {
    rig.make_ready();
    rig.submit(5, job_spec(1));
    rig.launched(1, 1, {0});
    wire::UpBody body;
    *body.mutable_tool_joined()->mutable_tool() = tool;
    rig.up(3, body);
  }
  Actions ask(std::uint32_t daemon, wire::ServiceRequest request, const wire::ProcName& who,
              const std::string& payload = {}) {
    wire::UpBody body;
    *body.mutable_service_request() = std::move(request);
    body.mutable_service_request()->set_token(++token);
    *body.mutable_service_request()->mutable_who() = who;
    return rig.up(daemon, body, payload);
  }
  static wire::ServiceRequest spawn(std::uint32_t processes) {
    wire::ServiceRequest out;
    *out.mutable_spawn()->mutable_job() = job_spec(processes);
    return out;
  }
  // A job of the tool's: processes 0 and 1 on v1 and v2, what they write to standard output is
  // read.
  Actions spawn_by_tool(bool outlives = false) {
    auto request = spawn(2);
    request.mutable_spawn()->mutable_job()->set_map_by(wire::JobSpec::NODE);
    request.mutable_spawn()->mutable_job()->set_stdin_rank(1);
    request.mutable_spawn()->set_forward_stdout(true);
    request.mutable_spawn()->set_outlives_tool(outlives);
    auto actions = ask(3, request, tool);
    rig.launched(1, 2, {0});
    rig.launched(2, 2, {1});
    return actions;
  }
  Actions write(std::uint32_t daemon, std::uint32_t rank, const std::string& text,
                wire::Stream stream = wire::STDOUT) {
    wire::UpBody body;
    body.mutable_stream()->set_job(2);
    body.mutable_stream()->set_rank(rank);
    body.mutable_stream()->set_stream(stream);
    return rig.up(daemon, body, text);
  }
  Actions read(std::uint32_t rank, std::uint32_t bytes) {
    wire::UpBody body;
    *body.mutable_tool_output_taken()->mutable_source() = proc_name("dvm@2", rank);
    body.mutable_tool_output_taken()->set_bytes(bytes);
    return rig.up(3, body);
  }
  Actions tool_leaves() {
    wire::UpBody body;
    *body.mutable_tool_left()->mutable_tool() = tool;
    return rig.up(3, body);
  }
  using Answers = std::vector<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>>;
  // (daemon, token, error)
  static Answers answers(const Actions& actions) {
    Answers out;
    for (const auto& [rank, body] : downs(actions)) {
      if (!body.has_service_answer()) continue;
      out.emplace_back(rank, body.service_answer().token(), body.service_answer().error_code());
    }
    return out;
  }
  // (daemon, rank, bytes)
  static std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> credits(
      const Actions& actions) {
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> out;
    for (const auto& [rank, body] : downs(actions)) {
      if (body.has_credit()) out.emplace_back(rank, body.credit().rank(), body.credit().bytes());
    }
    return out;
  }
  // Daemons that get output for tools.
  static std::vector<std::uint32_t> readers(const Actions& actions) {
    std::vector<std::uint32_t> out;
    for (const auto& [rank, body] : downs(actions)) {
      if (body.has_tool_output()) out.push_back(rank);
    }
    return out;
  }
  static std::vector<std::int32_t> notices(const Actions& actions) {
    std::vector<std::int32_t> out;
    for (const auto& [rank, body] : downs(actions)) {
      if (body.has_event()) out.push_back(body.event().code());
    }
    return out;
  }

  const wire::ProcName process = proc_name("dvm@1", 0);
  const wire::ProcName tool = proc_name("tool", 0);
  std::uint64_t token = 0;
  HeadRig rig{3};
};

constexpr auto kDone = 0U;

// ---- spawn ----

TEST_F(JobServicesTest, ASpawnIsAnsweredOnceWhenAllRun) {
  auto actions = ask(1, spawn(4), process);
  EXPECT_THAT(answers(actions), IsEmpty());
  EXPECT_THAT(answers(rig.launched(1, 2, {0})), IsEmpty());
  EXPECT_THAT(answers(rig.launched(2, 2, {1, 2})), IsEmpty());
  actions = rig.launched(3, 2, {3});
  EXPECT_THAT(answers(actions), ElementsAre(std::tuple(1, 1, kDone)));
  for (const auto& [rank, body] : downs(actions)) {
    if (body.has_service_answer()) {
      EXPECT_EQ(body.service_answer().spawned().nspace(), "dvm@2");
    }
  }
  rig.ended(1, 2, {0});
  rig.ended(2, 2, {1, 2});
  EXPECT_THAT(answers(rig.ended(3, 2, {3})), IsEmpty());
}

TEST_F(JobServicesTest, ASpawnThatFailsIsAnsweredOnceWithTheReason) {
  ask(1, spawn(1), process);
  auto report = proc_report(2, 0, ProcState::kFailedToStart);
  report.set_error("no such program");
  report.set_exit_code(127);
  const auto actions = rig.reduce(1, wire::ReductionId::LAUNCHED, 2, {report});
  const auto code = static_cast<std::uint32_t>(ErrorCode::kNotFound);
  EXPECT_THAT(answers(actions), ElementsAre(std::tuple(1, 1, code)));
  EXPECT_THAT(answers(rig.ended(1, 2, {0}, ProcState::kFailedToStart)), IsEmpty());
}

TEST_F(JobServicesTest, AProgramThatCannotBeExecutedIsNotOneThatIsNotFound) {
  ask(1, spawn(1), process);
  auto report = proc_report(2, 0, ProcState::kFailedToStart, 126);
  report.set_error("Argument list too long");
  const auto code = static_cast<std::uint32_t>(ErrorCode::kSystem);
  EXPECT_THAT(answers(rig.reduce(1, wire::ReductionId::LAUNCHED, 2, {report})),
              ElementsAre(std::tuple(1, 1, code)));
}

TEST_F(JobServicesTest, ASpawnThatNobodyWaitsForIsCalledOff) {
  ask(1, spawn(1), process);
  wire::UpBody cancel;
  cancel.mutable_service_cancel()->set_token(token);
  EXPECT_THAT(downs(rig.up(2, cancel)), IsEmpty()) << "the token is another daemon's";
  bool ended = false;
  for (const auto& [rank, body] : downs(rig.up(1, cancel))) {
    ended = ended || (body.signal().job() == 2 && body.signal().terminate());
  }
  EXPECT_TRUE(ended);
}

TEST_F(JobServicesTest, ASpawnWithoutAPlaceOrAProgramOrAParentIsRefused) {
  const auto no_place = static_cast<std::uint32_t>(ErrorCode::kOutOfResources);
  EXPECT_THAT(answers(ask(1, spawn(99), process)), ElementsAre(std::tuple(1, 1, no_place)));
  auto nothing = spawn(1);
  nothing.mutable_spawn()->mutable_job()->clear_apps();
  EXPECT_NE(std::get<2>(answers(ask(1, nothing, process)).at(0)), kDone);
  EXPECT_NE(std::get<2>(answers(ask(1, spawn(1), proc_name("nobody", 0))).at(0)), kDone);
}

TEST_F(JobServicesTest, TheOwnerOfAJobOwnsWhatItSpawns) {
  const auto actions = ask(1, spawn(1), process);
  const auto replies = all_of<Reply>(actions);
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_EQ(replies[0].client, ClientId(5));
  EXPECT_EQ(replies[0].reply.accepted().job(), 2U);
  EXPECT_EQ(replies[0].reply.accepted().parent(), 1U);
  rig.launched(1, 2, {0});
  const auto output = all_of<Reply>(write(1, 0, "text"));
  ASSERT_THAT(output, SizeIs(1));
  EXPECT_EQ(output[0].client, ClientId(5));
  const auto last = endings(rig.ended(1, 2, {0}));
  ASSERT_THAT(last, SizeIs(1));
  EXPECT_EQ(last[0].job(), 2U);
}

TEST_F(JobServicesTest, AChildEndsWithAParentThatFails) {
  ask(1, spawn(1), process);
  rig.launched(1, 2, {0});
  const auto grandchild = ask(1, spawn(1), proc_name("dvm@2", 0));
  ASSERT_THAT(all_of<Reply>(grandchild), SizeIs(1));
  rig.launched(2, 3, {0});
  const auto actions = rig.proc_failed(1, proc_report(1, 0, ProcState::kAborted, 3));
  EXPECT_THAT(orders(actions), ::testing::UnorderedElementsAre(std::tuple(1, SIGTERM, true),
                                                               std::tuple(1, SIGTERM, true),
                                                               std::tuple(2, SIGTERM, true)));
  const auto late = ask(1, spawn(1), process);
  EXPECT_NE(std::get<2>(answers(late).at(0)), kDone) << "nor does it get another one";
  EXPECT_THAT(all_of<Reply>(late), IsEmpty());
  const auto last = endings(rig.ended(1, 2, {0}, ProcState::kAborted, 0, SIGTERM));
  ASSERT_THAT(last, SizeIs(1));
  EXPECT_THAT(last[0].messages(0), HasSubstr("dvm@1"));
}

TEST_F(JobServicesTest, AChildGoesOnWithoutAParentThatEndsWell) {
  ask(1, spawn(1), process);
  rig.launched(1, 2, {0});
  EXPECT_THAT(orders(rig.ended(1, 1, {0})), IsEmpty());
  EXPECT_EQ(endings(rig.ended(1, 2, {0})).at(0).exit_status(), kExitSuccess);
}

// ---- tools ----

TEST_F(JobServicesTest, AToolHearsOfStartAndEndOnceAndOfTheEndBehindTheOutput) {
  ask(3, spawn(1), tool);
  const auto first = rig.launched(1, 2, {0});
  EXPECT_THAT(notices(first), ElementsAre(kEventJobStart));
  for (const auto& [rank, body] : downs(first)) {
    if (!body.has_event()) continue;
    EXPECT_TRUE(body.event().after_output()) << "no end overtakes it";
  }
  const auto last = rig.ended(1, 2, {0});
  EXPECT_THAT(notices(last), ElementsAre(kEventJobEnd));
  for (const auto& [rank, body] : downs(last)) {
    if (!body.has_event()) continue;
    EXPECT_EQ(rank, 3U);
    EXPECT_TRUE(body.event().after_output());
    EXPECT_EQ(body.event().targets().names(0).nspace(), "tool");
    EXPECT_EQ(body.event().facts(0).text(), "dvm@2");
  }
}

TEST_F(JobServicesTest, AToolReadsWithinItsCredit) {
  spawn_by_tool();
  auto actions = write(1, 0, "12345");
  EXPECT_THAT(readers(actions), ElementsAre(3));
  EXPECT_THAT(credits(actions), IsEmpty()) << "not before it was read";
  EXPECT_THAT(credits(read(0, 3)), ElementsAre(std::tuple(1, 0, 3)));
  EXPECT_THAT(credits(read(0, 100)), ElementsAre(std::tuple(1, 0, 2))) << "no more than was sent";
  EXPECT_THAT(credits(read(0, 1)), IsEmpty());
  actions = write(2, 1, "unread", wire::STDERR);
  EXPECT_THAT(readers(actions), IsEmpty());
  EXPECT_THAT(credits(actions), ElementsAre(std::tuple(2, 1, 6))) << "nobody reads that";
}

TEST_F(JobServicesTest, AToolThatLeavesGivesBackWhatItDidNotReadAndEndsItsJobs) {
  spawn_by_tool();
  write(1, 0, "12345");
  write(2, 1, "67");
  const auto actions = tool_leaves();
  EXPECT_THAT(credits(actions), ElementsAre(std::tuple(1, 0, 5), std::tuple(2, 1, 2)));
  EXPECT_THAT(orders(actions),
              ElementsAre(std::tuple(1, SIGTERM, true), std::tuple(2, SIGTERM, true)));
  EXPECT_THAT(credits(read(0, 5)), IsEmpty());
  rig.ended(1, 2, {0}, ProcState::kAborted, 0, SIGTERM);
  EXPECT_THAT(notices(rig.ended(2, 2, {1}, ProcState::kAborted, 0, SIGTERM)), IsEmpty());
}

TEST_F(JobServicesTest, AJobMayOutliveItsTool) {
  spawn_by_tool(/*outlives=*/true);
  write(1, 0, "12345");
  const auto actions = tool_leaves();
  EXPECT_THAT(orders(actions), IsEmpty());
  EXPECT_THAT(credits(actions), ElementsAre(std::tuple(1, 0, 5)));
  EXPECT_THAT(credits(write(1, 0, "678")), ElementsAre(std::tuple(1, 0, 3)));
}

TEST_F(JobServicesTest, AToolMayReadAlongAndStop) {
  spawn_by_tool();
  wire::UpBody joined;
  *joined.mutable_tool_joined()->mutable_tool() = proc_name("other", 0);
  rig.up(2, joined);
  wire::ServiceRequest request;
  *request.mutable_pull()->mutable_sources()->add_names() = proc_name("dvm@2", 1);
  request.mutable_pull()->set_stdout(true);
  request.mutable_pull()->set_subscription(4);
  const auto told = ask(2, request, proc_name("other", 0));
  EXPECT_THAT(answers(told), ElementsAre(std::tuple(2, token, kDone)));
  EXPECT_THAT(readers(write(1, 0, "a")), ElementsAre(3));
  EXPECT_THAT(readers(write(2, 1, "b")), ElementsAre(2, 3));
  request.mutable_pull()->set_stop(true);
  ask(2, request, proc_name("other", 0));
  EXPECT_THAT(readers(write(2, 1, "c")), ElementsAre(3));
}

TEST_F(JobServicesTest, WhoPushesMoreThanThereIsRoomForWaits) {
  spawn_by_tool();
  wire::UpBody credit;
  credit.mutable_input_credit()->set_job(2);
  credit.mutable_input_credit()->set_rank(1);
  credit.mutable_input_credit()->set_bytes(4);
  rig.up(2, credit);
  wire::ServiceRequest request;
  *request.mutable_push()->mutable_targets()->add_names() = proc_name("dvm@2", kAllRanks);
  const auto first = ask(3, request, tool, "1234");
  EXPECT_THAT(answers(first), ElementsAre(std::tuple(3, token, kDone)));
  EXPECT_THAT(answers(ask(3, request, tool, "5678")), IsEmpty());
  EXPECT_THAT(answers(rig.up(2, credit)), ElementsAre(std::tuple(3, token, kDone)));
  EXPECT_THAT(answers(rig.up(2, credit)), IsEmpty());
  EXPECT_THAT(answers(ask(3, request, tool, "much more than fits")), IsEmpty());
  rig.ended(1, 2, {0});
  const auto last = answers(rig.ended(2, 2, {1}));
  ASSERT_THAT(last, SizeIs(1));
  EXPECT_EQ(std::get<1>(last[0]), token);
  EXPECT_NE(std::get<2>(last[0]), kDone);
}

TEST_F(JobServicesTest, APushToWhoDoesNotReadIsRefused) {
  spawn_by_tool();  // its rank 1 reads
  wire::UpBody credit;
  credit.mutable_input_credit()->set_job(2);
  credit.mutable_input_credit()->set_rank(1);
  credit.mutable_input_credit()->set_bytes(4);
  rig.up(2, credit);
  const auto push_to = [&](const std::string& nspace, std::uint32_t rank) {
    wire::ServiceRequest request;
    *request.mutable_push()->mutable_targets()->add_names() = proc_name(nspace, rank);
    const auto actions = ask(3, request, tool, "x");
    const bool sent = std::ranges::any_of(downs(actions),
                                          [](const auto& down) { return down.second.has_input(); });
    EXPECT_EQ(sent, std::get<2>(answers(actions).at(0)) == kDone) << nspace << rank;
    return sent;
  };
  EXPECT_TRUE(push_to("dvm@2", 1));
  EXPECT_FALSE(push_to("dvm@2", 0));
  EXPECT_FALSE(push_to("dvm@2", 99));
  EXPECT_FALSE(push_to("dvm@77", kAllRanks));
  EXPECT_FALSE(push_to("dvm@1", kAllRanks)) << "nobody reads there";
}

// ---- steering and questions ----

TEST_F(JobServicesTest, AProcessThatAToolEndsIsNotSaidToLackMemory) {
  spawn_by_tool();
  wire::ServiceRequest request;
  request.mutable_control()->set_kill(true);
  *request.mutable_control()->mutable_targets()->add_names() = proc_name("dvm@2", 1);
  ask(3, request, tool);
  const auto actions = rig.ended(2, 2, {1}, ProcState::kAborted, 0, SIGKILL);
  EXPECT_TRUE(says(actions, "was ended on request, by signal 9"));
  EXPECT_FALSE(says(actions, "ran out of memory"));
}

TEST_F(JobServicesTest, OneJobIsDescribedWhereOneIsNamed) {
  spawn_by_tool();
  const auto described = [&](const std::string& nspace) {
    wire::ServiceRequest request;
    auto* question = request.mutable_query()->add_questions();
    question->set_what(wire::Question::JOBS);
    question->set_nspace(nspace);
    for (const auto& [rank, body] : downs(ask(3, request, tool))) {
      if (body.has_service_answer()) return body.service_answer().replies().replies(0);
    }
    return wire::QueryReply{};
  };
  EXPECT_EQ(described("").jobs_size(), 2);
  ASSERT_EQ(described("dvm@2").jobs_size(), 1);
  EXPECT_EQ(described("dvm@2").jobs(0).nspace(), "dvm@2");
  EXPECT_FALSE(described("nix").known());
}

TEST_F(JobServicesTest, SignalsGoToSingleProcessesToo) {
  spawn_by_tool();
  wire::ServiceRequest request;
  request.mutable_control()->set_signal(SIGUSR1);
  *request.mutable_control()->mutable_targets()->add_names() = proc_name("dvm@2", 1);
  const auto actions = ask(3, request, tool);
  EXPECT_THAT(orders(actions), ElementsAre(std::tuple(2, SIGUSR1, false)));
  for (const auto& [rank, body] : downs(actions)) {
    if (body.has_signal()) {
      EXPECT_THAT(body.signal().ranks(), ElementsAre(1));
    }
  }
  request.mutable_control()->clear_targets();
  EXPECT_THAT(orders(ask(1, request, process)), ElementsAre(std::tuple(1, SIGUSR1, false)))
      << "without targets the job of who asks";
  request.mutable_control()->set_signal(0);
  EXPECT_NE(std::get<2>(answers(ask(1, request, process)).at(0)), kDone);
  *request.mutable_control()->mutable_targets()->add_names() = proc_name("nobody", 1);
  request.mutable_control()->set_kill(true);
  EXPECT_NE(std::get<2>(answers(ask(1, request, process)).at(0)), kDone);
}

// Named twice, it is gone when it comes to the second.
TEST_F(JobServicesTest, AJobThatWasNotStartedCanBeEndedTwiceInOneOrder) {
  HeadRig early{1};
  early.start();
  early.submit(5, job_spec(1));
  core::ToolArrived arrived;
  arrived.wish = tool;
  early.on(arrived);
  core::ServiceAsked asked;
  *asked.request.mutable_who() = tool;
  asked.request.mutable_control()->set_terminate(true);
  for (int i = 0; i < 2; ++i) {
    *asked.request.mutable_control()->mutable_targets()->add_names() =
        proc_name("dvm@1", kAllRanks);
  }
  const auto actions = early.on(asked);
  EXPECT_THAT(endings(actions), SizeIs(1));
  ASSERT_THAT(all_of<AnswerService>(actions), SizeIs(1));
  EXPECT_EQ(all_of<AnswerService>(actions)[0].answer.error_code(), kDone);
}

TEST_F(JobServicesTest, QuestionsAreAnsweredWithRows) {
  spawn_by_tool();
  rig.on(ServicesStarted{"uri of the head"});
  wire::ServiceRequest request;
  const auto add = [&](wire::Question::What what, const std::string& nspace,
                       const std::string& node) {
    auto* question = request.mutable_query()->add_questions();
    question->set_what(what);
    question->set_nspace(nspace);
    question->set_node(node);
  };
  add(wire::Question::NAMESPACES, "", "");
  add(wire::Question::JOB_SIZE, "dvm@2", "");
  add(wire::Question::JOB_STATUS, "nobody", "");
  add(wire::Question::PROCESSES, "dvm@2", "");
  add(wire::Question::LOCAL_PROCESSES, "dvm@2", "v2");
  add(wire::Question::ALLOCATION, "", "");
  add(wire::Question::SERVER_URI, "", "");
  add(wire::Question::GROUPS, "", "");
  add(wire::Question::LOCAL_PROCESSES, "dvm@2", "");
  wire::QueryReplies replies;
  for (const auto& [rank, body] : downs(ask(3, request, tool))) {
    if (body.has_service_answer()) replies = body.service_answer().replies();
  }
  ASSERT_EQ(replies.replies_size(), 9);
  EXPECT_THAT(replies.replies(0).jobs(), SizeIs(2));
  EXPECT_EQ(replies.replies(1).jobs(0).size(), 2U);
  EXPECT_EQ(replies.replies(1).jobs(0).parent().nspace(), "tool");
  EXPECT_FALSE(replies.replies(2).known());
  ASSERT_THAT(replies.replies(3).processes(), SizeIs(2));
  EXPECT_EQ(replies.replies(3).processes(1).node(), "v2");
  EXPECT_EQ(replies.replies(3).processes(1).executable(), "prog");
  ASSERT_THAT(replies.replies(4).processes(), SizeIs(1));
  EXPECT_EQ(replies.replies(4).processes(0).name().rank(), 1U);
  ASSERT_THAT(replies.replies(5).nodes(), SizeIs(3));
  EXPECT_EQ(replies.replies(5).nodes(0).slots_used(), 2U);
  EXPECT_EQ(replies.replies(6).nodes(0).uri(), "uri of the head");
  EXPECT_TRUE(replies.replies(7).known());
  EXPECT_THAT(replies.replies(8).processes(), IsEmpty()) << "none on the node that was asked";
  request.clear_query();
  add(wire::Question::LOCAL_PROCESSES, "dvm@2", "");
  for (const auto& [rank, body] : downs(ask(2, request, tool))) {
    if (body.has_service_answer()) replies = body.service_answer().replies();
  }
  ASSERT_THAT(replies.replies(0).processes(), SizeIs(1));
  EXPECT_EQ(replies.replies(0).processes(0).node(), "v2");
}

TEST_F(JobServicesTest, TimeLeftIsAnsweredWhereThereIsALimit) {
  spawn_by_tool();
  wire::ServiceRequest request;
  for (const char* nspace : {"", "dvm@2", "nobody"}) {
    auto* question = request.mutable_query()->add_questions();
    question->set_what(wire::Question::TIME_LEFT);
    question->set_nspace(nspace);
  }
  const auto ask_all = [&] {
    wire::QueryReplies replies;
    for (const auto& [rank, body] : downs(ask(3, request, tool))) {
      if (body.has_service_answer()) replies = body.service_answer().replies();
    }
    return replies;
  };
  const auto without = ask_all();
  ASSERT_EQ(without.replies_size(), 3);
  for (const auto& reply : without.replies()) EXPECT_FALSE(reply.known());
  rig.on(SourceLimit{40'000});
  const auto with = ask_all();
  EXPECT_EQ(with.replies(0).time_left_ms(), 40'000U);
  EXPECT_EQ(with.replies(1).time_left_ms(), 40'000U);
  EXPECT_FALSE(with.replies(2).known()) << "there is no such job";
}

}  // namespace
}  // namespace tide::core
