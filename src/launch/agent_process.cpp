#include "launch/agent_process.hpp"

#include <fcntl.h>
#include <sys/wait.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/write.hpp>
#include <cerrno>
#include <csignal>
#include <utility>

namespace tide::launch {
namespace {

// Of what a program that has ended left in its pipes so much is read. Somebody else may hold them
// open, and write.
constexpr int kMostReads = 64;

struct Pipe {
  exec::UniqueFd reads;
  exec::UniqueFd writes;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("no pipe for the agent", errno);
  return Pipe{exec::UniqueFd(ends[0]), exec::UniqueFd(ends[1])};
}

Status take(asio::posix::stream_descriptor& into, exec::UniqueFd fd) {
  asio::error_code error;
  into.assign(fd.get(), error);
  if (!error) into.non_blocking(true, error);
  if (error) return system_error("cannot watch the agent", error.value());
  (void)fd.release();  // belongs to the descriptor now
  return ok_status();
}

}  // namespace

AgentProcess::AgentProcess(asio::io_context& io, Helpers helpers, ChildWatch watch_child,
                           Callbacks callbacks)
    : helpers_(helpers),
      watch_child_(std::move(watch_child)),
      callbacks_(std::move(callbacks)),
      input_(io),
      output_(io),
      errors_(io),
      pidfd_(io) {}

AgentProcess::~AgentProcess() {
  signal(SIGKILL);
}

Status AgentProcess::start(exec::ProcessSpawner& spawner, std::span<const std::string> argv,
                           const exec::Environment& environment) {
  auto input = make_pipe();
  auto output = make_pipe();
  auto errors = make_pipe();
  for (const auto* made : {&input, &output, &errors}) {
    if (!*made) return made->error();
  }
  const exec::EnvironmentBlock block(environment);
  auto agent = spawner.spawn(
      exec::SpawnRequest{.argv = argv,
                         .environment = block,
                         .working_directory = "",
                         .stdio = {input->reads.get(), output->writes.get(), errors->writes.get()},
                         .inherited_fd = -1,
                         .parent_death_signal = 0});
  if (!agent) return agent.error();
  pid_ = group_ = agent->pid;
  auto taken = take_pipes(std::move(input->writes), std::move(output->reads),
                          std::move(errors->reads), std::move(agent->pidfd));
  if (!taken) return taken;
  watch();
  listen(output_, &Callbacks::heard);
  listen(errors_, &Callbacks::complained);
  return ok_status();
}

Status AgentProcess::take_pipes(exec::UniqueFd input, exec::UniqueFd output, exec::UniqueFd errors,
                                exec::UniqueFd pidfd) {
  if (auto taken = take(input_, std::move(input)); !taken) return taken;
  if (auto taken = take(output_, std::move(output)); !taken) return taken;
  if (auto taken = take(errors_, std::move(errors)); !taken) return taken;
  return watch_child_ ? ok_status() : take(pidfd_, std::move(pidfd));
}

void AgentProcess::watch() {
  if (watch_child_) {
    watch_child_(pid_, [weak = weak_from_this()](int wait_status) {
      if (const auto self = weak.lock()) self->ended(wait_status);
    });
    return;
  }
  pidfd_.async_wait(Descriptor::wait_read,
                    [weak = weak_from_this()](const asio::error_code& error) {
                      const auto self = weak.lock();
                      if (error || !self) return;
                      // Seen in one of some hundred sessions: woken while the agent still lives.
                      if (!self->has_ended()) return self->watch();
                      // Helpers that it left: the group has its number until we reap it.
                      if (self->helpers_ == Helpers::kEndWithIt) self->signal(SIGKILL);
                      int wait_status = 0;
                      ::waitpid(self->pid_, &wait_status, WNOHANG);
                      self->ended(wait_status);
                    });
}

bool AgentProcess::has_ended() const {
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid_);
  const bool asked = ::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  return !asked || info.si_pid != 0;  // one that somebody else has reaped is no more
}

// It waits here and reads there: a read under way may have taken words already that nobody has
// seen when the end of the agent is told.
void AgentProcess::listen(Descriptor& to, Taker take) {
  to.async_wait(Descriptor::wait_read,
                [weak = weak_from_this(), &to, take](const asio::error_code& error) {
                  const auto self = weak.lock();
                  if (error || !self || self->read_once(to, take) == Was::kOver) return;
                  self->listen(to, take);
                });
}

AgentProcess::Was AgentProcess::read_once(Descriptor& from, Taker take) {
  std::array<char, 4096> buffer{};
  asio::error_code error;
  const std::size_t bytes = from.read_some(asio::buffer(buffer), error);
  if (error) return error == asio::error::would_block ? Was::kEmpty : Was::kOver;
  (callbacks_.*take)({buffer.data(), bytes});
  return from.is_open() ? Was::kRead : Was::kOver;
}

void AgentProcess::read_what_is_left(Descriptor& in, Taker take) {
  for (int round = 0; round < kMostReads && in.is_open(); ++round) {
    if (read_once(in, take) != Was::kRead) return;
  }
}

void AgentProcess::write(exec::Secret text) {
  if (!input_.is_open()) return;
  unsent_.push_back(std::move(text));
  if (unsent_.size() == 1) write_next();
}

// If nobody takes it the end of the agent tells why. The bytes stay where they are until they are
// written: a deque does not move them.
void AgentProcess::write_next() {
  asio::async_write(input_, asio::buffer(unsent_.front().text()),
                    [self = shared_from_this()](const asio::error_code& error, std::size_t) {
                      self->unsent_.pop_front();
                      if (error || !self->input_.is_open()) self->unsent_.clear();
                      if (!self->unsent_.empty()) self->write_next();
                    });
}

void AgentProcess::close_input() {
  asio::error_code ignored;
  input_.close(ignored);
}

// It has a process group of its own.
void AgentProcess::signal(int number) const {
  if (pid_ != 0) ::kill(helpers_ == Helpers::kEndWithIt ? -pid_ : pid_, number);
}

void AgentProcess::ended(int wait_status) {
  pid_ = 0;
  read_what_is_left(output_, &Callbacks::heard);
  read_what_is_left(errors_, &Callbacks::complained);
  close_all();
  const auto self = shared_from_this();  // whoever is told may drop us
  callbacks_.ended(wait_status);
}

void AgentProcess::close_all() {
  asio::error_code ignored;
  for (Descriptor* descriptor : {&input_, &output_, &errors_, &pidfd_}) descriptor->close(ignored);
}

}  // namespace tide::launch
