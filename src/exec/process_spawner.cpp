#include "exec/process_spawner.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "say/debugging.hpp"
#include "say/running.hpp"

// The child runs in the memory of a stopped thread, on a stack that sanitizers do not know.
#define TIDE_RUNS_IN_CHILD \
  __attribute__((no_sanitize("address"))) __attribute__((no_sanitize("undefined")))

namespace tide::exec {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr std::size_t kStackBytes = 64 * 1024;
constexpr int kLastSignal = 64;
constexpr std::size_t kKernelSignalSetBytes = 8;
constexpr int kChildFailed = 127;

// As the kernel wants it; all zero is: default action, no flags.
struct KernelSigaction {
  void* handler = nullptr;
  unsigned long flags = 0;
  void* restorer = nullptr;
  unsigned long mask = 0;
};

// Raw system calls: the C library's wrappers may be intercepted or refuse the signals it keeps
// for itself.
TIDE_RUNS_IN_CHILD void reset_signal_actions() {
  const KernelSigaction by_default{};
  for (int number = 1; number <= kLastSignal; ++number) {
    ::syscall(SYS_rt_sigaction, number, &by_default, nullptr, kKernelSignalSetBytes);
  }
}

TIDE_RUNS_IN_CHILD void unblock_all_signals() {
  const unsigned long none = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kKernelSignalSetBytes);
}

// A signal before exec would stop a traced child while we wait for it to execute. The one that
// stops it afterwards must come through.
TIDE_RUNS_IN_CHILD bool ask_to_be_stopped() {
  const unsigned long all_but_trap = ~(1UL << (SIGTRAP - 1));
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all_but_trap, nullptr, kKernelSignalSetBytes);
  return ::syscall(SYS_ptrace, PTRACE_TRACEME, 0, nullptr, nullptr) == 0;
}

TIDE_RUNS_IN_CHILD bool place_stdio(int* stdio) {
  // A source that is itself one of 0, 1, 2 would be overwritten before its turn came.
  for (int target = 0; target < 3; ++target) {
    if (stdio[target] >= 3) continue;
    stdio[target] = ::fcntl(stdio[target], F_DUPFD_CLOEXEC, 3);
    if (stdio[target] < 0) return false;
  }
  for (int target = 0; target < 3; ++target) {
    if (::dup2(stdio[target], target) < 0) return false;
  }
  return true;
}

TIDE_RUNS_IN_CHILD bool keep_only(int inherited_fd) {
  // Everything we open is closed on exec; this is for what a library opened. Kernels that do not
  // know the call leave us with the discipline.
  ::syscall(SYS_close_range, 3U, ~0U, static_cast<unsigned>(CLOSE_RANGE_CLOEXEC));
  return inherited_fd < 0 || ::fcntl(inherited_fd, F_SETFD, 0) == 0;
}

class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

std::vector<char*> pointers_to(std::span<const std::string> strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  // execve() takes pointers to non-const characters and does not write to them.
  for (const auto& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

bool is_directory(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

enum class ProcessSpawner::Step : int {
  kNone,
  kGroup,
  kParent,
  kStdio,
  kDirectory,
  kLimit,
  kHold,
  kExec
};

struct ProcessSpawner::Plan {
  const char* path = nullptr;
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  const char* working_directory = nullptr;
  std::array<int, 3> stdio{};
  int inherited_fd = -1;
  int parent_death_signal = 0;
  pid_t parent = 0;
  bool stop_on_exec = false;
  const rlimit* descriptor_limit = nullptr;
  rlimit limit{};
  // Written by the child, whose memory is ours.
  Step failed_step = Step::kNone;
  int failed_errno = 0;
};

ProcessSpawner::ProcessSpawner(std::string node, std::optional<rlim_t> descriptor_limit)
    : node_(std::move(node)), descriptor_limit_(descriptor_limit) {
  stack_ = ::mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  TIDE_CHECK(stack_ != MAP_FAILED);
  TIDE_CHECK(::mprotect(stack_, kGuardBytes, PROT_NONE) == 0);
}

ProcessSpawner::~ProcessSpawner() {
  ::munmap(stack_, kGuardBytes + kStackBytes);
}

// Only async-signal-safe calls, no allocation, nothing of ours changed but the plan.
TIDE_RUNS_IN_CHILD int ProcessSpawner::run_child(void* argument) {
  Plan& plan = *static_cast<Plan*>(argument);
  Step step = Step::kGroup;
  do {
    // Handlers go before anything else: one that ran here would run in the memory of the parent.
    reset_signal_actions();
    if (::setpgid(0, 0) != 0) break;
    step = Step::kParent;
    if (plan.parent_death_signal != 0) {
      if (::prctl(PR_SET_PDEATHSIG, plan.parent_death_signal) != 0) break;
      // The parent may have gone before the line above took effect.
      if (::getppid() != plan.parent) {
        errno = ESRCH;
        break;
      }
    }
    step = Step::kStdio;
    if (!place_stdio(plan.stdio.data()) || !keep_only(plan.inherited_fd)) break;
    step = Step::kDirectory;
    if (plan.working_directory != nullptr && ::chdir(plan.working_directory) != 0) break;
    step = Step::kLimit;
    if (plan.descriptor_limit != nullptr &&
        ::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, plan.descriptor_limit, nullptr) != 0) {
      break;
    }
    step = Step::kHold;
    if (plan.stop_on_exec && !ask_to_be_stopped()) break;
    step = Step::kExec;
    if (!plan.stop_on_exec) unblock_all_signals();
    ::execve(plan.path, plan.argv, plan.environment);
  } while (false);
  plan.failed_errno = errno;
  plan.failed_step = step;
  ::syscall(SYS_exit_group, kChildFailed);
  return kChildFailed;
}

void ProcessSpawner::plan_limits(Plan& plan) const {
  if (!descriptor_limit_ || ::getrlimit(RLIMIT_NOFILE, &plan.limit) != 0) return;
  if (plan.limit.rlim_cur == *descriptor_limit_) return;
  plan.limit.rlim_cur = std::min(*descriptor_limit_, plan.limit.rlim_max);
  plan.descriptor_limit = &plan.limit;
}

Result<SpawnedProcess> ProcessSpawner::spawn(const SpawnRequest& request) {
  if (request.argv.empty()) {
    return Error{ErrorCode::kInvalidArgument, "no program was named"};
  }
  auto program =
      find_program(request.argv[0], request.environment.find("PATH"), request.working_directory);
  if (!program) {
    if (request.working_directory.empty() || is_directory(request.working_directory)) {
      return failed(request, program.error());
    }
    program = Program{request.argv[0], request.argv[0]};  // the child will say what is wrong
  }
  const std::vector<char*> argv = pointers_to(request.argv);
  Plan plan;
  plan.path = program->path.c_str();
  plan.argv = argv.data();
  plan.environment = request.environment.pointers();
  plan.working_directory =
      request.working_directory.empty() ? nullptr : request.working_directory.c_str();
  plan.stdio = request.stdio;
  plan.inherited_fd = request.inherited_fd;
  plan.parent_death_signal = request.parent_death_signal;
  plan.parent = ::getpid();
  plan.stop_on_exec = request.stop_on_exec;
  plan_limits(plan);

  int pidfd = -1;
  pid_t pid = -1;
  int clone_errno = 0;
  {
    const AllSignalsBlocked blocked;
    pid =
        ::clone(&ProcessSpawner::run_child, static_cast<char*>(stack_) + kGuardBytes + kStackBytes,
                CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &plan, &pidfd);
    clone_errno = errno;
  }
  if (pid < 0) {
    return failed(request, Error{ErrorCode::kOutOfResources,
                                 system_error("no new process", clone_errno).message});
  }
  SpawnedProcess spawned{pid, UniqueFd(pidfd)};
  if (plan.failed_step == Step::kNone) {
    if (plan.stop_on_exec) stop_at_first_instruction(pid);
    return spawned;
  }
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return explain(request, plan, *program);
}

// It has executed the program, and the kernel stops it at once. We let go of it so that a debugger
// can have it: with SIGSTOP, so that it stays where it is. One that was killed meanwhile is left to
// who collects children.
void ProcessSpawner::stop_at_first_instruction(pid_t pid) {
  const auto wait_for_stop = [pid] {
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WEXITED | WNOWAIT) < 0) {
      if (errno != EINTR) return false;
    }
    return info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
  };
  if (!wait_for_stop()) return;
  unsigned long no_signal = 0;
  ::syscall(SYS_ptrace, PTRACE_SETSIGMASK, pid, kKernelSignalSetBytes, &no_signal);
  if (::syscall(SYS_ptrace, PTRACE_DETACH, pid, nullptr, SIGSTOP) == 0) wait_for_stop();
}

Error ProcessSpawner::failed(const SpawnRequest& request, Error reason) const {
  const std::string where = node_.empty() ? "" : " on node " + node_;
  reason.message =
      "cannot start '" + one_line(request.argv[0]) + "'" + where + ": " + reason.message;
  return reason;
}

Error ProcessSpawner::explain(const SpawnRequest& request, const Plan& plan,
                              const Program& program) const {
  const auto reason = [&plan](ErrorCode code, const std::string& what) {
    return Error{code, system_error(what, plan.failed_errno).message};
  };
  switch (plan.failed_step) {
    case Step::kDirectory:
      return failed(request,
                    say::working_directory_unusable(request.working_directory, plan.failed_errno));
    case Step::kExec:
      return failed(request, explain_exec_failure(program, plan.failed_errno));
    case Step::kGroup:
      return failed(request, reason(ErrorCode::kSystem, "no process group of its own"));
    case Step::kParent:
      return failed(request, reason(ErrorCode::kSystem, "its parent is gone"));
    case Step::kHold:
      return failed(request, say::program_cannot_be_held(plan.failed_errno));
    case Step::kLimit:
      return failed(request, reason(ErrorCode::kSystem, "cannot set the limit on open files"));
    default:
      return failed(request, reason(ErrorCode::kOutOfResources, "cannot connect its stdio"));
  }
}

}  // namespace tide::exec
