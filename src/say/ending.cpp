#include "say/ending.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tide::say {

Error job_has_no_processes(std::string_view nspace, std::uint32_t number) {
  return Error{
      ErrorCode::kNotFound,
      fmt::format("job {} has no processes yet that could take a signal{}tide explain {}, or "
                  "tide kill {} to end it",
                  nspace, kTry, number, number)};
}

Error no_such_job(std::string_view name) {
  return not_found(
      fmt::format("no job {} is running{}tide jobs lists those that are", one_line(name), kTry));
}

Error not_a_signal(int number) {
  return invalid(fmt::format("{} is not a signal", number));
}

std::string ended_on_request(std::string_view nspace, int signal) {
  return fmt::format("job {}: ended on request by {}", nspace, signal_words(signal));
}

std::string ended_without_client(std::string_view nspace) {
  return fmt::format("job {}: ended because its client went away", nspace);
}

std::string ended_because(std::string_view nspace, std::string_view reason) {
  return fmt::format("job {}: ended because {}", nspace, reason);
}

std::string ended_by_timeout(std::string_view nspace, std::uint32_t timeout_ms) {
  return fmt::format(
      "job {}: ended because it ran longer than {}, its --timeout{}a longer --timeout, "
      "or none",
      nspace, human_duration_ms(timeout_ms), kTry);
}

std::string not_launched_in_time(std::string_view nspace, std::uint32_t timeout_ms) {
  return fmt::format(
      "job {}: ended because not all its processes ran within {}, its --spawn-timeout{}a longer "
      "--spawn-timeout, or none",
      nspace, human_duration_ms(timeout_ms), kTry);
}

std::string state_at_timeout(std::string_view nspace, std::string_view state,
                             std::span<const ProcessLine> processes, std::size_t more) {
  std::string out = fmt::format("job {}: when its time was over it was {}", nspace, state);
  for (const auto& process : processes) {
    const auto pid = process.pid == 0 ? "" : fmt::format(", pid {}", process.pid);
    out += fmt::format("\n    process {} on {}{}: {}", process.rank, process.where, pid,
                       process.state);
  }
  if (more > 0) out += fmt::format("\n    and {} more", more);
  return out;
}

std::string processes_did_not_end(std::string_view nspace) {
  return fmt::format(
      "job {}: its processes did not end in time and are left to the warden of their "
      "nodes, which kills them",
      nspace);
}

std::string job_is_being_ended(int signal) {
  return fmt::format("{}: the job is being ended; once more ends it at once", signal_name(signal));
}

std::string job_is_being_killed(int signal) {
  return fmt::format("{}: the job is killed; once more leaves without waiting for it",
                     signal_name(signal));
}

Error dvm_takes_no_more_jobs() {
  return Error{
      ErrorCode::kUnavailable,
      fmt::format("the DVM is ending and takes no more jobs{}tide up, for a new one", kTry)};
}

std::string no_dvm_to_end() {
  return "no DVM is running, so there is nothing to end";
}

std::string head_was_killed(std::string_view name) {
  return fmt::format("the head of DVM {} did not answer or end and was killed", name);
}

std::string head_cannot_be_killed(std::string_view name, std::uint32_t pid) {
  return fmt::format(
      "the head of DVM {0} (pid {1}) cannot be killed: the kernel holds it{2}again "
      "later; cat /proc/{1}/stack shows where it hangs",
      name, pid, kTry);
}

std::string dvm_has_not_ended(std::string_view name) {
  return fmt::format(
      "DVM {0} has not ended yet: it may be waiting for its scheduler to take nodes back{1}again "
      "in a minute, or tide down --force --dvm {0}, which kills its head",
      name, kTry);
}

std::string waiting_for_jobs(std::size_t jobs, std::span<const std::string> unheard,
                             std::uint64_t left_ms) {
  const std::string silent =
      unheard.empty() ? "" : fmt::format("; nothing is heard of {}", name_list(unheard));
  return fmt::format("waiting for {} to end, at most {} more{}", counted(jobs, "job", "jobs"),
                     human_duration_ms(left_ms), silent);
}

std::string waiting_for_nodes(std::span<const std::string> nodes, std::uint64_t left_ms) {
  return fmt::format("waiting for {} to end, at most {} more: {}",
                     counted(nodes.size(), "node", "nodes"), human_duration_ms(left_ms),
                     name_list(nodes));
}

std::string ended_without_word_from(std::span<const std::string> nodes) {
  return fmt::format(
      "the DVM ends without a word from {}, which could not be reached; a daemon that is cut off "
      "ends by itself{}tide check with these hosts, before the next start there",
      name_list(nodes), kTry);
}

}  // namespace tide::say
