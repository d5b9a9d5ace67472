// One reader for each scheduler that says in the environment which nodes a job has.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "rm/grant.hpp"

namespace tide::rm {

struct GrantedNodes {
  std::vector<Host> hosts;
  std::string source;
};

// Each is for where that scheduler is known to be around. Errors say what is wrong and where.
Result<GrantedNodes> read_slurm(const Surroundings& surroundings);
Result<GrantedNodes> read_pbs(const Surroundings& surroundings);
Result<GrantedNodes> read_lsf(const Surroundings& surroundings);
Result<GrantedNodes> read_gridengine(const Surroundings& surroundings);
Result<GrantedNodes> read_flux(const Surroundings& surroundings);

// A variable that is set and has something in it.
std::optional<std::string> variable(const Surroundings& surroundings, std::string_view name);

// A file that a variable names, and what to call it in errors.
struct GrantedFile {
  std::string source;
  std::string text;
};
Result<GrantedFile> file_in(const Surroundings& surroundings, std::string_view name);

}  // namespace tide::rm
