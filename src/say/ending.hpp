// Messages about how jobs and DVMs end, and about ending them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/messages.hpp"

namespace tide::say {

// ---- jobs; `nspace` is the namespace of the job ----
Error no_such_job(std::string_view name);
// A signal, to a job that is not launched yet.
Error job_has_no_processes(std::string_view nspace, std::uint32_t number);
Error not_a_signal(int number);
std::string ended_on_request(std::string_view nspace, int signal);
std::string ended_without_client(std::string_view nspace);
// `reason`: "the DVM is taken down".
std::string ended_because(std::string_view nspace, std::string_view reason);
std::string ended_by_timeout(std::string_view nspace, std::uint32_t timeout_ms);
std::string not_launched_in_time(std::string_view nspace, std::uint32_t timeout_ms);
// One of the processes of a job; `where`: "node v1".
struct ProcessLine {
  std::uint32_t rank = 0;
  std::string where;
  std::uint32_t pid = 0;  // 0: not started
  std::string state;
};
std::string state_at_timeout(std::string_view nspace, std::string_view state,
                             std::span<const ProcessLine> processes, std::size_t more);
std::string processes_did_not_end(std::string_view nspace);
// After Ctrl-C, first and second.
std::string job_is_being_ended(int signal);
std::string job_is_being_killed(int signal);

// ---- DVMs ----
Error dvm_takes_no_more_jobs();
std::string no_dvm_to_end();
std::string head_was_killed(std::string_view name);
std::string head_cannot_be_killed(std::string_view name, std::uint32_t pid);
std::string dvm_has_not_ended(std::string_view name);
// While people wait for an end that takes long; `unheard` are nodes that say nothing.
std::string waiting_for_jobs(std::size_t jobs, std::span<const std::string> unheard,
                             std::uint64_t left_ms);
std::string waiting_for_nodes(std::span<const std::string> nodes, std::uint64_t left_ms);
std::string ended_without_word_from(std::span<const std::string> nodes);

}  // namespace tide::say
