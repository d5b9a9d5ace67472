#include "launch/ssh_session.hpp"

#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "exec/environment.hpp"
#include "exec/unique_fd.hpp"

namespace tide::launch {
namespace {

constexpr std::size_t kKeptErrorBytes = 4096;
// For the other side to end what it has started, and the session with it, when its life line is
// cut.
constexpr std::uint32_t kCutGraceMs = 3000;
// Between a gentle end of the agent and SIGKILL.
constexpr std::uint32_t kEndGraceMs = 1000;
// For the last words of a daemon that did not find the head in time, and the end of its warden.
constexpr std::uint32_t kMostForLastWordsMs = 5000;
// Of what an agent that has ended left in its pipes so much is read. Somebody else may hold them
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

SshSession::SshSession(asio::io_context& io, Settings settings, Callbacks callbacks)
    : settings_(std::move(settings)),
      callbacks_(std::move(callbacks)),
      input_(io),
      output_(io),
      errors_(io),
      pidfd_(io),
      timer_(io) {}

SshSession::~SshSession() {
  signal_agent(SIGKILL);
}

Status SshSession::start(exec::ProcessSpawner& spawner, std::span<const std::string> argv,
                         exec::Secret blob) {
  blob_ = std::move(blob);
  auto input = make_pipe();
  auto output = make_pipe();
  auto errors = make_pipe();
  for (const auto* made : {&input, &output, &errors}) {
    if (!*made) return made->error();
  }
  const exec::Environment environment = exec::current_environment();
  const exec::EnvironmentBlock block(environment);
  auto agent = spawner.spawn(
      exec::SpawnRequest{.argv = argv,
                         .environment = block,
                         .working_directory = "",
                         .stdio = {input->reads.get(), output->writes.get(), errors->writes.get()},
                         .inherited_fd = -1,
                         .parent_death_signal = 0});
  if (!agent) return agent.error();
  pid_ = agent->pid;
  started_at_ = std::chrono::steady_clock::now();
  auto taken = take_pipes(std::move(input->writes), std::move(output->reads),
                          std::move(errors->reads), std::move(agent->pidfd));
  if (!taken) return taken;
  watch_agent();
  listen(output_, &SshSession::heard);
  listen(errors_, &SshSession::complained);
  arm(settings_.timeout_ms);
  return ok_status();
}

Status SshSession::take_pipes(exec::UniqueFd input, exec::UniqueFd output, exec::UniqueFd errors,
                              exec::UniqueFd pidfd) {
  if (auto taken = take(input_, std::move(input)); !taken) return taken;
  if (auto taken = take(output_, std::move(output)); !taken) return taken;
  if (auto taken = take(errors_, std::move(errors)); !taken) return taken;
  return settings_.watch_child ? ok_status() : take(pidfd_, std::move(pidfd));
}

void SshSession::watch_agent() {
  if (settings_.watch_child) {
    settings_.watch_child(pid_, [weak = weak_from_this()](int wait_status) {
      if (const auto self = weak.lock()) self->agent_ended(wait_status);
    });
    return;
  }
  pidfd_.async_wait(Descriptor::wait_read,
                    [weak = weak_from_this()](const asio::error_code& error) {
                      const auto self = weak.lock();
                      if (error || !self) return;
                      // Seen in one of some hundred sessions: woken while the agent still lives.
                      if (!self->has_agent_ended()) return self->watch_agent();
                      // Helpers that it left: the group has its number until we reap it.
                      self->signal_agent(SIGKILL);
                      int wait_status = 0;
                      ::waitpid(self->pid_, &wait_status, WNOHANG);
                      self->agent_ended(wait_status);
                    });
}

bool SshSession::has_agent_ended() const {
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid_);
  const bool asked = ::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  return !asked || info.si_pid != 0;  // one that somebody else has reaped is no more
}

// It waits here and reads there: a read under way may have taken words already that nobody has
// seen when the end of the agent is told.
void SshSession::listen(Descriptor& to, Taker take) {
  to.async_wait(Descriptor::wait_read,
                [weak = weak_from_this(), &to, take](const asio::error_code& error) {
                  const auto self = weak.lock();
                  if (error || !self || self->read_once(to, take) == Was::kOver) return;
                  self->listen(to, take);
                });
}

SshSession::Was SshSession::read_once(Descriptor& from, Taker take) {
  std::array<char, 4096> buffer{};
  asio::error_code error;
  const std::size_t bytes = from.read_some(asio::buffer(buffer), error);
  if (error) return error == asio::error::would_block ? Was::kEmpty : Was::kOver;
  (this->*take)({buffer.data(), bytes});
  return from.is_open() ? Was::kRead : Was::kOver;
}

void SshSession::heard(std::string_view text) {
  reader_.feed(text);
  if (!end_.greeted) {
    const auto greeting = reader_.take_greeting();
    if (!greeting) return;
    greeted(*greeting);
  }
  if (joined_) return;
  const auto pid = reader_.take_joined();
  if (!pid || ending_) return;
  joined_ = true;
  timer_.cancel();
  // One that goes on alone has let go of its streams; an agent that waits all the same is ended.
  if (!settings_.attached) arm(settings_.timeout_ms);
  callbacks_.joined(*pid);
  if (settings_.attached && !end_.error_output.empty()) {
    callbacks_.output(std::exchange(end_.error_output, {}));
  }
}

void SshSession::greeted(const Greeting& greeting) {
  end_.greeted = true;
  their_version_ = greeting.version;
  if (greeting.protocol != kRemoteProtocol) {
    end_.other_protocol = true;
    return end();
  }
  callbacks_.greeted(their_version_);
  arm(settings_.timeout_ms + std::min(settings_.timeout_ms, kMostForLastWordsMs));
  send_blob();
}

// If nobody takes it the end of the agent tells why.
void SshSession::send_blob() {
  asio::async_write(input_, asio::buffer(blob_.text()),
                    [weak = weak_from_this()](const asio::error_code&, std::size_t) {
                      if (const auto self = weak.lock()) self->blob_ = exec::Secret();
                    });
}

void SshSession::complained(std::string_view text) {
  if (joined_ && settings_.attached) return callbacks_.output(text);
  end_.error_output += text;
  if (end_.error_output.size() > kKeptErrorBytes) {
    end_.error_output.erase(0, end_.error_output.size() - kKeptErrorBytes);
  }
}

void SshSession::arm(std::uint32_t after_ms) {
  limit_ms_ = after_ms;
  timer_.expires_after(std::chrono::milliseconds(after_ms));
  timer_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
    const auto self = weak.lock();
    if (!error && self) self->overdue();
  });
}

void SshSession::overdue() {
  if (terminated_) return signal_agent(SIGKILL);
  if (ending_) return terminate_agent();
  end_.timed_out = !joined_;
  end_.waited_ms = limit_ms_;
  end();
}

void SshSession::end() {
  if (ending_) return;
  ending_ = true;
  asio::error_code ignored;
  input_.close(ignored);
  // Whoever waits for our end wants nothing to be left there, and the agent would not wait for
  // that.
  const bool somebody_hears = end_.greeted && !end_.timed_out && !(joined_ && !settings_.attached);
  if (somebody_hears) return arm(kCutGraceMs);
  terminate_agent();
}

void SshSession::terminate_agent() {
  terminated_ = true;
  signal_agent(SIGTERM);
  arm(kEndGraceMs);
}

// It has a process group of its own; helpers that it started are in it.
void SshSession::signal_agent(int number) const {
  if (pid_ != 0) ::kill(-pid_, number);
}

void SshSession::agent_ended(int wait_status) {
  pid_ = 0;
  end_.wait_status = wait_status;
  if (!end_.timed_out) end_.waited_ms = whole_seconds_since_start();
  read_what_is_left(output_, &SshSession::heard);
  read_what_is_left(errors_, &SshSession::complained);
  close_all();
  const auto self = shared_from_this();  // whoever is told may drop us
  callbacks_.ended(end_);
}

// The agent's own patience ended, which is its user's to set: the clock knows it.
std::uint32_t SshSession::whole_seconds_since_start() const {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const auto waited = std::chrono::round<seconds>(std::chrono::steady_clock::now() - started_at_);
  return static_cast<std::uint32_t>(milliseconds(std::max(waited, seconds(1))).count());
}

void SshSession::read_what_is_left(Descriptor& in, Taker take) {
  for (int round = 0; round < kMostReads && in.is_open(); ++round) {
    if (read_once(in, take) != Was::kRead) return;
  }
}

void SshSession::close_all() {
  asio::error_code ignored;
  for (Descriptor* descriptor : {&input_, &output_, &errors_, &pidfd_}) descriptor->close(ignored);
  timer_.cancel();
}

}  // namespace tide::launch
