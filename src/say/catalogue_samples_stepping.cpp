#include "say/sample_page.hpp"
#include "say/stepping.hpp"

namespace tide::say {
namespace {

StepFailure failed_step(LaunchTrouble trouble, std::vector<std::string> words = {}) {
  return {.trouble = trouble,
          .host = "node7",
          .command = "srun",
          .job = "17",
          .by_hand = "srun --jobid=17 --overlap --nodelist=node7 --nodes=1 --ntasks=1 hostname",
          .program = "/opt/tide/bin/prted",
          .how = "exit status 71",
          .command_ended = false,
          .words = std::move(words),
          .waited_ms = 30000,
          .timeout_ms = 30000,
          .our_version = "0.2.0",
          .their_version = "0.1.0"};
}

}  // namespace

void add_stepping(Page& page) {
  static const std::vector<std::string> kNames = {"node7", "node7.cluster"};
  static const std::vector<std::string> kHosts = {"node1", "node2", "node3"};
  static const std::vector<std::string> kWords = {"srun: forcing job termination"};
  page.begin("Daemons that a scheduler's command starts");
  SAMPLE(launcher_of_job, "srun", "slurm", "17", "/usr/bin/srun");
  SAMPLE(launcher_as_parameter, "ssh", "plm");
  SAMPLE(launcher_is_agent_for, "");
  SAMPLE(launcher_is_agent_for, "pbs");
  SAMPLE(launcher_is_agent_without, "srun", "slurm", "17");
  SAMPLE(launcher_of_other_scheduler, "slurm", "", "");
  SAMPLE(launcher_of_other_scheduler, "slurm", "lsf", "4711");
  SAMPLE(two_step_commands);
  SAMPLE(no_step_command, "srun");
  SAMPLE(step_command_unreadable, "mpiexec -n '{count}");
  SAMPLE(not_a_job_id, "-v");
  SAMPLE(too_many_hosts_for_command, "srun", 40000, 131071);
  SAMPLE(not_one_of_the_step, kNames, kHosts);
  SAMPLE(two_of_the_step, "node7");
  using enum LaunchTrouble;
  auto refused =
      failed_step(kOther, {"srun: error: Unable to confirm allocation for job 17: Invalid job id "
                           "specified"});
  refused.command_ended = true;
  refused.how = "exit status 1";
  SAMPLE(step_failed, refused);
  SAMPLE(step_failed,
         failed_step(kOther, {"srun: error: Task launch for StepId=17.0 failed on node node7: "
                              "Communication connection failure"}));
  SAMPLE(step_failed,
         failed_step(kProgramMissing, {"slurmstepd-node7: error: execve(): /opt/tide/bin/prted: No "
                                       "such file or directory"}));
  SAMPLE(step_failed,
         failed_step(kLibraryMissing, {"/opt/tide/bin/prted: error while loading shared libraries: "
                                       "libpmix.so.2: cannot open shared object file: No such "
                                       "file or directory"}));
  SAMPLE(step_failed, failed_step(kVersion));
  SAMPLE(step_failed, failed_step(kTimedOut));
  auto unknown = failed_step(kTimedOut);
  unknown.by_hand = "";
  SAMPLE(step_failed, unknown);
  SAMPLE(step_failed, failed_step(kNoWayBack, {"the daemon did not reach the head within 30 s"}));
  SAMPLE(step_failed, failed_step(kDaemonEnded, {"no space left on device"}));
  auto gone = failed_step(kDaemonEnded, kWords);
  gone.command_ended = true;
  gone.how = "exit status 137";
  SAMPLE(step_failed, gone);
  auto bare = failed_step(kOther);
  bare.by_hand = "";
  bare.job = "";
  bare.command = "mpiexec";
  SAMPLE(step_failed, bare);
  SAMPLE(step_daemon_ended, "srun", "signal 9 (SIGKILL)", kWords);
  SAMPLE(step_daemon_ended, "", "exit status 1", {});
}

}  // namespace tide::say
