// One run of the agent: reaches `prted --remote` on another machine, gives it its blob and waits
// until the daemon has joined.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "exec/process_spawner.hpp"
#include "exec/secret.hpp"
#include "launch/agent_process.hpp"
#include "launch/remote_session.hpp"
#include "launch/ssh_failure.hpp"

namespace tide::launch {

// Held by a shared pointer. Its destructor kills the agent, and so ends an unjoined daemon.
class SshSession : public std::enable_shared_from_this<SshSession> {
 public:
  // All come from the io_context.
  struct Callbacks {
    std::function<void(const std::string& version)> greeted;
    std::function<void(pid_t)> joined;
    std::function<void(std::string_view)> output;  // of a daemon that has joined
    std::function<void(const SessionEnd&)> ended;  // once; the agent is gone
  };
  struct Settings {
    // Until the greeting, and again until it has joined; the second is the other side's to keep,
    // which says why, and somewhat longer here.
    std::uint32_t timeout_ms = 30'000;
    bool attached = false;        // it stays when the daemon has joined
    ChildWatch watch_child = {};  // none: we reap it ourselves
  };
  SshSession(asio::io_context& io, Settings settings, Callbacks callbacks);
  SshSession(const SshSession&) = delete;
  SshSession& operator=(const SshSession&) = delete;
  ~SshSession();

  // Once. After an error nothing was started and no callback comes.
  Status start(exec::ProcessSpawner& spawner, std::span<const std::string> argv, exec::Secret blob);
  // Cuts the life line, which ends what was started there and then the agent; if that takes too
  // long, or nobody is there, the agent alone. `ended` follows.
  void end();
  [[nodiscard]] bool joined() const { return joined_; }
  [[nodiscard]] const std::string& their_version() const { return their_version_; }

 private:
  void heard(std::string_view text);
  void greeted(const Greeting& greeting);
  void complained(std::string_view text);
  void arm(std::uint32_t after_ms);
  [[nodiscard]] std::uint32_t whole_seconds_since_start() const;
  void overdue();
  void terminate_agent();
  void agent_ended(int wait_status);

  asio::io_context& io_;
  Settings settings_;
  Callbacks callbacks_;
  std::shared_ptr<AgentProcess> agent_;
  asio::steady_timer timer_;
  SessionReader reader_;
  exec::Secret blob_;
  SessionEnd end_;
  std::string their_version_;
  std::chrono::steady_clock::time_point started_at_;
  std::uint32_t limit_ms_ = 0;  // of the wait that is under way
  bool joined_ = false;
  bool ending_ = false;
  bool terminated_ = false;  // the agent was asked to end
};

}  // namespace tide::launch
