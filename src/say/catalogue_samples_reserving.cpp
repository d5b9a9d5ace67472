#include <string>
#include <vector>

#include "say/reserving.hpp"
#include "say/sample_page.hpp"

namespace tide::say {
namespace {

constexpr const char* kUser = "tide-vm-6655-e451885e@user";
const std::vector<std::string> kTwo = {"v3", "v4"};
const std::vector<std::string> kOne = {"v1"};
const std::vector<std::string> kNone;
const std::vector<std::string> kIds = {"a1", "a3"};
const std::vector<std::string> kOwners = {kUser, "tide-vm-6655-e451885e@7"};

void add_commands(Page& page) {
  SAMPLE(needs_alloc_word);
  SAMPLE(only_for_alloc, "--share", "release", std::vector<std::string>{"new"});
  SAMPLE(only_for_alloc, "--count", "list", std::vector<std::string>{"new", "extend", "release"});
  SAMPLE(extension_of_what);
  SAMPLE(release_of_what);
  SAMPLE(extended_by_nothing);
  SAMPLE(extended_by_nodes_and_time, "--count", "--time");
  SAMPLE(which_request);
  SAMPLE(nodes_being_reserved, kTwo, kNone, "a1");
  SAMPLE(nodes_being_reserved, kTwo, kOne, "a1");
  SAMPLE(nodes_are_reserved, kOne, "a2");
  SAMPLE(nodes_are_shared, kOne, "a3");
  SAMPLE(allocation_gets_nodes, "a1", kTwo, kNone);
  SAMPLE(allocation_gets_nodes, "a1", kTwo, kOne);
  SAMPLE(allocation_has_nodes, "a1", kOne);
  SAMPLE(nodes_are_everybodys, kOne);
  SAMPLE(nodes_are_everybodys, kTwo);
  SAMPLE(terms_are_changed, "a1");
  SAMPLE(request_is_taken_back, "ensemble");
}

void add_endings(Page& page) {
  SAMPLE(what_becomes_of_it, "none", true, false);
  SAMPLE(what_becomes_of_it, "child", true, false);
  SAMPLE(what_becomes_of_it, "child", true, true);
  SAMPLE(what_becomes_of_it, "default", true, false);
  SAMPLE(what_becomes_of_it, "default", false, false);
  SAMPLE(what_becomes_of_it, "child-default", true, false);
}

}  // namespace

void add_reserving(Page& page) {
  page.begin("Reservations");
  add_commands(page);
  SAMPLE(no_allocations);
  SAMPLE(made_for, true, kUser, "ensemble", 125'000);
  SAMPLE(made_for, false, kUser, "", 125'000);
  SAMPLE(may_be_used_by, kOwners);
  SAMPLE(comes_of_owner, kOwners);
  add_endings(page);
  SAMPLE(may_use_sessions, kIds, true);
  SAMPLE(may_use_sessions, kIds, false);
  SAMPLE(may_use_sessions, kNone, true);
  SAMPLE(target_without_name, "--target", "a1,,a3");
  SAMPLE(no_reservation_of_request, "ensemble");
  SAMPLE(request_is_shared, "ensemble", "a3");
  SAMPLE(several_reservations_of_request, "ensemble", kIds);
}

}  // namespace tide::say
