// The head's jobs: each goes through its own state machine, from submission to the last word to
// whoever asked for it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "core/daemon_port.hpp"
#include "core/event_log.hpp"
#include "core/file_desk.hpp"
#include "core/job_state.hpp"
#include "core/launch_fence.hpp"
#include "core/mapper.hpp"
#include "core/message_limit.hpp"
#include "core/notes.hpp"
#include "core/proc_names.hpp"
#include "core/rank_set.hpp"
#include "core/roster.hpp"
#include "core/service_desk.hpp"
#include "core/sessions.hpp"
#include "core/timers.hpp"
#include "say/ending.hpp"

namespace tide::core {

struct JobBoardConfig {
  std::string dvm_id;
  std::uint32_t stream_window_bytes = 256 * 1024;
  std::uint32_t history_jobs = 1000;
  std::size_t message_limit = kDefaultMessageLimit;
  bool launch_with_map = true;  // tell every daemon of a job where all its processes are
  bool elastic = false;         // nodes may come again when all are gone
  bool one_shot = false;  // the DVM ends by itself when the jobs that were submitted have ended
  std::uint32_t trace_patience_ms = 30'000;  // for the stacks of a job whose time is over
  FileDeskConfig files{};
  Verbosity verbosity{};
};

// Whether there is a directory of its own for the job on its nodes.
bool brings_files(const wire::JobSpec& spec);

class JobBoard final : public JobServices, private FileDeskListener {
 public:
  JobBoard(JobBoardConfig config, Roster& roster, Sessions& sessions, DaemonPort& daemons,
           TimerBook& timers, EventLog& events, Actions& out);

  // ---- clients ----
  // What time it is, before anything else in a step.
  void set_now(std::uint64_t now_ms) { now_ms_ = now_ms; }
  void submit(ClientId client, std::uint32_t request, wire::JobSpec spec);
  Status kill(const wire::KillJob& order);
  // Of a job that is not the client's: ignored.
  void credit(ClientId client, const wire::ClientCredit& credit);
  void input(ClientId client, const wire::ClientInput& input, const Bytes& data);
  void file_chunk(ClientId client, const wire::ClientFileChunk& chunk, const Bytes& data);
  void client_gone(ClientId client);

  // ---- processes and tools ----
  void set_service_uri(std::string uri) { service_uri_ = std::move(uri); }
  void spawn(const Requester& from, const wire::ServiceRequest& request, bool by_tool) override;
  void cancel_spawn(const Requester& from) override;
  Status control(const wire::ServiceRequest& request) override;
  void push(const Requester& from, const wire::ServiceRequest& request, const Bytes& data) override;
  Status pull(Rank daemon, const wire::ServiceRequest& request) override;
  void on_tool_gone(const wire::ProcName& tool) override;
  void on_tool_output_taken(Rank daemon, const wire::ToolOutputTaken& taken);
  [[nodiscard]] std::shared_ptr<const wire::LaunchCommon> particulars_of(
      const std::string& nspace) const override;
  [[nodiscard]] wire::QueryReply reply_to(Rank asked,
                                          const wire::Question& question) const override;

  // ---- daemons; what one says about processes that it does not host is ignored ----
  void on_proc_failed(Rank daemon, const wire::ProcReport& report);
  void on_stream(Rank daemon, const wire::StreamChunk& chunk, const Bytes& data);
  void on_output_complete(Rank daemon, JobId id);
  void on_input_credit(Rank daemon, const wire::InputCredit& credit);
  void on_reduction(const wire::Reduction& reduction);
  void on_aborted(Rank daemon, const wire::ProcAborted& aborted);
  void on_files_failed(Rank daemon, const wire::FilesFailed& failed);
  void on_stack_trace(Rank daemon, const wire::StackTrace& trace, const Bytes& text);
  void on_traces_complete(Rank daemon, const wire::TracesComplete& complete);
  void on_node_lost(const Node& node, const std::string& reason);

  // The DVM is ready: jobs that came early go on.
  void release_early_jobs();
  // A node under suspicion is back or lost: jobs that waited for the outcome are mapped.
  void map_undecided_jobs();
  // ---- changes of the DVM's size ----
  // `for_job`: a job asked for it.
  void begin_change(CampaignId campaign, CampaignKind kind, bool for_job) {
    fence_.open(campaign, kind, for_job ? std::optional(JobId(next_job_)) : std::nullopt);
  }
  // Jobs that were held for it and for nothing else go on, or are given up with a grow that failed.
  void end_change(CampaignId campaign, const std::optional<std::string>& failure);
  // What a job wants that waits for nodes; null if it does not, or not any more.
  [[nodiscard]] const wire::JobSpec* waiting_for_nodes(JobId id) const;
  // It has its nodes when these grows have ended; none: they are there.
  void on_extended(JobId id, std::set<CampaignId> grows);
  void on_not_extended(JobId id, const Error& why);
  // Ends the processes that are on these nodes; they have so long to do it by themselves.
  // `reason`: why these nodes leave, if a resource manager has said so.
  void end_processes_on(const std::set<Rank>& ranks, std::uint32_t grace_ms,
                        const std::string& reason);
  // Jobs that have something there which has not ended.
  [[nodiscard]] std::vector<std::string> jobs_on(const std::set<Rank>& ranks) const;
  // Processes there that have not ended, the first ones.
  struct ProcessThere {
    JobId job;
    ProcRank rank;
    std::string node;
    std::uint32_t pid = 0;
  };
  [[nodiscard]] std::vector<ProcessThere> processes_on(const std::set<Rank>& ranks) const;
  [[nodiscard]] const LaunchFence& fence() const { return fence_; }
  // How many times jobs were held, went on, were given up with a grow; how many were launched.
  [[nodiscard]] std::uint64_t held() const { return held_; }
  [[nodiscard]] std::uint64_t released() const { return released_; }
  [[nodiscard]] std::uint64_t given_up() const { return given_up_; }
  [[nodiscard]] std::uint64_t launches() const { return launches_; }

  // Ends every job, with SIGKILL at once if forced.
  void end_all(const std::string& reason, bool force, std::uint32_t grace_ms);
  // The DVM ends and cannot wait any longer: jobs that are still there are given up.
  void abandon_all();
  bool handle_timer(TimerKind kind, std::uint32_t subject);

  [[nodiscard]] std::optional<std::set<Rank>> hosts_of(const wire::ProcNames& procs) const override;
  [[nodiscard]] bool any_ended(const wire::ProcNames& procs) const override;
  [[nodiscard]] bool idle() const { return jobs_.empty(); }
  [[nodiscard]] std::size_t unfinished() const { return jobs_.size(); }
  [[nodiscard]] std::uint64_t submitted() const { return next_job_ - 1; }
  void describe(wire::StatusReply& status, std::uint32_t history, std::uint64_t now_ms) const;

  // ---- whoever watches ----
  // Where a job is, what it waits for, or how it ended, by what is known here.
  [[nodiscard]] Result<wire::ExplainReply> explain(const wire::JobRef& ref,
                                                   const CollectiveDesk& collectives) const;
  // Its processes, or those of all jobs, in pieces.
  [[nodiscard]] Result<wire::ProcsReply> processes(const wire::ProcsQuery& query) const;
  // Numbers of the jobs that have not ended.
  [[nodiscard]] std::vector<JobId> unended_jobs() const;
  // One of these as it is at the moment; nothing if there is no such job any more.
  struct Glance {
    JobState state = JobState::kInit;
    std::set<Rank> mapped{};  // where it has processes, or is going to
    std::size_t processes = 0;
    std::optional<JobId> parent{};  // that spawned it, if that has not been forgotten
    std::string nspace{};
    std::string spawner{};             // its namespace; empty: a client submitted it
    std::set<std::string> sessions{};  // whose nodes it may use
    bool launched = false;
    bool recoverable = false;
  };
  [[nodiscard]] std::optional<Glance> glance(JobId id) const;

 private:
  struct Share {  // of one daemon in one job
    std::vector<std::uint32_t> ranks;
    bool launched = false;
    bool registered = false;
    bool ready_for_debug = false;
    bool ended = false;
    bool output_complete = false;
    [[nodiscard]] bool settled() const { return ended && output_complete; }
  };
  struct Proc {
    ProcState state = ProcState::kInit;
    std::uint32_t pid = 0;
    int exit_code = 0;
    int signal = 0;
    int requested_signal = 0;  // by a process or tool, to this process alone
    std::uint32_t restarts = 0;
    bool released = false;  // its node leaves: that it ends is told already, and no news
  };
  struct ToolReader {  // a tool that reads what the job writes, and without which it may not go on
    Rank daemon;
    wire::ProcName tool;
    bool reads_stdout = false;
    bool reads_stderr = false;
    bool outlived = false;  // by the job
  };
  struct Notify {  // who is told of the job's start and end
    Rank daemon;
    wire::ProcName whom;
  };
  using StreamId = std::pair<std::uint32_t, int>;  // a process and which of its streams
  struct Passage {
    JobState state;
    std::uint64_t at_ms = 0;
    std::string cause;
  };
  struct Watch {  // what is kept of a job only to tell whoever looks at it
    std::vector<Passage> passages;
    std::map<StreamId, std::uint64_t> untaken;  // sent to the owner, who gave no credit for it yet
    int ordered_signal = 0;                     // the last one that is to end it
    std::uint64_t ordered_ms = 0;
  };
  struct Traces {  // the stacks of its processes, which are ended when these have come
    std::set<Rank> awaited;
    std::set<std::uint32_t> told;  // processes
    std::uint64_t left_out = 0;    // processes
  };
  struct Past {  // of a job that has ended
    std::vector<Passage> passages;
    wire::ProcName parent;
    std::string processes;  // serialized, if there was room
  };
  enum class WaitsFor : std::uint8_t {
    kDvm,
    kGrant,
    kFiles,
    kSuspects,
    kChange,
    kLaunch,
    kReader,
    kDebugger,
    kProcesses,
    kTraces,
    kEnd,
    kOutput,
    kHead,  // between two states: not seen from outside
  };
  struct Job {
    JobId id;
    std::string nspace;
    std::optional<ClientId> owner;
    std::uint32_t request = 0;
    wire::JobSpec spec;
    std::set<std::string> sessions{kDefaultSession};  // whose nodes it may use
    bool aimed = false;  // at these, by whoever wanted it; else they are those of its parent
    JobState state = JobState::kInit;
    JobState end_state = JobState::kTerminated;  // how it ended, or will be said to have
    std::uint64_t submitted_ms = 0;
    std::vector<Placement> placements;
    std::vector<Proc> procs;
    std::map<Rank, Share> shares;
    std::shared_ptr<wire::LaunchCommon> launch;
    std::optional<int> exit_status;
    std::vector<std::string> messages;
    std::optional<int> tolerated;  // the status of the first process that failed and ended nothing
    std::uint32_t more_tolerated = 0;
    std::uint32_t restarts = 0;
    std::set<CampaignId> awaited_grows;  // that bring nodes which it asked for
    bool scattered = false;
    std::uint32_t end_grace_ms = 0;  // for its processes, once they are told to end; 0: as ever
    bool was_registered = false;
    bool was_ready_for_debug = false;
    std::string breakpoint;  // where its processes wait, as they call it
    std::optional<Traces> traces;
    // ---- of a job that a process or tool spawned ----
    wire::ProcName parent;             // no name: a client submitted it
    std::optional<Requester> spawner;  // until it is answered
    std::optional<ToolReader> reader;
    std::optional<Notify> notify;
    std::optional<Notify> debugger;  // is told when all processes wait for it
    std::map<StreamId, std::uint32_t>
        unread;                      // sent to the reader, which gave no credit for it yet
    std::int64_t input_credit = 0;   // for what tools push
    std::vector<Requester> pushers;  // wait for more of it
    Watch watch;
  };
  struct PullKey {
    Rank daemon;
    ProcId tool;
    std::uint64_t subscription = 0;
    auto operator<=>(const PullKey&) const = default;
  };
  struct Transition {
    JobId job;
    JobState state;
    std::string cause;
  };

  // ---- the state machine: one handler per state, named as in job_state_table() ----
  void go(const Job& job, JobState state, std::string cause);
  void run_transitions();
  void enter(Job& job);
  void setup_job(Job& job);
  void request_allocation(const Job& job);
  void allocate(Job& job);
  void choose_daemons(const Job& job);
  void check_hosts(Job& job);
  void local_launch_daemons(const Job& job);
  void await_daemons(const Job& job);
  void set_slots(const Job& job);
  void admit_to_mapping(const Job& job);
  [[nodiscard]] std::set<Rank> nodes_to_stage(const Job& job) const;
  [[nodiscard]] bool has_its_files(Job& job);
  static bool waits_for_files(const Job& job);
  [[nodiscard]] std::vector<MapNode> nodes_to_map(const Job& job) const;
  [[nodiscard]] std::set<std::string> sessions_of(const Job& job) const;
  void map_job(Job& job);
  void claim_slots(Job& job);
  void prepare_environment(Job& job);
  void assemble_launch(Job& job);
  void scatter_launch(Job& job);
  [[nodiscard]] std::uint32_t window_for(std::size_t processes) const;
  void wrap_up(Job& job);
  void notify_owner(Job& job);
  void clean_up(const Job& job);

  // ---- changes of the DVM's size ----
  [[nodiscard]] bool is_held_before_map(const Job& job);
  [[nodiscard]] bool is_held_before_launch(const Job& job);
  [[nodiscard]] bool keeps_its_map(JobId id) const;
  void forget_map(Job& job);
  [[nodiscard]] static bool has_something_on(const Job& job, const std::set<Rank>& ranks);
  // Those of its processes that live and of which this was not known yet.
  static std::size_t note_released(Job& job, const Share& share);

  // ---- what people decide about a job ----
  [[nodiscard]] std::vector<wire::HostedRanks> where_processes_are(const Job& job) const;
  static std::string command_of(const wire::JobSpec& spec);
  void show_map(const Job& job);
  void let_go_of_client(Job& job);
  void count_restarts(Job& job, const wire::ProcReport& report);
  static bool tolerates(const Job& job, const wire::ProcReport& report);
  // So many processes more have failed; the first message stands for those it was told of.
  void tolerate(Job& job, int exit_status, const std::string& message, std::size_t processes);
  void tell_the_others(const Job& job, std::uint32_t failed, const wire::ProcReport& report);
  [[nodiscard]] std::string state_at_timeout(const Job& job) const;
  void end_by_timeout(Job& job, TimerKind kind);
  [[nodiscard]] static bool wants_traces(const Job& job);
  void order_traces(Job& job);
  void tell_trace(const Job& job, std::string text);
  void check_traces(Job& job);
  void give_up_late_traces(Job& job);
  void leave_traces(Job& job);
  void cut_traces_short(Job& job, int signal);

  // ---- endings ----
  void fail(Job& job, JobState error, int exit_status, const std::string& message, int signal);
  void order_end(Job& job, int signal, bool terminate);
  void check_complete(Job& job);
  void on_registered(Job& job, const wire::Reduction& reduction);
  void check_registered(const Job& job);
  static bool runs(const Job& job);
  bool place_on_nodes(Job& job);
  bool place_beside(Job& job);
  // Not what stands beside the processes of another job.
  static bool takes_slots(const Job& job) { return job.spec.beside().empty(); }
  void on_ready_for_debug(Job& job, const wire::Reduction& reduction);
  void check_ready_for_debug(const Job& job);
  void tell_that_it_is_held(Job& job);
  [[nodiscard]] std::vector<say::ProcessLine> process_lines(const Job& job) const;
  void take_report(Job& job, Rank daemon, const wire::ProcReport& report, bool final);
  [[nodiscard]] std::string place(Rank daemon) const;
  [[nodiscard]] std::string describe_failure(const Job& job, Rank daemon,
                                             const wire::ProcReport& report) const;
  void give_back_slots(const Job& job, Rank daemon);
  static bool hosts(const Job& job, Rank daemon, std::uint32_t rank);
  void grant(const Job& job, const wire::ClientCredit& credit);

  // ---- FileDeskListener ----
  static Status check_files(const wire::JobSpec& spec);
  void on_files_staged(JobId id, std::string what) override;
  void on_files_failed(JobId id, std::string message) override;
  void on_files_removed(JobId id) override;

  // ---- processes and tools ----
  static Status check_spec(const wire::JobSpec& spec);
  [[nodiscard]] Status check_spawn(const wire::ServiceRequest& request, bool by_tool);
  [[nodiscard]] Result<std::set<std::string>> sessions_for(const wire::ServiceRequest& request,
                                                           bool by_tool) const;
  Job& open_job(wire::JobSpec spec, const wire::ProcName& parent, std::set<std::string> sessions);
  void answer_spawner(Job& job);
  void end_children(const Job& parent);
  void notify_event(const Job& job, std::int32_t code);
  static wire::EventNotice event_of(const Job& job, std::int32_t code, const Notify& to);
  void send_event(const Notify& to, wire::EventNotice event);
  bool knows(const wire::ProcNames& procs) const;
  bool send_to_tools(Job& job, const wire::StreamChunk& chunk, const Bytes& data);
  void give_credit(const Job& job, StreamId stream, std::uint32_t bytes);
  void give_back_credit(Job& job);
  void send_input(const Job& job, bool eof, const Bytes& data);
  void answer_pushers(Job& job);
  [[nodiscard]] Status check_push(const wire::ProcName& target) const;
  void signal_process(Job& job, std::uint32_t rank, int signal);
  void describe_jobs(wire::QueryReply& reply) const;
  void describe_job(const Job& job, wire::JobRow& row) const;
  void describe_processes(const Job& job, Rank asked, const wire::Question& question,
                          wire::QueryReply& reply) const;
  void describe_nodes(const wire::Question& question, wire::QueryReply& reply) const;

  // ---- whoever watches ----
  void note_passage(Job& job, std::string cause);
  void note_past(const Job& job);
  void describe_watch(const Job& job, std::uint64_t now_ms, wire::JobStatus& out) const;
  [[nodiscard]] std::vector<WaitsFor> waits_of(const Job& job) const;
  [[nodiscard]] static std::vector<WaitsFor> waits_of_launched(const Job& job);
  void describe_wait(const Job& job, WaitsFor what, wire::ExplainReply& out) const;
  void describe_wait_for_files(const Job& job, wire::ExplainReply& out) const;
  void describe_collectives(const Job& job, const CollectiveDesk& collectives,
                            wire::ExplainReply& out) const;
  void describe_spawns(const Job& job, wire::ExplainReply& out) const;
  void describe_facts(const Job& job, wire::ExplainReply& out) const;
  void describe_children(std::string_view nspace, wire::ExplainReply& out) const;
  [[nodiscard]] Result<wire::ExplainReply> explain_past(const wire::JobRef& ref) const;
  [[nodiscard]] const wire::JobStatus* find_past(const wire::JobRef& ref) const;
  [[nodiscard]] Error unknown_job(const wire::JobRef& ref) const;
  [[nodiscard]] std::string node_name(const Job& job, Rank daemon) const;
  using ShareTest = bool (*)(const Share& share);
  [[nodiscard]] std::vector<std::string> nodes_of(const Job& job, ShareTest test) const;
  [[nodiscard]] static std::size_t stalled_streams(const Job& job);
  void list_processes(const Job& job, std::uint32_t first, std::size_t most,
                      wire::JobProcs& out) const;
  [[nodiscard]] Result<wire::ProcsReply> past_processes(const wire::ProcsQuery& query) const;

  Job* find(JobId id);
  [[nodiscard]] const Job* find_nspace(std::string_view nspace) const;
  Job* find_nspace(std::string_view nspace);
  Job* find(const wire::JobRef& ref);
  [[nodiscard]] wire::JobStatus status_of(const Job& job, std::uint64_t now_ms) const;
  void reply(const Job& job, wire::ClientReply reply, Bytes payload = {});

  JobBoardConfig config_;
  Roster& roster_;
  Sessions& sessions_;
  DaemonPort& daemons_;
  TimerBook& timers_;
  EventLog& events_;
  Actions& out_;
  Notes notes_;
  FileDesk files_;
  LaunchFence fence_;
  std::map<JobId, Job> jobs_;
  std::deque<wire::JobStatus> history_;  // newest last
  std::map<JobId, Past> past_;           // of the last ones in the history
  std::deque<JobId> past_order_;
  std::size_t past_bytes_ = 0;  // of their processes
  std::deque<Transition> transitions_;
  std::map<ClientId, std::uint32_t> unended_;  // jobs by owner
  std::vector<JobId> early_;                   // arrived before the DVM was ready
  std::vector<JobId> undecided_;               // would fit on nodes under suspicion
  std::map<PullKey, wire::Pull> pulls_;        // tools that want to read along
  bool running_transitions_ = false;
  std::string service_uri_;  // where tools find the head
  bool closed_ = false;      // takes no more jobs
  std::uint32_t next_job_ = 1;
  std::uint64_t held_ = 0;
  std::uint64_t released_ = 0;
  std::uint64_t given_up_ = 0;
  std::uint64_t launches_ = 0;
  std::uint64_t now_ms_ = 0;
};

}  // namespace tide::core
