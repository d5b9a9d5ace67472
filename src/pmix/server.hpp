// The PMIx server of a daemon: applications speak PMIx to it, it speaks values to us. It decides
// nothing; what a fence or a modex comes to is decided elsewhere and told to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "wire/services.pb.h"

namespace asio {
class io_context;
}

namespace tide::pmix {

inline constexpr std::uint32_t kAllRanks = UINT32_MAX;  // every rank of a namespace

struct ProcName {
  std::string nspace;
  std::uint32_t rank = 0;

  auto operator<=>(const ProcName&) const = default;
};

// Where every process of a job is. Each daemon that hosts one registers the same, but for
// `this_node` and the directory.
struct JobDescription {
  struct App {
    std::uint32_t first_rank = 0;
    std::uint32_t size = 0;
    std::vector<std::string> argv;
    std::string working_directory;
  };
  struct Node {
    std::string name;
    std::vector<std::uint32_t> ranks;  // ascending; a node without any does not belong here
    // The CPUs that each of these ranks may use, as hwloc lists them ("0-3,8"). None for a rank, or
    // at all: `all_cpus`.
    std::vector<std::string> cpus = {};
    std::string all_cpus =
        {};  // of the node; empty: on this node those that we may use, else unknown
  };
  std::string nspace;       // never used before on this host: names of shared memory come from it
  std::vector<App> apps;    // in the order of their ranks, without gaps
  std::vector<Node> nodes;  // a node's place here is its PMIx node id
  std::string this_node;
  std::uint32_t universe_size = 0;
  std::string session_directory;   // an existing private directory for the job on this node
  std::optional<ProcName> parent;  // of a spawned job
  wire::StopAt stop_at = wire::STOP_NOWHERE;  // where its processes wait for a debugger
  std::string debug_target = {};              // the job beside whose processes they run
};

struct ServerConfig {
  std::string nspace;  // of the daemons
  std::uint32_t rank = 0;
  std::string node;       // its name in the jobs' maps; two daemons of one host have two
  std::string directory;  // own, existing, mode 0700: rendezvous files go there
  // A loaded hwloc topology (hwloc_topology_t) that outlives the server. Without one libpmix loads
  // its own, which takes 10 ms.
  void* hwloc_topology = nullptr;
  // Tools may attach. They find it by process id or namespace only where `node` is what the host
  // calls itself, without the domain.
  bool for_tools = true;
  bool system_server = false;    // is the one of this host that tools can ask for without a name
  std::string system_directory;  // where that is told; empty: where tools of this user look
  // Other daemons on this host play other nodes: Open MPI must not take their processes for local.
  bool shared_host = false;
  // The processors of this node are those of all others, too, though each has a network of its own.
  bool shared_processors = false;
};

// What another daemon wants to know of a process.
enum class Modex {
  kPut,
  // The keys of the process itself as well (PMIX_HOSTNAME, PMIX_LOCAL_RANK ...): for a daemon that
  // hosts none of its job. Who asks there has them in no other way.
  kPutAndKeys,
};

// What a process has in its environment so that it finds its server.
struct ProcEnvironment {
  using Variables = std::vector<std::pair<std::string, std::string>>;
  Variables required;  // replace whatever was there
  Variables defaults;  // for what the user has not set
};

// Called on the io_context's thread, in the order in which things happened. What has a ticket must
// be answered once; answers that come later than that, or after the job was deregistered, do
// nothing. The server may be destroyed inside.
class Handler {
 public:
  virtual ~Handler() = default;

  virtual void on_client_connected(const ProcName& proc) = 0;  // PMIx_Init
  virtual void on_client_finalized(const ProcName& proc) = 0;
  // The connection ended without PMIx_Finalize.
  virtual void on_client_lost(const ProcName& proc) = 0;
  // `whom` empty: the whole job of `who`. Answered by done(), and `who` waits for it.
  virtual void on_abort(const ProcName& who, int status, const std::string& message,
                        std::vector<ProcName> whom, std::uint64_t ticket) = 0;
  // All local participants have entered, and some participant is not local. `data` is theirs, to be
  // exchanged if `collect`; 0 seconds: no time-out. `broken`: a local participant was lost before
  // it entered, which on_client_lost() tells before or after this; what the others put may be
  // missing, and they wait. Answered by collective_done().
  virtual void on_fence(std::vector<ProcName> participants, std::string data, bool collect,
                        std::uint32_t timeout_s, bool broken, std::uint64_t ticket) = 0;
  // A local process wants what a remote one put. kAllRanks: what is known of its whole namespace.
  // Answered by modex_done().
  virtual void on_modex(const ProcName& whose, std::uint32_t timeout_s, std::uint64_t ticket) = 0;
  // All local participants of a connect, a disconnect or an operation of a group have come; else as
  // a fence. Answered by collective_done().
  virtual void on_collective(wire::CollectiveId::Kind kind, std::string name,
                             std::vector<ProcName> participants, std::string data,
                             std::uint32_t timeout_s, bool broken, std::uint64_t ticket) = 0;
  // A process or tool asks something of the DVM. `data` are the bytes of a Push. Answered by
  // answer(). Where libpmix does not say who asks, `who` is the name of this server: in a Query
  // unless its caller names itself, and in a Pull. The latter is for all tools here, and stopped
  // when there are none any more.
  virtual void on_request(wire::ServiceRequest request, std::string data, std::uint64_t ticket) = 0;
  // A process or tool here tells others, who are not all here.
  virtual void on_event(wire::EventNotice notice) = 0;
  // A tool of our own user has come. libpmix 4.2.2 can't wait for a name, so it has one: its wish,
  // or one that no other tool of the DVM has or had. Answered by name_tool(), with an error to
  // refuse it.
  virtual void on_tool(const std::optional<ProcName>& name, std::uint64_t ticket) = 0;
  // Once for each that came and was not refused, however it left.
  virtual void on_tool_gone(const ProcName& tool) = 0;
};

class Server {
 public:
  // Once per process, because libpmix can't be started again: kAlreadyExists. The environment is
  // changed while it starts and is as before when it returns, so that processes do not inherit it;
  // SIGPIPE is ignored from then on. Start it before many descriptors are open: libpmix uses
  // select().
  static Result<std::unique_ptr<Server>> start(ServerConfig config, asio::io_context& io,
                                               Handler& handler);
  // On the io_context's thread. Tickets that are open are failed; no callback follows.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Tells libpmix of the job and of its processes here, which may be none. `done` is always called
  // later, from the io_context; processes are to be started after that.
  void register_job(const JobDescription& job, std::function<void(Status)> done);
  // Its processes have ended. Tickets and fetches that have to do with the job are failed at once;
  // libpmix lets go of it some time after the last is disconnected. Unknown: nothing happens.
  void deregister_job(const std::string& nspace);
  // A local process has ended. If it did so without PMIx_Finalize, fences among the processes here
  // that it does not come to any more are passed to on_fence() from now on (libpmix would wait for
  // it), as broken ones, and what it put is lost.
  void process_ended(const ProcName& proc);
  // Another process takes its place: before environment_of() and its start.
  void process_starts_again(const ProcName& proc);
  // True for a process that is connected now.
  [[nodiscard]] bool has_client(const ProcName& proc) const;
  // Calls when libpmix has dealt with all that has happened so far.
  void when_settled(std::function<void()> then);
  // To be called before a signal that ends it: it is not answered any more in what it waits for.
  void process_is_being_ended(const ProcName& proc);
  // Of a local process of a registered job.
  Result<ProcEnvironment> environment_of(const ProcName& proc);

  void modex_done(std::uint64_t ticket, const Status& status, std::string data);
  void done(std::uint64_t ticket, const Status& status);
  // `context` is the number of a group that was made.
  void collective_done(std::uint64_t ticket, const Status& status, const std::string& data,
                       std::uint64_t context = 0);
  void answer(std::uint64_t ticket, const wire::ServiceAnswer& answer);
  // `name` is the one it has. What a refused tool asks for fails for the same reason.
  void name_tool(std::uint64_t ticket, const Status& status, const ProcName& name);

  // To those processes and tools here that the notice is for.
  void notify(const wire::EventNotice& notice);
  // What a process wrote, to the tools here that want it; no bytes: it writes no more. `done` is
  // always called later, from the io_context.
  void deliver_output(const ProcName& source, wire::Stream stream, std::string data,
                      std::function<void()> done);
  // Where tools find this server.
  [[nodiscard]] std::string uri() const;
  // The same for a file from which tools read it: they want to know the release of PMIx as well,
  // and without it PMIx_Log of libpmix 4.2.2 fails.
  [[nodiscard]] std::string uri_for_file() const;

  // For another daemon: what a local process put. Waits until it has committed, so the deadline is
  // the caller's; the end of the process or the job is one. kNotFound for what is not here.
  void fetch_modex(const ProcName& whose, Modex what,
                   std::function<void(Result<std::string>)> done);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tide::pmix
