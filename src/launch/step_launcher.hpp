// Starts daemons by a scheduler's own command, all of one job at once.
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
#include "exec/environment.hpp"
#include "exec/process_spawner.hpp"
#include "launch/launcher.hpp"
#include "launch/launcher_choice.hpp"
#include "launch/step_command.hpp"
#include "launch/step_session.hpp"

namespace tide::launch {

struct StepLauncherConfig {
  StepCommandSettings command = {};
  bool names_its_job = false;  // so the Slurm job that we run in ourselves is not to steer it
  // Calls under way at the same time, until their daemons have joined.
  std::size_t concurrent = 128;
  bool may_lack_command = false;       // no machine needs it yet; a start without it fails then
  std::uint32_t timeout_ms = 30'000;   // to be heard of, and again to find the head
  std::uint32_t orderly_end_ms = 500;  // for one that is up to end as its links tell it
  std::string version = {};            // ours, for messages
  std::optional<rlim_t> descriptor_limit = std::nullopt;
  ChildWatch watch_child = {};
};

// From the plm_* parameters; `prted` is the program there. What the user adds to Slurm's command
// (plm_slurm_args) is for that alone.
StepLauncherConfig step_launcher_config(const Params& params, const LauncherChoice& choice,
                                        const std::string& prted);

// The items of one call that are of one job are started by one command, or each by its own where
// the template says so. A command stays as long as one of its daemons lives, and is their life
// line: the end of the launcher, however it comes, ends them all. on_daemon_exited comes when a
// daemon says that it ends, and with the end of the command. To be used from the main thread.
class StepLauncher : public Launcher {
 public:
  StepLauncher(asio::io_context& io, StepLauncherConfig config, LaunchHandler& handler);
  ~StepLauncher() override;
  StepLauncher(const StepLauncher&) = delete;
  StepLauncher& operator=(const StepLauncher&) = delete;

  // Finds the command.
  Status start() override;
  // Host and job of an item are what the scheduler calls them. None has daemons below it.
  void launch(std::vector<LaunchItem> items) override;
  // The others go on. One that has joined is given time to end by itself; of one whose machine is
  // lost on_daemon_exited comes with the end of the command.
  void end(Rank rank) override;
  void give_up(Rank rank) override;
  void shutdown() override;

 private:
  struct Step {
    std::shared_ptr<StepSession> session;
    std::string job;
    std::map<Rank, std::string> hosts;
    std::set<Rank> starting;  // while there are some it is under way
    bool is_lost = false;     // its command has ended by itself
  };
  using Group = std::vector<LaunchItem>;  // for one command

  void start_some();
  void end_unstarted(Rank rank);
  void start_step(Group items);
  void not_starting(Step& step, Rank rank);
  void leave_queue(Rank rank);
  void wipe_queue();
  StepSession::Callbacks callbacks_of(const std::shared_ptr<Step>& step);
  void ended(Step& step, Rank rank, const StepEnd& end);
  void over(const std::shared_ptr<Step>& step);
  void reap_helpers();
  [[nodiscard]] std::string describe(const Step& step, Rank rank, const StepEnd& end) const;
  void fail_later(Rank rank, std::string text);
  void exited_later(Rank rank, std::string text);
  void finish_shutdown();

  asio::io_context& io_;
  StepLauncherConfig config_;
  LaunchHandler& handler_;
  std::optional<StepCommand> command_;
  std::string no_command_;  // why there is none
  exec::Environment environment_;
  exec::ProcessSpawner spawner_;
  std::deque<Group> queue_;
  std::set<std::shared_ptr<Step>> steps_;
  std::set<pid_t> left_groups_;  // of commands that have ended, and may have left us a helper
  std::map<Rank, std::shared_ptr<Step>> running_;
  std::set<Rank> ended_by_us_;
  std::set<Rank> over_;  // ended, or not started, or given up: never to be launched again
  std::size_t under_way_ = 0;
  bool shutting_down_ = false;
  bool down_ = false;
  asio::steady_timer shutdown_timer_;
  // Handlers that outlive the launcher see that this is gone.
  std::shared_ptr<const bool> lifetime_ = std::make_shared<const bool>(true);
};

}  // namespace tide::launch
