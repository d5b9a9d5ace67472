#include "cli/private_head.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "cli/head_arguments.hpp"

namespace tide::cli {
namespace {

using Clock = std::chrono::steady_clock;

// For a head that nobody asked to end any more: it is killed after this.
constexpr std::uint32_t kLastChanceMs = 2000;

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("making a pipe", errno);
  return Pipe{ends[0], ends[1]};
}

void close_fd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

int left_ms(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

Result<pid_t> spawn(const std::string& program, std::vector<std::string>& argv, int keepalive_fd,
                    int ready_fd) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // Onto itself: the way to say that this one is inherited.
  posix_spawn_file_actions_adddup2(&actions, keepalive_fd, keepalive_fd);
  posix_spawn_file_actions_adddup2(&actions, ready_fd, ready_fd);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGTTIN);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);

  pid_t pid = -1;
  const int failure = posix_spawn(&pid, program.c_str(), &actions, &attributes,
                                  argument_pointers(argv).data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return system_error("cannot start " + program, failure);
  return pid;
}

bool asks_to_end(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace

Result<PrivateHead> PrivateHead::start(const std::string& program,
                                       std::vector<std::string> arguments) {
  Result<Pipe> keepalive = make_pipe();
  if (!keepalive) return keepalive.error();
  Result<Pipe> ready = make_pipe();
  if (!ready) {
    close_fd(keepalive->read_end);
    close_fd(keepalive->write_end);
    return ready.error();
  }
  arguments.insert(arguments.end(), {"--keepalive", std::to_string(keepalive->read_end),
                                     "--ready-fd", std::to_string(ready->write_end)});
  Result<pid_t> pid = spawn(program, arguments, keepalive->read_end, ready->write_end);
  close_fd(keepalive->read_end);
  close_fd(ready->write_end);
  if (pid) return PrivateHead(*pid, keepalive->write_end, ready->read_end);
  close_fd(keepalive->write_end);
  close_fd(ready->read_end);
  return pid.error();
}

PrivateHead::PrivateHead(PrivateHead&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      process_(std::move(other.process_)),
      keepalive_fd_(std::exchange(other.keepalive_fd_, -1)),
      ready_fd_(std::exchange(other.ready_fd_, -1)) {}

PrivateHead::~PrivateHead() {
  end(kLastChanceMs);
  close_fd(keepalive_fd_);
  close_fd(ready_fd_);
}

PrivateHead::Start PrivateHead::wait_ready(std::uint32_t timeout_ms, SignalSource& signals) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    const int wait_ms = left_ms(deadline);
    if (wait_ms == 0) return {Start::Kind::kTimedOut, 0};
    std::array<pollfd, 2> polls = {pollfd{ready_fd_, POLLIN, 0}, pollfd{signals.fd(), POLLIN, 0}};
    poll(polls.data(), polls.size(), wait_ms);
    while (const std::optional<int> signal = signals.take()) {
      if (asks_to_end(*signal)) return {Start::Kind::kSignalled, *signal};
    }
    if (polls[0].revents == 0) continue;
    char word = 0;
    const ssize_t got = read(ready_fd_, &word, 1);
    if (got < 0 && errno == EINTR) continue;
    return {got == 1 && word == 'K' ? Start::Kind::kReady : Start::Kind::kFailed, 0};
  }
}

bool PrivateHead::end(std::uint32_t timeout_ms) {
  if (pid_ < 0) return true;
  close_fd(keepalive_fd_);
  const bool by_itself = process_.wait_gone(timeout_ms);
  if (!by_itself) process_.kill();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return by_itself;
}

}  // namespace tide::cli
