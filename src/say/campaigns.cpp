#include "say/campaigns.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tide::say {

namespace {

std::string with_pid(std::string_view node, std::uint32_t pid) {
  return pid == 0 ? std::string(node) : fmt::format("{} (process {})", node, pid);
}

}  // namespace

std::string change_phase(std::string_view what, std::string_view phase) {
  return fmt::format("{}: {}", what, phase);
}

std::string change_because(std::string_view what, std::string_view reason) {
  return fmt::format("{}: {}", what, reason);
}

std::string asked_by_request(bool still_there) {
  return still_there ? "asked for by a command or program that is still there"
                     : "asked for by a command or program that has gone since";
}

std::string asked_by_somebody() {
  return "asked for by a command or program";
}

std::string asked_by_job(std::uint32_t job) {
  return fmt::format("asked for by job {}", job);
}

std::string asked_by_push() {
  return "not asked for: a resource manager pushes nodes";
}

std::string asked_by_reclaim(std::string_view reason) {
  const std::string_view what = "not asked for: a resource manager takes nodes back";
  return reason.empty() ? std::string(what) : fmt::format("{}: {}", what, reason);
}

std::string asked_by_lease(std::string_view allocation) {
  return fmt::format("not asked for: the lease of allocation {} is over", allocation);
}

std::string waits_for_report(std::string_view node, std::uint32_t pid) {
  if (pid == 0) {
    return fmt::format("a report from {}: its daemon is not known to have been started", node);
  }
  return fmt::format("a report from {}: its daemon was started and has not been heard of",
                     with_pid(node, pid));
}

std::string waits_for_wiring() {
  return "every daemon, old and new, to acknowledge the new nodes";
}

std::string waits_for_acknowledgement(std::string_view node, std::uint32_t pid,
                                      bool speaks_for_others) {
  return fmt::format("{}{} to acknowledge the new nodes", with_pid(node, pid),
                     speaks_for_others ? ", or a daemon below it," : "");
}

std::string after_limit(std::string_view then, std::string_view left) {
  if (then == "fails") return fmt::format("fails, and is undone, if it takes {} more", left);
  if (then == "fails-anyway") {
    return fmt::format(
        "will fail, and be undone: in {} at the latest, when others have had time to fail, too",
        left);
  }
  if (then == "force") {
    return fmt::format("ends by force what has not left, if it takes {} more", left);
  }
  return fmt::format("goes on without what it waits for, if it takes {} more", left);
}

std::string brought_nothing(std::span<const std::string> nodes) {
  return fmt::format("it brought no node, because {} {} there or coming already", name_list(nodes),
                     nodes.size() == 1 ? "was" : "were");
}

std::string reserves_what_was_there(std::span<const std::string> nodes) {
  return fmt::format("it reserves {}, which {} everybody's before, and again when it ends",
                     name_list(nodes), nodes.size() == 1 ? "was" : "were");
}

std::string nodes_are_leaving(std::span<const std::string> nodes) {
  return fmt::format("{} {} leaving", name_list(nodes), nodes.size() == 1 ? "is" : "are");
}

std::string waits_for_rollback() {
  return "daemons to end that were started before it failed";
}

std::string waits_for_grow_of(std::string_view node, std::uint32_t grow) {
  return fmt::format("grow {} to end, which brings {}", grow, node);
}

std::string waits_for_process(std::uint32_t rank, std::uint32_t job, std::string_view node,
                              std::uint32_t pid) {
  return fmt::format("process {} of job {} to end, on {}", rank, job, with_pid(node, pid));
}

std::string waits_for_rest_of_jobs(std::span<const std::string> jobs) {
  return fmt::format("what processes left there to be ended, of {}", name_list(jobs));
}

std::string waits_for_departure(std::string_view node, std::uint32_t pid, bool forced) {
  return fmt::format("the daemon on {} to end, which was {}", with_pid(node, pid),
                     forced ? "ordered to leave, and is ended by force now" : "ordered to leave");
}

std::string waits_for_manager(std::string_view manager, std::span<const std::string> nodes) {
  if (nodes.empty()) {
    return fmt::format("resource manager {} to answer that none of these nodes is its own",
                       manager);
  }
  return fmt::format("resource manager {} to answer whether it takes back {}", manager,
                     name_list(nodes));
}

Error no_such_change(std::uint32_t number, std::uint32_t changes) {
  const std::string there = changes == 0   ? "its size has not been changed"
                            : changes == 1 ? "there was one, number 2"
                                           : fmt::format("they are 2 to {}", changes + 1);
  return not_found(fmt::format("there is no change {} of this DVM: {}{}tide events shows them",
                               number, there, kTry));
}

Error change_forgotten(std::uint32_t number) {
  return not_found(
      fmt::format("change {} has ended so long ago that nothing is kept of it", number));
}

Error no_such_allocation_to_explain(std::string_view name) {
  return not_found(fmt::format(
      "no node of the DVM belongs to an allocation {}, and none of its last changes{}tide status "
      "shows which node came with which allocation",
      quoted(name), kTry));
}

Error needs_something_to_explain(std::string_view program) {
  return invalid(fmt::format("one job, change or allocation is needed{}{} 3, {} change:4, or {} a1",
                             kTry, program, program, program));
}

Error not_to_be_explained(std::string_view text) {
  return invalid(
      fmt::format("{} is neither a job nor a change nor an allocation{}a job as tide jobs "
                  "lists it (3, or its namespace), change:4, or a1 as tide status shows "
                  "it",
                  quoted(text), kTry));
}

std::string lease_warning(std::string_view allocation, std::uint64_t left_ms) {
  return fmt::format("the lease of allocation {} ends in {}", allocation,
                     human_duration_ms(left_ms));
}

std::string lease_extended(std::string_view allocation, std::uint64_t left_ms) {
  return fmt::format("the lease of allocation {} is prolonged: it ends in {}", allocation,
                     human_duration_ms(left_ms));
}

std::string lease_is_cut(std::uint64_t asked_ms, std::uint64_t granted_ms,
                         std::string_view manager) {
  return fmt::format("{} was asked for, and resource manager {} grants {} at most",
                     human_duration_ms(asked_ms), manager, human_duration_ms(granted_ms));
}

std::string lease_moved(std::string_view allocation, std::uint64_t left_ms) {
  return fmt::format(
      "the resource manager has moved the end of the lease of allocation {}: it is in {}",
      allocation, human_duration_ms(left_ms));
}

std::string lease_lifted(std::string_view allocation) {
  return fmt::format(
      "the resource manager has lifted the lease of allocation {}: its nodes stay until they are "
      "released",
      allocation);
}

std::string lease_ended(std::string_view allocation) {
  return fmt::format("the lease of allocation {} is over: its nodes go back", allocation);
}

std::string lease_of_grow(std::uint64_t time_ms) {
  return fmt::format("for {}, then they go back", human_duration_ms(time_ms));
}

Error extend_by_what() {
  return invalid(
      fmt::format("more time is for one allocation, and says how much{}tide grow --extend ID "
                  "--time 10m, without nodes",
                  kTry));
}

Error no_such_allocation_to_extend(std::string_view allocation) {
  return not_found(
      fmt::format("no node that stays in the DVM belongs to an allocation {}; nothing was "
                  "prolonged{}tide status shows which node came with which allocation",
                  quoted(allocation), kTry));
}

Error no_lease_to_extend(std::string_view allocation) {
  return Error{ErrorCode::kUnavailable,
               fmt::format("allocation {} has no lease: its nodes stay until they are released",
                           allocation)};
}

std::string nodes_asked_for(std::uint32_t count, std::span<const std::string> names) {
  if (names.empty()) return counted(count, "node", "nodes");
  if (count == 0) return name_list(names);
  return fmt::format("{} and {} more", name_list(names), count);
}

std::string all_nodes_asked_for() {
  return "every free node";
}

std::string nodes_for_job(std::string_view what, std::uint32_t job) {
  return fmt::format("{}, for job {}", what, job);
}

Error warning_of_what() {
  return invalid(
      fmt::format("--warn tells of the end of a lease, and none is asked for{}--time 10m "
                  "with it",
                  kTry));
}

Error warning_before_the_lease(std::string_view option, std::string_view warning,
                               std::string_view lease) {
  return invalid(
      fmt::format("{} {}: a warning so long before the end of a lease of {} would come before the "
                  "nodes{}a time shorter than {}",
                  option, warning, lease, kTry, lease));
}

Error lease_of_what_is_there(std::string_view node) {
  return invalid(
      fmt::format("--time is for nodes that come, and the DVM has or gets {} already{}"
                  "tide grow --extend ALLOCATION --time TIME; tide status shows the "
                  "allocations",
                  node, kTry));
}

std::string time_asked_for(std::string_view allocation) {
  return fmt::format("more time for allocation {}", allocation);
}

std::string not_answered_yet(std::string_view what, std::uint64_t age_ms, std::uint64_t left_ms) {
  return fmt::format("asked for {} ago: {}; no resource manager has answered yet, and has {} left",
                     human_duration_ms(age_ms), what, human_duration_ms(left_ms));
}

std::string request_is_queued(std::string_view what, std::string_view queue) {
  return fmt::format("waiting for {}: {}", what, queue);
}

std::string waits_in_a_queue() {
  return "in the queue of a scheduler";
}

std::string queued_for(std::string_view what, std::uint64_t age_ms, std::string_view queue) {
  return fmt::format("asked for {} ago: {}; still waiting: {}", human_duration_ms(age_ms), what,
                     queue);
}

std::string waits_behind_request(std::string_view what, std::string_view queue) {
  return fmt::format(
      "another request names a node that it names, too, and is answered first: waiting for {}: {}",
      what, queue);
}

std::string queued_request_is_over(std::string_view what, std::string_view why) {
  return fmt::format("not waiting any more for {}: {}", what, why);
}

Error asker_has_gone() {
  return Error{ErrorCode::kUnavailable, "whoever asked has gone"};
}

std::string nodes_not_taken_back(std::string_view manager, std::span<const std::string> nodes,
                                 std::string_view verdict) {
  return fmt::format("resource manager {} has not taken back {}: {}", manager, name_list(nodes),
                     verdict);
}

std::string no_nodes_now() {
  return fmt::format(
      "the DVM has no nodes for it at present: all were released, reserved or lost{}"
      "tide grow --count N, which gets nodes from the pool or from Slurm, or --host NODE; tide "
      "status shows "
      "what is there",
      kTry);
}

}  // namespace tide::say
