// Starting a program, fast: the child borrows our memory until it executes the program, so nothing
// is copied, however large we are.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/result.hpp"
#include "exec/environment.hpp"
#include "exec/program_lookup.hpp"
#include "exec/unique_fd.hpp"

namespace tide::exec {

struct SpawnRequest {
  std::span<const std::string> argv;
  const EnvironmentBlock& environment;  // its PATH is searched for argv[0]
  std::string working_directory;        // empty: ours
  std::array<int, 3> stdio{};           // what becomes descriptors 0, 1 and 2 of the program
  int inherited_fd = -1;                // one more that it gets, under the same number
  int parent_death_signal = 0;          // sent to it when the calling *thread* ends; 0: none
  bool stop_on_exec = false;            // it waits for SIGCONT before its first instruction
};

struct SpawnedProcess {
  pid_t pid = 0;
  UniqueFd pidfd;
};

// The program runs in a process group of its own, with no signal blocked or ignored and with no
// descriptors but those of the request. Not for use by several threads at once.
class ProcessSpawner {
 public:
  // `node` goes into messages (empty: none). `descriptor_limit` is the soft limit on open files
  // that programs get, as raise_descriptor_limit() returned it (none: they get ours).
  ProcessSpawner(std::string node, std::optional<rlim_t> descriptor_limit);
  ~ProcessSpawner();
  ProcessSpawner(const ProcessSpawner&) = delete;
  ProcessSpawner& operator=(const ProcessSpawner&) = delete;

  // Returns when the program runs or could not be started; the error is a sentence for the user.
  // Codes: kNotFound no such program; kPermissionDenied it is there and can't be executed;
  // kInvalidArgument the working directory; kOutOfResources processes, memory, descriptors.
  Result<SpawnedProcess> spawn(const SpawnRequest& request);

 private:
  struct Plan;
  enum class Step : int;
  static int run_child(void* plan);
  void plan_limits(Plan& plan) const;
  static void stop_at_first_instruction(pid_t pid);
  Error failed(const SpawnRequest& request, Error reason) const;
  Error explain(const SpawnRequest& request, const Plan& plan, const Program& program) const;

  std::string node_;
  std::optional<rlim_t> descriptor_limit_;
  void* stack_ = nullptr;  // of the child, with a guard page at its low end
};

}  // namespace tide::exec
