// Messages about the pool that a DVM gets its nodes from, and of the commands that change its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/messages.hpp"

namespace tide::say {

// ---- the start ----
Error pool_without_elastic(std::string_view option);
Error pool_of_virtual_nodes_and_hosts();
Error pool_hostfile_without_hosts();

// ---- refused: nothing has changed ----
Error no_pool();
Error pool_has_too_few(std::uint32_t asked, std::size_t free);
Error pool_node_taken(std::string_view node);
Error only_virtual_nodes(std::string_view host, std::span<const std::string> pool);
Error pool_node_not_in_dvm(std::string_view node, std::span<const std::string> there);
Error too_few_nodes_to_reclaim(std::uint32_t asked, std::size_t there);
Error resource_manager_failed(std::string_view why);
std::string reclaimed_by_pool();

// ---- the commands ----
Error needs_pool_word();
Error change_of_nothing(std::string_view program, bool shrinks);
Error change_by_two(std::string_view one, std::string_view other);
Error names_of_nodes_only(std::string_view word, std::string_view option);
// `nodes`: those that come or leave with it; `already`: with a change that came first.
std::string change_begun(bool shrinks, std::span<const std::string> nodes,
                         std::string_view allocation, std::span<const std::string> already);
std::string nothing_to_change(std::span<const std::string> nodes);
// A release with which no node leaves.
std::string allocation_is_over(std::string_view allocation);
// To who waited and was interrupted. `number` 0: it has not begun.
std::string change_goes_on(bool shrinks, std::uint32_t number);
std::string pool_gives(std::span<const std::string> nodes, std::uint64_t lease_ms);
std::string pool_takes_back(std::span<const std::string> nodes);
std::string change_outcome_unknown(std::string_view why);

}  // namespace tide::say
