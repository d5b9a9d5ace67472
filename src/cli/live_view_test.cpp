#include "cli/live_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/text_table.hpp"

namespace tide::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

void add_node(wire::StatusReply& status, const std::string& name, std::uint32_t slots,
              std::uint32_t used, const std::string& state = "up") {
  wire::NodeStatus& node = *status.add_nodes();
  node.set_name(name);
  node.set_slots(slots);
  node.set_slots_used(used);
  node.set_state(state);
}

void add_job(wire::StatusReply& status, std::uint32_t number, const std::string& state) {
  wire::JobStatus& job = *status.add_jobs();
  job.set_number(number);
  job.set_state("PRTE_JOB_STATE_" + state);
  job.set_command("./solver");
}

// Two nodes and two that come, a job that runs and two that wait for the change.
wire::StatusReply growing() {
  wire::StatusReply status;
  status.set_dvm_name("tidal");
  status.set_state("ready");
  status.set_age_ms(12'000);
  status.set_elastic(true);
  add_node(status, "v1", 2, 1);
  add_node(status, "v2", 2, 0);
  add_node(status, "v3", 0, 0, "starting");
  add_node(status, "v4", 0, 0, "starting");
  add_job(status, 7, "RUNNING");
  add_job(status, 8, "WAITING_FOR_DAEMONS");
  add_job(status, 9, "WAITING_FOR_DAEMONS");
  wire::CampaignStatus& grow = *status.add_campaigns();
  grow.set_number(2);
  grow.set_phase("starting");
  grow.add_nodes("v3");
  grow.add_nodes("v4");
  wire::CounterValue& submitted = *status.add_counters();
  submitted.set_name("jobs.submitted");
  submitted.set_value(9);
  return status;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  EXPECT_EQ(lines.back(), "") << "every line ends";
  lines.pop_back();
  return lines;
}

TEST(LiveScreen, HasNodesChangesJobsAndEvents) {
  const std::vector<std::string> events = {"12:01:03.250  grow-begun"};
  const std::string text = live_screen(growing(), events, {24, 100});
  EXPECT_THAT(text, HasSubstr("DVM tidal is ready, up 12 s, elastic\n"
                              "4 nodes (v3, v4 starting), 1 of 4 slots used\n"
                              "1 job runs, 2 parked, 9 so far\n"
                              "\n"
                              "v1 #.         v2 ..         v3 starting   v4 starting\n"
                              "\n"
                              "CHANGE  KIND  PHASE "));
  EXPECT_LT(text.find("\n8 "), text.find("\n7 ")) << "parked jobs come first";
  EXPECT_THAT(text, HasSubstr("\n\n12:01:03.250  grow-begun\n"));
}

TEST(LiveScreen, FitsWhateverThereIs) {
  wire::StatusReply status = growing();
  for (std::uint32_t i = 5; i < 300; ++i) add_node(status, "größe" + std::to_string(i), 4, i % 4);
  for (std::uint32_t i = 10; i < 500; ++i) add_job(status, i, "RUNNING");
  for (std::uint32_t i = 3; i < 60; ++i) {
    wire::CampaignStatus& change = *status.add_campaigns();
    change.set_number(i);
    change.add_nodes("v" + std::to_string(i));
  }
  const std::vector<std::string> events(300, "an event");
  for (const std::size_t rows : {0U, 1U, 2U, 5U, 10U, 24U, 80U}) {
    for (const std::size_t columns : {1U, 20U, 80U, 200U}) {
      const auto lines = lines_of(live_screen(status, events, {rows, columns}));
      EXPECT_LE(lines.size(), rows > 1 ? rows - 1 : 1) << rows;
      for (const std::string& line : lines) EXPECT_LE(shown_width(line), columns) << line;
    }
  }
  const std::string usual = live_screen(status, events, {24, 80});
  EXPECT_THAT(usual, HasSubstr("an event\n"));
  EXPECT_THAT(usual, HasSubstr(" more\n"));
}

TEST(LiveScreen, OfADvmWithoutAnythingIsShort) {
  wire::StatusReply status;
  status.set_dvm_name("bare");
  status.set_state("ready");
  EXPECT_EQ(lines_of(live_screen(status, {}, {})).size(), 3U);
}

TEST(LiveScreen, ShowsManySlotsAsNumbers) {
  wire::StatusReply status;
  add_node(status, "big", 64, 12);
  add_node(status, "crowded", 2, 5);
  EXPECT_THAT(live_screen(status, {}, {}), HasSubstr("big 12/64     crowded 5/2\n"));
}

TEST(LiveLine, SaysItInOne) {
  EXPECT_EQ(live_line(growing()),
            "4 nodes (v3, v4 starting), 1 of 4 slots used; 1 job runs, 2 parked; grow 2 (v3, v4): "
            "starting");
}

// Jobs that come and go make no line; nodes, changes and the first that waits do.
TEST(LiveGist, ChangesWithNodesAndChangesOnly) {
  wire::StatusReply status = growing();
  const std::string before = live_gist(status);
  add_job(status, 10, "RUNNING");
  add_job(status, 11, "WAITING_FOR_DAEMONS");
  status.mutable_nodes(0)->set_slots_used(2);
  EXPECT_EQ(live_gist(status), before);
  status.mutable_campaigns(0)->set_phase("wiring");
  const std::string wiring = live_gist(status);
  EXPECT_NE(wiring, before);
  status.clear_jobs();
  EXPECT_NE(live_gist(status), wiring);
  EXPECT_THAT(live_gist(status), Not(HasSubstr("parked")));
}

}  // namespace
}  // namespace tide::cli
