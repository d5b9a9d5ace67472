#include "exec/warden.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/dvm_directory.hpp"
#include "base/private_directory.hpp"
#include "base/process_stat.hpp"
#include "base/text.hpp"
#include "exec/environment.hpp"
#include "exec/orphans.hpp"
#include "exec/process_spawner.hpp"
#include "exec/tree_remover.hpp"
#include "exec/unique_fd.hpp"
#include "exec/warden_protocol.hpp"

namespace tide::exec {
namespace {

using Clock = std::chrono::steady_clock;

// Daemons of a lost head have so long to end their processes themselves.
constexpr auto kOrphanedGrace = std::chrono::milliseconds(2000);
// After the last SIGKILL we wait so long for the killed to go: one may hang in the kernel.
constexpr auto kLastWait = std::chrono::milliseconds(5000);
// Who was killed lets go of its directory when the kernel comes to it.
constexpr auto kHolderEndsWithin = std::chrono::milliseconds(2000);
constexpr mode_t kLogMode = 0600;

// Whether this process, which was our parent, is on its way out or gone. What it holds is then free
// in a moment.
bool is_ending(pid_t parent) {
  constexpr std::size_t kFlagsAfterName = 6;
  constexpr std::int64_t kExiting = 4;  // PF_EXITING of the kernel
  if (::getppid() != parent) return true;
  const std::string path = "/proc/" + std::to_string(parent) + "/stat";
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto text = read_bounded(file.get(), path);
  if (!text) return true;
  const auto fields = stat_fields_after_name(*text);
  if (fields.size() <= kFlagsAfterName || is_ended_state(fields[0])) return true;
  const auto flags = parse_int(fields[kFlagsAfterName]);
  return flags && (*flags & kExiting) != 0;
}

UniqueFd open_log(const std::string& path) {
  if (path.empty()) return UniqueFd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  return UniqueFd(::open(
      path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, kLogMode));
}

class Warden {
 public:
  Warden(int control_fd, DvmDirectory directory, UniqueFd daemon_fd);
  int run();
  // The directory belongs to our parent, which removes it as long as it lives.
  void leave_directory_to(pid_t parent) { holder_ = parent; }
  void leave_sigterm_to_parent() { hears_sigterm_ = false; }

 private:
  struct Daemon {
    pid_t pid = 0;
    UniqueFd input;  // while the blob is being written
    Secret blob;
    std::size_t blob_written = 0;
    std::optional<Clock::time_point> kill_at;
  };

  [[nodiscard]] bool prepare();
  void poll_once();
  [[nodiscard]] int poll_timeout_ms() const;
  void read_control();
  void write_control();
  void control_ended();
  void read_signals();
  void report(const WardenReport& report);

  void handle(StartDaemon start);
  void handle(const StopDaemon& stop);
  void handle(const LetGo& order);
  Result<Daemon> start(const StartDaemon& start);
  void write_blob(Daemon& daemon);
  void stop(Daemon& daemon, int signal, Clock::duration grace);

  void wind_down();
  void leave_behind(pid_t daemon);
  void kill_overdue();
  void reap();
  void remove_files_of(pid_t daemon) const;
  void sweep();
  [[nodiscard]] bool finished() const;

  DvmDirectory directory_;
  pid_t holder_ = 0;
  UniqueFd control_;
  UniqueFd signals_;
  UniqueFd null_;
  UniqueFd daemon_fd_;  // until the first daemon has it
  ProcessSpawner spawner_{"", std::nullopt};
  Environment environment_ = current_environment();
  WardenFrameReader reader_;
  std::string unsent_;  // reports; bounded by two for each daemon
  std::map<std::uint32_t, Daemon> daemons_;
  SweepPace pace_;  // running: there may be strangers among our children
  bool childless_ = true;
  bool hears_sigterm_ = true;
  bool let_go_ = false;
  bool winding_down_ = false;
  bool left_behind_ = false;  // the daemon ends after us
  bool strangers_ = false;    // seen at the last look
  Clock::time_point give_up_at_ = Clock::time_point::max();
};

Warden::Warden(int control_fd, DvmDirectory directory, UniqueFd daemon_fd)
    : directory_(std::move(directory)),
      control_(control_fd),
      null_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      daemon_fd_(std::move(daemon_fd)) {}

bool Warden::prepare() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return false;
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c): can't fail for SIGPIPE
  std::signal(SIGUSR2, SIG_IGN);  // NOLINT(cert-err33-c): nor for this
  sigset_t watched{};
  ::sigemptyset(&watched);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, kLastOneSignal})
    ::sigaddset(&watched, number);
  if (::sigprocmask(SIG_BLOCK, &watched, nullptr) != 0) return false;
  signals_.reset(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  const int flags = ::fcntl(control_.get(), F_GETFL);
  return signals_.is_open() && null_.is_open() && flags >= 0 &&
         ::fcntl(control_.get(), F_SETFL, flags | O_NONBLOCK) == 0 &&
         ::fcntl(control_.get(), F_SETFD, FD_CLOEXEC) == 0;
}

int Warden::run() {
  if (!prepare()) return 1;
  while (!finished()) {
    poll_once();
    reap();
    kill_overdue();
    if (pace_.running() && Clock::now() >= pace_.next()) sweep();
  }
  // A head that lives holds its directory, and removes it itself.
  const bool holder_goes = holder_ != 0 && is_ending(holder_);
  const auto patience = holder_goes ? kHolderEndsWithin : std::chrono::milliseconds{};
  if (const Status removed = directory_.remove_if_abandoned(patience); !removed) {
    std::fprintf(stderr, "prted: %s\n", removed.error().message.c_str());
  }
  return childless_ || left_behind_ ? 0 : 1;
}

bool Warden::finished() const {
  if (!winding_down_) return false;
  if (Clock::now() >= give_up_at_) return true;
  return left_behind_ && !daemons_.empty() ? !strangers_ : daemons_.empty() && childless_;
}

int Warden::poll_timeout_ms() const {
  Clock::time_point next = give_up_at_;
  for (const auto& [id, daemon] : daemons_) next = std::min(next, daemon.kill_at.value_or(next));
  if (pace_.running()) next = std::min(next, pace_.next());
  if (next == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void Warden::poll_once() {
  std::vector<pollfd> watched;
  watched.push_back({signals_.get(), POLLIN, 0});
  const auto control_events = static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT);
  watched.push_back({control_.get(), control_events, 0});  // a negative descriptor is skipped
  std::vector<std::uint32_t> writing;
  for (const auto& [id, daemon] : daemons_) {
    if (!daemon.input.is_open()) continue;
    watched.push_back({daemon.input.get(), POLLOUT, 0});
    writing.push_back(id);
  }
  if (::poll(watched.data(), watched.size(), poll_timeout_ms()) <= 0) return;
  for (std::size_t i = 0; i < writing.size(); ++i) {
    if (watched[i + 2].revents != 0) write_blob(daemons_.at(writing[i]));
  }
  if (watched[0].revents != 0) read_signals();
  if ((watched[1].revents & POLLOUT) != 0) write_control();
  if ((watched[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_control();
}

void Warden::read_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    if (info.ssi_signo == static_cast<std::uint32_t>(kLastOneSignal)) {
      leave_behind(static_cast<pid_t>(info.ssi_pid));
    } else if (info.ssi_signo == SIGTERM && !hears_sigterm_) {
      continue;
    } else if (info.ssi_signo != SIGCHLD) {
      wind_down();
    }
  }
}

void Warden::read_control() {
  if (!control_.is_open()) return;
  const auto space = reader_.free_space();
  const ssize_t got = ::recv(control_.get(), space.data(), space.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return control_ended();
  if (!reader_.filled(static_cast<std::size_t>(got))) return wind_down();
  const auto frame = reader_.take_frame();
  if (!frame) return;
  auto command = decode_command(frame->text());
  if (!command) return wind_down();
  std::visit([this](auto& message) { handle(std::move(message)); }, *command);
}

void Warden::control_ended() {
  if (!let_go_ || daemons_.empty()) return wind_down();
  control_.reset();
  unsent_.clear();
}

void Warden::report(const WardenReport& report) {
  if (!control_.is_open()) return;
  unsent_ += encode(report);
  write_control();
}

void Warden::write_control() {
  if (!control_.is_open() || unsent_.empty()) return;
  const ssize_t sent =
      ::send(control_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  // Where it fails for good the reading side will notice.
  if (sent > 0) unsent_.erase(0, static_cast<std::size_t>(sent));
}

void Warden::handle(StartDaemon command) {
  if (winding_down_) return;
  if (daemons_.contains(command.id)) {
    return report(StartFailed{command.id, "a daemon of this number is running already"});
  }
  auto started = start(command);
  if (!started) return report(StartFailed{command.id, started.error().message});
  Daemon& daemon = daemons_[command.id] = std::move(*started);
  daemon.blob = std::move(command.blob);
  childless_ = false;
  report(Started{command.id, static_cast<std::uint32_t>(daemon.pid)});
  write_blob(daemon);
}

Result<Warden::Daemon> Warden::start(const StartDaemon& command) {
  const UniqueFd log = open_log(command.log_path);
  if (!log.is_open()) return system_error("cannot open its log " + command.log_path, errno);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("no pipe for its input", errno);
  const UniqueFd theirs(ends[0]);
  UniqueFd ours(ends[1]);
  if (::fcntl(ours.get(), F_SETFL, O_NONBLOCK) != 0) {
    return system_error("cannot prepare the pipe for its input", errno);
  }
  const EnvironmentBlock environment(environment_);
  auto spawned = spawner_.spawn(SpawnRequest{.argv = command.argv,
                                             .environment = environment,
                                             .working_directory = command.working_directory,
                                             .stdio = {theirs.get(), log.get(), log.get()},
                                             .inherited_fd = daemon_fd_.get(),
                                             .parent_death_signal = kOrphanedSignal});
  daemon_fd_.reset();
  if (!spawned) return spawned.error();
  Daemon daemon;
  daemon.pid = spawned->pid;
  daemon.input = std::move(ours);
  return daemon;
}

// As much as fits now; a daemon that does not read holds up nobody.
void Warden::write_blob(Daemon& daemon) {
  const std::string& blob = daemon.blob.text();
  while (daemon.blob_written < blob.size()) {
    const ssize_t given = ::write(daemon.input.get(), blob.data() + daemon.blob_written,
                                  blob.size() - daemon.blob_written);
    if (given < 0 && errno == EINTR) continue;
    if (given < 0 && errno == EAGAIN) return;
    if (given < 0) break;  // it closed its end
    daemon.blob_written += static_cast<std::size_t>(given);
  }
  daemon.input.reset();
  daemon.blob = Secret();
}

void Warden::handle(const StopDaemon& command) {
  const auto found = daemons_.find(command.id);
  if (found == daemons_.end()) return;
  stop(found->second, SIGTERM, std::chrono::milliseconds(command.grace_ms));
}

void Warden::handle(const LetGo& /*order*/) {
  let_go_ = true;
}

void Warden::stop(Daemon& daemon, int signal, Clock::duration grace) {
  // A daemon is our child and not reaped: its pid is its own.
  ::kill(daemon.pid, signal);
  daemon.kill_at =
      std::min(daemon.kill_at.value_or(Clock::time_point::max()), Clock::now() + grace);
}

void Warden::wind_down() {
  if (winding_down_) return;
  winding_down_ = true;
  control_.reset();
  unsent_.clear();
  pace_.start(Clock::now());
  for (auto& [id, daemon] : daemons_) stop(daemon, kOrphanedSignal, kOrphanedGrace);
  give_up_at_ = Clock::now() + kOrphanedGrace + kLastWait;
}

// Whoever else sends that signal is not heard.
void Warden::leave_behind(pid_t daemon) {
  const bool ours = daemons_.size() == 1 && daemons_.begin()->second.pid == daemon;
  if (!ours || winding_down_) return;
  winding_down_ = left_behind_ = true;
  control_.reset();
  unsent_.clear();
  pace_.start(Clock::now());
  give_up_at_ = Clock::now() + kLastWait;
  sweep();
}

void Warden::kill_overdue() {
  const auto now = Clock::now();
  for (auto& [id, daemon] : daemons_) {
    if (!daemon.kill_at || now < *daemon.kill_at) continue;
    ::kill(daemon.pid, SIGKILL);
    daemon.kill_at.reset();
  }
}

void Warden::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    childless_ = pid < 0;  // ECHILD
    if (pid <= 0) return;
    pace_.start(Clock::now());  // whoever ends leaves its children to us
    const auto daemon = std::ranges::find_if(
        daemons_, [pid](const auto& entry) { return entry.second.pid == pid; });
    if (daemon == daemons_.end()) continue;
    const std::uint32_t id = daemon->first;
    daemons_.erase(daemon);
    sweep();
    remove_files_of(pid);
    report(DaemonEnded{id, static_cast<std::uint32_t>(status), describe_wait_status(status)});
    if (let_go_ && daemons_.empty()) wind_down();
  }
}

// The files of jobs that a daemon could not remove itself.
void Warden::remove_files_of(pid_t daemon) const {
  if (directory_.path().empty()) return;
  const Status removed = TreeRemover(files_directory(directory_.path(), daemon)).run();
  if (!removed) std::fprintf(stderr, "prted: %s\n", removed.error().message.c_str());
}

// Ends every child that is not a daemon.
void Warden::sweep() {
  const std::size_t strangers = end_children_unless([this](pid_t pid) {
    return std::ranges::any_of(daemons_,
                               [pid](const auto& entry) { return entry.second.pid == pid; });
  });
  strangers_ = strangers > 0;
  pace_.looked(Clock::now(), strangers_);
}

}  // namespace

int run_warden(int control_fd, const std::string& run_directory) {
  DvmDirectory directory;
  if (!run_directory.empty()) {
    auto opened = DvmDirectory::open(run_directory);
    if (opened) directory = std::move(*opened);
  }
  Warden warden(control_fd, std::move(directory), UniqueFd());
  warden.leave_directory_to(::getppid());
  return warden.run();
}

int run_warden_of_node(WardenOfNode node) {
  Warden warden(node.control_fd, std::move(node.directory), std::move(node.daemon_fd));
  if (!node.hears_sigterm) warden.leave_sigterm_to_parent();
  return warden.run();
}

}  // namespace tide::exec
