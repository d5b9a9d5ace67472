// Daemons of this machine by the local launcher, those of others through an agent.
#pragma once

#include <asio/io_context.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/local_launcher.hpp"
#include "launch/ssh_launcher.hpp"

namespace tide::launch {

class MixedLauncher : public Launcher {
 public:
  // Without a configuration for ssh there are no other machines.
  MixedLauncher(asio::io_context& io, LocalLauncherConfig local,
                std::optional<SshLauncherConfig> ssh, LaunchHandler& handler);

  Status start() override;
  // An item with a host is for another machine.
  void launch(std::vector<LaunchItem> items) override;
  void end(Rank rank) override;
  // The other machines first: what the local launcher ends last is all that we have.
  void shutdown() override;

 private:
  // What is heard of the other machines, but for the end.
  class Outpost : public LaunchHandler {
   public:
    Outpost(LaunchHandler& handler, Launcher& local) : handler_(handler), local_(local) {}
    void on_daemon_started(Rank rank, pid_t pid) override { handler_.on_daemon_started(rank, pid); }
    void on_daemon_greeted(Rank rank, const std::string& version) override {
      handler_.on_daemon_greeted(rank, version);
    }
    void on_daemon_launch_failed(Rank rank, std::string text) override {
      handler_.on_daemon_launch_failed(rank, std::move(text));
    }
    void on_daemon_exited(Rank rank, std::string text) override {
      handler_.on_daemon_exited(rank, std::move(text));
    }
    void on_daemon_output(Rank rank, std::string_view text) override {
      handler_.on_daemon_output(rank, text);
    }
    void on_warden_lost(std::string /*text*/) override {}
    void on_shutdown_done() override { local_.shutdown(); }

   private:
    LaunchHandler& handler_;
    Launcher& local_;
  };

  LocalLauncher local_;
  Outpost outpost_;
  std::optional<SshLauncher> ssh_;
  std::set<Rank> remote_;
};

}  // namespace tide::launch
