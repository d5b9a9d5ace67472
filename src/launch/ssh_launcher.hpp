// Starts daemons on other machines, each through an agent such as ssh.
#pragma once

#include <sys/resource.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/params.hpp"
#include "exec/process_spawner.hpp"
#include "launch/launcher.hpp"
#include "launch/ssh_agent.hpp"
#include "launch/ssh_session.hpp"

namespace tide::launch {

struct SshLauncherConfig {
  SshAgentSettings agent = {};
  std::string command = {};      // what the shell there is to run, see remote_command()
  bool may_lack_agent = false;   // no machine needs it yet; a start without it fails then
  std::size_t concurrent = 128;  // sessions that are under way at the same time
  bool attached = false;         // sessions stay, and have the daemons' output
  std::string node = {};         // the one we are on, for messages; empty: the head's machine
  std::string version = {};      // ours, for messages
  std::optional<rlim_t> descriptor_limit = std::nullopt;
  ChildWatch watch_child = {};
};

// From the plm_ssh_* parameters; the rest is for the caller.
SshLauncherConfig ssh_launcher_config(const Params& params);

// A daemon that has joined goes on alone: its session ends, and nothing more is heard of it here.
// Where sessions stay, on_daemon_exited comes with the end of the session. The end of the launcher,
// however it comes, ends daemons that have not joined. To be used from the main thread.
class SshLauncher : public Launcher {
 public:
  SshLauncher(asio::io_context& io, SshLauncherConfig config, LaunchHandler& handler);
  ~SshLauncher() override;
  SshLauncher(const SshLauncher&) = delete;
  SshLauncher& operator=(const SshLauncher&) = delete;

  // Finds the agent.
  Status start() override;
  void launch(std::vector<LaunchItem> items) override;
  // For one that has gone on alone there is nothing to do, and on_daemon_exited follows at once.
  void end(Rank rank) override;
  void shutdown() override;

 private:
  struct Running {
    std::shared_ptr<SshSession> session;
    std::string host;       // for people
    bool under_way = true;  // counts as one of those at the same time
    bool ended_by_us = false;
  };

  void start_some();
  void start_one(LaunchItem item);
  void joined(Rank rank, pid_t pid);
  void ended(Rank rank, const SessionEnd& end);
  void not_under_way(Running& running);
  void report(Rank rank, const Running& running, const SessionEnd& end);
  [[nodiscard]] std::string describe(const Running& running, const SessionEnd& end) const;
  void fail_later(Rank rank, std::string text);
  void exited_later(Rank rank, std::string text);
  void finish_shutdown();

  asio::io_context& io_;
  SshLauncherConfig config_;
  LaunchHandler& handler_;
  std::optional<SshAgent> agent_;
  std::string no_agent_;  // why there is none
  exec::ProcessSpawner spawner_;
  std::deque<LaunchItem> queue_;
  std::map<Rank, Running> running_;
  std::set<Rank> over_;  // ended, or not started, or given up: never to be launched again
  std::size_t under_way_ = 0;
  bool shutting_down_ = false;
  bool down_ = false;
  asio::steady_timer shutdown_timer_;
  // Handlers that outlive the launcher see that this is gone.
  std::shared_ptr<const bool> lifetime_ = std::make_shared<const bool>(true);
};

}  // namespace tide::launch
