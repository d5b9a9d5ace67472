// Changes of the DVM's size, from the request to the last answer. Each is a campaign with a number,
// targets and an asker of its own; that jobs are held while one is under way is the fence's doing,
// which is told when it begins and ends.
//
// Who asks is answered twice: when the change has begun, and when it has ended. What it waits for
// on the way is bounded by a timer in every phase.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "core/event_log.hpp"
#include "core/job_board.hpp"
#include "core/notes.hpp"
#include "core/roster.hpp"
#include "core/timers.hpp"

namespace tide::core {

struct ElasticConfig {
  bool enabled = false;
  std::uint32_t grow_timeout_ms = 60'000;       // from the launch to wired
  std::uint32_t grant_timeout_ms = 30'000;      // for a resource manager to grant or refuse
  std::uint32_t process_timeout_ms = 10'000;    // for processes on nodes that are released
  std::uint32_t departure_timeout_ms = 10'000;  // for daemons that are ordered to leave
  std::uint32_t return_timeout_ms = 5'000;      // for resource managers to take nodes back
  Verbosity verbosity{};
};

// Who is answered.
struct ChangeAsker {
  std::optional<ClientId> client{};  // nothing: nobody, or somebody who has gone
  std::uint32_t request = 0;
};

class ElasticDesk {
 public:
  ElasticDesk(ElasticConfig config, Roster& roster, JobBoard& jobs, TimerBook& timers,
              EventLog& events, Actions& out);

  void set_now(std::uint64_t now_ms) { now_ms_ = now_ms; }

  // ---- whoever asks ----
  void grow(const ChangeAsker& asker, const wire::GrowRequest& request);
  void shrink(const ChangeAsker& asker, const wire::ShrinkRequest& request);
  void client_gone(ClientId client);

  // ---- resource managers ----
  void handle(const NodesGranted& event);
  void handle(const NodesRefused& event);
  void handle(const NodesPushed& event);
  void handle(const NodesReclaimed& event);
  void handle(const ReturnAnswered& event);

  // ---- daemons ----
  void on_node_reported(CampaignId id, const Node& node);
  void on_grown(CampaignId id);
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

  [[nodiscard]] bool idle() const { return campaigns_.empty() && asks_.empty(); }
  [[nodiscard]] bool enabled() const { return config_.enabled; }
  void describe(wire::StatusReply& out, std::uint64_t now_ms) const;
  // What these are waiting for, for somebody who waits for them.
  void explain(const std::vector<CampaignId>& ids, wire::ExplainReply& out) const;
  struct Counts {
    std::uint64_t grows = 0;
    std::uint64_t shrinks = 0;
    std::uint64_t rollbacks = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  enum class Phase : std::uint8_t {
    kStarting,     // grow: daemons report
    kWiring,       // … and everybody acknowledges them
    kRollingBack,  // … or what was started ends
    kWaiting,      // shrink: for the end of a grow that brings some of its nodes
    kEnding,       // … of processes
    kDeparting,    // … of daemons
    kReturning,    // both: resource managers take back what is theirs
  };
  struct Outcome {
    std::optional<ChangeFailure> failure{};
    std::string text{};
  };
  struct Campaign {
    CampaignKind kind = CampaignKind::kGrow;
    ChangeAsker asker{};
    std::string allocation{};
    std::vector<std::string> nodes{};
    std::set<Rank> ranks{};  // of a shrink
    std::set<Rank> own{};    // of these, who are not leaving for another shrink already
    Phase phase = Phase::kStarting;
    std::uint64_t began_ms = 0;
    std::size_t reports = 0;
    bool hurried = false;  // its daemons were told to end by their launcher
    Outcome outcome{};
  };
  struct Ask {
    ChangeAsker asker;
  };

  [[nodiscard]] Status may_change() const;
  void refuse(const ChangeAsker& asker, const Error& why);
  void reply(const ChangeAsker& asker, wire::ClientReply reply);
  void tell(const Campaign& campaign, std::string text);
  void answer_begun(const Campaign& campaign, bool complete);
  void begin_grow(const ChangeAsker& asker, std::vector<NodeRequest> nodes);
  void begin_shrink(const ChangeAsker& asker, std::set<Rank> ranks, std::string allocation);
  CampaignId open(Campaign campaign);
  std::string next_allocation();

  [[nodiscard]] Result<std::set<Rank>> choose(const wire::ShrinkRequest& request) const;
  [[nodiscard]] Result<std::set<Rank>> choose_by_count(std::uint32_t count) const;
  [[nodiscard]] Result<std::set<Rank>> choose_by_name(const wire::ShrinkRequest& request) const;
  [[nodiscard]] std::set<Rank> living(const std::set<Rank>& ranks) const;
  bool advance(CampaignId id, Campaign& campaign);
  bool begin_leaving(CampaignId id, Campaign& campaign);
  void order(CampaignId id, Campaign& campaign);
  void have_left(CampaignId id, Campaign& campaign);
  void on_phase_timeout(CampaignId id, Campaign& campaign);

  void give_back(CampaignId id, Campaign& campaign);
  void end(CampaignId id);
  void enter(CampaignId id, Campaign& campaign, Phase phase, std::uint32_t limit_ms);
  [[nodiscard]] std::vector<std::string> missing(CampaignId id, const Campaign& campaign) const;
  [[nodiscard]] std::string waits(CampaignId id, const Campaign& campaign) const;

  ElasticConfig config_;
  Roster& roster_;
  JobBoard& jobs_;
  TimerBook& timers_;
  EventLog& events_;
  Actions& out_;
  Notes notes_;
  std::map<CampaignId, Campaign> campaigns_;
  std::map<std::uint32_t, Ask> asks_;
  std::uint32_t last_ask_ = 0;
  std::uint32_t last_campaign_ = kFirstStart.value();
  std::uint32_t last_allocation_ = 0;
  Counts counts_;
  std::uint64_t now_ms_ = 0;
  bool ending_ = false;
};

// "cannot-start" and the like.
const char* change_failure_name(ChangeFailure cause);

}  // namespace tide::core
