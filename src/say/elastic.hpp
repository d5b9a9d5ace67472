// Messages about changes of the DVM's size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/messages.hpp"

namespace tide::say {

// ---- refused: nothing has changed ----
Error not_elastic();
Error dvm_changes_no_more();
Error dvm_not_ready_to_change();
Error change_by_what(bool shrinks);
Error node_is_leaving(std::string_view node);
Error no_such_node_to_release(std::string_view node, std::span<const std::string> there);
Error no_such_allocation(std::string_view allocation);
Error too_few_nodes_to_release(std::uint32_t asked, std::size_t there);
Error only_plain_host_names(std::string_view word);
Error bad_activation(std::string_view word);
Error not_to_be_activated(std::string_view host, std::span<const std::string> free);
Error order_too_large(std::size_t nodes);
Error no_resource_manager_answered(std::uint32_t waited_ms);

// ---- how it goes ----
// `done` of `all` have reported.
std::string node_reported(std::string_view node, std::size_t done, std::size_t all);
std::string node_has_left(std::string_view node, std::size_t left);
std::string grown(std::span<const std::string> nodes, std::size_t now);
// A grow that started nothing: another one was bringing these.
std::string others_have_come(std::span<const std::string> nodes, std::size_t now);
// What has become of the nodes that a shrink was asked to release.
struct Departures {
  std::vector<std::string> left{};          // … with this one
  std::vector<std::string> left_already{};  // … with one that came first
  std::vector<std::string> never_came{};    // the grow that was to bring them failed
  std::vector<std::string> lost{};          // before they could be told to leave
};
// `now`: nodes that are left; none if the DVM ends.
std::string shrunk(const Departures& nodes, std::optional<std::size_t> now);
std::string grow_rolled_back();
std::string grow_failed(std::string_view why);
std::string shrink_failed(std::string_view why);
std::string change_ended_with_dvm(std::string_view why);

// ---- to jobs ----
std::string job_given_up_with_grow(std::string_view nspace, std::string_view why);
// The grow was for this job. `why` may have further lines.
std::string job_given_up_with_its_nodes(std::string_view nspace, std::string_view why);
std::string job_gets_no_nodes(std::string_view nspace, std::string_view why);
std::string node_was_released();
// `reason`: of the resource manager that takes them back; empty: they are released, or it gives
// none.
std::string node_released_under_job(std::string_view nspace, std::span<const std::string> nodes,
                                    std::string_view reason);

// ---- what is waited for ----
std::string waits_for_changes(std::size_t changes);
std::string waits_for_grant();
std::string waits_for_its_nodes();
// `what`: "the grow by 2 nodes".
std::string grow_waits_for_reports(std::string_view what, std::span<const std::string> nodes);
// `nodes`: have neither reported nor failed yet.
std::string grow_is_failing(std::string_view what, std::string_view why,
                            std::span<const std::string> nodes);
std::string grow_waits_for_wiring(std::string_view what, std::span<const std::string> nodes,
                                  bool speak_for_others);
std::string change_is_rolled_back(std::string_view what);
std::string change_waits_for_grow(std::string_view what, std::span<const std::string> nodes);
std::string shrink_waits_for_processes(std::string_view what, std::span<const std::string> jobs);
std::string shrink_waits_for_departures(std::string_view what, std::span<const std::string> nodes);
std::string change_waits_for_managers(std::string_view what, std::span<const std::string> managers);
std::string change_words(bool shrinks, std::uint32_t number, std::span<const std::string> nodes);

}  // namespace tide::say
