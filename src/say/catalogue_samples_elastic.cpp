#include <string>
#include <vector>

#include "say/allocations.hpp"
#include "say/elastic.hpp"
#include "say/pool.hpp"
#include "say/sample_page.hpp"

namespace tide::say {
namespace {

constexpr const char* kJob = "tide-vm-6655-e451885e@7";
const std::vector<std::string> kTwo = {"v3", "v4"};
const std::vector<std::string> kOne = {"v4"};
const std::vector<std::string> kOther = {"v5"};
const std::vector<std::string> kNone;

void add_refusals(Page& page) {
  SAMPLE(not_elastic);
  SAMPLE(dvm_changes_no_more);
  SAMPLE(dvm_not_ready_to_change);
  SAMPLE(change_by_what, false);
  SAMPLE(change_by_what, true);
  SAMPLE(node_is_leaving, "v4");
  SAMPLE(no_such_node_to_release, "v9", kTwo);
  SAMPLE(no_such_node_to_release, "v9", kNone);
  SAMPLE(no_such_allocation, "a7");
  SAMPLE(too_few_nodes_to_release, 1, 0);
  SAMPLE(too_few_nodes_to_release, 9, 4);
  SAMPLE(only_plain_host_names, "+n0");
  SAMPLE(bad_activation, "+two");
  SAMPLE(not_to_be_activated, "node7", kTwo);
  SAMPLE(not_to_be_activated, "node7", kNone);
  SAMPLE(order_too_large, 100'000);
  SAMPLE(no_resource_manager_answered, 30'000);
}

void add_progress(Page& page) {
  SAMPLE(node_reported, "v3", 1, 2);
  SAMPLE(node_has_left, "v3", 1);
  SAMPLE(node_has_left, "v4", 0);
  SAMPLE(grown, kTwo, 4);
  SAMPLE(others_have_come, kOne, 4);
  SAMPLE(shrunk, Departures{kTwo}, 2);
  SAMPLE(shrunk, Departures{kTwo}, std::nullopt);
  SAMPLE(shrunk, Departures{.left_already = kOne}, 2);
  SAMPLE(shrunk, Departures{.never_came = kTwo}, 2);
  SAMPLE(shrunk, (Departures{{"v3"}, {"v4"}, {"v5"}, {"v6"}}), 2);
  SAMPLE(grow_rolled_back);
  SAMPLE(grow_failed, "node v4 could not be started: failpoint");
  SAMPLE(shrink_failed, "the order to leave does not fit");
  SAMPLE(change_ended_with_dvm, "tide down");
  SAMPLE(job_given_up_with_grow, kJob, "node v4 could not be started: failpoint");
  SAMPLE(job_given_up_with_its_nodes, kJob, "node v4 could not be started: failpoint");
  SAMPLE(job_gets_no_nodes, kJob, no_pool().message);
  SAMPLE(node_was_released);
  SAMPLE(node_released_under_job, kJob, kTwo, "");
  SAMPLE(node_released_under_job, kJob, kOne, "");
  SAMPLE(node_released_under_job, kJob, kOne, "Slurm job 17 reached its time limit");
}

void add_waits(Page& page) {
  const auto grow = change_words(false, 2, kTwo);
  const auto shrink = change_words(true, 3, kTwo);
  const std::vector<std::string> jobs = {kJob};
  SAMPLE(change_words, false, 2, kTwo);
  SAMPLE(waits_for_changes, 1);
  SAMPLE(waits_for_grant);
  SAMPLE(waits_for_its_nodes);
  SAMPLE(grow_waits_for_reports, grow, kOne);
  SAMPLE(grow_is_failing, grow, "node v3 could not be started: no such host", kOne);
  SAMPLE(grow_waits_for_wiring, grow, std::vector<std::string>{}, false);
  SAMPLE(grow_waits_for_wiring, grow, kOne, true);
  SAMPLE(change_is_rolled_back, grow);
  SAMPLE(change_waits_for_grow, shrink, kOne);
  SAMPLE(shrink_waits_for_processes, shrink, jobs);
  SAMPLE(shrink_waits_for_departures, shrink, kOne);
  SAMPLE(change_waits_for_managers, shrink, std::vector<std::string>{"pool"});
}

void add_pool(Page& page) {
  SAMPLE(pool_of_virtual_nodes_and_hosts);
  SAMPLE(pool_without_elastic, "--pool");
  SAMPLE(pool_hostfile_without_hosts);
  SAMPLE(no_pool);
  SAMPLE(pool_has_too_few, 4, 2);
  SAMPLE(pool_has_too_few, 4, 0);
  SAMPLE(pool_node_taken, "v3");
  SAMPLE(only_virtual_nodes, "node7", kTwo);
  SAMPLE(only_virtual_nodes, "node7", kNone);
  SAMPLE(pool_node_not_in_dvm, "v9", kTwo);
  SAMPLE(pool_node_not_in_dvm, "v9", kNone);
  SAMPLE(too_few_nodes_to_reclaim, 1, 0);
  SAMPLE(too_few_nodes_to_reclaim, 4, 2);
  SAMPLE(resource_manager_failed, "failpoint");
  SAMPLE(reclaimed_by_pool);
}

void add_commands(Page& page) {
  SAMPLE(needs_pool_word);
  SAMPLE(change_of_nothing, "tide grow", false);
  SAMPLE(change_of_nothing, "tide shrink", true);
  SAMPLE(change_by_two, "--count", "--host");
  SAMPLE(names_of_nodes_only, "v3:2", "--host");
  SAMPLE(change_begun, false, kTwo, "a1", kNone);
  SAMPLE(change_begun, false, kTwo, "a1", kOther);
  SAMPLE(change_begun, true, kOne, "a2", kNone);
  SAMPLE(change_begun, true, kNone, "a3", kOne);
  SAMPLE(nothing_to_change, kTwo);
  SAMPLE(allocation_is_over, "a1");
  SAMPLE(change_goes_on, false, 4);
  SAMPLE(change_goes_on, false, 0);
  SAMPLE(change_goes_on, true, 0);
  SAMPLE(pool_gives, kTwo, 0);
  SAMPLE(pool_gives, kOne, 600'000);
  SAMPLE(pool_takes_back, kTwo);
  SAMPLE(change_outcome_unknown, "the DVM closed the connection");
}

void add_allocations(Page& page) {
  SAMPLE(unknown_allocation_request);
  SAMPLE(too_many_allocations, 10'000);
  SAMPLE(too_many_asks, 256);
  SAMPLE(extend_of_what);
  SAMPLE(no_allocation_to_extend, "a7");
  SAMPLE(allocation_of_others, "a7");
  SAMPLE(nodes_of_others, kJob);
  SAMPLE(node_is_reserved, "v4", "a7");
  SAMPLE(node_is_still_starting, "v4");
  SAMPLE(node_is_gone, "v4");
  SAMPLE(cancel_of_what);
  SAMPLE(no_request_to_cancel, "more");
  SAMPLE(request_was_cancelled, "more");
}

}  // namespace

void add_elastic(Page& page) {
  page.begin("Growing and shrinking");
  add_refusals(page);
  add_progress(page);
  add_waits(page);
  add_pool(page);
  add_commands(page);
  add_allocations(page);
}

}  // namespace tide::say
