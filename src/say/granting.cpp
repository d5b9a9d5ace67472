#include "say/granting.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/text.hpp"

namespace tide::say {

std::string_view scheduler_name(std::string_view manager) {
  using Name = std::pair<std::string_view, std::string_view>;
  constexpr std::array kNames = {Name{"slurm", "Slurm"}, Name{"pbs", "PBS"},
                                 Name{"lsf", "LSF"},     Name{"gridengine", "Grid Engine"},
                                 Name{"flux", "Flux"},   Name{"pals", "PALS"}};
  for (const auto& [word, name] : kNames) {
    if (word == manager) return name;
  }
  return manager;
}

std::string scheduler_job(std::string_view manager, std::string_view job) {
  if (job.empty()) return fmt::format("the {} job", scheduler_name(manager));
  return fmt::format("{} job {}", scheduler_name(manager), one_line(job));
}

std::string nodes_of_job(std::size_t nodes, std::uint64_t slots, std::string_view manager,
                         std::string_view job) {
  return fmt::format("{}{} of {}", counted(nodes, "node", "nodes"),
                     slots == 0 ? "" : fmt::format(", {}", counted(slots, "slot", "slots")),
                     scheduler_job(manager, job));
}

std::string nodes_beside_job(std::size_t nodes, std::string_view manager, std::string_view job) {
  return fmt::format("{} on this machine, as --nodes says; without it: the nodes of {}",
                     counted(nodes, "virtual node", "virtual nodes"), scheduler_job(manager, job));
}

// ---- refused ----

std::string nodes_and_launcher(std::string_view nodes, std::string_view launcher) {
  return fmt::format("{}; daemons by {}", nodes, launcher);
}

Error not_in_a_job(std::string_view manager, std::string_view variable) {
  return not_found(
      fmt::format("the parameter ras wants {}, and this is no job of it: {} is not set{}the same "
                  "from within a job, or --prtemca ras auto",
                  scheduler_name(manager), variable, kTry));
}

Error grant_not_understood(std::string_view manager, std::string_view job, const Error& why) {
  return Error{why.code, fmt::format("the nodes of {} can't be told: {}{}--prtemca ras none, which "
                                     "leaves the job aside, with --host or --nodes",
                                     scheduler_job(manager, job), first_line(why.message), kTry)};
}

Error only_nodes_of_job(std::string_view host, std::string_view job,
                        std::span<const std::string> free) {
  return not_found(fmt::format(
      "{} can't join: the DVM has its nodes from {}{}{}{}", quoted(host), job,
      free.empty() ? ", and all of them already" : "", kTry,
      free.empty() ? "a larger job" : fmt::format("one of these: {}", name_list(free))));
}

Error pool_in_a_job(std::string_view option, std::string_view manager, std::string_view job) {
  return invalid(
      fmt::format("{} is for a DVM that gets its nodes from nobody else, and here they are those "
                  "of {}{}the start without it, --nodes N for nodes of this machine, or --prtemca "
                  "ras none",
                  option, scheduler_job(manager, job), kTry));
}

// ---- what is not understood ----

Error slurm_job_of_parts() {
  return Error{ErrorCode::kNotSupported, "it is a heterogeneous job, and those are not supported"};
}

Error bad_job_id(std::string_view id) {
  return invalid(fmt::format("{} is no id of a job", quoted(id)));
}

Error grant_variable_missing(std::string_view variable) {
  return invalid(fmt::format("{} is not set", variable));
}

Error grant_without_nodes(std::string_view source) {
  return invalid(fmt::format("{} names no host", one_line(source)));
}

Error bad_node_list(const HostPlace& place, HostFault fault) {
  return invalid(what_is_wrong(place, fault));
}

Error bad_count_list(const HostPlace& place) {
  return invalid(what_is_wrong(place, HostFault::kBadSlots));
}

Error counts_do_not_match(std::string_view list, std::size_t nodes, std::string_view counts_of,
                          std::size_t counts) {
  return invalid(fmt::format("{} has {}, and {} has numbers for {}", list,
                             counted(nodes, "node", "nodes"), counts_of, counts));
}

Error flux_resources_unreadable(std::string_view source, std::string_view part) {
  return invalid(
      fmt::format("what {} prints has no {} as resources of Flux have it", quoted(source), part));
}

// ---- files and commands ----

Error grant_file_in_variable(std::string_view variable, const Error& why) {
  return Error{why.code, fmt::format("{}: {}", variable, why.message)};
}

Error grant_file_not_readable(std::string_view file, int errnum) {
  return invalid(fmt::format("{} can't be read: {}", quoted(file), std::strerror(errnum)));
}

Error grant_file_too_large(std::string_view file, std::size_t limit_bytes) {
  return invalid(fmt::format("{} has more than {} bytes", quoted(file), limit_bytes));
}

Error command_failed(std::string_view command, int status, std::string_view text) {
  const std::string said = one_line(first_line(trim(text)));
  return invalid(fmt::format("{} failed with status {}{}", quoted(command), status,
                             said.empty() ? "" : fmt::format(": {}", said)));
}

Error command_too_slow(std::string_view command, std::uint64_t limit_ms) {
  return Error{ErrorCode::kTimedOut, fmt::format("{} did not answer within {}", quoted(command),
                                                 human_duration_ms(limit_ms))};
}

Error command_says_too_much(std::string_view command, std::size_t limit_bytes) {
  return invalid(fmt::format("{} prints more than {} bytes", quoted(command), limit_bytes));
}

}  // namespace tide::say
