// Messages about nodes that Slurm gives and takes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/messages.hpp"

namespace tide::say {

// ---- Slurm's commands ----
Error slurm_command_failed(std::string_view program, std::string_view words);
Error slurm_command_silent(std::string_view program);
Error slurm_gave_nothing(std::string_view words);
// Slurm's words for a job that it changes no more.
Error slurm_changes_no_more(std::string_view words);
Error slurm_unreadable(std::string_view what, std::string_view text);

// ---- requests ----
Error slurm_one_name(std::string_view word);
Error slurm_not_idle(std::string_view node, std::span<const std::string> idle);
// `count`: of nodes in all; `names`: those of them that were named.
Error slurm_refuses(std::uint32_t count, std::span<const std::string> names, std::string_view why);
Error slurm_no_longer_than(std::string_view parent);
Error slurm_is_no_pool();
Error slurm_has_none_of_them();
// `reason`: Slurm's word for it.
Error slurm_waits_for_ever(std::string_view job, std::string_view reason);
Error slurm_job_is_not_new(std::string_view job);
Error slurm_gave_fewer(std::string_view job, std::size_t wished, std::size_t given);
Error slurm_lost_meanwhile(std::string_view node, std::string_view reason);
Error slurm_job_was_lost(std::string_view job, std::string_view state);
// `reason`: Slurm's word for it; empty: not known yet.
std::string slurm_nodes_get_ready(std::string_view job);
std::string slurm_job_waits(std::string_view job, std::string_view reason);

// ---- what becomes of jobs ----
// `state`: Slurm's word for it; empty: not known.
std::string slurm_job_over(std::string_view job, std::string_view state);
std::string slurm_took_nodes(std::string_view job);
std::string slurm_job_not_seen(std::string_view job, std::string_view why);
std::string slurm_cannot_shrink(std::string_view job, std::span<const std::string> nodes,
                                std::string_view why);
std::string slurm_shrinks_no_more(std::string_view job);
std::string slurm_keeps_nodes(std::string_view job, std::span<const std::string> nodes);
std::string slurm_is_waited_for(std::uint64_t limit_ms);
std::string slurm_jobs_may_be_left(std::string_view name);

}  // namespace tide::say
