#include "cli/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <array>

namespace tide::cli {
namespace {

TEST(StatusJson, KeepsItsShape) {
  wire::StatusReply status;
  status.set_dvm_name("night");
  status.set_dvm_id("tide-h-1-2");
  status.set_state("ready");
  status.set_age_ms(5);
  status.set_pid(4711);
  status.set_uri("u");
  status.set_radix(64);
  status.set_serial(7);
  status.set_span(2);
  wire::NodeStatus& node = *status.add_nodes();
  node.set_name("v1");
  node.set_rank(1);
  node.set_state("up");
  node.set_slots(4);
  wire::CounterValue& counter = *status.add_counters();
  counter.set_name("jobs.ended");
  counter.set_value(12);
  EXPECT_EQ(status_json(status), R"({
  "schema_version": 1,
  "dvm": {
    "name": "night",
    "id": "tide-h-1-2",
    "state": "ready",
    "age_ms": 5,
    "pid": 4711,
    "uri": "u",
    "radix": 64,
    "serial": 7,
    "span": 2,
    "elastic": false,
    "source": null,
    "source_left_ms": 0
  },
  "nodes": [
    {
      "name": "v1",
      "rank": 1,
      "state": "up",
      "slots": 4,
      "slots_used": 0,
      "processes": 0,
      "pid": 0,
      "parent": 0,
      "allocation": null,
      "reservation": null,
      "manager": null
    }
  ],
  "jobs": [],
  "allocations": [],
  "asks": [],
  "campaigns": [],
  "counters": {
    "jobs.ended": 12
  }
}
)");
}

TEST(StatusJson, ShowsChangesOfTheSize) {
  wire::StatusReply status;
  status.set_elastic(true);
  wire::NodeStatus& grown = *status.add_nodes();
  grown.set_name("v2");
  grown.set_state("leaving");
  grown.set_allocation("a1");
  grown.set_reservation("a1");
  grown.set_manager("pool");
  wire::CampaignStatus& campaign = *status.add_campaigns();
  campaign.set_number(3);
  campaign.set_shrinks(true);
  campaign.set_allocation("a1");
  campaign.add_nodes("v2");
  campaign.set_phase("departing");
  campaign.add_missing("v2");
  campaign.set_age_ms(20);
  campaign.set_parked_jobs(1);
  const std::string text = status_json(status);
  EXPECT_NE(text.find("\"elastic\": true"), std::string::npos);
  EXPECT_NE(text.find("\"allocation\": \"a1\",\n      \"reservation\": \"a1\",\n"
                      "      \"manager\": \"pool\"\n    }\n  ],\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(  "campaigns": [
    {
      "number": 3,
      "kind": "shrink",
      "allocation": "a1",
      "nodes": [
        "v2"
      ],
      "phase": "departing",
      "missing": [
        "v2"
      ],
      "managers": [],
      "age_ms": 20,
      "parked_jobs": 1
    }
  ])"),
            std::string::npos)
      << text;
}

TEST(StatusJson, ShowsLeases) {
  wire::StatusReply status;
  wire::AllocationStatus& leased = *status.add_allocations();
  leased.set_name("a1");
  leased.add_nodes("v2");
  leased.add_managers("pool");
  leased.mutable_lease()->set_left_ms(7);
  leased.mutable_lease()->set_warn_ms(5);
  status.add_allocations()->set_name("a2");
  status.add_asks()->set_text("2 nodes");
  status.mutable_asks(0)->set_left_ms(9);
  status.add_asks()->set_queued("job 17 is pending");
  status.mutable_asks(1)->set_request_id("more");
  status.mutable_asks(1)->set_job(4);
  const auto json = nlohmann::json::parse(status_json(status));
  EXPECT_EQ(json["allocations"][0]["lease"]["left_ms"], 7);
  EXPECT_EQ(json["allocations"][0]["lease"]["warned"], false);
  EXPECT_EQ(json["allocations"][0]["managers"][0], "pool");
  EXPECT_TRUE(json["allocations"][1]["lease"].is_null());
  EXPECT_EQ(json["asks"][0]["text"], "2 nodes");
  EXPECT_EQ(json["asks"][0]["left_ms"], 9);
  EXPECT_TRUE(json["asks"][0]["queued"].is_null());
  EXPECT_TRUE(json["asks"][0]["request_id"].is_null());
  EXPECT_TRUE(json["asks"][1]["left_ms"].is_null()) << "a scheduler may take as long as it likes";
  EXPECT_EQ(json["asks"][1]["queued"], "job 17 is pending");
  EXPECT_EQ(json["asks"][1]["request_id"], "more");
  EXPECT_TRUE(json["asks"][0]["job"].is_null());
  EXPECT_EQ(json["asks"][1]["job"], 4);
}

TEST(JobsJson, ExitStatusIsNullWhileRunning) {
  wire::StatusReply status;
  wire::JobStatus& running = *status.add_jobs();
  running.set_number(1);
  running.set_nspace("tide-h-1-2@1");
  running.set_command("a\xff");
  EXPECT_EQ(jobs_json(status), R"({
  "schema_version": 1,
  "jobs": [
    {
      "number": 1,
      "namespace": "tide-h-1-2@1",
      "state": "",
      "processes": 0,
      "running": 0,
      "command": "a)"
                               "\xEF\xBF\xBD"
                               R"(",
      "age_ms": 0,
      "ended": false,
      "exit_status": null,
      "messages": [],
      "nodes": 0,
      "targets": [
        "default"
      ],
      "waits_for": null,
      "state_age_ms": 0
    }
  ]
}
)");
  running.set_ended(true);
  running.set_exit_status(137);
  running.add_messages("killed");
  EXPECT_NE(jobs_json(status).find("\"exit_status\": 137"), std::string::npos);
  EXPECT_NE(jobs_json(status).find("\"killed\""), std::string::npos);
}

TEST(ErrorJson, HasCodeAndMessage) {
  EXPECT_EQ(error_json(Error{ErrorCode::kNotFound, "no DVM"}), R"({
  "schema_version": 1,
  "error": {
    "code": "not-found",
    "message": "no DVM"
  }
}
)");
}

TEST(ParamsJson, ListsThem) {
  const std::array params = {ShownParam{"a", "1", "default", "int", "help"}};
  EXPECT_EQ(params_json(params), R"({
  "schema_version": 1,
  "params": [
    {
      "name": "a",
      "value": "1",
      "source": "default",
      "type": "int",
      "help": "help"
    }
  ]
}
)");
}

}  // namespace
}  // namespace tide::cli
