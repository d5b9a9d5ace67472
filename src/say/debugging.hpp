// Messages about jobs that are held for a debugger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/messages.hpp"
#include "say/ending.hpp"

namespace tide::say {

// `more`: processes that are not among those shown.
std::string job_is_held(std::string_view nspace, std::uint32_t number, std::string_view breakpoint,
                        std::span<const ProcessLine> processes, std::size_t more);
Error job_held_and_restarted();
// Of a job whose processes run beside those of another one.
Error beside_without_number();
std::string no_job_to_be_beside(std::string_view nspace);
Error stops_twice(std::string_view one, std::string_view other);
// The stacks of a process whose job has no time left; `where`: "node v1".
std::string stack_trace(std::string_view nspace, std::uint32_t rank, std::string_view where,
                        std::uint32_t pid, std::string_view stacks, bool cut);
std::string no_stack_traces(std::string_view nspace, std::size_t processes, std::string_view where,
                            std::string_view reason);
std::string stack_traces_left_out(std::string_view nspace, std::size_t processes,
                                  std::size_t per_node, std::size_t per_job);
std::string stack_traces_are_late(std::string_view nspace, std::span<const std::string> nodes,
                                  std::uint64_t waited_ms);
// Why there are none.
Error gdb_takes_too_long(std::uint64_t after_ms);
Error gdb_shows_no_stack(std::string_view words);
// Why a program was not started.
Error program_cannot_be_held(int errnum);

}  // namespace tide::say
