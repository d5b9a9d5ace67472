// What starts daemons, and what is heard of them.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tide::launch {

// What a launcher reports, always from the io_context and never from inside one of its calls.
// For each item of launch(): on_daemon_launch_failed, or on_daemon_started and later
// on_daemon_exited, unless the warden is lost or the daemon goes on without its launcher.
class LaunchHandler {
 public:
  virtual ~LaunchHandler() = default;
  virtual void on_daemon_started(Rank rank, pid_t pid) = 0;
  // Of another machine: prted was found there and is of this version. The rest follows.
  virtual void on_daemon_greeted(Rank /*rank*/, const std::string& /*version*/) {}
  // Of a scheduler's step: the scheduler wants it to end. It goes on for a time, in which we may
  // take leave of it.
  virtual void on_daemon_leaves(Rank rank) = 0;
  // … and the command has ended by itself, and took along all that it had started.
  virtual void on_step_lost(const std::string& text) = 0;
  virtual void on_daemon_launch_failed(Rank rank, std::string text) = 0;
  // How it ended and, if it left any, its last words; several lines.
  virtual void on_daemon_exited(Rank rank, std::string text) = 0;
  // Of a session that stays: what the daemon wrote, as it came.
  virtual void on_daemon_output(Rank rank, std::string_view text) = 0;
  // The warden of local daemons ended unasked. They got SIGTERM and are ours now; nothing is heard
  // of them any more.
  virtual void on_warden_lost(std::string text) = 0;
  // After shutdown(): nothing is left of what the launcher looks after.
  virtual void on_shutdown_done() {}
};

struct LaunchItem {
  Rank rank;
  std::string node;
  std::string blob;       // a serialized DaemonBlob, for the daemon's standard input; wiped
  std::string host = {};  // empty: this machine
  std::string user = {};  // there; empty: as the agent chooses
  bool in_step = false;   // started by a scheduler's command, with all others of the same job
  std::string job = {};   // the scheduler's, of a step; empty where it has no numbers
};

class Launcher {
 public:
  virtual ~Launcher() = default;

  // Once, before anything else.
  virtual Status start() = 0;
  virtual void launch(std::vector<LaunchItem> items) = 0;
  // on_daemon_exited follows, if it has not come yet, and also for one that was not launched; it
  // never will be.
  virtual void end(Rank rank) = 0;
  // The same for a member where nobody answers any more. A launcher whose order could harm others
  // when it does not arrive sends none.
  virtual void give_up(Rank rank) { end(rank); }
  // on_shutdown_done follows, after a bounded time. No other report comes after this.
  virtual void shutdown() = 0;
};

}  // namespace tide::launch
