// change_timer PIDS COMMAND…
// Runs a command that changes the size of a DVM and is waited for (tide grow --wait). Prints three
// times in microseconds since its start: until its first line, which says that the change has
// begun; until its end; and until the last of the processes PIDS (numbers with commas between, or
// "-" for none: then as the end) has ended, which may be before.
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

pollfd watch(pid_t pid) {
  const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) give_up_errno("watching process " + std::to_string(pid), errno);
  return {.fd = fd, .events = POLLIN, .revents = 0};
}

// Each becomes readable when its process ends.
std::vector<pollfd> watch(std::string_view pids) {
  std::vector<pollfd> out;
  while (!pids.empty() && pids != "-") {
    const std::string one(pids.substr(0, pids.find(',')));
    pids.remove_prefix(std::min(pids.size(), one.size() + 1));
    out.push_back(watch(static_cast<pid_t>(count_from(one.c_str(), kMaxPid))));
  }
  return out;
}

// Waits for all of them. Microseconds since `begin` at which each became readable.
std::vector<double> times_of(std::vector<pollfd> watched, Clock::time_point begin) {
  std::vector<double> out(watched.size(), 0);
  for (std::size_t left = watched.size(); left > 0;) {
    const int ready = ::poll(watched.data(), watched.size(), kLimitMs);
    if (ready < 0) give_up_errno("waiting", errno);
    if (ready == 0) give_up("nothing happened within the limit");
    const double now_us = us_since(begin);
    for (std::size_t i = 0; i < watched.size(); ++i) {
      if (watched[i].fd < 0 || watched[i].revents == 0) continue;
      out[i] = now_us;
      watched[i].fd = -1;  // not looked at any more
      --left;
    }
  }
  return out;
}

int run(int argc, char** argv) {
  if (argc < 3) give_up("usage: change_timer PIDS COMMAND…");
  auto watched = watch(argv[1]);
  std::array<int, 2> lines{};
  if (::pipe2(lines.data(), O_CLOEXEC) != 0) give_up_errno("making a pipe", errno);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const auto begin = Clock::now();
  const pid_t command = start(argv + 2, std::array{lines[1], nowhere});
  ::close(lines[1]);
  watched.push_back(watch(command));
  watched.push_back({.fd = lines[0], .events = POLLIN, .revents = 0});
  const auto times = times_of(watched, begin);
  wait_for_success(command);
  const double ended_us = times[times.size() - 2];
  const auto gone = std::max_element(times.begin(), times.end() - 2);
  const double gone_us = gone == times.end() - 2 ? ended_us : *gone;
  std::printf("begun_us %.1f\nended_us %.1f\ngone_us %.1f\n", times.back(), ended_us, gone_us);
  return 0;
}

}  // namespace
}  // namespace tide::bench

int main(int argc, char** argv) {
  return tide::bench::run(argc, argv);
}
