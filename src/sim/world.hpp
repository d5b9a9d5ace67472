// A virtual world for the real cores: head and daemons on an in-memory network with a virtual
// clock. One seed determines every delay, fault and process; the same seed gives the same run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "core/daemon_core.hpp"
#include "core/driver.hpp"
#include "core/head_core.hpp"

namespace tide::sim {

constexpr int kFailedStatus = 3;  // of the process that fails

struct WorldConfig {
  std::uint64_t seed = 1;
  std::uint32_t nodes = 8;
  std::uint32_t slots = 4;
  std::uint32_t radix = 2;
  std::uint32_t max_delay_ms = 5;     // of one message on one link
  std::uint32_t max_process_ms = 50;  // how long a virtual process runs
  std::uint32_t max_output_bytes = 4000;
  std::uint32_t window_bytes = 1000;  // small, so that credit matters
  // This rank of every job closes its output and then fails; the others do not end by themselves.
  std::optional<std::uint32_t> failing_rank{};
  bool sweeps_hang = false;           // what jobs leave behind can't be ended
};

// What a virtual client saw of its job.
struct JobOutcome {
  std::uint32_t number = 0;
  bool ended = false;
  int answers = 0;  // JobEnded replies: must be exactly one
  int exit_status = -1;
  std::vector<std::string> messages;
  std::map<std::uint32_t, std::uint64_t> output_bytes;  // by process rank
  bool output_in_order = true;
  std::map<std::uint32_t, std::string> placed_on;  // by process rank, as the daemons spawned them
  std::uint32_t runaways_at_end = 0;  // of the job, on living nodes, when its end was answered
};

class World {
 public:
  explicit World(WorldConfig config);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  World(World&&) = delete;
  World& operator=(World&&) = delete;

  void start_dvm();
  std::uint32_t submit(std::uint32_t processes);  // returns the index of its outcome
  void submit_at(std::uint64_t at_ms, std::uint32_t processes);
  void crash_at(std::uint64_t at_ms, Rank rank);     // the launcher sees it
  void freeze_at(std::uint64_t at_ms, Rank rank);    // for good: it neither answers nor ends
  void cut_link_at(std::uint64_t at_ms, Rank rank);  // the link to its parent breaks, both live
  // The daemon, if it hangs on the head, says things there in the name of others and about them.
  void lie_at(std::uint64_t at_ms, Rank rank);
  void take_down_at(std::uint64_t at_ms);

  // Runs until nothing is left to happen or the virtual time is over. False: time was over.
  bool run(std::uint64_t until_ms);

  [[nodiscard]] std::uint64_t now_ms() const { return now_ms_; }
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] bool head_exited() const { return head_exited_; }
  [[nodiscard]] const core::HeadCore& head() const { return *head_core_; }
  [[nodiscard]] const std::vector<JobOutcome>& outcomes() const { return outcomes_; }
  [[nodiscard]] std::uint64_t expected_output(std::uint32_t job, std::uint32_t rank) const;
  [[nodiscard]] const std::vector<std::string>& trace() const { return trace_; }
  [[nodiscard]] const std::vector<std::pair<core::HeadEvent, std::uint64_t>>& head_events() const {
    return head_events_;
  }
  [[nodiscard]] core::HeadConfig head_config() const;

  // Empty, or what is wrong: everybody living agrees on membership and hangs on the right parent.
  [[nodiscard]] std::string check_converged() const;

 private:
  struct Process;
  struct Daemon;
  class HeadEffects;
  class DaemonEffects;
  struct End {
    LinkId id;
    LinkId other;
    Rank owner;
    std::uint64_t last_control_ms =
        0;  // FIFO per class: nothing arrives before what was sent earlier
    std::uint64_t last_bulk_ms = 0;
  };

  void at(std::uint64_t when_ms, std::function<void()> what);
  std::uint64_t random(std::uint64_t bound) { return bound == 0 ? 0 : rng_() % bound; }
  std::uint64_t delay() { return 1 + random(config_.max_delay_ms); }
  void connect(Rank from, const core::Connect& request);
  void send(LinkId from, const core::Send& message);
  void close(LinkId from, core::LinkEnd end, const std::string& text);
  void break_links_of(Rank rank, std::uint64_t noticed_after_ms, const std::string& text);
  wire::LinkMessage false_word(Rank victim, std::uint64_t seq);
  wire::LinkMessage false_contribution(Rank victim);
  void post_link_event(Rank to, core::DaemonEvent event);
  bool alive(Rank rank) const;
  bool responsive(Rank rank) const;
  void perform_common(Rank self, core::Action& action);
  void launch(const core::LaunchTarget& target);
  void end_daemon(Rank rank, const std::string& how);
  void spawn(Rank rank, const core::SpawnProc& request);
  void pump_output(Rank rank, core::ProcKey key);
  void fail_process(Rank rank, core::ProcKey key);
  void end_process(Rank rank, core::ProcKey key, int exit_code, int signal);
  void sweep(Rank rank, JobId job);
  [[nodiscard]] std::uint32_t runaways_of(std::uint32_t job) const;
  void on_reply(const core::Reply& reply);
  void trace(const std::string& line);

  WorldConfig config_;
  std::mt19937_64 rng_;
  std::uint64_t now_ms_ = 0;
  std::uint64_t order_ = 0;
  struct Pending {
    std::uint64_t when_ms;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Pending& other) const {
      return when_ms != other.when_ms ? when_ms > other.when_ms : order > other.order;
    }
  };
  std::priority_queue<Pending> queue_;
  std::uint64_t next_link_ = 1;
  std::map<LinkId, End> ends_;
  std::unique_ptr<core::HeadCore> head_core_;
  std::unique_ptr<HeadEffects> head_effects_;
  std::unique_ptr<core::StepObserver<core::HeadEvent>> recorder_;
  std::unique_ptr<core::Driver<core::HeadCore>> head_driver_;
  std::map<Rank, std::unique_ptr<Daemon>> daemons_;
  std::vector<JobOutcome> outcomes_;
  std::vector<std::string> trace_;
  std::vector<std::pair<core::HeadEvent, std::uint64_t>> head_events_;
  bool ready_ = false;
  bool head_exited_ = false;
};

}  // namespace tide::sim
