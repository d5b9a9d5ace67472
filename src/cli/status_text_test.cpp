#include "cli/status_text.hpp"

#include <gtest/gtest.h>

#include <array>

#include "cli/text_table.hpp"

namespace tide::cli {
namespace {

wire::StatusReply example() {
  wire::StatusReply status;
  status.set_dvm_name("night");
  status.set_state("ready");
  status.set_age_ms(125'400);
  status.set_pid(4711);
  status.set_uri("tide-h-1-2.0;tcp4://127.0.0.1:99");
  for (std::uint32_t i = 1; i <= 2; ++i) {
    wire::NodeStatus& node = *status.add_nodes();
    node.set_name("v" + std::to_string(i));
    node.set_rank(i);
    node.set_state("up");
    node.set_slots(4);
    node.set_slots_used(i);
    node.set_processes(i);
    node.set_pid(4711 + i);
  }
  wire::JobStatus& running = *status.add_jobs();
  running.set_number(3);
  running.set_state("RUNNING");
  running.set_processes(3);
  running.set_running(2);
  running.set_age_ms(2000);
  running.set_command("./solver input.dat");
  running.set_nodes(2);
  running.set_waits_for("processes");
  wire::JobStatus& ended = *status.add_jobs();
  ended.set_number(2);
  ended.set_state("TERMINATED");
  ended.set_processes(16);
  ended.set_age_ms(90'000);
  ended.set_command("false\nx");
  ended.set_ended(true);
  ended.set_exit_status(1);
  ended.set_nodes(4);
  return status;
}

TEST(StatusText, ForPeople) {
  EXPECT_EQ(status_text(example()),
            "DVM night is ready, up 2 min 5 s, head pid 4711\n"
            "address tide-h-1-2.0;tcp4://127.0.0.1:99\n"
            "2 nodes, 3 of 8 slots used, 1 running job\n"
            "\n"
            "NODE  STATE  SLOTS  PROCESSES  PID   RANK\n"
            "v1    up     1/4    1          4712  1\n"
            "v2    up     2/4    2          4713  2\n"
            "\n"
            "JOB  STATE    PROCESSES  NODES  AGE  WAITS FOR  COMMAND\n"
            "3    RUNNING  2/3        2      2 s  processes  ./solver input.dat\n");
}

TEST(StatusText, OfADvmThatChangesItsSize) {
  wire::StatusReply status = example();
  status.clear_jobs();
  status.set_elastic(true);
  status.mutable_nodes(1)->set_state("leaving");
  status.mutable_nodes(1)->set_allocation("a1");
  wire::CampaignStatus& grow = *status.add_campaigns();
  grow.set_number(2);
  grow.set_allocation("a2");
  grow.add_nodes("v3");
  grow.add_nodes("v4");
  grow.set_phase("starting");
  grow.add_missing("v4");
  grow.set_age_ms(3000);
  grow.set_parked_jobs(1);
  wire::CampaignStatus& shrink = *status.add_campaigns();
  shrink.set_number(3);
  shrink.set_shrinks(true);
  shrink.set_allocation("a1");
  shrink.add_nodes("v2");
  shrink.set_phase("returning");
  shrink.set_age_ms(1000);
  shrink.add_managers("hosts");
  wire::AllocationStatus& leased = *status.add_allocations();
  leased.set_name("a1");
  leased.add_nodes("v2");
  leased.mutable_lease()->set_left_ms(90'000);
  leased.mutable_lease()->set_warn_ms(30'000);
  status.add_allocations()->set_name("a9");
  EXPECT_EQ(status_text(status),
            "DVM night is ready, up 2 min 5 s, head pid 4711\n"
            "address tide-h-1-2.0;tcp4://127.0.0.1:99\n"
            "2 nodes, 3 of 8 slots used, 0 running jobs, elastic\n"
            "\n"
            "NODE  STATE    SLOTS  PROCESSES  PID   RANK  ALLOCATION\n"
            "v1    up       1/4    1          4712  1     -\n"
            "v2    leaving  2/4    2          4713  2     a1\n"
            "\n"
            "ALLOCATION  LEASE                               NODES\n"
            "a1          1 min 30 s left, warns 30 s before  v2\n"
            "\n"
            "CHANGE  KIND    PHASE      AGE  PARKED JOBS  ALLOCATION  NODES   MISSING\n"
            "2       grow    starting   3 s  1            a2          v3, v4  v4\n"
            "3       shrink  returning  1 s  0            a1          v2      hosts\n");
}

TEST(StatusText, OfNodesThatAreReserved) {
  wire::StatusReply status = example();
  status.clear_jobs();
  status.mutable_nodes(1)->set_reservation("a1");
  EXPECT_NE(status_text(status).find("NODE  STATE  SLOTS  PROCESSES  PID   RANK  RESERVED BY\n"
                                     "v1    up     1/4    1          4712  1     -\n"),
            std::string::npos)
      << status_text(status);
}

TEST(JobsText, RunningOnlyOrAll) {
  EXPECT_EQ(jobs_text(example(), false),
            "JOB  STATE    PROCESSES  NODES  AGE  WAITS FOR  COMMAND\n"
            "3    RUNNING  2/3        2      2 s  processes  ./solver input.dat\n");
  EXPECT_EQ(jobs_text(example(), true),
            "JOB  STATE       PROCESSES  NODES  AGE         EXIT  WAITS FOR  COMMAND\n"
            "3    RUNNING     2/3        2      2 s         -     processes  ./solver input.dat\n"
            "2    TERMINATED  16         4      1 min 30 s  1     -          false\\nx\n");
  EXPECT_EQ(jobs_text({}, false), "no job is running\n");
  EXPECT_EQ(jobs_text({}, true), "no job has run yet\n");
}

TEST(JobsText, LongCommandsAreCut) {
  wire::StatusReply status;
  status.add_jobs()->set_command(std::string(200, 'x'));
  EXPECT_NE(jobs_text(status, false).find(std::string(57, 'x') + "...\n"), std::string::npos);
}

TEST(ParamsText, ForPeopleAndForPrograms) {
  const std::array params = {
      ShownParam{"rml_radix", "2", "environment PRTE_MCA_rml_radix", "int", "How wide"},
      ShownParam{"prte_tmpdir_base", "", "default", "string", "Where"}};
  EXPECT_EQ(params_text(params),
            "rml_radix = 2  [environment PRTE_MCA_rml_radix]\n"
            "    How wide (int)\n"
            "prte_tmpdir_base = (empty)  [default]\n"
            "    Where (string)\n");
  EXPECT_EQ(params_parsable(std::span(params).first(1)),
            "param:rml_radix:value:2\n"
            "param:rml_radix:source:environment PRTE_MCA_rml_radix\n"
            "param:rml_radix:type:int\n"
            "param:rml_radix:help:How wide\n");
}

TEST(TextTable, CountsCharactersNotBytes) {
  TextTable table({"NAME", "X"});
  table.add({"žluťoučký", "1"});
  table.add({"a", "2"});
  EXPECT_EQ(table.text(), "NAME       X\nžluťoučký  1\na          2\n");
}

}  // namespace
}  // namespace tide::cli
