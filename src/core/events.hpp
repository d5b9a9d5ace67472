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

struct ProcTraced {  // answers TraceProcs
  ProcKey proc;
  std::uint32_t pid = 0;  // 0: it had ended, and there is nothing to see
  Status status = ok_status();
  std::string text = {};  // the stacks of its threads
  bool cut = false;       // not all of them
};

// ---- files of jobs, at a daemon ----

struct FileStaged {  // answers StageFile
  JobId job;
  std::uint32_t number = 0;
  Status status = ok_status();
  std::string file;  // of an error
};
struct FilesRemoved {  // answers RemoveJobFiles
  JobId job;
};

// ---- services for processes and tools (pmix), at a daemon; those for tools at the head, too ----

// The job's processes can be started: the local server knows them.
struct JobRegistered {
  JobId job;
  std::uint32_t attempt = 0;
  Status status = ok_status();
};
// A process has said hello to the server.
struct ProcRegistered {
  ProcKey proc;
};
struct ProcAborted {
  ProcKey proc;
  int status = 0;
  std::string message;
  wire::ProcNames whom;  // empty: its whole job
};
// All participants on this node have come to a fence or the like.
struct CollectiveEntered {
  std::uint64_t ticket = 0;
  wire::CollectiveId::Kind kind = wire::CollectiveId::FENCE;
  std::string name;  // of a group
  wire::ProcNames participants;
  Bytes data;
  std::uint32_t timeout_ms = 0;  // 0: none
  bool broken = false;           // one of them was lost before it came: it can't be complete
};
// A process here wants what another one, elsewhere, has put.
struct ModexAsked {
  std::uint64_t ticket = 0;
  wire::ProcName whose;
  std::uint32_t timeout_ms = 0;  // 0: none
};
struct ModexFetched {  // answers FetchModex
  std::uint64_t fetch = 0;
  Status status = ok_status();
  Bytes data;
};

// A process or tool wants something of the DVM.
struct ServiceAsked {
  std::uint64_t ticket = 0;
  wire::ServiceRequest request;
  Bytes data;
};
struct GuestRegistered {  // answers RegisterGuest
  std::string nspace;
  Status status = ok_status();
};
struct EventRaised {
  wire::EventNotice notice;
};
struct ToolArrived {
  std::uint64_t ticket = 0;
  wire::ProcName wish;  // empty: it has none
};
struct ToolGone {
  wire::ProcName tool;
};
struct OutputDelivered {  // answers DeliverOutput
  std::uint64_t delivery = 0;
};

// ---- start-up, launcher and clients, at the head ----

struct ServicesStarted {  // tools find the head there
  std::string uri;
};

struct NodeRequest {
  std::string name;
  std::uint32_t slots = 0;      // 0: from the topology that the daemon reports
  Incarnation incarnation;      // drawn at the rim: the core has no randomness
  std::uint32_t max_slots = 0;  // processes it takes at most; 0: no limit
  bool watched = true;  // the launcher hears when its daemon ends, also once that is a member
  std::vector<std::string> aliases = {};  // other names and addresses of the same machine
  std::string allocation = {};            // that it comes with; empty: the first start
  std::string session = {};               // the reservation it is for; empty: the default session
  std::string manager = {};               // the resource manager that granted it
};
// The first start of the DVM: these nodes, and ready when all are wired.
struct StartDvm {
  std::vector<NodeRequest> nodes;
};
// ---- resource managers, at the head ----

// How long nodes may stay, and how long before the end that is told; 0: no limit, no warning.
struct Lease {
  std::uint32_t time_ms = 0;
  std::uint32_t warn_ms = 0;
  bool operator==(const Lease&) const = default;
};
struct NodesGranted {  // answers AskForNodes
  std::uint32_t ask = 0;
  std::vector<NodeRequest> nodes;
  Lease lease = {};
  std::string cut_by = {};  // the manager that granted less time than was asked for
};
struct TimeGranted {  // answers AskForTime: so much longer
  std::uint32_t ask = 0;
  std::uint32_t time_ms = 0;
  std::string cut_by = {};  // as above
};
struct NodesRefused {  // answers AskForNodes and AskForTime
  std::uint32_t ask = 0;
  Error error;
};
// Not granted yet: a scheduler has the request, and may take as long as it likes. Each further one
// says anew what it waits for there.
struct NodesQueued {
  std::uint32_t ask = 0;
  std::string text;  // for people: "job 17 is pending (Resources)"
};
struct NodesPushed {  // given by a resource manager without having been asked
  std::vector<NodeRequest> nodes;
  Lease lease = {};
};
struct NodesReclaimed {  // a resource manager wants them back
  std::vector<std::string> nodes;
  std::string reason;
};
// A resource manager says anew how long these may stay, from now on; 0: no limit any more.
struct LeaseMoved {
  std::vector<std::string> nodes;
  std::uint32_t time_ms = 0;
  std::uint32_t warn_ms = 0;  // before the end, where there was no limit; 0: nobody is warned
};
// How long all nodes may stay at most, from now on, because whoever granted those of the start says
// so; 0: no limit, or none that is known.
struct SourceLimit {
  std::uint64_t left_ms = 0;
};
// What a resource manager made of nodes that it was offered. Nothing depends on it.
enum class ReturnVerdict : std::uint8_t { kTaken, kDeclined, kDeferred, kFailed };
struct ReturnAnswered {  // answers ReturnNodes
  std::uint32_t number = 0;
  std::string manager = {};
  ReturnVerdict verdict = ReturnVerdict::kTaken;
  std::string text = {};  // why, where it has not taken them
};

// ---- launcher ----

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
  std::uint32_t grace_ms = 0;  // that processes have to end; 0: as ever
};

// What the services say: those of processes at daemons only.
using ServiceEvent = std::variant<JobRegistered, ProcRegistered, ProcAborted, CollectiveEntered,
                                  ModexAsked, ModexFetched, ServiceAsked, GuestRegistered,
                                  EventRaised, ToolArrived, ToolGone, OutputDelivered>;

// Classes of their own for the same reason as Action (actions.hpp).
using AnyDaemonEvent =
    std::variant<LinkUp, LinkDown, ConnectFailed, MessageIn, TimerFired, ProcSpawned,
                 ProcSpawnFailed, ProcExited, ProcOutput, ProcOutputClosed, ProcInputTaken,
                 JobSwept, ProcTraced, FileStaged, FilesRemoved, JobRegistered, ProcRegistered,
                 ProcAborted, CollectiveEntered, ModexAsked, ModexFetched, ServiceAsked,
                 GuestRegistered, EventRaised, ToolArrived, ToolGone, OutputDelivered,
                 DaemonStarted, DaemonLaunchFailed, DaemonExited, EndRequested>;
struct DaemonEvent : AnyDaemonEvent {
  using AnyDaemonEvent::AnyDaemonEvent;
  DaemonEvent(const DaemonEvent&);
  DaemonEvent(DaemonEvent&&) noexcept;
  DaemonEvent& operator=(const DaemonEvent&);
  DaemonEvent& operator=(DaemonEvent&&) noexcept;
  ~DaemonEvent();
};

using AnyHeadEvent =
    std::variant<LinkUp, LinkDown, ConnectFailed, MessageIn, TimerFired, StartDvm, NodesGranted,
                 TimeGranted, NodesRefused, NodesQueued, NodesPushed, NodesReclaimed, LeaseMoved,
                 SourceLimit, ReturnAnswered, DaemonStarted, DaemonLaunchFailed, DaemonExited,
                 ProbeAnswered, ClientMessage, ClientGone, ServicesStarted, ModexAsked,
                 ServiceAsked, GuestRegistered, EventRaised, ToolArrived, ToolGone, OutputDelivered,
                 EndRequested>;
struct HeadEvent : AnyHeadEvent {
  using AnyHeadEvent::AnyHeadEvent;
  HeadEvent(const HeadEvent&);
  HeadEvent(HeadEvent&&) noexcept;
  HeadEvent& operator=(const HeadEvent&);
  HeadEvent& operator=(HeadEvent&&) noexcept;
  ~HeadEvent();
};

}  // namespace tide::core
