// Messages about a single change of the DVM's size, as tide explain shows it, about the time that
// nodes may stay, and about the managers that they come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/messages.hpp"

namespace tide::say {

// ---- what tide explain says of a change ----
// `what`: "grow 4 (v3)".
std::string change_phase(std::string_view what, std::string_view phase);
std::string change_because(std::string_view what, std::string_view reason);
std::string asked_by_request(bool still_there);
std::string asked_by_somebody();  // when it has ended
std::string asked_by_job(std::uint32_t job);
std::string asked_by_push();
// `reason`: the manager's; empty: it gives none.
std::string asked_by_reclaim(std::string_view reason);
std::string asked_by_lease(std::string_view allocation);
// `pid` 0: it is not known to have been started.
std::string waits_for_report(std::string_view node, std::uint32_t pid);
std::string waits_for_wiring();
std::string waits_for_acknowledgement(std::string_view node, std::uint32_t pid,
                                      bool speaks_for_others);
// What the change does when its phase takes so much longer; `then` is "fails", "force",
// "goes-on" or, where it fails also if it does not, "fails-anyway".
std::string after_limit(std::string_view then, std::string_view left);
// Of an allocation that started no daemon: the DVM had these, or another change was bringing them.
std::string brought_nothing(std::span<const std::string> nodes);
std::string reserves_what_was_there(std::span<const std::string> nodes);
std::string nodes_are_leaving(std::span<const std::string> nodes);
std::string waits_for_rollback();
std::string waits_for_grow_of(std::string_view node, std::uint32_t grow);
std::string waits_for_process(std::uint32_t rank, std::uint32_t job, std::string_view node,
                              std::uint32_t pid);
std::string waits_for_rest_of_jobs(std::span<const std::string> jobs);
std::string waits_for_departure(std::string_view node, std::uint32_t pid, bool forced);
std::string waits_for_manager(std::string_view manager, std::span<const std::string> nodes);
Error no_such_change(std::uint32_t number, std::uint32_t changes);
Error change_forgotten(std::uint32_t number);
Error no_such_allocation_to_explain(std::string_view name);
Error needs_something_to_explain(std::string_view program);
Error not_to_be_explained(std::string_view text);

// ---- leases ----
std::string lease_warning(std::string_view allocation, std::uint64_t left_ms);
std::string lease_extended(std::string_view allocation, std::uint64_t left_ms);
// Behind what was granted.
std::string lease_is_cut(std::uint64_t asked_ms, std::uint64_t granted_ms,
                         std::string_view manager);
// By a resource manager, unasked.
std::string lease_moved(std::string_view allocation, std::uint64_t left_ms);
std::string lease_lifted(std::string_view allocation);
std::string lease_ended(std::string_view allocation);
// Of a grow that has begun.
std::string lease_of_grow(std::uint64_t time_ms);
Error extend_by_what();
Error no_such_allocation_to_extend(std::string_view allocation);
Error no_lease_to_extend(std::string_view allocation);

// ---- managers ----
// So many nodes, or these; more time for an allocation.
std::string nodes_asked_for(std::uint32_t count, std::span<const std::string> names);
std::string all_nodes_asked_for();
std::string nodes_for_job(std::string_view what, std::uint32_t job);
Error warning_of_what();
Error warning_before_the_lease(std::string_view option, std::string_view warning,
                               std::string_view lease);
Error lease_of_what_is_there(std::string_view node);
std::string time_asked_for(std::string_view allocation);
std::string not_answered_yet(std::string_view what, std::uint64_t age_ms, std::uint64_t left_ms);
// ---- requests that a scheduler lets wait ----
// `what`: "2 nodes"; `queue`: "job 17 is pending (Resources)".
std::string request_is_queued(std::string_view what, std::string_view queue);
std::string waits_in_a_queue();  // of a scheduler that says no more
std::string queued_for(std::string_view what, std::uint64_t age_ms, std::string_view queue);
// To a job whose nodes are named in the request of somebody else.
std::string waits_behind_request(std::string_view what, std::string_view queue);
std::string queued_request_is_over(std::string_view what, std::string_view why);
Error asker_has_gone();

// ---- what goes back ----
// `verdict`: "declined".
std::string nodes_not_taken_back(std::string_view manager, std::span<const std::string> nodes,
                                 std::string_view verdict);

// ---- a DVM that has no nodes, to a job ----
std::string no_nodes_now();

}  // namespace tide::say
