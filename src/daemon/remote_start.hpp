// `prted --remote`: the foreground of a session that starts a daemon on this machine for a head on
// another one.
#pragma once

#include <string>

namespace tide::daemon {

// Greets, takes the daemon's blob from standard input and starts a warden with the daemon below it,
// in a session and a run directory of their own. Returns 0 when the daemon has joined: from then on
// warden and daemon go on alone. Until then, and in a session that stays for good, the end of
// standard input ends everything. The daemon is this very program.
int run_remote(const std::string& version);

}  // namespace tide::daemon
