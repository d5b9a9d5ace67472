#include "daemon/remote_start.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/dvm_directory.hpp"
#include "base/params.hpp"
#include "base/run_directory.hpp"
#include "base/text.hpp"
#include "exec/orphans.hpp"
#include "exec/secret.hpp"
#include "exec/unique_fd.hpp"
#include "exec/warden.hpp"
#include "exec/warden_protocol.hpp"
#include "launch/log_tail.hpp"
#include "launch/remote_session.hpp"
#include "wire/link.pb.h"

namespace tide::daemon {
namespace {

using Clock = std::chrono::steady_clock;
using exec::UniqueFd;

constexpr std::uint32_t kDaemon = 1;  // its number at the warden
// For the head to answer the greeting.
constexpr auto kBlobTimeout = std::chrono::seconds(60);
// For the warden to end what it started when it came to nothing.
constexpr auto kWardenTimeout = std::chrono::seconds(8);
constexpr auto kWardenPoll = std::chrono::milliseconds(5);
constexpr std::size_t kLastWordsLines = 8;

int fail(const std::string& text) {
  std::fprintf(stderr, "prted: %s\n", text.c_str());
  return launch::kRemoteFailed;
}

int ms_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t given = ::write(fd, text.data(), text.size());
    if (given < 0 && errno == EINTR) continue;
    if (given <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(given));
  }
  return true;
}

// Exactly so many bytes of standard input.
Result<exec::Secret> read_input(std::size_t bytes, Clock::time_point deadline) {
  exec::Secret out(std::string(bytes, '\0'));
  std::size_t used = 0;
  while (used < bytes) {
    pollfd readable{STDIN_FILENO, POLLIN, 0};
    const int ready = ::poll(&readable, 1, ms_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Error{ErrorCode::kTimedOut, "nothing came on standard input"};
    const ssize_t got = ::read(STDIN_FILENO, out.text().data() + used, bytes - used);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error{ErrorCode::kConnectionLost, "standard input ended too early"};
    used += static_cast<std::size_t>(got);
  }
  return out;
}

Result<wire::DaemonBlob> read_blob() {
  const auto deadline = Clock::now() + kBlobTimeout;
  auto header = read_input(launch::kBlobHeaderBytes, deadline);
  if (!header) return header.error();
  const std::size_t bytes = launch::blob_bytes(header->text());
  if (bytes > exec::kMaxBlobBytes) {
    return Error{ErrorCode::kProtocol, "what came on standard input is too long"};
  }
  auto text = read_input(bytes, deadline);
  if (!text) return text.error();
  wire::DaemonBlob blob;
  if (!blob.ParseFromString(text->text()) || blob.rank() == 0 || blob.node().empty()) {
    return Error{ErrorCode::kProtocol, "standard input does not hold what a head sends"};
  }
  return blob;
}

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

int be_warden(const wire::DaemonBlob& blob, const Place& place, UniqueFd control, UniqueFd joined) {
  ::setsid();
  auto directory = make_directory(blob, place);
  if (!directory) return fail(directory.error().message);
  if (!leave_session(blob, place)) {
    return fail(system_error("cannot write " + place.log_path, errno).message);
  }
  return exec::run_warden_of_node(control.release(), std::move(*directory), std::move(joined));
}

// ---- in the foreground ----

class Foreground {
 public:
  Foreground(pid_t warden, UniqueFd control, UniqueFd joined, Place place, bool attached)
      : warden_(warden),
        control_(std::move(control)),
        joined_pipe_(std::move(joined)),
        place_(std::move(place)),
        attached_(attached) {}

  int run(exec::WardenCommand start, std::uint32_t timeout_ms);

 private:
  void poll_once();
  void read_life_line();
  void read_joined();
  void read_control();
  void handle(const exec::Started& started) { pid_ = static_cast<pid_t>(started.pid); }
  void handle(const exec::StartFailed& failed) { status_ = fail(failed.text); }
  void handle(const exec::DaemonEnded& ended);
  void joined();
  void end_warden();

  pid_t warden_;
  UniqueFd control_;
  UniqueFd joined_pipe_;
  Place place_;
  bool attached_;
  exec::WardenFrameReader reader_;
  pid_t pid_ = 0;
  std::optional<Clock::time_point> deadline_;
  bool has_joined_ = false;
  std::optional<int> status_;
};

int Foreground::run(exec::WardenCommand start, std::uint32_t timeout_ms) {
  deadline_ = Clock::now() + std::chrono::milliseconds(timeout_ms);
  if (!write_all(control_.get(), exec::encode(start).text())) status_ = fail("the warden is gone");
  start = exec::LetGo{};        // wipes the key
  ::prctl(PR_SET_DUMPABLE, 1);  // a session that stays is its user's to look at
  while (!status_) {
    poll_once();
    if (!status_ && deadline_ && Clock::now() >= *deadline_) {
      status_ = fail("the daemon did not reach the head within " + human_duration_ms(timeout_ms));
    }
  }
  if (!has_joined_ || attached_) end_warden();
  return *status_;
}

void Foreground::poll_once() {
  std::array<pollfd, 3> watched{{{STDIN_FILENO, POLLIN, 0},
                                 {control_.get(), POLLIN, 0},
                                 {joined_pipe_.get(), POLLIN, 0}}};  // closed: skipped
  const int timeout_ms = deadline_ ? ms_until(*deadline_) : -1;
  if (::poll(watched.data(), watched.size(), timeout_ms) <= 0) return;
  if (watched[1].revents != 0) read_control();
  if (!status_ && watched[2].revents != 0) read_joined();
  if (!status_ && watched[0].revents != 0) read_life_line();
}

void Foreground::read_life_line() {
  char byte = 0;
  if (::read(STDIN_FILENO, &byte, 1) > 0) return;
  status_ = fail("whoever started the daemon is gone");
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
  if (!attached_) {
    if (!write_all(control_.get(), exec::encode(exec::LetGo{}).text())) {
      status_ = fail("the warden is gone");
      return;
    }
    status_ = 0;
  }
  write_all(STDOUT_FILENO, launch::joined_text(pid_));
}

void Foreground::read_control() {
  const auto space = reader_.free_space();
  const ssize_t got = ::recv(control_.get(), space.data(), space.size(), 0);
  if (got < 0 && errno == EINTR) return;
  if (got <= 0 || !reader_.filled(static_cast<std::size_t>(got))) {
    status_ = launch::kRemoteFailed;  // it has said why
    return;
  }
  const auto frame = reader_.take_frame();
  if (!frame) return;
  const auto report = exec::decode_report(frame->text());
  if (report) std::visit([this](const auto& message) { handle(message); }, *report);
}

void Foreground::handle(const exec::DaemonEnded& ended) {
  if (has_joined_) {
    status_ = ended.wait_status == 0 ? 0 : launch::kRemoteFailed;
    return;
  }
  const std::string words = launch::log_tail(place_.log_path, 0, kLastWordsLines, "\n");
  std::fprintf(stderr, "%s%s", words.c_str(), words.empty() ? "" : "\n");
  status_ = fail("the daemon ended with " + ended.text);
}

// Whoever waits for the end of the session wants nothing to be left then.
void Foreground::end_warden() {
  control_.reset();
  const auto deadline = Clock::now() + kWardenTimeout;
  while (::waitpid(warden_, nullptr, WNOHANG) == 0 && Clock::now() < deadline) {
    std::this_thread::sleep_for(kWardenPoll);
  }
}

Result<Params> params_of(const wire::DaemonBlob& blob) {
  return Params::from_map({blob.parameters().begin(), blob.parameters().end()});
}

void wipe_key(wire::DaemonBlob& blob) {
  blob.mutable_key()->assign(blob.key().size(), '\0');
}

int start_daemon(wire::DaemonBlob blob) {
  const auto params = params_of(blob);
  if (!params) return fail(params.error().message);
  const auto program = own_path();
  if (!program) return fail(program.error().message);
  Place place;
  place.base = run_base_path(params->get_string("prte_tmpdir_base"));
  place.directory = dvm_directory_path(place.base, directory_name(blob));
  place.log_path = dvm_log_path(place.directory, blob.node());
  blob.set_run_directory(place.directory);
  blob.set_own_directory(true);

  std::array<int, 2> sockets{};
  std::array<int, 2> pipe{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0 ||
      ::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    return fail(system_error("no socket for the warden", errno).message);
  }
  UniqueFd ours(sockets[0]);
  UniqueFd theirs(sockets[1]);
  UniqueFd joined_reads(pipe[0]);
  UniqueFd joined_writes(pipe[1]);
  const pid_t warden = ::fork();
  if (warden < 0) return fail(system_error("no process for the warden", errno).message);
  if (warden == 0) {
    ours.reset();
    joined_reads.reset();
    wipe_key(blob);
    ::prctl(PR_SET_DUMPABLE, 1);
    ::_exit(be_warden(blob, place, std::move(theirs), std::move(joined_writes)));
  }
  theirs.reset();
  exec::StartDaemon start;
  start.id = kDaemon;
  start.argv = {*program, "--node", blob.node(), "--joined-fd",
                std::to_string(joined_writes.get())};
  joined_writes.reset();
  if (!blob.attached()) start.log_path = place.log_path;
  start.blob = exec::Secret(blob.SerializeAsString());
  wipe_key(blob);
  return Foreground(warden, std::move(ours), std::move(joined_reads), std::move(place),
                    blob.attached())
      .run(std::move(start), params->get_duration_ms("plm_ssh_timeout"));
}

}  // namespace

int run_remote(const std::string& version) {
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c): can't fail for SIGPIPE
  ::prctl(PR_SET_DUMPABLE, 0);    // a core file would hold the key
  if (::isatty(STDIN_FILENO) != 0) {
    return fail("standard input is a terminal, which would show the key; it is for a head");
  }
  if (!write_all(STDOUT_FILENO, launch::greeting_text({launch::kRemoteProtocol, version}))) {
    return fail("nobody reads standard output");
  }
  auto blob = read_blob();
  if (!blob) return fail(blob.error().message);
  return start_daemon(std::move(*blob));
}

}  // namespace tide::daemon
