#include "launch/scheduler_templates.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace tide::launch {
namespace {

struct Row {
  std::string_view manager;
  std::string_view line;
  bool each;
  std::string_view try_by_hand;
};

// The key goes over standard input, so each passes that on: srun and flux exec to all of their
// tasks, the others to the one that they start. PBS is not here: pbsdsh and pbs_tmrsh have neither
// input nor output for us. docs/schedulers.md has what is known of each.
constexpr std::array kTable = {
    // One task on each host, beside whatever else runs in the job. The step ends when the last of
    // them has ended, whatever became of the others. A daemon is to have all of its machine: its
    // processors, and its memory.
    Row{"slurm",
        "srun --jobid={job} --nodes={count} --ntasks={count} --ntasks-per-node=1 "
        "--nodelist={ranges} --overlap --mem=0 --cpu-bind=none --mpi=none --wait=0 "
        "--kill-on-bad-exit=0 --no-kill --input=all --label --export=ALL --job-name=tide {args} "
        "{command}",
        false,
        "srun --jobid={job} --overlap {args}--nodelist={hosts} --nodes=1 --ntasks=1 hostname"},
    // On all brokers of the instance, or all nodes of the job: where no daemon is wanted prted says
    // so, and ends.
    Row{"flux", "flux exec --jobid={job} --label-io {args} {command}", false,
        "flux exec --label-io hostname"},
    Row{"lsf", "blaunch {args} {host} {command}", true, "blaunch {host} hostname"},
    Row{"gridengine", "qrsh -inherit -V {args} {host} {command}", true,
        "qrsh -inherit {host} hostname"},
    // For each host, since the first rank alone has the standard input.
    Row{"pals", "mpiexec -n 1 --ppn 1 --hosts {host} {args} {command}", true,
        "mpiexec -n 1 --ppn 1 --hosts {host} hostname"},
};

}  // namespace

std::optional<StepTemplate> template_of(std::string_view manager) {
  const auto* const row = std::ranges::find(kTable, manager, &Row::manager);
  if (row == kTable.end()) return std::nullopt;
  return StepTemplate{.line = std::string(row->line),
                      .each = row->each,
                      .try_by_hand = std::string(row->try_by_hand)};
}

}  // namespace tide::launch
