#include "say/debugging.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tide::say {

std::string job_is_held(std::string_view nspace, std::uint32_t number, std::string_view breakpoint,
                        std::span<const ProcessLine> processes, std::size_t more) {
  std::string out =
      fmt::format("job {}: all processes wait for a debugger ({})", nspace, one_line(breakpoint));
  for (const auto& process : processes) {
    out += fmt::format("\n    process {} on {}, pid {}", process.rank, process.where, process.pid);
  }
  if (more > 0) out += fmt::format("\n    and {} more", more);
  return out + fmt::format(
                   "{}gdb -p PID -ex 'handle SIGSTOP nostop noprint nopass', on that node; tide "
                   "kill {} --signal CONT lets all go on",
                   kTry, number);
}

Error job_held_and_restarted() {
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("a job whose processes wait for a debugger can't have them started "
                           "again{}either of the two options",
                           kTry)};
}

Error beside_without_number() {
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("processes beside those of another job are of one program, and at least "
                           "one on each node{}one app and PMIX_DEBUG_DAEMONS_PER_NODE",
                           kTry)};
}

std::string no_job_to_be_beside(std::string_view nspace) {
  return fmt::format("no processes of job {} run, beside which these were to run{}tide jobs",
                     quoted(nspace), kTry);
}

Error stops_twice(std::string_view one, std::string_view other) {
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{} and {} together: processes stop at one place{}one of them", one,
                           other, kTry)};
}

std::string stack_trace(std::string_view nspace, std::uint32_t rank, std::string_view where,
                        std::uint32_t pid, std::string_view stacks, bool cut) {
  std::string out = fmt::format("job {}: stacks of process {} on {}, pid {}{}", nspace, rank, where,
                                pid, cut ? ", of which only the beginning is shown" : "");
  for (const auto& line : split(stacks, '\n')) {
    out += (line.empty() ? "\n" : "\n    ") + line;
  }
  return out;
}

std::string no_stack_traces(std::string_view nspace, std::size_t processes, std::string_view where,
                            std::string_view reason) {
  return fmt::format("job {}: no stacks of {} on {}: {}", nspace,
                     counted(processes, "process", "processes"), where, reason);
}

std::string stack_traces_left_out(std::string_view nspace, std::size_t processes,
                                  std::size_t per_node, std::size_t per_job) {
  return fmt::format(
      "job {}: the stacks of {} are left out: {} processes of a node are shown, and {} of a job",
      nspace, counted(processes, "more process", "more processes"), per_node, per_job);
}

std::string stack_traces_are_late(std::string_view nspace, std::span<const std::string> nodes,
                                  std::uint64_t waited_ms) {
  return fmt::format("job {}: stacks are not waited for any longer than {}; not all came from {}",
                     nspace, human_duration_ms(waited_ms), name_list(nodes));
}

Error gdb_takes_too_long(std::uint64_t after_ms) {
  return Error{ErrorCode::kTimedOut, fmt::format("gdb did not show them within {} and was killed",
                                                 human_duration_ms(after_ms))};
}

Error gdb_shows_no_stack(std::string_view words) {
  if (words.ends_with('.')) words.remove_suffix(1);
  return Error{ErrorCode::kSystem, fmt::format("gdb says: {}", one_line(words))};
}

Error program_cannot_be_held(int errnum) {
  Error error = system_error("it can't be stopped before it runs", errnum);
  error.code = ErrorCode::kSystem;
  error.message += fmt::format("{}--stop-in-init, which needs no leave to trace processes", kTry);
  return error;
}

}  // namespace tide::say
