#include "launch/ssh_session.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "exec/environment.hpp"

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

}  // namespace

SshSession::SshSession(asio::io_context& io, Settings settings, Callbacks callbacks)
    : io_(io), settings_(std::move(settings)), callbacks_(std::move(callbacks)), timer_(io) {}

SshSession::~SshSession() {
  if (agent_) agent_->signal(SIGKILL);
}

Status SshSession::start(exec::ProcessSpawner& spawner, std::span<const std::string> argv,
                         exec::Secret blob) {
  blob_ = std::move(blob);
  const auto told = [this](auto method) {
    return [weak = weak_from_this(), method](auto news) {
      if (const auto self = weak.lock()) ((*self).*method)(news);
    };
  };
  agent_ = std::make_shared<AgentProcess>(
      io_, AgentProcess::Helpers::kEndWithIt, settings_.watch_child,
      AgentProcess::Callbacks{.heard = told(&SshSession::heard),
                              .complained = told(&SshSession::complained),
                              .ended = told(&SshSession::agent_ended)});
  started_at_ = std::chrono::steady_clock::now();
  if (auto started = agent_->start(spawner, argv, exec::current_environment()); !started) {
    return started;
  }
  arm(settings_.timeout_ms);
  return ok_status();
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
  agent_->write(std::move(blob_));  // if nobody takes it the end of the agent tells why
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
  if (terminated_) return agent_->signal(SIGKILL);
  if (ending_) return terminate_agent();
  end_.timed_out = !joined_;
  end_.waited_ms = limit_ms_;
  end();
}

void SshSession::end() {
  if (ending_) return;
  ending_ = true;
  agent_->close_input();
  // Whoever waits for our end wants nothing to be left there, and the agent would not wait for
  // that.
  const bool somebody_hears = end_.greeted && !end_.timed_out && !(joined_ && !settings_.attached);
  if (somebody_hears) return arm(kCutGraceMs);
  terminate_agent();
}

void SshSession::terminate_agent() {
  terminated_ = true;
  agent_->signal(SIGTERM);
  arm(kEndGraceMs);
}

void SshSession::agent_ended(int wait_status) {
  end_.wait_status = wait_status;
  if (!end_.timed_out) end_.waited_ms = whole_seconds_since_start();
  timer_.cancel();
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

}  // namespace tide::launch
