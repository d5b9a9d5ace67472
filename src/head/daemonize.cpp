#include "head/daemonize.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace tide::head {

namespace {

constexpr int kSignalled = 128;

int wait_for_child(pid_t child, int fd) {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(fd, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 1 && byte == 'K') return 0;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return kSignalled + WTERMSIG(status);
  return WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1;
}

}  // namespace

ReadyPipe::~ReadyPipe() {
  if (fd_ >= 0) close(fd_);
}

void ReadyPipe::announce() {
  announced_ = true;
  if (fd_ < 0) return;
  // A parent that was killed meanwhile takes nothing; the DVM is ready all the same.
  [[maybe_unused]] const ssize_t written = write(fd_, "K", 1);
  close(fd_);
  fd_ = -1;
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  close(null);
}

Result<std::optional<int>> daemonize(ReadyPipe& pipe) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  const pid_t child = fork();
  if (child < 0) return system_error("cannot start a process in the background", errno);
  if (child > 0) {
    close(ends[1]);
    return std::optional<int>(wait_for_child(child, ends[0]));
  }
  close(ends[0]);
  pipe.fd_ = ends[1];
  setsid();
  return std::optional<int>();
}

}  // namespace tide::head
