// Messages about nodes that a scheduler has granted before the DVM starts, and how they are found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/messages.hpp"
#include "say/hosts.hpp"

namespace tide::say {

// ---- `manager` is as the parameter ras has it; a job without an id is "the Slurm job" ----
std::string_view scheduler_name(std::string_view manager);  // as people call it
std::string scheduler_job(std::string_view manager, std::string_view job);
// Where the nodes of a DVM that starts come from. `slots` 0: not known yet.
std::string nodes_of_job(std::size_t nodes, std::uint64_t slots, std::string_view manager,
                         std::string_view job);
// Where they are those of this machine, though a job is around.
std::string nodes_beside_job(std::size_t nodes, std::string_view manager, std::string_view job);

// Nodes of a job, and by what daemons are started there, and why.
std::string nodes_and_launcher(std::string_view nodes, std::string_view launcher);

// ---- refused ----
Error not_in_a_job(std::string_view manager, std::string_view variable);
Error grant_not_understood(std::string_view manager, std::string_view job, const Error& why);
Error only_nodes_of_job(std::string_view host, std::string_view job,
                        std::span<const std::string> free);
Error pool_in_a_job(std::string_view option, std::string_view manager, std::string_view job);

// ---- what is not understood; without what to do ----
Error slurm_job_of_parts();
Error bad_job_id(std::string_view id);
Error grant_variable_missing(std::string_view variable);
Error grant_without_nodes(std::string_view source);
Error bad_node_list(const HostPlace& place, HostFault fault);
Error bad_count_list(const HostPlace& place);
Error counts_do_not_match(std::string_view list, std::size_t nodes, std::string_view counts_of,
                          std::size_t counts);
Error flux_resources_unreadable(std::string_view source, std::string_view part);

// ---- files and commands; without what to do ----
Error grant_file_in_variable(std::string_view variable, const Error& why);
Error grant_file_not_readable(std::string_view file, int errnum);
Error grant_file_too_large(std::string_view file, std::size_t limit_bytes);
Error command_failed(std::string_view command, int status, std::string_view text);
Error command_too_slow(std::string_view command, std::uint64_t limit_ms);
Error command_says_too_much(std::string_view command, std::size_t limit_bytes);

}  // namespace tide::say
