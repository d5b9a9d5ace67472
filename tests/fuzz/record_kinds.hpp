// What can happen to the head in the fuzzer, and to a daemon in its own; shared with the seeds.
#pragma once

#include <cstdint>

namespace tide::fuzz {

inline constexpr std::uint32_t kHeadNodes = 3;
inline constexpr std::uint32_t kHeadClients = 4;

// The body's meaning is in brackets. Bodies that are one byte hold a choice.
enum class HeadRecord : std::uint8_t {
  kMessage,     // any message on some link [LinkMessage]
  kUp,          // the next message of a daemon's channel [UpBody]
  kReduction,   // a daemon's report about a job [LocalReport]
  kRequest,     // of a client [ClientRequest]
  kClientGone,  //
  kLinkDown,    // [how it ended, then words]
  kLinkUp,      // [which ticket]
  kTimer,       // one that runs [how much later]
  kLauncher,    // started, failed, ended, probed [which]
  kEnd,         // the head gets SIGTERM
};
inline constexpr std::uint32_t kHeadRecords = 10;

// A daemon of rank 2 in a tree of radix 2 with ranks 0 to 6: its parent is the head, its children
// are 5 and 6.
inline constexpr std::uint32_t kDaemonRank = 2;
inline constexpr std::uint32_t kDaemonRanks = 7;

enum class DaemonRecord : std::uint8_t {
  kMessage,    // any message on some link [LinkMessage]
  kDown,       // for this daemon, in order [DownScatter]
  kOperation,  // the next one [Operation]
  kConnected,  // what it connects to answers [or does not]
  kLinkDown,   // [how it ended, then words]
  kLinkUp,     // another daemon connects [as who it should be, or not]
  kProcess,    // something happens to a process [what, and a value]
  kTimer,      // one that runs
  kEnd,        // the daemon gets SIGTERM
  kSwept,      // what a job left behind is gone [or so many are left]
};
inline constexpr std::uint32_t kDaemonRecords = 10;

}  // namespace tide::fuzz
