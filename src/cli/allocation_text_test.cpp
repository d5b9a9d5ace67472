#include "cli/allocation_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/json_text.hpp"
#include "cli/status_text.hpp"
#include "cli/watch_text.hpp"

namespace tide::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

wire::StatusReply with_reservations() {
  wire::StatusReply status;
  status.set_dvm_id("tide-h-1-2");
  for (const auto& [name, reservation] :
       {std::pair{"v1", "a2"}, {"v2", ""}, {"v3", "a1"}, {"v4", "a1"}}) {
    wire::NodeStatus& node = *status.add_nodes();
    node.set_name(name);
    node.set_reservation(reservation);
  }
  wire::AllocationStatus& first = *status.add_allocations();
  first.set_name("a1");
  first.add_nodes("v3");
  first.add_nodes("v4");
  first.add_managers("pool");
  first.set_reserved(true);
  first.set_owner("tide-h-1-2@user");
  first.add_owners("tide-h-1-2@user");
  first.add_owners("tide-h-1-2@7");
  first.add_derived("tide-h-1-2@7");
  first.set_inheritance("none");
  first.set_request_id("ensemble");
  first.set_age_ms(125'000);
  first.mutable_lease()->set_left_ms(90'000);
  first.mutable_lease()->set_warn_ms(30'000);
  wire::AllocationStatus& second = *status.add_allocations();
  second.set_name("a2");
  second.set_reserved(true);
  second.set_owner("host.tool.99");
  second.set_owner_ended(true);
  second.add_owners("host.tool.99");
  second.set_inheritance("child");
  wire::AllocationStatus& pushed = *status.add_allocations();
  pushed.set_name("a3");
  pushed.add_nodes("v2");
  wire::PendingAsk& ask = *status.add_asks();
  ask.set_text("2 nodes");
  ask.set_age_ms(3'000);
  ask.set_left_ms(27'000);
  ask.set_job(4);
  wire::PendingAsk& queued = *status.add_asks();
  queued.set_text("v9, as request 'more'");
  queued.set_age_ms(3'600'000);
  queued.set_queued("Slurm job 17 is pending (Resources)\x1b");
  queued.set_request_id("more");
  return status;
}

TEST(AllocationsText, ShowsAllOfThem) {
  EXPECT_EQ(allocations_text(with_reservations()),
            "ALLOCATION  KIND      NODES   OWNER                 OWNERS        INHERITANCE  LEASE"
            "                               AGE        REQUEST\n"
            "a1          reserved  v3, v4  user                  user, job 7   none         "
            "1 min 30 s left, warns 30 s before  2 min 5 s  ensemble\n"
            "a2          reserved  v1      host.tool.99 (ended)  host.tool.99  child        -"
            "                                   0 ms       -\n"
            "a3          shared    v2      -                     -             -            -"
            "                                   -          -\n"
            "\n"
            "asked for 3 s ago: 2 nodes, for job 4; no resource manager has answered yet, and has "
            "27 s left\n"
            "asked for 1 h ago: v9, as request 'more'; still waiting: Slurm job 17 is pending "
            "(Resources)\\x1b\n");
  EXPECT_EQ(allocations_text({}), "there is no allocation\n");
}

TEST(AllocationsJson, ShowsAllThatIsKnown) {
  const auto json = nlohmann::json::parse(allocations_json(with_reservations()));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["asks"][0]["text"], "2 nodes");
  const auto& first = json["allocations"][0];
  EXPECT_EQ(first["reserved"], true);
  EXPECT_EQ(first["owner"], "tide-h-1-2@user");
  EXPECT_EQ(first["owner_ended"], false);
  EXPECT_EQ(first["owners"][1], "tide-h-1-2@7");
  EXPECT_EQ(first["derived"][0], "tide-h-1-2@7");
  EXPECT_EQ(first["inheritance"], "none");
  EXPECT_EQ(first["request_id"], "ensemble");
  EXPECT_EQ(first["age_ms"], 125'000);
  EXPECT_TRUE(first["reserves"].empty()) << "its nodes came with it";
  const auto& second = json["allocations"][1];
  EXPECT_EQ(second["reserves"][0], "v1");
  EXPECT_EQ(second["owner_ended"], true);
  const auto& pushed = json["allocations"][2];
  EXPECT_TRUE(pushed["owner"].is_null());
  EXPECT_TRUE(pushed["inheritance"].is_null());
  EXPECT_TRUE(pushed["request_id"].is_null());
}

TEST(SessionsText, ShowsWhatIsOwnedOrLeased) {
  EXPECT_EQ(sessions_text(with_reservations()),
            "ALLOCATION  KIND      OWNER                 OWNERS        INHERITANCE  LEASE"
            "                               NODES\n"
            "a1          reserved  user                  user, job 7   none         1 min 30 s "
            "left, warns 30 s before  v3, v4\n"
            "a2          reserved  host.tool.99 (ended)  host.tool.99  child        -"
            "                                   v1\n");
  EXPECT_THAT(sessions_text({}), IsEmpty());
}

TEST(ExplainText, OfAReservation) {
  wire::ExplainReply reply;
  *reply.mutable_allocation()->mutable_allocation() = with_reservations().allocations(0);
  EXPECT_EQ(explain_text(reply),
            "allocation a1: v3, v4, granted by pool\n"
            "  reserved for tide-h-1-2@user, 2 min 5 s ago, request 'ensemble'\n"
            "  used, extended and released by: tide-h-1-2@user, tide-h-1-2@7\n"
            "  comes of its owner and has not ended: tide-h-1-2@7\n"
            "  when its owner ends, its nodes go back, also under jobs that run there (none)\n"
            "  lease: 1 min 30 s left, warns 30 s before\n");
}

TEST(JobsText, ShowsTargetsWhereAJobHasAny) {
  wire::StatusReply status;
  status.add_jobs()->set_number(1);
  wire::JobStatus& aimed = *status.add_jobs();
  aimed.set_number(2);
  aimed.mutable_targets()->add_allocations("a1");
  aimed.mutable_targets()->set_default_session(true);
  EXPECT_EQ(jobs_text(status, false),
            "JOB  STATE  PROCESSES  NODES  AGE   TARGETS      WAITS FOR  COMMAND\n"
            "1           0/0        0      0 ms  default      -\n"
            "2           0/0        0      0 ms  a1, default  -\n");
  EXPECT_THAT(jobs_json(status), HasSubstr("\"a1\",\n        \"default\"\n"));
  wire::ExplainReply reply;
  *reply.mutable_job() = aimed;
  EXPECT_THAT(explain_text(reply),
              HasSubstr("\n  may use the nodes of a1 and the default session\n"));
}

}  // namespace
}  // namespace tide::cli
