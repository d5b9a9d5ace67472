// The warden: the process between a launcher and its daemons that leaves no orphans behind.
#pragma once

#include <csignal>
#include <string>

#include "base/dvm_directory.hpp"
#include "exec/unique_fd.hpp"

namespace tide::exec {

// What a daemon gets, and only then, when the launcher is gone or the warden itself was killed.
inline constexpr int kOrphanedSignal = SIGHUP;
// What the daemon of a node with a directory of its own sends its warden when it has nothing left
// to do but to end. The warden ends first: then the end of the daemon is the end of all that was
// here.
inline constexpr int kLastOneSignal = SIGUSR1;

// Runs until the launcher's end of `control_fd` closes (or SIGTERM, SIGINT or SIGHUP comes) and all
// daemons and all they started are gone. Starts and stops daemons as told over the socket (see
// warden_protocol.hpp). When a daemon ends, whatever it leaves behind is killed, also what changed
// session or process group: it all comes to the warden, a subreaper. Daemons that are stopped on
// order get SIGTERM. Last of all, when the head that held it is gone, the DVM's run
// directory (empty: there is none) is removed.
// Needs a program with a single thread. Returns the exit status for main().
int run_warden(int control_fd, const std::string& run_directory);

// The same for a node with a directory of its own, which is held here.
struct WardenOfNode {
  int control_fd = -1;
  DvmDirectory directory;
  UniqueFd daemon_fd;         // the first daemon inherits it, under its number
  bool hears_sigterm = true;  // else that is for its parent to hear, who decides
};
int run_warden_of_node(WardenOfNode node);

}  // namespace tide::exec
