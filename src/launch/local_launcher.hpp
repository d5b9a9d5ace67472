// Starts the daemons of virtual nodes on this machine, as children of a warden.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "exec/orphans.hpp"
#include "exec/process_spawner.hpp"
#include "exec/secret.hpp"
#include "exec/warden_protocol.hpp"
#include "launch/launcher.hpp"

namespace tide::launch {

struct LocalLauncherConfig {
  std::string prted_path;
  std::string log_directory = {};                         // gets <node>.log, and warden.log
  std::string run_directory = {};                         // for the warden to remove in the end
  std::vector<std::string> extra_args = {};               // for daemons, after `prted --node NAME`
  std::optional<rlim_t> descriptor_limit = std::nullopt;  // from raise_descriptor_limit()
  std::uint32_t end_grace_ms = 2000;                      // between SIGTERM and SIGKILL
  bool attached = false;  // daemons write to our standard error, and not to logs
  // Of our other children, those that end by themselves and are not to be hurried. None: all are
  // ended at the end.
  std::function<bool(pid_t)> spared = {};
};

// Runs `prted --warden FD DIRECTORY` with its end of a socket, and through it `prted --node NAME`
// for each node. To be used from the thread that runs the io_context, the main thread. It makes the
// program a subreaper: what a lost warden leaves comes to us and is ended, daemons after a grace
// period. Its destructor leaves it to the warden to end all daemons.
class LocalLauncher : public Launcher {
 public:
  LocalLauncher(asio::io_context& io, LocalLauncherConfig config, LaunchHandler& handler);
  ~LocalLauncher() override;
  LocalLauncher(const LocalLauncher&) = delete;
  LocalLauncher& operator=(const LocalLauncher&) = delete;

  // Starts the warden; once.
  Status start() override;

  void launch(std::vector<LaunchItem> items) override;

  // SIGTERM, after the grace period SIGKILL. on_daemon_exited follows, if it has not come yet, and
  // also for one that was not launched; it never will be.
  void end(Rank rank) override;

  // Ends all daemons and the warden; on_shutdown_done follows, after a bounded time. No other
  // report comes after this.
  void shutdown() override;

 private:
  struct Daemon {
    std::string log_path;
    std::uint64_t log_begin = 0;
    pid_t pid = 0;  // once it is started
  };
  using Clock = exec::SweepPace::Clock;

  void launch_one(LaunchItem item);
  void fail_later(Rank rank, std::string text);
  void send(const exec::WardenCommand& command);
  void write_next();
  void read_next();
  void handle(const exec::Started& started);
  void handle(const exec::StartFailed& failed);
  void handle(const exec::DaemonEnded& ended);
  void wait_for_warden();
  void warden_ended();
  void begin_clearing();
  void clear();
  void cleared();
  void close_control();

  asio::io_context& io_;
  LocalLauncherConfig config_;
  LaunchHandler& handler_;
  asio::local::stream_protocol::socket control_;
  asio::posix::stream_descriptor warden_pidfd_;
  pid_t warden_pid_ = 0;
  exec::WardenFrameReader reader_;
  std::deque<exec::Secret> unsent_;  // the first is being written
  std::map<Rank, Daemon> daemons_;
  std::uint64_t warden_log_begin_ = 0;
  std::set<Rank> over_;  // reported as ended or not started, and never to be launched again
  bool shutting_down_ = false;
  bool clearing_ = false;  // ends what a warden left to us
  exec::SweepPace pace_;
  Clock::time_point kill_daemons_at_;
  asio::steady_timer clear_timer_;
  // Handlers that outlive the launcher see that this is gone.
  std::shared_ptr<const bool> lifetime_ = std::make_shared<const bool>(true);
};

}  // namespace tide::launch
