// What a command that ran a job exits with: the one table, described in docs/exit-codes.md.
// The head decides and the client repeats it, so the numbers are part of the protocol.
#pragma once

namespace tide {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitFailure = 1;  // the command could not do what it was asked
inline constexpr int kExitUsage = 2;    // the command line makes no sense; nothing was done
// Of a change of the DVM's size:
inline constexpr int kExitRefused = 3;        // nothing has changed
inline constexpr int kExitUndone = 4;         // it failed, and the DVM is as it was before
inline constexpr int kExitUnknown = 5;        // the connection was lost before its end was told
inline constexpr int kExitNodeLost = 120;     // a node, or the daemon on it, was lost under the job
inline constexpr int kExitNoDvm = 121;        // no DVM to talk to, or the connection to it was lost
inline constexpr int kExitJobFailed = 122;    // the job failed and no process gave a status
inline constexpr int kExitFilesFailed = 123;  // the job's files could not be brought to its nodes
inline constexpr int kExitTimedOut = 124;     // the job ran longer than --timeout allows
inline constexpr int kExitMapFailed = 125;    // no place for the job: too few slots, no such node
inline constexpr int kExitCannotExecute = 126;  // the program was found and cannot be executed
inline constexpr int kExitNotFound = 127;       // the program was not found
inline constexpr int kExitSignalBase = 128;     // plus the number of the signal that ended it

// The status of a process that was ended by `signal`.
constexpr int exit_status_of_signal(int signal) {
  return kExitSignalBase + signal;
}

}  // namespace tide
