// The foreground of a session in which a head elsewhere starts the daemon of this machine.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "wire/link.pb.h"

namespace tide::daemon {

// How the foreground speaks to whoever started it.
class NodeVoice {
 public:
  virtual ~NodeVoice() = default;
  // Why nothing came of it. Returns the exit status for that.
  virtual int fail(const std::string& text) = 0;
  // A line from the log of a daemon that has ended; fail() follows.
  virtual void last_words(const std::string& line) = 0;
  virtual void joined(pid_t pid) = 0;
  // Whoever started the session wants its end; there is a time until then.
  virtual void leaves() {}
};

struct NodeOutcome {
  int status = 0;                                   // for main()
  std::optional<int> daemon_status = std::nullopt;  // as waitpid() gave it, where it is known
};

// Starts a warden with the daemon below it, in a session and a run directory of their own. Returns
// when the daemon has joined: from then on warden and daemon go on alone. In a session that stays
// (DaemonBlob: attached, in_step) it returns when both have ended. The end of standard input, or
// an order there, ends them for as long as it has not returned. The daemon is this very program.
NodeOutcome start_node(wire::DaemonBlob blob, NodeVoice& voice);

}  // namespace tide::daemon
