#include "daemon/node_start.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "base/dvm_directory.hpp"
#include "base/params.hpp"
#include "base/run_directory.hpp"
#include "base/text.hpp"
#include "daemon/session_input.hpp"
#include "exec/orphans.hpp"
#include "exec/secret.hpp"
#include "exec/unique_fd.hpp"
#include "exec/warden.hpp"
#include "exec/warden_protocol.hpp"
#include "launch/log_tail.hpp"
#include "launch/remote_session.hpp"
#include "launch/step_words.hpp"

namespace tide::daemon {
namespace {

using exec::UniqueFd;

constexpr std::uint32_t kDaemon = 1;  // its number at the warden
// For the warden to end what it started when it came to nothing.
constexpr auto kWardenTimeout = std::chrono::seconds(8);
constexpr auto kWardenPoll = std::chrono::milliseconds(5);
// For a daemon that ends after its warden, and for what was killed.
constexpr auto kAdoptedTimeout = std::chrono::seconds(3);
constexpr std::size_t kLastWordsLines = 8;

// Of a node the name is made, so that it is nobody else's: neither of a head that runs here, nor of
// another node of the same DVM.
std::string directory_name(const wire::DaemonBlob& blob) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char byte : fmt::format("{} {} {}", blob.dvm_id(), blob.rank(), blob.incarnation())) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  }
  return fmt::format("node-{:016x}", hash);
}

Result<std::string> own_path() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length < 0) return system_error("cannot find this program", errno);
  return std::string(path.data(), static_cast<std::size_t>(length));
}

struct Place {
  std::string base;
  std::string directory;
  std::string log_path;
};

// ---- in the warden ----

Result<DvmDirectory> make_directory(const wire::DaemonBlob& blob, const Place& place) {
  for (const auto& complaint : sweep_dead_dvms(place.base, exec::kill_processes_of_dvm)) {
    std::fprintf(stderr, "prted: %s\n", complaint.c_str());
  }
  DvmInfo info;
  info.name = directory_name(blob);
  info.dvm_id = blob.dvm_id();
  info.node = blob.node();
  auto made = create_dvm_directory(place.base, std::move(info));
  if (!made) return made.error();
  return std::move(made->directory);
}

// The streams are those of the session, which would stay as long as they are open. One that stays
// takes the daemon's words to the head: there is no log here.
bool leave_session(const wire::DaemonBlob& blob, const Place& place) {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.is_open() || ::dup2(null.get(), STDIN_FILENO) < 0 ||
      ::dup2(null.get(), STDOUT_FILENO) < 0) {
    return false;
  }
  if (blob.attached()) return true;
  const UniqueFd log(
      ::open(place.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  return log.is_open() && ::dup2(log.get(), STDERR_FILENO) >= 0;
}

int be_warden(const wire::DaemonBlob& blob, const Place& place, NodeVoice& voice, UniqueFd control,
              UniqueFd joined) {
  ::setsid();
  auto directory = make_directory(blob, place);
  if (!directory) return voice.fail(directory.error().message);
  if (!leave_session(blob, place)) {
    return voice.fail(system_error("cannot write " + place.log_path, errno).message);
  }
  return exec::run_warden_of_node({.control_fd = control.release(),
                                   .directory = std::move(*directory),
                                   .daemon_fd = std::move(joined),
                                   .hears_sigterm = !blob.in_step()});
}

// ---- in the foreground ----

enum class Session : std::uint8_t {
  kBrief,  // ends when the daemon has joined
  kStays,
  // The same as a task of a scheduler, which ends what is left when we end. So we have what the
  // warden leaves, and end last.
  kIsTask,
};

Session session_of(const wire::DaemonBlob& blob) {
  if (blob.in_step()) return Session::kIsTask;
  return blob.attached() ? Session::kStays : Session::kBrief;
}

class Foreground {
 public:
  Foreground(pid_t warden, UniqueFd control, UniqueFd joined, Place place,
             const wire::DaemonBlob& blob, NodeVoice& voice)
      : warden_(warden),
        control_(std::move(control)),
        joined_pipe_(std::move(joined)),
        place_(std::move(place)),
        session_(session_of(blob)),
        rank_(blob.rank()),
        voice_(voice),
        life_line_([this](std::string_view line) { obey(line); }) {}

  struct Limits {
    std::chrono::milliseconds to_join;
    std::chrono::milliseconds to_leave;  // … in good order, once a scheduler says so
  };
  NodeOutcome run(exec::WardenCommand start, Limits limits);

 private:
  void listen_to_signals();
  void poll_once();
  void read_life_line();
  void read_joined();
  void read_control();
  void read_signal();
  [[nodiscard]] std::string what_took_long() const;
  void obey(std::string_view order);
  void handle(const exec::Started& started) { pid_ = static_cast<pid_t>(started.pid); }
  void handle(const exec::StartFailed& failed) { status_ = voice_.fail(failed.text); }
  void handle(const exec::DaemonEnded& ended);
  void joined();
  void control_ended();
  void end_warden();
  bool await_daemon();
  void end_what_is_left();

  pid_t warden_;
  UniqueFd control_;
  UniqueFd joined_pipe_;
  UniqueFd signals_;
  Place place_;
  Session session_;
  Rank rank_;
  NodeVoice& voice_;
  launch::LineReader life_line_;
  exec::WardenFrameReader reader_;
  pid_t pid_ = 0;
  Limits limits_{};
  std::optional<Clock::time_point> deadline_;
  bool has_joined_ = false;
  bool leaves_ = false;
  std::optional<int> daemon_status_;
  std::optional<int> status_;
};

NodeOutcome Foreground::run(exec::WardenCommand start, Limits limits) {
  limits_ = limits;
  if (session_ == Session::kIsTask) listen_to_signals();
  deadline_ = Clock::now() + limits_.to_join;
  if (!write_all(control_.get(), exec::encode(start).text())) {
    status_ = voice_.fail("the warden is gone");
  }
  start = exec::LetGo{};        // wipes the key
  ::prctl(PR_SET_DUMPABLE, 1);  // a session that stays is its user's to look at
  while (!status_) {
    poll_once();
    if (!status_ && deadline_ && Clock::now() >= *deadline_)
      status_ = voice_.fail(what_took_long());
  }
  if (!has_joined_ || session_ != Session::kBrief) end_warden();
  if (session_ == Session::kIsTask) end_what_is_left();
  return {*status_, daemon_status_};
}

std::string Foreground::what_took_long() const {
  if (leaves_) return fmt::format("ended by signal {} of whoever started the daemon", SIGTERM);
  return "the daemon did not reach the head within " +
         human_duration_ms(static_cast<std::uint64_t>(limits_.to_join.count()));
}

// A scheduler that ends its job signals all that it has started. What it may send for programs that
// write checkpoints is nothing to us.
void Foreground::listen_to_signals() {
  std::signal(SIGUSR1, SIG_IGN);  // NOLINT(cert-err33-c): can't fail for this
  std::signal(SIGUSR2, SIG_IGN);  // NOLINT(cert-err33-c): nor for this
  sigset_t watched{};
  ::sigemptyset(&watched);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&watched, number);
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  signals_.reset(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
}

void Foreground::poll_once() {
  std::array<pollfd, 4> watched{{{STDIN_FILENO, POLLIN, 0},
                                 {control_.get(), POLLIN, 0},
                                 {joined_pipe_.get(), POLLIN, 0},  // closed: skipped
                                 {signals_.get(), POLLIN, 0}}};
  const int timeout_ms = deadline_ ? ms_until(*deadline_) : -1;
  if (::poll(watched.data(), watched.size(), timeout_ms) <= 0) return;
  if (watched[1].revents != 0) read_control();
  if (!status_ && watched[2].revents != 0) read_joined();
  if (!status_ && watched[3].revents != 0) read_signal();
  if (!status_ && watched[0].revents != 0) read_life_line();
}

void Foreground::read_signal() {
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) return;
  // Programs here have been told as well, and it has some time for them. The head takes its leave.
  if (has_joined_ && info.ssi_signo == SIGTERM) {
    if (std::exchange(leaves_, true)) return;
    deadline_ = Clock::now() + limits_.to_leave;
    return voice_.leaves();
  }
  status_ =
      voice_.fail(fmt::format("ended by signal {} of whoever started the daemon", info.ssi_signo));
}

void Foreground::read_life_line() {
  std::array<char, 256> buffer{};
  const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return;
  if (got > 0) return life_line_.feed({buffer.data(), static_cast<std::size_t>(got)});
  status_ = voice_.fail("whoever started the daemon is gone");
}

void Foreground::obey(std::string_view order) {
  if (launch::end_order_of(order) == rank_) status_ = 0;
}

// When it ends without a word the warden tells the rest.
void Foreground::read_joined() {
  char byte = 0;
  const bool told = ::read(joined_pipe_.get(), &byte, 1) == 1;
  joined_pipe_.reset();
  if (told) joined();
}

void Foreground::joined() {
  has_joined_ = true;
  deadline_.reset();
  if (session_ == Session::kBrief) {
    if (!write_all(control_.get(), exec::encode(exec::LetGo{}).text())) {
      status_ = voice_.fail("the warden is gone");
      return;
    }
    status_ = 0;
  }
  voice_.joined(pid_);
}

void Foreground::read_control() {
  const auto space = reader_.free_space();
  const ssize_t got = ::recv(control_.get(), space.data(), space.size(), 0);
  if (got < 0 && errno == EINTR) return;
  if (got <= 0 || !reader_.filled(static_cast<std::size_t>(got))) return control_ended();
  const auto frame = reader_.take_frame();
  if (!frame) return;
  const auto report = exec::decode_report(frame->text());
  if (report) std::visit([this](const auto& message) { handle(message); }, *report);
}

// The warden has said why, or it ends before a daemon that goes in good order.
void Foreground::control_ended() {
  status_ = launch::kRemoteFailed;
  if (session_ != Session::kIsTask || !has_joined_ || !await_daemon()) return;
  if (*daemon_status_ == 0) status_ = 0;
}

void Foreground::handle(const exec::DaemonEnded& ended) {
  daemon_status_ = static_cast<int>(ended.wait_status);
  if (has_joined_ && (ended.wait_status == 0 || session_ != Session::kIsTask)) {
    status_ = ended.wait_status == 0 ? 0 : launch::kRemoteFailed;
    return;
  }
  for (const auto& line :
       split(launch::log_tail(place_.log_path, 0, kLastWordsLines, "\n"), '\n')) {
    if (!line.empty()) voice_.last_words(line);
  }
  status_ = voice_.fail("the daemon ended with " + ended.text);
}

// Whoever waits for the end of the session wants nothing to be left then.
void Foreground::end_warden() {
  control_.reset();
  const auto deadline = Clock::now() + kWardenTimeout;
  while (::waitpid(warden_, nullptr, WNOHANG) == 0 && Clock::now() < deadline) {
    std::this_thread::sleep_for(kWardenPoll);
  }
}

// The daemon comes to us when its warden is gone.
bool Foreground::await_daemon() {
  end_warden();
  const auto deadline = Clock::now() + kAdoptedTimeout;
  int wait_status = 0;
  pid_t ended = 0;
  while (pid_ != 0 && (ended = ::waitpid(pid_, &wait_status, WNOHANG)) == 0 &&
         Clock::now() < deadline) {
    std::this_thread::sleep_for(kWardenPoll);
  }
  if (ended == pid_ && pid_ != 0) daemon_status_ = wait_status;
  return daemon_status_.has_value();
}

// Of a warden that was killed.
void Foreground::end_what_is_left() {
  const auto deadline = Clock::now() + kAdoptedTimeout;
  while (exec::end_children_unless([](pid_t) { return false; }) > 0 && Clock::now() < deadline) {
    std::this_thread::sleep_for(kWardenPoll);
  }
}

Result<Params> params_of(const wire::DaemonBlob& blob) {
  return Params::from_map({blob.parameters().begin(), blob.parameters().end()});
}

void wipe_key(wire::DaemonBlob& blob) {
  exec::wipe(*blob.mutable_key());
}

struct Channels {
  UniqueFd ours;
  UniqueFd theirs;
  UniqueFd joined_reads;
  UniqueFd joined_writes;
};

Result<Channels> make_channels() {
  std::array<int, 2> sockets{};
  std::array<int, 2> pipe{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0 ||
      ::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    return system_error("no socket for the warden", errno);
  }
  return Channels{UniqueFd(sockets[0]), UniqueFd(sockets[1]), UniqueFd(pipe[0]), UniqueFd(pipe[1])};
}

}  // namespace

NodeOutcome start_node(wire::DaemonBlob blob, NodeVoice& voice) {
  const auto params = params_of(blob);
  if (!params) return {voice.fail(params.error().message)};
  const auto program = own_path();
  if (!program) return {voice.fail(program.error().message)};
  Place place;
  place.base = run_base_path(params->get_string("prte_tmpdir_base"));
  place.directory = dvm_directory_path(place.base, directory_name(blob));
  place.log_path = dvm_log_path(place.directory, blob.node());
  blob.set_run_directory(place.directory);
  blob.set_own_directory(true);

  auto channels = make_channels();
  if (!channels) return {voice.fail(channels.error().message)};
  if (blob.in_step()) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t warden = ::fork();
  if (warden < 0) return {voice.fail(system_error("no process for the warden", errno).message)};
  if (warden == 0) {
    channels->ours.reset();
    channels->joined_reads.reset();
    wipe_key(blob);
    ::prctl(PR_SET_DUMPABLE, 1);
    ::_exit(be_warden(blob, place, voice, std::move(channels->theirs),
                      std::move(channels->joined_writes)));
  }
  channels->theirs.reset();
  exec::StartDaemon start;
  start.id = kDaemon;
  start.argv = {*program, "--node", blob.node(), "--joined-fd",
                std::to_string(channels->joined_writes.get())};
  channels->joined_writes.reset();
  if (!blob.attached()) start.log_path = place.log_path;
  start.blob = exec::Secret(blob.SerializeAsString());
  wipe_key(blob);
  Foreground foreground(warden, std::move(channels->ours), std::move(channels->joined_reads),
                        std::move(place), blob, voice);
  const auto limit = [&params](const char* name) {
    return std::chrono::milliseconds(params->get_duration_ms(name));
  };
  return foreground.run(std::move(start),
                        {.to_join = limit(blob.in_step() ? "plm_step_timeout" : "plm_ssh_timeout"),
                         .to_leave = limit("plm_step_grace")});
}

}  // namespace tide::daemon
