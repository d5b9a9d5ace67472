#include "daemon/step_start.hpp"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "daemon/node_start.hpp"
#include "daemon/session_input.hpp"
#include "exec/environment.hpp"
#include "exec/secret.hpp"
#include "exec/slurm_environment.hpp"
#include "launch/daemon_blob.hpp"
#include "launch/step_words.hpp"
#include "wire/link.pb.h"

namespace tide::daemon {
namespace {

constexpr unsigned kExitStatusBits = 8;  // where waitpid() has the exit status

// A line for whoever started the step, who knows of which daemon it is.
class StepVoice : public NodeVoice {
 public:
  explicit StepVoice(Rank rank) : rank_(rank) {}
  int fail(const std::string& text) override {
    for (const auto& line : split(text, '\n')) last_words(line);
    return launch::kRemoteFailed;
  }
  void last_words(const std::string& line) override {
    write_all(STDOUT_FILENO, launch::step_says_text(rank_, line));
  }
  void joined(pid_t pid) override {
    write_all(STDOUT_FILENO, launch::step_joined_text(rank_, pid));
  }
  void leaves() override { write_all(STDOUT_FILENO, launch::step_leaves_text(rank_)); }

 private:
  Rank rank_;
};

// The one that the scheduler knows comes first.
std::vector<std::string> names_of_this_machine() {
  std::vector<std::string> names;
  const char* const slurms =
      ::getenv("SLURMD_NODENAME");  // NOLINT(concurrency-mt-unsafe): start-up
  if (slurms != nullptr && *slurms != '\0') names.emplace_back(slurms);
  std::array<char, HOST_NAME_MAX + 1> buffer{};
  if (::gethostname(buffer.data(), buffer.size() - 1) == 0) names.emplace_back(buffer.data());
  return names;
}

// What is not for this machine is forgotten.
Result<wire::DaemonBlob> read_own_part() {
  auto text = read_framed(launch::kMaxStepBlobBytes);
  if (!text) return text.error();
  wire::StepBlob step;
  if (!step.ParseFromString(text->text()) || step.daemons_size() == 0) {
    return Error{ErrorCode::kProtocol, "standard input does not hold what a head sends"};
  }
  *text = exec::Secret();
  auto own = launch::part_of(step, names_of_this_machine());
  exec::wipe(*step.mutable_common()->mutable_key());
  return own;
}

// Of tasks that are started as processes of MPI.
bool tells_a_task_its_rank(std::string_view name) {
  return name.starts_with("PMI_") || name.starts_with("PMIX_") || name.starts_with("PALS_");
}

// What a step is told about itself and its tasks says nothing true to jobs of the DVM: some would
// take it for their own rank and size.
void forget_the_step() {
  const auto environment = exec::current_environment();
  auto names = exec::slurm_variables_that_steer(environment);
  for (const auto& entry : environment) {
    if (tells_a_task_its_rank(entry)) names.push_back(entry.substr(0, entry.find('=')));
  }
  for (const auto& name : names) ::unsetenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace

int run_step(const std::string& version) {
  auto blob = [] {
    auto guarded = guard_session();
    return guarded ? read_own_part() : Result<wire::DaemonBlob>(guarded.error());
  }();
  if (!blob) {
    std::fprintf(stderr, "prted: %s\n", blob.error().message.c_str());
    return launch::kRemoteFailed;
  }
  forget_the_step();
  const Rank rank(blob->rank());
  if (!write_all(STDOUT_FILENO,
                 launch::step_greeting_text(rank, {launch::kRemoteProtocol, version}))) {
    return launch::kRemoteFailed;
  }
  StepVoice voice(rank);
  const NodeOutcome outcome = start_node(std::move(*blob), voice);
  write_all(STDOUT_FILENO, launch::step_ended_text(rank, outcome.daemon_status.value_or(
                                                             outcome.status << kExitStatusBits)));
  return outcome.status;
}

}  // namespace tide::daemon
