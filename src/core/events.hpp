// What the world tells a core. Plain values: they can be queued, recorded, replayed.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "wire/client.pb.h"
#include "wire/link.pb.h"

namespace tide::core {

struct ProcKey {
  JobId job;
  ProcRank rank;
  auto operator<=>(const ProcKey&) const = default;
};

// Why a link ended, as far as a decision hangs on it.
enum class LinkEnd : std::uint8_t {
  kClosed,        // the peer went away or the network did
  kSilent,        // no heartbeat before the deadline
  kRefused,       // the peer said goodbye: we are not welcome
  kDeclaredDead,  // the peer said that this incarnation was given up
  kMoved,         // the peer said that the tree changed
  kProtocol,      // the peer broke the protocol
};

// ---- links (net) ----

// The handshake is complete: key, protocol and DVM are right. Whether the peer is wanted is
// for the core to decide; it closes the link if not.
struct LinkUp {
  LinkId link;
  Rank peer;
  Incarnation incarnation;
  std::uint32_t campaign = 0;
  bool outgoing = false;  // we connected
};
struct LinkDown {
  LinkId link;
  LinkEnd end = LinkEnd::kClosed;
  std::string text;
};
// A Connect that did not become a link. `refused`: nobody listens there, for certain.
struct ConnectFailed {
  Rank peer;
  bool refused = false;
  std::string text;
};
struct MessageIn {
  LinkId link;
  wire::LinkMessage message;
  Bytes payload;
};

struct TimerFired {
  std::uint64_t timer = 0;
  std::uint64_t generation = 0;
};

// ---- local processes (exec), at a daemon ----

struct ProcSpawned {
  ProcKey proc;
  std::uint32_t pid = 0;
};
struct ProcSpawnFailed {
  ProcKey proc;
  Error error;
};
struct ProcExited {
  ProcKey proc;
  int exit_code = 0;
  int signal = 0;  // non-zero: the signal that ended it
};
struct ProcOutput {
  ProcKey proc;
  wire::Stream stream = wire::STDOUT;
  Bytes data;
};
struct ProcOutputClosed {
  ProcKey proc;
  wire::Stream stream = wire::STDOUT;
};
// The process took this much of its standard input (or will never take it: it closed its end).
struct ProcInputTaken {
  ProcKey proc;
  std::uint32_t bytes = 0;
};

// Nothing is left of the job's processes on this node, but for `left_over` that can't be ended.
struct JobSwept {
  JobId job;
  std::uint32_t left_over = 0;
};

// ---- start-up, launcher and clients, at the head ----

struct NodeRequest {
  std::string name;
  std::uint32_t slots = 0;  // 0: from the topology that the daemon reports
  Incarnation incarnation;  // drawn at the rim: the core has no randomness
};
// The first start of the DVM: these nodes, and ready when all are wired.
struct StartDvm {
  std::vector<NodeRequest> nodes;
};
struct DaemonStarted {  // the launcher has a process; it has not connected yet
  Rank rank;
  std::uint32_t pid = 0;
};
struct DaemonLaunchFailed {
  Rank rank;
  std::string text;
};
// The launcher saw the daemon's process end: dead for certain.
struct DaemonExited {
  Rank rank;
  std::string text;
};
struct ProbeAnswered {
  Rank rank;
  bool refused = false;  // nobody listens there: dead for certain
};
struct ClientMessage {
  ClientId client;
  wire::ClientRequest request;
  Bytes payload;
};
struct ClientGone {
  ClientId client;
};
// A signal asked the head to end, or the keepalive pipe closed.
struct EndRequested {
  std::string reason;
};

using DaemonEvent = std::variant<LinkUp, LinkDown, ConnectFailed, MessageIn, TimerFired,
                                 ProcSpawned, ProcSpawnFailed, ProcExited, ProcOutput,
                                 ProcOutputClosed, ProcInputTaken, JobSwept, EndRequested>;

using HeadEvent = std::variant<LinkUp, LinkDown, ConnectFailed, MessageIn, TimerFired, StartDvm,
                               DaemonStarted, DaemonLaunchFailed, DaemonExited, ProbeAnswered,
                               ClientMessage, ClientGone, EndRequested>;

}  // namespace tide::core
