#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.hpp"
#include "cli/watch_json.hpp"
#include "cli/watch_text.hpp"

namespace tide::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

wire::ExplainReply explanation() {
  wire::ExplainReply out;
  auto& job = *out.mutable_job();
  job.set_number(3);
  job.set_nspace("dvm@3");
  job.set_state("PRTE_JOB_STATE_RUNNING");
  job.set_command("./solver \xff\n");
  job.set_processes(64);
  job.set_running(60);
  job.set_nodes(8);
  job.set_age_ms(14'000);
  job.set_state_age_ms(12'000);
  auto& wait = *out.add_waits();
  wait.set_kind("processes");
  wait.set_text("its processes to end on 2 of 8 nodes: v1, v2");
  wait.add_nodes("v1");
  wait.add_nodes("v\xff");
  wait.set_more_nodes(1);
  out.add_facts()->set_text("every process has called PMIx_Init");
  for (const auto& [state, at] : {std::pair{"INIT", 1000}, {"MAP", 1000}, {"RUNNING", 3000}}) {
    auto* passage = out.add_passages();
    passage->set_state(std::string("PRTE_JOB_STATE_") + state);
    passage->set_at_ms(static_cast<std::uint64_t>(at));
    passage->set_cause("why");
  }
  out.set_now_ms(15'000);
  out.set_start_ms(500);
  return out;
}

TEST(ExplainText, OfAJobThatRuns) {
  EXPECT_EQ(explain_text(explanation()),
            "job 3 (dvm@3): ./solver \\xff\\n\n"
            "  RUNNING for 12 s, submitted 14 s ago; 60 of 64 processes known to run, on 8 nodes\n"
            "waits for\n"
            "  its processes to end on 2 of 8 nodes: v1, v2\n"
            "besides\n"
            "  every process has called PMIx_Init\n"
            "way\n"
            "  SINCE  STATE    WHY\n"
            "  14 s   MAP      why\n"
            "  12 s   RUNNING  why\n");
}

TEST(ExplainText, OfAJobThatHasEnded) {
  wire::ExplainReply reply = explanation();
  reply.clear_waits();
  reply.clear_facts();
  reply.mutable_job()->set_ended(true);
  reply.mutable_job()->set_exit_status(9);
  reply.mutable_job()->set_state("PRTE_JOB_STATE_ABORTED");
  reply.mutable_job()->add_messages("process 1 failed\n  try: again");
  const std::string text = explain_text(reply);
  EXPECT_THAT(text, HasSubstr("  ended 12 s ago after 14 s: ABORTED, exit status 9; 64 processes\n"
                              "because\n  process 1 failed\n    try: again\nway\n"));
  EXPECT_THAT(text, Not(HasSubstr("waits for")));
}

TEST(ExplainJson, IsValidWhateverBytesThereAre) {
  const auto json = nlohmann::json::parse(explain_json(explanation()));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["job"]["number"], 3);
  EXPECT_EQ(json["job"]["state_age_ms"], 12'000);
  EXPECT_EQ(json["waits_for"][0]["kind"], "processes");
  EXPECT_EQ(json["waits_for"][0]["nodes"][1], "v\xEF\xBF\xBD");
  EXPECT_EQ(json["waits_for"][0]["more_nodes"], 1);
  EXPECT_EQ(json["way"][2]["at_ms"], 2500);
  EXPECT_EQ(json["now_ms"], 14'500);
}

std::vector<wire::JobProcs> processes() {
  wire::JobProcs out;
  out.set_number(3);
  out.set_nspace("dvm@3");
  out.add_nodes("v1");
  out.add_states("PRTE_PROC_STATE_RUNNING");
  out.add_states("PRTE_PROC_STATE_ABORTED");
  out.add_rows()->set_pid(4711);
  auto* failed = out.add_rows();
  failed->set_rank(1);
  failed->set_state(1);
  failed->set_ended(true);
  failed->set_signal(SIGSEGV);
  auto* broken = out.add_rows();
  broken->set_rank(2);
  broken->set_node(UINT32_MAX);
  broken->set_state(9);
  broken->set_ended(true);
  return {out};
}

TEST(Processes, ForPeople) {
  EXPECT_EQ(procs_text(processes()),
            "JOB  RANK  NODE  PID   STATE    EXIT\n"
            "3    0     v1    4711  RUNNING  -\n"
            "3    1     v1    -     ABORTED  SIGSEGV\n"
            "3    2     ?     -     ?        0\n");
  EXPECT_EQ(procs_text({}), "no process\n");
}

TEST(Processes, ForPrograms) {
  const auto json = nlohmann::json::parse(procs_json(processes()));
  const auto& list = json["processes"];
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0]["pid"], 4711);
  EXPECT_TRUE(list[0]["exit_code"].is_null());
  EXPECT_EQ(list[1]["signal"], SIGSEGV);
  EXPECT_TRUE(list[1]["exit_code"].is_null());
  EXPECT_EQ(list[2]["exit_code"], 0);
  EXPECT_TRUE(list[2]["node"].is_null());
}

wire::EventsReply events() {
  wire::EventsReply out;
  out.set_dropped(2);
  out.set_now_ms(10'000);
  out.set_start_ms(1'000);
  auto* submitted = out.add_events();
  submitted->set_number(3);
  submitted->set_at_ms(9'000);
  submitted->set_kind("job-submitted");
  submitted->set_job(1);
  submitted->set_detail("sh -c 'a\nb'\xff");
  auto* ended = out.add_events();
  ended->set_number(4);
  ended->set_at_ms(9'500);
  ended->set_kind("job-ended");
  ended->set_job(1);
  ended->set_state("PRTE_JOB_STATE_ABORTED");
  ended->set_exit_status(3);
  ended->set_detail("it failed");
  auto* lost = out.add_events();
  lost->set_number(5);
  lost->set_kind("node-lost");
  lost->set_node("v2");
  return out;
}

TEST(Events, OneLineEach) {
  const std::string text = events_text(events(), 1'700'000'000'000);
  EXPECT_EQ(split(text, '\n').size(), 5U) << text;
  EXPECT_THAT(text,
              HasSubstr("(2 events are lost before this: more happened than is remembered)\n"));
  EXPECT_THAT(text, HasSubstr("  job-submitted   job 1     sh -c 'a\\nb'\\xff\n"));
  EXPECT_THAT(text, HasSubstr("  job-ended       job 1     ABORTED, exit status 3, it failed\n"));
  EXPECT_THAT(text, HasSubstr("  node-lost       node v2\n"));
}

TEST(Events, OneObjectForEachLine) {
  const auto lines = split(events_json(events(), 1'700'000'000'000), '\n');
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(nlohmann::json::parse(lines[0]),
            nlohmann::json({{"kind", "events-dropped"}, {"dropped", 2}}));
  const auto submitted = nlohmann::json::parse(lines[1]);
  EXPECT_EQ(submitted["number"], 3);
  EXPECT_EQ(submitted["at_ms"], 8'000);
  EXPECT_EQ(submitted["unix_ms"], 1'699'999'999'000);
  EXPECT_EQ(submitted["detail"], "sh -c 'a\nb'\xEF\xBF\xBD");
  EXPECT_FALSE(submitted.contains("exit_status"));
  EXPECT_EQ(nlohmann::json::parse(lines[2])["exit_status"], 3);
  EXPECT_EQ(lines[4], "");
}

TEST(ExplainText, OfAChange) {
  wire::ExplainReply reply;
  reply.set_now_ms(10'000);
  wire::ChangeReport& report = *reply.mutable_change();
  report.mutable_campaign()->set_number(4);
  report.mutable_campaign()->set_allocation("a3");
  report.mutable_campaign()->add_nodes("v3");
  report.mutable_campaign()->set_phase("starting");
  report.mutable_campaign()->set_age_ms(2'000);
  report.set_phase_age_ms(2'000);
  report.set_phase_left_ms(58'000);
  report.set_then("fails");
  report.set_asked_by("request");
  report.set_asked("asked for by somebody");
  report.add_waits()->set_text("a report from v3");
  report.add_parked(7);
  report.add_way()->set_state("starting");
  report.mutable_way(0)->set_at_ms(8'000);
  EXPECT_EQ(explain_text(reply),
            "grow 4 (allocation a3): v3\n"
            "  starting for 2 s, begun 2 s ago; fails, and is undone, if it takes 58 s more\n"
            "  asked for by somebody\n"
            "waits for\n"
            "  a report from v3\n"
            "jobs that wait for it\n"
            "  7\n"
            "way\n"
            "  SINCE  PHASE\n"
            "  2 s    starting\n");
  const auto json = nlohmann::json::parse(explain_json(reply));
  EXPECT_EQ(json["change"]["number"], 4);
  EXPECT_EQ(json["change"]["parked"][0], 7);
  EXPECT_EQ(json["change"]["phase_then"], "fails");
  EXPECT_TRUE(json["change"]["outcome"].is_null());
  report.set_ended(true);
  report.mutable_end()->set_cause("lost");
  report.mutable_end()->set_text("it failed");
  EXPECT_THAT(explain_text(reply), HasSubstr("  ended 2 s ago after 2 s: it failed\n"));
  EXPECT_EQ(nlohmann::json::parse(explain_json(reply))["change"]["cause"], "lost");
}

TEST(ExplainText, OfAnAllocation) {
  wire::ExplainReply reply;
  wire::AllocationReport& report = *reply.mutable_allocation();
  report.mutable_allocation()->set_name("a1");
  EXPECT_EQ(explain_text(reply), "allocation a1: none of its nodes is there\n");
  report.add_there("v1");
  report.add_reserves("v1");
  EXPECT_EQ(explain_text(reply),
            "allocation a1: it brought no node, because v1 was there or coming already\n"
            "  it reserves v1, which was everybody's before, and again when it ends\n");
  EXPECT_EQ(nlohmann::json::parse(explain_json(reply))["reserves"][0], "v1");
  report.mutable_allocation()->add_nodes("v2");
  report.mutable_allocation()->add_managers("pool");
  report.clear_reserves();
  EXPECT_THAT(explain_text(reply), HasSubstr("allocation a1: v2, granted by pool\n  no lease"));
  report.mutable_allocation()->mutable_lease()->set_left_ms(4'000);
  report.add_jobs(3);
  EXPECT_THAT(explain_text(reply),
              HasSubstr("  lease: 4 s left\njobs with processes there\n  3\n"));
  auto& ask = *report.add_asks();
  ask.set_text("2 nodes");
  ask.set_queued("job 17 is pending");
  ask.set_age_ms(2'000);
  EXPECT_THAT(explain_text(reply),
              HasSubstr("is to get\n  asked for 2 s ago: 2 nodes; still waiting: job 17"));
  EXPECT_EQ(nlohmann::json::parse(explain_json(reply))["asks"][0]["queued"], "job 17 is pending");
  EXPECT_EQ(nlohmann::json::parse(explain_json(reply))["allocation"]["nodes"][0], "v2");
  EXPECT_THAT(nlohmann::json::parse(explain_json(reply))["leaving"], ::testing::IsEmpty());
  wire::ChangeReport& change = *report.add_changes();
  change.mutable_campaign()->set_shrinks(true);
  change.mutable_campaign()->add_nodes("v1");
  change.mutable_campaign()->add_nodes("v2");
  EXPECT_THAT(explain_text(reply), HasSubstr("  v2 is leaving\n  lease: 4 s left\n"))
      << "v1 is not of it";
  EXPECT_EQ(nlohmann::json::parse(explain_json(reply))["leaving"][0], "v2");
  change.set_ended(true);
  EXPECT_THAT(explain_text(reply), Not(HasSubstr("leaving")));
}

}  // namespace
}  // namespace tide::cli
