#include <cerrno>

#include "say/granting.hpp"
#include "say/sample_page.hpp"

namespace tide::say {
namespace {

constexpr const char* kFlux = "flux resource R -s up";
constexpr const char* kFile = "/var/spool/pbs/aux/17.server";
constexpr const char* kSource = "PBS_NODEFILE /var/spool/pbs/aux/17.server";

void add_faults(Page& page) {
  SAMPLE(bad_job_id, "17 18");
  SAMPLE(slurm_job_of_parts);
  SAMPLE(grant_variable_missing, "SLURM_JOB_NODELIST");
  SAMPLE(grant_without_nodes, kSource);
  SAMPLE(bad_node_list, {"SLURM_JOB_NODELIST", 0, 5, "[1-4"}, HostFault::kOpenBracket);
  SAMPLE(bad_node_list, {kSource, 3, 1, "-oProxyCommand=x"}, HostFault::kDashFirst);
  SAMPLE(bad_count_list, {"SLURM_JOB_CPUS_PER_NODE", 0, 1, "4(x"});
  SAMPLE(counts_do_not_match, "SLURM_JOB_NODELIST", 3, "SLURM_JOB_CPUS_PER_NODE", 2);
  SAMPLE(flux_resources_unreadable, kFlux, "R_lite");
  SAMPLE(grant_file_in_variable, "PBS_NODEFILE", grant_file_not_readable(kFile, EACCES));
  SAMPLE(grant_file_not_readable, kFile, ENOENT);
  SAMPLE(grant_file_too_large, kFile, std::size_t{16} << 20U);
  SAMPLE(command_failed, kFlux, 1, "flux-resource: ERROR: broken pipe\n");
  SAMPLE(command_failed, kFlux, 1, "");
  SAMPLE(command_too_slow, kFlux, 30'000);
  SAMPLE(command_says_too_much, kFlux, std::size_t{16} << 20U);
}

}  // namespace

void add_granting(Page& page) {
  page.begin("In a scheduler's allocation");
  SAMPLE(scheduler_job, "slurm", "17");
  SAMPLE(scheduler_job, "flux", "");
  SAMPLE(nodes_of_job, 10, 40, "slurm", "17");
  SAMPLE(nodes_of_job, 1, 0, "gridengine", "17");
  SAMPLE(nodes_beside_job, 2, "slurm", "17");
  SAMPLE(nodes_and_launcher, nodes_of_job(2, 8, "slurm", "17"), "srun of Slurm job 17");
  SAMPLE(not_in_a_job, "slurm", "SLURM_JOB_ID");
  SAMPLE(grant_not_understood, "slurm", "17",
         counts_do_not_match("SLURM_JOB_NODELIST", 3, "SLURM_JOB_CPUS_PER_NODE", 2));
  SAMPLE(only_nodes_of_job, "node9", "PBS job 17.server", std::vector<std::string>{"node3"});
  SAMPLE(only_nodes_of_job, "node9", "PBS job 17.server", std::vector<std::string>{});
  SAMPLE(pool_in_a_job, "--pool", "slurm", "17");
  add_faults(page);
}

}  // namespace tide::say
