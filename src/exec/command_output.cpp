#include "exec/command_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/text.hpp"
#include "exec/process_spawner.hpp"
#include "say/granting.hpp"

namespace tide::exec {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kKeptOfErrors = 4096;
constexpr int kSignalled = 128;  // and the signal: as shells tell it

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("making a pipe", errno);
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// One stream of the program, up to a limit; what comes behind it is counted as too much.
struct Stream {
  UniqueFd fd;
  std::size_t limit = 0;
  std::string text = {};
  bool too_long = false;

  void read_some() {
    std::array<char, 65536> piece{};
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) return fd.reset();
    const auto bytes = static_cast<std::size_t>(got);
    const auto kept = std::min(bytes, limit - text.size());
    text.append(piece.data(), kept);
    too_long = too_long || kept < bytes;
  }
};

class RunningCommand {
 public:
  RunningCommand(SpawnedProcess process, UniqueFd out, UniqueFd errors, const CommandLimits& limits)
      : process_(std::move(process)),
        out_{std::move(out), limits.bytes},
        errors_{std::move(errors), kKeptOfErrors},
        deadline_(Clock::now() + std::chrono::milliseconds(limits.time_ms)) {}
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;
  RunningCommand(RunningCommand&&) = delete;
  RunningCommand& operator=(RunningCommand&&) = delete;
  ~RunningCommand() {
    if (process_.pid > 0) kill_it();
  }

  // Until it has ended and said all, or exceeds a limit; false: the time is over.
  bool wait() {
    while (out_.fd.is_open() || errors_.fd.is_open() || !ended_) {
      if (out_.too_long) return true;
      // A descriptor that is not open any more is -1, and poll() passes over it.
      std::array<pollfd, 3> polls = {pollfd{out_.fd.get(), POLLIN, 0},
                                     pollfd{errors_.fd.get(), POLLIN, 0},
                                     pollfd{ended_ ? -1 : process_.pidfd.get(), POLLIN, 0}};
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      if (left <= 0) return false;
      if (::poll(polls.data(), polls.size(), static_cast<int>(left)) < 0) continue;
      if (polls[0].revents != 0) out_.read_some();
      if (polls[1].revents != 0) errors_.read_some();
      if (polls[2].revents != 0) ended_ = true;
    }
    return true;
  }

  [[nodiscard]] bool said_too_much() const { return out_.too_long; }
  [[nodiscard]] const std::string& errors() const { return errors_.text; }
  std::string take_output() { return std::move(out_.text); }

  // Of one that has ended.
  int status() {
    int status = 0;
    while (::waitpid(std::exchange(process_.pid, 0), &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  }

 private:
  void kill_it() {
    ::kill(-process_.pid, SIGKILL);
    while (::waitpid(process_.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  SpawnedProcess process_;
  Stream out_;
  Stream errors_;
  Clock::time_point deadline_;
  bool ended_ = false;
};

}  // namespace

Result<std::string> command_output(std::span<const std::string> argv, const CommandLimits& limits) {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.is_open()) return system_error("opening /dev/null", errno);
  auto out = make_pipe();
  if (!out) return out.error();
  auto errors = make_pipe();
  if (!errors) return errors.error();
  const Environment environment = current_environment();
  const EnvironmentBlock block(environment);
  auto process = ProcessSpawner("", std::nullopt)
                     .spawn({.argv = argv,
                             .environment = block,
                             .working_directory = "",
                             .stdio = {null.get(), out->write_end.get(), errors->write_end.get()},
                             .parent_death_signal = SIGKILL});
  if (!process) return process.error();
  out->write_end.reset();
  errors->write_end.reset();
  RunningCommand command(std::move(*process), std::move(out->read_end), std::move(errors->read_end),
                         limits);
  const std::string shown = quote_argv(argv);
  if (!command.wait()) return say::command_too_slow(shown, limits.time_ms);
  if (command.said_too_much()) return say::command_says_too_much(shown, limits.bytes);
  const int status = command.status();
  if (status != 0) return say::command_failed(shown, status, command.errors());
  return command.take_output();
}

}  // namespace tide::exec
