// Changes of the DVM's size, from the request to the last answer. Each is a campaign with a number,
// targets and an asker of its own; that jobs are held while one is under way is the fence's doing,
// which is told when it begins and ends.
//
// Who asks is answered twice: when the change has begun, and when it has ended; a process or tool
// hears of the end by an event. What it waits for on the way is bounded by a timer in every phase.
//
// Nodes come from resource managers, of which several may be active. Each node remembers who
// granted it, and goes back to that one. What comes may come for a time: the desk keeps it, warns,
// and takes the nodes out when it is over (elastic_leases.cpp).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/actions.hpp"
#include "core/allocation_services.hpp"
#include "core/daemon_port.hpp"
#include "core/event_log.hpp"
#include "core/job_board.hpp"
#include "core/notes.hpp"
#include "core/roster.hpp"
#include "core/sessions.hpp"
#include "core/timers.hpp"

namespace tide::core {

struct ElasticConfig {
  bool enabled = false;
  std::uint32_t grow_timeout_ms = 60'000;       // from the launch to wired
  std::uint32_t grant_timeout_ms = 30'000;      // for a resource manager to grant or refuse
  std::uint32_t process_grace_ms = 10'000;      // for processes on nodes that are released
  std::uint32_t process_settle_ms = 2'000;      // … for their end to be told when they are killed
  std::uint32_t departure_timeout_ms = 10'000;  // for daemons that are ordered to leave
  std::uint32_t return_timeout_ms = 8'000;      // for resource managers to take nodes back
  std::vector<std::string> managers{"pool"};    // those that are active, the first one first
  std::string scheduler_key{};  // a scheduler proves itself by it; empty: nobody is one
  Verbosity verbosity{};
};

// Who is answered: one of these, or nobody, or somebody who has gone.
struct ChangeAsker {
  std::optional<ClientId> client{};
  std::uint32_t request = 0;
  std::optional<JobId> job{};  // which waits by itself for the end, and may be over before
  std::optional<PmixAsker> pmix{};
};

class ElasticDesk : public AllocationServices {
 public:
  ElasticDesk(ElasticConfig config, Roster& roster, Sessions& sessions, JobBoard& jobs,
              DaemonPort& daemons, TimerBook& timers, EventLog& events, Actions& out);

  void set_now(std::uint64_t now_ms) { now_ms_ = now_ms; }

  // ---- whoever asks ----
  void grow(const ChangeAsker& asker, const wire::GrowRequest& request);
  void shrink(const ChangeAsker& asker, const wire::ShrinkRequest& request);
  void allocate(ClientId client, std::uint32_t number, const wire::AllocationRequest& request);
  void client_gone(ClientId client);
  // For a job that waits for nodes, also where the DVM is not elastic. One after the other: what
  // two ask for at once comes once.
  void extend_for(JobId job);

  // ---- processes and tools ----
  void allocate(const PmixAsker& asker, const wire::AllocationRequest& request) override;
  void relay_warning(const wire::TimeoutWarning& warning, bool by_tool) override;
  [[nodiscard]] std::optional<std::uint64_t> time_left_ms(
      const std::set<Rank>& nodes) const override;
  void cancel_allocation(const Requester& from) override;
  void on_tool_joined(const std::string& nspace) override { sessions_.on_tool_joined(nspace); }
  void on_proc_gone(const wire::ProcName& proc) override;
  void on_nspace_gone(const std::string& nspace) override;
  void on_daemon_gone(Rank daemon) override;

  // ---- resource managers ----
  void handle(const NodesGranted& event);
  void handle(const TimeGranted& event);
  void handle(const NodesRefused& event);
  void handle(const NodesQueued& event);
  void handle(const NodesPushed& event);
  void handle(const NodesReclaimed& event);
  void handle(const LeaseMoved& event);
  void handle(const SourceLimit& event);
  void handle(const ReturnAnswered& event);

  // ---- daemons ----
  void on_node_reported(CampaignId id, const Node& node);
  void on_grown(CampaignId id);
  void on_grow_failing(CampaignId id, std::uint32_t gather_ms);
  void on_grow_failed(CampaignId id, ChangeFailure cause, const std::string& reason);
  void on_rolled_back(CampaignId id);
  void on_departed(const Node& node);

  // After every event: what has become possible by it is done.
  void look();
  bool handle_timer(TimerKind kind, std::uint32_t subject);
  // The DVM ends: nothing begins any more. Whoever waits for a change that has not been ordered yet
  // is told that it failed, the others when the DVM has ended at the latest.
  void end_all(const std::string& reason);
  void finish();

  [[nodiscard]] bool idle() const {
    return campaigns_.empty() && asks_.empty() && extensions_.empty();
  }
  [[nodiscard]] bool enabled() const { return config_.enabled; }
  [[nodiscard]] const Sessions& sessions() const { return sessions_; }
  // Whether this proves that the scheduler speaks.
  [[nodiscard]] bool is_scheduler(std::string_view key) const;
  void describe(wire::StatusReply& out, std::uint64_t now_ms) const;
  // What these are waiting for, for somebody who waits for them.
  void explain(const std::vector<CampaignId>& ids, wire::ExplainReply& out) const;
  // Why a job that asked for nodes has not got them, if a scheduler lets it wait.
  void explain(JobId job, wire::ExplainReply& out) const;
  // All that is known of a change, under way or one of the last that have ended, or of nodes that
  // came together.
  [[nodiscard]] Result<wire::ChangeReport> explain_change(std::uint32_t number) const;
  [[nodiscard]] Result<wire::AllocationReport> explain_allocation(const std::string& name) const;
  // Whether its resource managers are being asked to take back what is theirs.
  [[nodiscard]] bool is_returning(CampaignId id) const;
  struct Counts {
    std::uint64_t grows = 0;
    std::uint64_t shrinks = 0;
    std::uint64_t rollbacks = 0;
    std::uint64_t lease_warnings = 0;
    std::uint64_t lease_ends = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  enum class Phase : std::uint8_t {
    kStarting,     // grow: daemons report
    kWiring,       // … and everybody acknowledges them
    kRollingBack,  // … or what was started ends
    kWaiting,      // both: for the end of a grow that brings some of its nodes
    kEnding,       // shrink: of processes
    kDeparting,    // … of daemons
    kReturning,    // both: resource managers take back what is theirs
  };
  enum class Trigger : std::uint8_t { kRequest, kPush, kReclaim, kLease, kInheritance };
  struct Outcome {
    std::optional<ChangeFailure> failure{};
    std::string text{};
  };
  // Where the nodes of a grow belong: to everybody, unless an allocation says otherwise.
  struct Destination {
    std::optional<Allocation> allocation{};  // without an id: a new one
    AllocationTerms terms{};                 // of one that is there: what is new about it
    std::uint32_t warn_ms = 0;               // … before the end of its lease; 0: as it was
    std::vector<std::string> there{};        // nodes that the DVM has, and that are meant, too
    std::set<Rank> awaited{};                // those of them that another grow is bringing
  };
  // What resource managers have granted.
  struct Arrival {
    std::vector<NodeRequest> nodes{};
    Lease lease{};
    Trigger trigger = Trigger::kRequest;
    std::string cut_by{};  // the manager that granted less time than was asked for
  };
  struct Step {
    Phase phase;
    std::uint64_t at_ms;
  };
  [[nodiscard]] static AllocationCause cause_of(Trigger trigger);
  using Owners = std::map<std::string, std::string>;  // by node, who granted it; empty: not known
  // What becomes of a node that a shrink was asked to release.
  enum class Fate : std::uint8_t { kLeaves, kLeavesWithAnother, kNeverCame, kLost };
  struct Leaver {
    std::string name{};
    CampaignId grow{};  // that brings it, or has
    Fate fate = Fate::kLeaves;
    std::set<std::string> allocations{};  // that it is of: it came with it, or is reserved by it
  };
  // That of an allocation whose nodes may stay for a time only.
  struct HeldLease {
    std::uint32_t number = 0;  // of its timer
    std::uint64_t ends_ms = 0;
    std::uint32_t warn_ms = 0;
    bool warned = false;
  };
  struct Campaign {
    CampaignKind kind = CampaignKind::kGrow;
    ChangeAsker asker{};
    std::string allocation{};
    std::vector<std::string> nodes{};
    std::set<Rank> ranks{};               // of a shrink; of a grow: that another one brings
    std::vector<NodeRequest> to_start{};  // of a grow that waits for these
    std::set<Rank> own{};  // of these, who are not leaving for another shrink already
    Phase phase = Phase::kStarting;
    std::uint64_t began_ms = 0;
    std::size_t reports = 0;
    bool hurried = false;  // its daemons were told to end by their launcher
    Outcome outcome{};
    bool founds = false;     // grow: of a new allocation, which is nothing if it fails
    std::set<Rank> taken{};  // grow: out of the default session, until it fails
    std::optional<AllocationTerms> terms_before{};  // grow: of what it extends, if it fails
    std::optional<HeldLease> lease_before{};        // … as its lease was
    std::optional<HeldLease> lease_after{};         // … and is by this grow
    std::string ends{};    // shrink: the allocation that is over when it is done
    std::string reason{};  // … as the resource manager has given it that takes back
    Trigger trigger = Trigger::kRequest;
    Owners owners{};                     // of the nodes that go back at its end
    std::set<std::string> unanswered{};  // resource managers that were offered their share
    std::vector<Step> way{};             // the last one is where it is
    std::uint64_t until_ms = 0;          // its phase lasts no longer; 0: no limit
    std::uint32_t number = 0;            // 0: it has not begun
    std::map<Rank, Leaver> leavers{};    // of a shrink
    std::vector<std::string> already{};  // there, or come or leave with a change that came first
    std::optional<wire::LeaseCut> cut{};
  };
  struct Ask {
    ChangeAsker asker;
    Destination to{};
    std::string allocation{};  // that is to stay longer; empty: nodes are asked for
    AllocationTerms terms{};   // … with what is new about it
    std::uint32_t warn_ms = 0;
    Trigger trigger = Trigger::kRequest;
    std::string nspace{};      // whose request it is
    std::string request_id{};  // … by its own name
    std::string words{};       // what is asked for
    bool of_user = false;      // a tool or command asks, which no job has to do with
    std::uint64_t asked_ms = 0;
    std::vector<std::string> names{};  // nodes that are named in it and are not there
    wire::GrowRequest request{};       // … for nodes, unless a job asks
    std::string queued{};  // what a scheduler lets it wait for, without limit; empty: not queued
  };
  // Who is released.
  struct Choice {
    std::set<Rank> ranks{};
    std::string ends{};      // the allocation that is over with it; empty: none
    std::set<Rank> stays{};  // reserved nodes that go back to the default session
    std::string reason{};    // for people, from whoever wants them; empty: none is given
  };
  // A change that has ended.
  struct Past {
    wire::ChangeReport report{};
    std::set<std::string> allocations{};
  };
  // An allocation that brought no node: what it named was there, or came with another change.
  struct Barren {
    std::string allocation{};
    std::vector<std::string> nodes{};
  };

  [[nodiscard]] Status may_act() const;
  [[nodiscard]] Status may_change() const;
  void refuse(const ChangeAsker& asker, const Error& why);
  void reply(const ChangeAsker& asker, wire::ClientReply reply);
  void tell(const ChangeAsker& asker, std::string text);
  void answer_begun(const Campaign& campaign, bool complete);

  // ---- requests to resource managers ----
  // Of whoever may act.
  void ask_for_nodes(Ask ask, const wire::GrowRequest& request);
  [[nodiscard]] Status may_still_join(const Destination& to) const;
  // False: there are too many already, and it was refused.
  [[nodiscard]] bool begin_ask(Ask ask);
  void refuse_ask(const Ask& ask, const Error& why);
  void take_back(std::uint32_t ask, const Error& why);
  // Those of which this says why they are not wanted.
  void take_back_if(const std::function<Status(const Ask&)>& wanted);
  [[nodiscard]] Status is_wanted(const Ask& ask) const;
  bool ask_anew_for_the_rest();
  // Whether something has gone on by it, so that more may be over, or possible.
  bool see_to_asks();
  // Whoever is meant has gone.
  void forget(const std::function<bool(const ChangeAsker&)>& meant);
  void describe(std::uint32_t number, const Ask& ask, std::uint64_t now_ms,
                wire::PendingAsk& out) const;
  // Whether one of the nodes is named in both.
  static bool overlap(const Ask& ask, const wire::JobSpec& spec);
  // Of nodes that clients ask for, or nobody.
  static Allocation everybodys() { return {.shared = true}; }

  void begin_grow(const ChangeAsker& asker, Arrival arrival, const Destination& to);
  void release(const ChangeAsker& asker, const Actor& actor, const wire::ShrinkRequest& request,
               Trigger trigger);
  void begin_shrink(const ChangeAsker& asker, Choice choice, std::string allocation,
                    Trigger trigger = Trigger::kRequest);
  [[nodiscard]] Result<std::vector<wire::HostRequest>> not_there(
      const google::protobuf::RepeatedPtrField<wire::HostRequest>& hosts) const;
  bool ask_for_jobs();
  void ask_for(JobId job, const wire::JobSpec& spec);
  // `own`: the grow that begins for it.
  void answer_job(JobId job, std::optional<CampaignId> own);
  CampaignId open(Campaign campaign);
  std::string next_allocation();

  // ---- allocations ----
  using Wanted = wire::AllocationRequest;
  void allocate(const ChangeAsker& asker, Actor actor, const Wanted& request);
  [[nodiscard]] Status check(const Actor& actor, const Wanted& request) const;
  void make_allocation(const ChangeAsker& asker, const Actor& actor, const Wanted& request);
  void extend_allocation(const ChangeAsker& asker, const Actor& actor, const Wanted& request);
  [[nodiscard]] Result<std::string> extended_by(const Actor& actor, const Wanted& request) const;
  void release_nodes(const ChangeAsker& asker, const Actor& actor, const Wanted& request);
  void take_back_request(const ChangeAsker& asker, const Actor& actor, const Wanted& request);
  void set_terms(const std::string& allocation, const AllocationTerms& terms, std::uint32_t warn_ms,
                 Trigger trigger);
  // What is over because its owner, and who comes of it, has ended.
  void end_the_disowned();
  void end_disowned(const Allocation& allocation);
  void end_those_of_ended_allocations();
  void fail_unstarted(const std::function<bool(const NodeRequest&)>& meant, const std::string& why);
  void answer_allocation(const PmixAsker& asker, const std::string& allocation, bool complete);
  void tell_of_end(const PmixAsker& asker, const Campaign& campaign, const std::string& text);
  [[nodiscard]] static wire::EventNotice notice_to(const PmixAsker& asker, std::int32_t code,
                                                   const std::string& allocation,
                                                   const std::string& request_id);
  void send(const PmixAsker& asker, wire::EventNotice notice);
  template <class Meant>
  void forget_pmix(const Meant& meant);
  [[nodiscard]] bool may_release(const Actor& actor, const Node& node) const;

  [[nodiscard]] Result<Choice> choose(const Actor& actor, const wire::ShrinkRequest& request) const;
  [[nodiscard]] Result<Choice> choose_by_count(const Actor& actor, std::uint32_t count) const;
  [[nodiscard]] Result<Choice> choose_by_name(const Actor& actor,
                                              const wire::ShrinkRequest& request) const;
  [[nodiscard]] Result<Choice> choose_by_allocation(const Actor& actor,
                                                    const std::string& id) const;
  [[nodiscard]] std::set<Rank> living(const std::set<Rank>& ranks) const;
  bool advance(CampaignId id, Campaign& campaign);
  bool begin_starting(CampaignId id, Campaign& campaign);
  [[nodiscard]] std::vector<std::string> node_names(const std::set<Rank>& ranks) const;
  [[nodiscard]] static std::set<std::string> allocations_of(const Campaign& campaign);
  void note_barren(const Campaign& campaign);
  void fail_grow(CampaignId id, Campaign& campaign, Outcome outcome, const std::string& reason);
  void fail_those_that_wait_for(const Campaign& failed);
  bool begin_leaving(CampaignId id, Campaign& campaign);
  void settle_fates(Campaign& campaign) const;
  void order(CampaignId id, Campaign& campaign);
  std::vector<CampaignId> those_that_fail_with(CampaignId id, const Campaign& failed);
  void have_left(CampaignId id, Campaign& campaign);
  void on_phase_timeout(CampaignId id, Campaign& campaign);

  // ---- resource managers ----
  static Owners owners_of(const std::vector<NodeRequest>& nodes);
  [[nodiscard]] std::vector<std::string> share_of(const std::string& manager,
                                                  const Owners& owners) const;
  void give_back(CampaignId id, Campaign& campaign);
  void give_back_at_once(const std::vector<NodeRequest>& nodes);
  void note_not_taken(const std::string& manager, const Campaign& campaign,
                      std::string_view verdict);
  void end_without_answers(CampaignId id, const Campaign& campaign);

  // ---- leases ----
  void extend(Ask ask, const wire::GrowRequest& request);
  void begin_lease(const std::string& allocation, const Lease& lease);
  void join_lease(const std::string& allocation, const Lease& lease);
  void put_back_lease(const Campaign& campaign);
  [[nodiscard]] std::optional<HeldLease> lease_of(const std::string& allocation) const;
  // Nothing if no manager granted less than was asked for.
  static std::optional<wire::LeaseCut> cut_of(std::uint32_t granted_ms, const std::string& manager);
  void arm_lease(const HeldLease& lease);
  void lift_lease(const std::string& allocation);
  void move_lease(const std::string& allocation, const LeaseMoved& event);
  [[nodiscard]] Status may_be_prolonged(const std::string& allocation) const;
  void on_lease_timer(std::uint32_t number);
  void warn(const std::string& allocation, HeldLease& lease);
  void send_warning(const PmixAsker& asker, const Allocation& allocation, std::uint32_t left_s);
  [[nodiscard]] std::set<Rank> staying(const std::string& allocation) const;
  [[nodiscard]] std::uint64_t lease_left_ms(const std::string& allocation) const;

  void end(CampaignId id);
  [[nodiscard]] std::string words_of_success(const Campaign& campaign) const;
  void go(CampaignId id, Campaign& campaign, Phase phase);
  void enter(CampaignId id, Campaign& campaign, Phase phase, std::uint32_t limit_ms);
  void remember(CampaignId id, const Campaign& campaign, const wire::ChangeEnded& end);
  [[nodiscard]] std::vector<std::string> missing(CampaignId id, const Campaign& campaign) const;
  [[nodiscard]] std::string waits(CampaignId id, const Campaign& campaign) const;
  void describe(CampaignId id, const Campaign& campaign, std::uint64_t now_ms,
                wire::CampaignStatus& out) const;
  static void describe(const Allocation& allocation, std::uint64_t now_ms,
                       wire::AllocationStatus& out);
  void describe_allocations(wire::StatusReply& out, std::uint64_t now_ms) const;
  [[nodiscard]] wire::ChangeReport report(CampaignId id, const Campaign& campaign) const;
  // What it does when the time of its phase is over: a word for programs.
  [[nodiscard]] const char* after_limit(CampaignId id, const Campaign& campaign) const;
  void add_waits(CampaignId id, const Campaign& campaign, wire::ChangeReport& out) const;
  void add_waits_for_reports(CampaignId id, wire::ChangeReport& out) const;
  void add_waits_for_wiring(CampaignId id, wire::ChangeReport& out) const;
  void add_waits_of_shrink(const Campaign& campaign, wire::ChangeReport& out) const;

  ElasticConfig config_;
  Roster& roster_;
  JobBoard& jobs_;
  DaemonPort& daemons_;
  TimerBook& timers_;
  EventLog& events_;
  Actions& out_;
  Notes notes_;
  Sessions& sessions_;
  std::map<CampaignId, Campaign> campaigns_;
  std::map<std::uint32_t, Ask> asks_;
  std::deque<JobId> extensions_;                 // jobs that have not asked yet
  std::map<std::string, HeldLease> leases_;      // by allocation
  std::optional<std::uint64_t> source_ends_ms_;  // … and of all nodes together
  std::vector<std::string> disowned_;            // allocations that are to end with their owners
  Owners owed_;                                  // nodes that go back when the DVM has ended
  std::deque<Past> past_;                        // changes that have ended, the newest last
  std::deque<Barren> barren_;                    // the newest last
  std::uint32_t last_ask_ = 0;
  std::uint32_t last_campaign_ = kFirstStart.value();
  std::uint32_t last_allocation_ = 0;
  std::uint32_t last_lease_ = 0;
  Counts counts_;
  std::uint64_t now_ms_ = 0;
  bool ending_ = false;
};

// "starting" and the like, by the number of the phase.
const char* change_phase_name(std::size_t phase);

// "cannot-start" and the like.
const char* change_failure_name(ChangeFailure cause);

}  // namespace tide::core
