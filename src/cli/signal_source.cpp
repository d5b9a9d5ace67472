#include "cli/signal_source.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace tide::cli {

Result<SignalSource> SignalSource::open(const std::set<int>& others) {
  std::set<int> wanted = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  wanted.insert(others.begin(), others.end());
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : wanted) {
    struct sigaction current{};
    sigaction(signal, nullptr, &current);
    if (current.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return system_error("blocking signals", errno);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTTIN, SIG_IGN);
  const int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) return system_error("watching signals", errno);
  return SignalSource(fd);
}

SignalSource::~SignalSource() {
  if (fd_ >= 0) close(fd_);
}

std::optional<int> SignalSource::take() {
  signalfd_siginfo info{};
  if (read(fd_, &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace tide::cli
