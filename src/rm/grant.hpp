// What a scheduler has granted to whoever starts a DVM: the job that this program runs in.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "rm/host.hpp"

namespace tide::rm {

struct Grant {
  std::string manager;      // slurm, pbs, lsf, gridengine, flux, pals
  std::string job;          // its id there; may be empty
  std::vector<Host> hosts;  // each once, with the slots granted; 0: as the hardware has
  std::string source;       // where that is written, for people: SLURM_JOB_NODELIST

  bool operator==(const Grant&) const = default;
};

// What can be seen from here. File and command are bounded in size and time.
struct Surroundings {
  std::function<std::optional<std::string>(std::string_view name)> variable;
  std::function<Result<std::string>(const std::string& path)> file;
  // What it prints, where it ends with success. No shell is between.
  std::function<Result<std::string>(std::span<const std::string> argv)> command;
};

// Nothing where no scheduler is around, or `wanted` (the parameter `ras`) is none. With auto the
// innermost one counts: Flux, which is started within others, before Slurm, which has variables of
// PBS set for those who know no better, before PALS, PBS, LSF and Grid Engine. A name is that one
// or an error that says what is missing. Names of hosts are fit to be handed to a command.
Result<std::optional<Grant>> find_grant(std::string_view wanted, const Surroundings& surroundings);

// That job alone, for who does without its nodes; nothing, too, where it can't be told.
struct JobAround {
  std::string manager;
  std::string job;

  bool operator==(const JobAround&) const = default;
};
std::optional<JobAround> find_job_around(std::string_view wanted, const Surroundings& surroundings);

}  // namespace tide::rm
