#include "exec/slurm_environment.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace tide::exec {
namespace {

constexpr std::array<std::string_view, 8> kPrefixes = {
    "SLURM_", "SLURMD_", "SALLOC_", "SBATCH_", "SRUN_", "SCONTROL_", "SQUEUE_", "SCANCEL_"};
// Where the controller is, and how one is known to it.
constexpr std::array<std::string_view, 3> kKept = {"SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT"};

}  // namespace

std::vector<std::string> slurm_variables_that_steer(const Environment& environment) {
  std::vector<std::string> out;
  for (const auto& entry : environment) {
    const auto name = std::string_view(entry).substr(0, entry.find('='));
    const bool is_slurms = std::ranges::any_of(
        kPrefixes, [name](std::string_view prefix) { return name.starts_with(prefix); });
    if (is_slurms && std::ranges::find(kKept, name) == kKept.end()) out.emplace_back(name);
  }
  return out;
}

}  // namespace tide::exec
