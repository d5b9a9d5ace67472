// What a core wants done. Plain values; the Effects behind the Driver carry them out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/events.hpp"

namespace tide::core {

enum class MessageClass : std::uint8_t { kControl, kBulk };

// ---- links ----

struct Connect {  // answered by LinkUp or ConnectFailed
  Rank peer;
  std::vector<wire::Endpoint> endpoints;
};
struct Send {
  LinkId link;
  MessageClass message_class = MessageClass::kControl;
  wire::LinkMessage message;
  Bytes payload;
};
struct CloseLink {  // after what was sent before; no LinkDown follows
  LinkId link;
  wire::GoodbyeReason reason = wire::GOODBYE_NORMAL;
  std::string text;
};

// ---- time ----

// Replaces a running timer of the same number. A firing of an older generation is ignored in core.
struct StartTimer {
  std::uint64_t timer = 0;
  std::uint64_t generation = 0;
  std::uint32_t after_ms = 0;
};

// ---- local processes, at a daemon ----

// What the processes of an app context have in common. Shared, because it can be large and they can
// be many.
struct Program {
  std::vector<std::string> argv;
  std::vector<wire::EnvDirective> environment;  // applied in order to the daemon's own environment
  std::string working_directory;                // empty: the daemon's
};
struct SpawnProc {  // answered by ProcSpawned or ProcSpawnFailed
  ProcKey proc;
  std::shared_ptr<const Program> program;
  std::vector<wire::EnvDirective> environment;  // of this process alone, after the program's
  std::uint32_t output_window_bytes = 0;        // may be read from each of stdout and stderr
  bool wants_input = false;                     // else standard input is /dev/null
  bool merge_output = false;  // standard error is the same pipe as standard output
  bool again = false;         // in place of one that failed
  bool stop_on_exec = false;  // has to wait, before its first instruction, for SIGCONT
};
// To the process group. SIGKILL to one whose leader has ended also gives up its output: what is in
// the pipes is the last, whoever holds them open.
struct SignalProc {
  ProcKey proc;
  int signal = 0;
};
struct GrantOutput {  // this much more may be read from the stream
  ProcKey proc;
  wire::Stream stream = wire::STDOUT;
  std::uint32_t bytes = 0;
};
struct WriteInput {
  ProcKey proc;
  Bytes data;
};
struct CloseInput {
  ProcKey proc;
};
struct ForgetProc {  // ended and reported: free what is kept for it, end what it left in its group
  ProcKey proc;
};
// The job is over here: end what its processes started and let go, wherever it hid. Answered by
// JobSwept.
struct SweepJob {
  JobId job;
};

// Look at the stacks of these processes; each is answered by ProcTraced, within a bound.
struct TraceProcs {
  JobId job;
  std::vector<ProcRank> ranks;
};
struct StopTraces {  // nobody wants them any more; what has not been answered is not
  JobId job;
};

// ---- files of jobs, at a daemon ----

struct StageFile {  // answered by FileStaged, in order
  JobId job;
  wire::FileChunk chunk;
  Bytes data;
};
struct StopStaging {  // what takes long is given up; its answer comes all the same
  JobId job;
};
struct RemoveJobFiles {  // with their directory; answered by FilesRemoved
  JobId job;
};

// ---- services for processes and tools, at a daemon; those for tools at the head, too ----

struct RegisterJob {  // answered by JobRegistered
  JobId job;
  std::shared_ptr<const wire::LaunchCommon> launch;
};
struct DeregisterJob {
  JobId job;
};
struct RegisterGuest {  // a job without a process here; answered by GuestRegistered
  std::shared_ptr<const wire::LaunchCommon> launch;
};
struct DeregisterGuest {
  std::string nspace;
};
struct AnswerCollective {
  std::uint64_t ticket = 0;
  Status status = ok_status();
  Bytes data;  // of all participants
  std::uint64_t context = 0;
};
struct AnswerModex {
  std::uint64_t ticket = 0;
  Status status = ok_status();
  Bytes data;
};
struct FetchModex {  // of a process here; answered by ModexFetched
  std::uint64_t fetch = 0;
  wire::ProcName whose;
  bool for_strangers = false;  // who asks is on a node that has no process of this job
};

struct AnswerService {
  std::uint64_t ticket = 0;
  wire::ServiceAnswer answer;
};
struct AnswerTool {
  std::uint64_t ticket = 0;
  Status status = ok_status();
  wire::ProcName name;
};
struct DeliverEvent {  // to whom it concerns here
  wire::EventNotice notice;
};
struct DeliverOutput {  // to the tools here that want it; answered by OutputDelivered
  std::uint64_t delivery = 0;
  wire::ProcName source;
  wire::Stream stream = wire::STDOUT;
  Bytes data;
};

// ---- head ----

struct LaunchTarget {
  Rank rank;
  std::string node;
  Incarnation incarnation;
  std::uint32_t campaign = 0;
  std::vector<LaunchTarget> below{};  // to be started by this one
};
struct LaunchDaemons {  // each answered by DaemonStarted or DaemonLaunchFailed; by daemons, too
  std::vector<LaunchTarget> targets;
};
// So many nodes, or these. Answered by NodesGranted or NodesRefused, unless CancelAsk comes first;
// where a scheduler lets it wait by NodesQueued before.
struct AskForNodes {
  std::uint32_t ask = 0;
  std::uint32_t count = 0;
  std::vector<wire::HostRequest> hosts;
  std::vector<wire::HostRequest> listed{};  // hosts that a resource manager has to know already
  bool all = false;                         // that are free, if there are any
  Lease wish = {};                          // what is granted is for the resource managers to say
};
// More time for nodes of these resource managers; answered by TimeGranted or NodesRefused.
struct AskForTime {
  std::uint32_t ask = 0;
  std::vector<std::string> managers;
  std::uint32_t time_ms = 0;
  std::vector<std::string> nodes{};  // that are to stay longer
};
// Nobody waits for the answer to AskForNodes or AskForTime any more. Nodes that were granted
// meanwhile go back at once.
struct CancelAsk {
  std::uint32_t ask = 0;
};
// No daemon is there any more: this resource manager may take back what it granted, which can be
// nothing. Answered by ReturnAnswered. 0: of no change, and the answer means nothing.
struct ReturnNodes {
  std::uint32_t number = 0;
  std::string manager;
  std::vector<std::string> nodes;
  bool never_joined = false;  // of a grow that failed, or that nobody waited for any more
};
struct EndDaemon {  // the launcher makes sure that this daemon's process is gone
  Rank rank;
  bool answers = true;  // as far as is known; if not, an order may not arrive
};
struct Probe {  // can the daemon still be reached? answered by ProbeAnswered, or never
  Rank rank;
  std::vector<wire::Endpoint> endpoints;
};
struct Reply {
  ClientId client;
  wire::ClientReply reply;
  Bytes payload;
};
// The rim owns these answers: parameters, flight recorder and failpoints are not core state.
struct ReplyFromRim {
  ClientId client;
  wire::ClientRequest request;
};
struct ReplyStatus {  // the rim adds counters, pid and URI and sends it
  ClientId client;
  wire::ClientReply reply;
};
struct AnnounceReady {
  std::uint32_t nodes = 0;
  std::uint32_t slots = 0;
};
struct NodesChanged {  // some were lost; what is left
  std::uint32_t nodes = 0;
  std::uint32_t slots = 0;
};
struct Progress {  // of the start, for people
  std::string text;
  bool failure = false;  // the start has come to nothing
};

// ---- both ----

enum class Subsystem : std::uint8_t {
  kState,
  kPlm,
  kRmaps,
  kRas,
  kErrmgr,
  kRouted,
  kOdls,
  kIof,
  kNet
};
inline constexpr std::size_t kSubsystems = 9;

// A line for the log. Verbosity 0 is always shown.
struct Note {
  Subsystem subsystem = Subsystem::kState;
  std::uint8_t verbosity = 0;
  std::string text;
};
// Lets go what is held at a failpoint of this program.
struct ReleaseFailpoint {
  std::string name;
};
struct Exit {  // the program ends; everything it started is gone or is ended by its warden
  int status = 0;
  std::string reason;
};

// One variant for both programs: the shared overlay emits into the same list as the cores.
using AnyAction =
    std::variant<Connect, Send, CloseLink, StartTimer, SpawnProc, SignalProc, GrantOutput,
                 WriteInput, CloseInput, ForgetProc, SweepJob, TraceProcs, StopTraces, StageFile,
                 StopStaging, RemoveJobFiles, RegisterJob, DeregisterJob, RegisterGuest,
                 DeregisterGuest, AnswerCollective, AnswerModex, FetchModex, AnswerService,
                 AnswerTool, DeliverEvent, DeliverOutput, LaunchDaemons, AskForNodes, AskForTime,
                 CancelAsk, ReturnNodes, EndDaemon, Probe, Reply, ReplyFromRim, ReplyStatus,
                 AnnounceReady, NodesChanged, Progress, Note, ReleaseFailpoint, Exit>;

// A class of its own, with its copies and its end in one place: as a bare variant each file that
// has to do with actions would compile them for all kinds again.
struct Action : AnyAction {
  using AnyAction::AnyAction;
  Action(const Action&);
  Action(Action&&) noexcept;
  Action& operator=(const Action&);
  Action& operator=(Action&&) noexcept;
  ~Action();
};
using Actions = std::vector<Action>;

}  // namespace tide::core
