// change_timer PIDS COMMAND…
// Runs a command that changes the size of a DVM and is waited for (tide grow --wait). Prints three
// times in microseconds since its start: until its first line, which says that the change has
// begun; until its end; and until the processes PIDS (numbers with commas between, or "-" for none)
// have ended, too.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "bench/tool.hpp"

namespace tide::bench {
namespace {

constexpr int kLimitMs = 60'000;
constexpr std::size_t kMaxPid = 1U << 22U;

// Each becomes readable when its process ends.
std::vector<pollfd> watch(std::string_view pids) {
  std::vector<pollfd> out;
  while (!pids.empty() && pids != "-") {
    const std::string one(pids.substr(0, pids.find(',')));
    pids.remove_prefix(std::min(pids.size(), one.size() + 1));
    const auto pid = static_cast<pid_t>(count_from(one.c_str(), kMaxPid));
    const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (fd < 0) give_up_errno("watching process " + one, errno);
    out.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  }
  return out;
}

void wait_until_readable(pollfd& what) {
  const int ready = ::poll(&what, 1, kLimitMs);
  if (ready < 0) give_up_errno("waiting", errno);
  if (ready == 0) give_up("nothing happened within the limit");
}

int run(int argc, char** argv) {
  if (argc < 3) give_up("usage: change_timer PIDS COMMAND…");
  auto processes = watch(argv[1]);
  std::array<int, 2> lines{};
  if (::pipe2(lines.data(), O_CLOEXEC) != 0) give_up_errno("making a pipe", errno);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const auto begin = Clock::now();
  const pid_t command = start(argv + 2, std::array{lines[1], nowhere});
  ::close(lines[1]);
  pollfd first{.fd = lines[0], .events = POLLIN, .revents = 0};
  wait_until_readable(first);
  const double begun_us = us_since(begin);
  wait_for_success(command);
  const double ended_us = us_since(begin);
  for (auto& process : processes) wait_until_readable(process);
  std::printf("begun_us %.1f\nended_us %.1f\ngone_us %.1f\n", begun_us, ended_us, us_since(begin));
  return 0;
}

}  // namespace
}  // namespace tide::bench

int main(int argc, char** argv) {
  return tide::bench::run(argc, argv);
}
