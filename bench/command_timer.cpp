// command_timer WORKERS RUNS COMMAND…
// Each of WORKERS processes runs COMMAND RUNS times, one after the other, by posix_spawn and
// waitpid. Prints "wall_us" (from the common start to the end of the last worker), then the time of
// each run in microseconds. Standard output of the command is thrown away; its failure is ours.
#include <sys/mman.h>
#include <unistd.h>

#include <span>
#include <vector>

#include "bench/tool.hpp"

namespace tide::bench {
namespace {

constexpr std::size_t kMaxWorkers = 256;
constexpr std::size_t kMaxRuns = 1'000'000;

void run_all(char* const* command, std::span<double> runs_us) {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 3) give_up_errno("opening /dev/null", errno);
  for (double& run_us : runs_us) {
    const auto begin = Clock::now();
    wait_for_success(start(command, std::array{nowhere, STDERR_FILENO}));
    run_us = us_since(begin);
  }
}

// The workers' results, in memory that they share with us.
std::span<double> shared_results(std::size_t count) {
  void* memory = ::mmap(nullptr, count * sizeof(double), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) give_up_errno("getting shared memory", errno);
  return {static_cast<double*>(memory), count};
}

// Workers wait for the end of `gate` to be closed, so that all of them start at once.
pid_t fork_worker(std::array<int, 2> gate, char* const* command, std::span<double> runs_us) {
  const pid_t pid = ::fork();
  if (pid < 0) give_up_errno("starting a worker", errno);
  if (pid > 0) return pid;
  ::close(gate[1]);
  char byte = 0;
  while (::read(gate[0], &byte, 1) < 0 && errno == EINTR) {
  }
  run_all(command, runs_us);
  ::_exit(0);
}

double run_workers(std::size_t workers, char* const* command, std::span<double> runs_us) {
  std::array<int, 2> gate{};
  if (::pipe2(gate.data(), O_CLOEXEC) != 0) give_up_errno("making a pipe", errno);
  const std::size_t each = runs_us.size() / workers;
  for (std::size_t i = 0; i < workers; ++i) {
    fork_worker(gate, command, runs_us.subspan(i * each, each));
  }
  ::close(gate[0]);
  const auto begin = Clock::now();
  ::close(gate[1]);
  for (std::size_t i = 0; i < workers; ++i) wait_for_success(-1);
  return us_since(begin);
}

int run(int argc, char** argv) {
  if (argc < 4) give_up("usage: command_timer WORKERS RUNS COMMAND…");
  const std::size_t workers = count_from(argv[1], kMaxWorkers);
  const std::size_t runs = count_from(argv[2], kMaxRuns);
  const std::span<double> runs_us = shared_results(workers * runs);
  const double wall_us = run_workers(workers, argv + 3, runs_us);
  std::printf("wall_us %.1f\n", wall_us);
  for (const double run_us : runs_us) std::printf("%.1f\n", run_us);
  return 0;
}

}  // namespace
}  // namespace tide::bench

int main(int argc, char** argv) {
  return tide::bench::run(argc, argv);
}
