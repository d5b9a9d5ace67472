#include "say/granting.hpp"
#include "say/sample_page.hpp"

namespace tide::say {

void add_granting(Page& page) {
  page.begin("In a scheduler's allocation");
  SAMPLE(bad_node_list, {"SLURM_JOB_NODELIST", 0, 5, "[1-4"}, HostFault::kOpenBracket);
  SAMPLE(bad_count_list, {"SLURM_JOB_CPUS_PER_NODE", 0, 1, "4(x"});
}

}  // namespace tide::say
