#include "exec/command.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include "exec/process_spawner.hpp"

namespace tide::exec {
namespace {

// Of each stream; a list of some thousand jobs fits.
constexpr std::size_t kKeptBytes = 1U << 20U;
constexpr std::size_t kReadBytes = std::size_t{16} * 1024;
// Of what a program that has ended left in its pipes so much is read: others may hold them open.
constexpr int kMostReads = 128;
// Of one whose end somebody else has heard: that it went well is not known.
constexpr int kUnknownEnd = 255 << 8;

struct Pipe {
  UniqueFd reads;
  UniqueFd writes;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("no pipe for a command", errno);
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Status take(asio::posix::stream_descriptor& into, UniqueFd fd) {
  asio::error_code error;
  into.assign(fd.get(), error);
  if (!error) into.non_blocking(true, error);
  if (error) return system_error("cannot watch a command", error.value());
  (void)fd.release();  // belongs to the descriptor now
  return ok_status();
}

void keep_last(std::string& text) {
  if (text.size() > kKeptBytes) text.erase(0, text.size() - kKeptBytes);
}

}  // namespace

Command::Command(asio::io_context& io)
    : input_(io), output_(io), errors_(io), pidfd_(io), timer_(io) {}

Command::~Command() {
  if (!holds_input_) signal(SIGKILL);
}

Status Command::start(const CommandRequest& request, Callbacks callbacks) {
  auto input = make_pipe();
  auto output = make_pipe();
  auto errors = make_pipe();
  for (const auto* made : {&input, &output, &errors}) {
    if (!*made) return made->error();
  }
  ProcessSpawner spawner("", std::nullopt);
  const EnvironmentBlock block(request.environment);
  auto process = spawner.spawn(
      SpawnRequest{.argv = request.argv,
                   .environment = block,
                   .working_directory = "",
                   .stdio = {input->reads.get(), output->writes.get(), errors->writes.get()},
                   .parent_death_signal = request.parent_death_signal});
  if (!process) return process.error();
  pid_ = process->pid;
  grace_ms_ = request.grace_ms;
  auto taken = take_streams(std::move(input->writes), std::move(output->reads),
                            std::move(errors->reads), std::move(process->pidfd));
  if (!taken) return taken;
  holds_input_ = request.holds_input;
  callbacks_ = std::move(callbacks);
  if (!holds_input_) close_input();
  listen(output_, end_.output, &Callbacks::output);
  listen(errors_, end_.errors, &Callbacks::errors);
  watch();
  if (request.timeout_ms > 0) arm(request.timeout_ms);
  return ok_status();
}

Status Command::take_streams(UniqueFd input, UniqueFd output, UniqueFd errors, UniqueFd pidfd) {
  if (auto taken = take(input_, std::move(input)); !taken) return taken;
  if (auto taken = take(output_, std::move(output)); !taken) return taken;
  if (auto taken = take(errors_, std::move(errors)); !taken) return taken;
  return take(pidfd_, std::move(pidfd));
}

void Command::close_input() {
  asio::error_code ignored;
  input_.close(ignored);
}

// It waits here and reads there: nothing that was read is on its way when the end is told.
void Command::listen(Descriptor& from, std::string& into, Heard heard) {
  from.async_wait(Descriptor::wait_read,
                  [self = shared_from_this(), &from, &into, heard](const asio::error_code& error) {
                    if (error || self->pid_ == 0 || !self->read_once(from, into)) return;
                    if (const auto callback = self->callbacks_.*heard) callback(into);
                    if (from.is_open()) self->listen(from, into, heard);
                  });
}

// How much there was; nothing at its end.
std::optional<std::size_t> Command::read_once(Descriptor& from, std::string& into) {
  std::array<char, kReadBytes> buffer{};
  asio::error_code error;
  const std::size_t bytes = from.read_some(asio::buffer(buffer), error);
  if (error == asio::error::would_block) return 0;
  if (error) return std::nullopt;
  into.append(buffer.data(), bytes);
  if (into.size() >= 2 * kKeptBytes) keep_last(into);  // not at each of many reads
  return bytes;
}

void Command::read_the_rest(Descriptor& from, std::string& into) {
  for (int round = 0; round < kMostReads; ++round) {
    if (read_once(from, into).value_or(0) == 0) break;
  }
  keep_last(into);
}

void Command::watch() {
  pidfd_.async_wait(Descriptor::wait_read,
                    [self = shared_from_this()](const asio::error_code& error) {
                      if (!error) self->has_ended();
                    });
}

void Command::arm(std::uint32_t after_ms) {
  timer_.expires_after(std::chrono::milliseconds(after_ms));
  timer_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
    const auto self = weak.lock();
    if (!error && self) self->overdue();
  });
}

void Command::overdue() {
  if (terminated_) return signal(SIGKILL);
  end_.timed_out = true;
  terminate();
}

void Command::terminate() {
  if (pid_ == 0 || std::exchange(terminated_, true)) return;
  signal(SIGTERM);
  arm(grace_ms_);
}

// It has a process group of its own; helpers that it started are in it.
void Command::signal(int number) const {
  if (pid_ != 0) ::kill(-pid_, number);
}

void Command::has_ended() {
  siginfo_t info{};
  const bool asked =
      ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (asked && info.si_pid == 0) return watch();  // woken too early
  end_.wait_status = kUnknownEnd;
  if (asked) {
    signal(SIGKILL);  // helpers that it left: the group has its number until we reap it
    ::waitpid(pid_, &end_.wait_status, WNOHANG);
  }
  pid_ = 0;
  read_the_rest(output_, end_.output);
  read_the_rest(errors_, end_.errors);
  asio::error_code ignored;
  for (auto* descriptor : {&input_, &output_, &errors_, &pidfd_}) descriptor->close(ignored);
  timer_.cancel();
  const auto told = std::exchange(callbacks_, {}).ended;
  if (told) told(end_);
}

}  // namespace tide::exec
