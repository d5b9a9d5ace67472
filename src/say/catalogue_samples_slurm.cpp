#include <string>
#include <vector>

#include "say/sample_page.hpp"
#include "say/slurm.hpp"

namespace tide::say {
namespace {

const std::vector<std::string> kTwo = {"node5", "node6"};
const std::vector<std::string> kNone;

}  // namespace

void add_slurm(Page& page) {
  page.begin("Slurm");
  SAMPLE(slurm_command_failed, "scontrol", "Unable to contact slurm controller (connect failure)");
  SAMPLE(slurm_command_silent, "squeue");
  SAMPLE(slurm_gave_nothing, "");
  SAMPLE(slurm_gave_nothing, "Job submit/allocate failed");
  SAMPLE(slurm_changes_no_more,
         "Job update not available right now, the DB index is being set, try again in a bit for "
         "job 18");
  SAMPLE(slurm_unreadable, "a job", "\x01garbage");
  SAMPLE(slurm_one_name, "node[5-6]");
  SAMPLE(slurm_not_idle, "node9", kTwo);
  SAMPLE(slurm_not_idle, "node9", kNone);
  const auto no_such = slurm_command_failed("salloc", "Invalid node name specified").message;
  SAMPLE(slurm_refuses, 2, kTwo, no_such);
  SAMPLE(slurm_refuses, 3, kNone,
         slurm_command_failed("salloc", "Requested node configuration is not available").message);
  SAMPLE(slurm_no_longer_than, "17");
  SAMPLE(slurm_is_no_pool);
  SAMPLE(slurm_has_none_of_them);
  SAMPLE(slurm_waits_for_ever, "18", "PartitionNodeLimit");
  SAMPLE(slurm_waits_for_ever, "18", "QOSMaxNodePerJobLimit");
  SAMPLE(slurm_job_is_not_new, "17");
  SAMPLE(slurm_job_was_lost, "18", "CANCELLED");
  SAMPLE(slurm_job_waits, "18", "");
  SAMPLE(slurm_gave_fewer, "18", 2, 1);
  SAMPLE(slurm_lost_meanwhile, "node5", slurm_job_over("18", "CANCELLED"));
  SAMPLE(slurm_nodes_get_ready, "18");
  SAMPLE(slurm_job_waits, "18", "Resources");
  SAMPLE(slurm_job_over, "18", "TIMEOUT");
  SAMPLE(slurm_job_over, "18", "REVOKED");
  SAMPLE(slurm_job_over, "18", "");
  SAMPLE(slurm_took_nodes, "17");
  SAMPLE(slurm_job_not_seen, "17", slurm_command_silent("scontrol").message);
  SAMPLE(slurm_cannot_shrink, "18", kTwo,
         slurm_command_failed("scontrol", "Requested operation is presently disabled").message);
  SAMPLE(slurm_shrinks_no_more, "18");
  SAMPLE(slurm_keeps_nodes, "17", kTwo);
  SAMPLE(slurm_is_waited_for, 85'000);
  SAMPLE(slurm_jobs_may_be_left, "tide-work");
}

}  // namespace tide::say
