// What the measuring programs share: a clock, numbers from the command line, plain posix_spawn.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

extern "C" char** environ;  // NOLINT(readability-redundant-declaration): not all headers have it

namespace tide::bench {

using Clock = std::chrono::steady_clock;

// Microseconds with their fraction since `begin`.
inline double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
  std::exit(1);
}

[[noreturn]] inline void give_up_errno(const std::string& doing, int errnum) {
  give_up(doing + ": " + std::strerror(errnum));
}

// A count from 1 to `maximum`; anything else ends the program.
inline std::size_t count_from(const char* text, std::size_t maximum) {
  const std::string_view view(text);
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size() || value < 1 || value > maximum) {
    give_up("'" + std::string(view) + "' is not a number from 1 to " + std::to_string(maximum));
  }
  return value;
}

// Starts `argv`, found along PATH, with standard input from /dev/null. The two outputs go to the
// descriptors given (each ≥ 3), or stay ours.
inline pid_t start(char* const* argv, std::optional<std::array<int, 2>> outputs) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (outputs) {
    posix_spawn_file_actions_adddup2(&actions, (*outputs)[0], 1);
    posix_spawn_file_actions_adddup2(&actions, (*outputs)[1], 2);
  }
  pid_t pid = -1;
  const int errnum = posix_spawnp(&pid, argv[0], &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (errnum != 0) give_up_errno(std::string("cannot start ") + argv[0], errnum);
  return pid;
}

// Waits for one child, -1: for any. A benchmark of failures would mean nothing, so they end it.
inline void wait_for_success(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) give_up_errno("waiting for a command", errno);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    give_up("a command did not succeed (wait status " + std::to_string(status) + ")");
  }
}

}  // namespace tide::bench
