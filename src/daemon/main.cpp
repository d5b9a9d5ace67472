// prted: the warden above daemons, the daemon of one node, or what starts both for a head on
// another machine. Started by a head, not by hand.
#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "base/standard_descriptors.hpp"
#include "daemon/daemon_program.hpp"
#include "daemon/remote_start.hpp"
#include "daemon/step_start.hpp"
#include "exec/secret.hpp"
#include "exec/unique_fd.hpp"
#include "exec/warden.hpp"

namespace {

constexpr std::size_t kMaxBlobBytes = std::size_t{1} << 20U;

int usage() {
  std::fputs(
      "prted is the daemon of a DVM. It is started by prte, with what it has to know on its "
      "standard\n"
      "input; there is nothing to do with it by hand.\n\n"
      "To start a DVM:      tide up --nodes 4       (or: prte --daemonize --nodes 4)\n"
      "To end it:           tide down               (or: pterm)\n",
      stdout);
  return 0;
}

int fail(const std::string& text) {
  std::fprintf(stderr, "prted: %s\n", text.c_str());
  return 1;
}

// All of standard input, then /dev/null in its place.
tide::Result<std::string> read_blob() {
  std::string out;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tide::system_error("cannot read standard input", errno);
    if (got == 0) break;
    out.append(buffer.data(), static_cast<std::size_t>(got));
    if (out.size() > kMaxBlobBytes) {
      return tide::Error{tide::ErrorCode::kInvalidArgument,
                         "what came on standard input is too long"};
    }
  }
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) {
    dup2(null, STDIN_FILENO);
    close(null);
  }
  return out;
}

int run_daemon(tide::exec::UniqueFd joined) {
  // A scheduler may send these for programs that write checkpoints.
  std::signal(SIGUSR1, SIG_IGN);  // NOLINT(cert-err33-c): can't fail for this
  std::signal(SIGUSR2, SIG_IGN);  // NOLINT(cert-err33-c): nor for this
  auto text = read_blob();
  if (!text) return fail(text.error().message);
  tide::wire::DaemonBlob blob;
  const bool parsed = blob.ParseFromString(*text);
  explicit_bzero(text->data(), text->size());
  if (!parsed || blob.rank() == 0 || blob.node().empty()) {
    return fail("standard input does not hold what a head sends; start a DVM with 'tide up'");
  }
  const std::map<std::string, std::string> values(blob.parameters().begin(),
                                                  blob.parameters().end());
  auto params = tide::Params::from_map(values);
  if (!params) return fail(params.error().message);
  auto failpoints = tide::Failpoints::parse(params->get_string("tide_failpoint"));
  if (!failpoints) return fail(failpoints.error().message);
  tide::LogConfig log{.path = "",
                      .program = "prted",
                      .node = blob.node(),
                      .verbosity = tide::log_verbosity(*params)};
  if (auto started = tide::log_init(std::move(log)); !started) return fail(started.error().message);
  tide::daemon::DaemonProgram program(blob, *params, failpoints->at(blob.node()),
                                      std::move(joined));
  blob.mutable_key()->assign(blob.key().size(), '\0');
  const int status = program.run(blob, *params);
  tide::log_shutdown();
  if (program.is_last_one()) ::_exit(status);
  return status;
}

int number(std::string_view text) {
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// `--node NAME`, where the name is for people who look at the list of processes, and
// `--joined-fd FD`.
tide::exec::UniqueFd joined_pipe(int argc, char** argv) {
  if (argc < 5 || std::string_view(argv[3]) != "--joined-fd") return {};
  const int fd = number(argv[4]);
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return {};
  return tide::exec::UniqueFd(fd);
}

}  // namespace

int main(int argc, char** argv) {
  // It would write a line for every bad message that a peer sends; ours are rate-limited.
  google::protobuf::SetLogHandler(nullptr);
  tide::open_missing_standard_descriptors();
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--warden" && argc > 3) {
    const int fd = number(argv[2]);
    if (fd < 0) return fail("--warden needs the number of a descriptor");
    return tide::exec::run_warden(fd, argv[3]);
  }
  if (first == "--version" || first == "-V") {
    std::printf("prted (Tide) %s\n", TIDE_VERSION);
    return 0;
  }
  if (first == "--node") return run_daemon(joined_pipe(argc, argv));
  if (first == "--remote") return tide::daemon::run_remote(TIDE_VERSION);
  if (first == "--step") return tide::daemon::run_step(TIDE_VERSION);
  return usage();
}
