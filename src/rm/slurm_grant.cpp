// Slurm: SLURM_JOB_NODELIST, and SLURM_JOB_CPUS_PER_NODE for the slots. Those are what Slurm
// granted; SLURM_TASKS_PER_NODE is how srun would use it.
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "rm/grant_readers.hpp"
#include "rm/granted_hosts.hpp"
#include "rm/slurm_job.hpp"
#include "rm/slurm_list.hpp"
#include "say/granting.hpp"

namespace tide::rm {

namespace {

constexpr std::string_view kSlots = "SLURM_JOB_CPUS_PER_NODE";

// None said is none: each node has as many as its hardware has, and as Slurm lets be seen.
Result<std::vector<std::uint32_t>> read_slots(const Surroundings& surroundings,
                                              std::string_view list, std::size_t nodes) {
  const auto text = variable(surroundings, kSlots);
  if (!text) return std::vector<std::uint32_t>(nodes, 0);
  auto slots = expand_slurm_counts(*text, kSlots);
  if (slots && slots->size() != nodes) {
    return say::counts_do_not_match(list, nodes, kSlots, slots->size());
  }
  return slots;
}

Result<GrantedNodes> read_environment(const Surroundings& surroundings) {
  for (const std::string_view list : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    const auto text = variable(surroundings, list);
    if (!text) continue;
    const auto names = expand_slurm_list(*text, list);
    if (!names) return names.error();
    const auto slots = read_slots(surroundings, list, names->size());
    if (!slots) return slots.error();
    GrantedHosts hosts{std::string(list)};
    for (std::size_t i = 0; i < names->size(); ++i) {
      if (auto added = hosts.add({(*names)[i]}, (*slots)[i]); !added) return added.error();
    }
    auto found = hosts.take();
    if (!found) return found.error();
    return GrantedNodes{std::move(*found), std::string(list)};
  }
  return say::grant_variable_missing("SLURM_JOB_NODELIST");
}

// The environment tells what the job was given; it may have been made smaller or larger since.
// Slurm knows what it has, if it answers.
std::optional<GrantedNodes> ask_slurm(const Surroundings& surroundings) {
  const auto id = variable(surroundings, "SLURM_JOB_ID");
  if (!id) return std::nullopt;
  const std::array<std::string, 8> argv = {
      "env", "SLURM_TIME_FORMAT=%s", "scontrol", "--details", "--oneliner", "show", "job", *id};
  const auto text = surroundings.command(argv);
  if (!text) return std::nullopt;
  auto job = parse_slurm_job(*text);
  if (!job || job->id != *id || job->life != SlurmLife::kRuns || job->nodes.empty()) {
    return std::nullopt;
  }
  return GrantedNodes{std::move(job->nodes), "scontrol show job " + *id};
}

}  // namespace

// Slurm keeps the parts of such a job apart: no command reaches all of its nodes.
Result<GrantedNodes> read_slurm(const Surroundings& surroundings) {
  if (variable(surroundings, "SLURM_HET_SIZE")) return say::slurm_job_of_parts();
  auto read = read_environment(surroundings);
  if (!read) return read;
  auto now = ask_slurm(surroundings);
  return now ? std::move(*now) : std::move(*read);
}

}  // namespace tide::rm
