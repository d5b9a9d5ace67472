// Daemons of this machine by the local launcher, those of others through an agent, or by a
// scheduler's command.
#pragma once

#include <asio/io_context.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/local_launcher.hpp"
#include "launch/ssh_launcher.hpp"
#include "launch/step_launcher.hpp"

namespace tide::launch {

class MixedLauncher : public Launcher {
 public:
  // What there is no configuration for is not used by any item.
  MixedLauncher(asio::io_context& io, LocalLauncherConfig local,
                std::optional<SshLauncherConfig> ssh, LaunchHandler& handler,
                std::optional<StepLauncherConfig> step = std::nullopt);

  Status start() override;
  // An item with a host is for another machine; one of a step may be for this one, too.
  void launch(std::vector<LaunchItem> items) override;
  void end(Rank rank) override;
  void give_up(Rank rank) override;
  // The other machines first: what the local launcher ends last is all that we have.
  void shutdown() override;

 private:
  // What is heard of the other machines, but for the end.
  class Outpost : public LaunchHandler {
   public:
    Outpost(LaunchHandler& handler, MixedLauncher& all) : handler_(handler), all_(all) {}
    void on_daemon_started(Rank rank, pid_t pid) override { handler_.on_daemon_started(rank, pid); }
    void on_daemon_greeted(Rank rank, const std::string& version) override {
      handler_.on_daemon_greeted(rank, version);
    }
    void on_daemon_leaves(Rank rank) override { handler_.on_daemon_leaves(rank); }
    void on_step_lost(const std::string& text) override { handler_.on_step_lost(text); }
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
    void on_shutdown_done() override { all_.one_is_down(); }

   private:
    LaunchHandler& handler_;
    MixedLauncher& all_;
  };

  Launcher& launcher_of(const LaunchItem& item);
  void one_is_down();

  LocalLauncher local_;
  Outpost outpost_;
  std::optional<SshLauncher> ssh_;
  std::optional<StepLauncher> step_;
  std::map<Rank, Launcher*> elsewhere_;
  int up_ = 0;  // launchers for other machines that have not been shut down
};

}  // namespace tide::launch
