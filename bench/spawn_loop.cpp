// spawn_loop bare|pipes WIDTH RUNS COMMAND…
// The least that starting WIDTH processes can cost. In each run: posix_spawn all of them in a loop,
// then wait for all. With `pipes` each child has a pipe for each of its two outputs, and they are
// read until both are closed, which no launcher that forwards output can do without. Prints the
// time of each run in microseconds.
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "bench/tool.hpp"

namespace tide::bench {
namespace {

constexpr std::size_t kMaxWidth = 100'000;
constexpr std::size_t kMaxRuns = 1'000'000;

void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) give_up_errno("asking for a limit", errno);
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) give_up_errno("raising a limit", errno);
}

// Returns the end to read from; the other is put into `theirs`.
int open_pipe(int& theirs) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) give_up_errno("making a pipe", errno);
  theirs = ends[1];
  return ends[0];
}

void start_with_pipes(char* const* command, std::vector<pollfd>& readers) {
  std::array<int, 2> theirs{};
  for (int& end : theirs) readers.push_back({open_pipe(end), POLLIN, 0});
  start(command, theirs);
  for (const int end : theirs) ::close(end);
}

void read_to_the_end(std::vector<pollfd>& readers) {
  std::array<char, 65536> buffer{};
  while (!readers.empty()) {
    if (::poll(readers.data(), readers.size(), -1) < 0 && errno != EINTR) {
      give_up_errno("waiting for output", errno);
    }
    std::erase_if(readers, [&buffer](const pollfd& reader) {
      if (reader.revents == 0) return false;
      if (::read(reader.fd, buffer.data(), buffer.size()) > 0) return false;
      ::close(reader.fd);
      return true;
    });
  }
}

double run_once(bool pipes, std::size_t width, char* const* command) {
  std::vector<pollfd> readers;
  readers.reserve(2 * width);
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < width; ++i) {
    if (pipes) {
      start_with_pipes(command, readers);
    } else {
      start(command, std::nullopt);
    }
  }
  read_to_the_end(readers);
  for (std::size_t i = 0; i < width; ++i) wait_for_success(-1);
  return us_since(begin);
}

int run(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (argc < 5 || (mode != "bare" && mode != "pipes")) {
    give_up("usage: spawn_loop bare|pipes WIDTH RUNS COMMAND…");
  }
  const std::size_t width = count_from(argv[2], kMaxWidth);
  const std::size_t runs = count_from(argv[3], kMaxRuns);
  allow_many_descriptors();
  for (std::size_t i = 0; i < runs; ++i) {
    std::printf("%.1f\n", run_once(mode == "pipes", width, argv + 4));
  }
  return 0;
}

}  // namespace
}  // namespace tide::bench

int main(int argc, char** argv) {
  return tide::bench::run(argc, argv);
}
