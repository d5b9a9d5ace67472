#include "core/proc_variables.hpp"

#include <utility>

namespace tide::core {

namespace {

class Variables {
 public:
  void set(std::string name, std::string value) {
    wire::EnvDirective directive;
    directive.set_kind(wire::EnvDirective::SET);
    directive.set_name(std::move(name));
    directive.set_value(std::move(value));
    list_.push_back(std::move(directive));
  }
  void set(std::string name, std::uint64_t value) { set(std::move(name), std::to_string(value)); }
  std::vector<wire::EnvDirective> take() { return std::move(list_); }

 private:
  std::vector<wire::EnvDirective> list_;
};

// As Open MPI's own launcher names them; scripts read them in place of MPI calls.
void add_ompi(const wire::LaunchCommon& job, const wire::LaunchProc& proc, std::size_t local_size,
              Variables& to) {
  to.set("OMPI_COMM_WORLD_SIZE", job.size());
  to.set("OMPI_COMM_WORLD_RANK", proc.rank());
  to.set("OMPI_COMM_WORLD_LOCAL_SIZE", local_size);
  to.set("OMPI_COMM_WORLD_LOCAL_RANK", proc.local_rank());
  to.set("OMPI_COMM_WORLD_NODE_RANK", proc.local_rank());
  to.set("OMPI_UNIVERSE_SIZE", job.universe_size());
  std::string sizes;
  std::string firsts;
  for (const auto& app : job.apps()) {
    sizes += (sizes.empty() ? "" : " ") + std::to_string(app.size());
    firsts += (firsts.empty() ? "" : " ") + std::to_string(app.first_rank());
  }
  to.set("OMPI_NUM_APP_CTX", static_cast<std::uint64_t>(job.apps_size()));
  to.set("OMPI_APP_CTX_NUM_PROCS", std::move(sizes));
  to.set("OMPI_FIRST_RANKS", std::move(firsts));
}

}  // namespace

std::vector<wire::EnvDirective> variables_of(const wire::LaunchCommon& job,
                                             const wire::LaunchProc& proc, std::size_t local_size,
                                             const std::string& node, const std::string& files) {
  Variables out;
  out.set("TIDE_NAMESPACE", job.nspace());
  out.set("TIDE_JOB", job.job());
  out.set("TIDE_RANK", proc.rank());
  out.set("TIDE_SIZE", job.size());
  out.set("TIDE_LOCAL_RANK", proc.local_rank());
  out.set("TIDE_NODE", node);
  if (job.ompi_variables()) add_ompi(job, proc, local_size, out);
  if (!files.empty()) out.set("TIDE_JOB_DIR", files);
  const auto& app = job.apps(static_cast<int>(proc.app()));
  const auto& directory = app.in_job_directory() ? files : app.working_directory();
  if (!directory.empty()) out.set("PWD", directory);
  return out.take();
}

}  // namespace tide::core
