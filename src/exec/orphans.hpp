// Children that came to us because their parent ended: a subreaper gets what others leave behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tide::exec {

// In the environment of every process of a job: "<id of the DVM>@<number of the job>".
inline constexpr std::string_view kNamespaceVariable = "TIDE_NAMESPACE";

// Whether this program has a child, running or not yet reaped. One cheap system call.
bool has_children();

// The children of the main thread of this program: those it started, and all orphans. Ended ones
// are among them until they are reaped.
std::vector<pid_t> child_pids();

// The value of a variable in the environment that the process was started with; empty if it has
// none, or if we can't see it. nullopt: it is between two programs (execve), so look again.
std::optional<std::string> environment_value(pid_t pid, std::string_view name);

// Reaps or sends SIGKILL to every child that `keep` does not want kept, and returns how many there
// were. Their own children come to us when they are gone: look again until none was found. A
// child's pid is its own until we reap it, so nobody else can be hit.
std::size_t end_children_unless(const std::function<bool(pid_t)>& keep);

// When to look for orphans again: at once, and while some are left at intervals that double. One
// that can't be ended (not ours to signal, stuck in the kernel) must not keep us busy.
class SweepPace {
 public:
  using Clock = std::chrono::steady_clock;

  void start(Clock::time_point now);
  void looked(Clock::time_point now, bool found);  // found: look again; else: it is done
  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] Clock::time_point next() const { return next_; }  // while running

 private:
  bool running_ = false;
  Clock::time_point next_;
  std::chrono::milliseconds interval_{};
};

// SIGKILL for all processes of this user whose namespace variable names the DVM, as long as new
// ones turn up and some time at most. For a DVM that is dead: nobody else knows them any more.
// This program and its ancestors are spared.
void kill_processes_of_dvm(const std::string& dvm_id);

}  // namespace tide::exec
