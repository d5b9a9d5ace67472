#include <string>
#include <vector>

#include "say/campaigns.hpp"
#include "say/sample_page.hpp"

namespace tide::say {
namespace {

const std::vector<std::string> kTwo = {"v3", "v4"};
const std::vector<std::string> kNone;
constexpr const char* kReason = "Slurm job 17 reached its time limit";
constexpr const char* kQueue = "Slurm job 17 is pending (Resources)";

void add_explained(Page& page) {
  SAMPLE(change_phase, "grow 2 (v3, v4)", "wiring");
  SAMPLE(change_because, "shrink 3 (v3)", kReason);
  SAMPLE(asked_by_request, true);
  SAMPLE(asked_by_request, false);
  SAMPLE(asked_by_push);
  SAMPLE(asked_by_reclaim, "");
  SAMPLE(asked_by_reclaim, kReason);
  SAMPLE(asked_by_lease, "a1");
  SAMPLE(waits_for_report, "v3", 0);
  SAMPLE(waits_for_report, "v3", 6671);
  SAMPLE(waits_for_wiring);
  SAMPLE(waits_for_acknowledgement, "v1", 6671, false);
  SAMPLE(waits_for_acknowledgement, "v1", 6671, true);
  SAMPLE(nodes_are_leaving, kTwo);
  SAMPLE(waits_for_rollback);
  SAMPLE(after_limit, "fails", "59 s");
  SAMPLE(after_limit, "fails-anyway", "9 s");
  SAMPLE(after_limit, "force", "9 s");
  SAMPLE(after_limit, "goes-on", "8 s");
  SAMPLE(brought_nothing, kTwo);
  SAMPLE(reserves_what_was_there, kTwo);
  SAMPLE(waits_for_grow_of, "v3", 2);
  SAMPLE(waits_for_process, 0, 7, "v3", 8016);
  SAMPLE(waits_for_rest_of_jobs, std::vector<std::string>{"tide-vm-6655-e451885e@7"});
  SAMPLE(waits_for_departure, "v3", 6671, false);
  SAMPLE(waits_for_departure, "v3", 6671, true);
  SAMPLE(waits_for_manager, "pool", kTwo);
  SAMPLE(waits_for_manager, "hosts", kNone);
  SAMPLE(no_such_change, 7, 0);
  SAMPLE(no_such_change, 7, 1);
  SAMPLE(no_such_change, 7, 3);
  SAMPLE(change_forgotten, 2);
  SAMPLE(no_such_allocation_to_explain, "a7");
  SAMPLE(needs_something_to_explain, "tide explain");
  SAMPLE(not_to_be_explained, "v3");
}

void add_leases(Page& page) {
  SAMPLE(lease_warning, "a1", 30'000);
  SAMPLE(lease_extended, "a1", 630'000);
  SAMPLE(lease_is_cut, 3'600'000, 600'000, "pool");
  SAMPLE(lease_moved, "a1", 630'000);
  SAMPLE(lease_lifted, "a1");
  SAMPLE(lease_ended, "a1");
  SAMPLE(lease_of_grow, 300'000);
  SAMPLE(extend_by_what);
  SAMPLE(no_such_allocation_to_extend, "a7");
  SAMPLE(no_lease_to_extend, "a2");
}

}  // namespace

void add_campaigns(Page& page) {
  page.begin("One change of the size, leases, resource managers");
  add_explained(page);
  add_leases(page);
  SAMPLE(asked_by_somebody);
  SAMPLE(asked_by_job, 4);
  SAMPLE(nodes_asked_for, 2, kNone);
  SAMPLE(nodes_asked_for, 0, kTwo);
  SAMPLE(nodes_asked_for, 3, kTwo);
  SAMPLE(all_nodes_asked_for);
  SAMPLE(nodes_for_job, "v3", 4);
  SAMPLE(warning_of_what);
  SAMPLE(warning_before_the_lease, "--warn", "10m", "5m");
  SAMPLE(lease_of_what_is_there, "v5");
  SAMPLE(time_asked_for, "a1");
  SAMPLE(not_answered_yet, "2 nodes", 3'000, 27'000);
  SAMPLE(request_is_queued, "2 nodes", kQueue);
  SAMPLE(waits_in_a_queue);
  SAMPLE(queued_for, "2 nodes, as request 'more'", 3'600'000, kQueue);
  SAMPLE(waits_behind_request, "v3", kQueue);
  SAMPLE(queued_request_is_over, "2 nodes", "request 'more' was cancelled");
  SAMPLE(asker_has_gone);
  SAMPLE(nodes_not_taken_back, "pool", kTwo, "declined");
  SAMPLE(no_nodes_now);
}

}  // namespace tide::say
