// The manager `slurm`: nodes of the Slurm job that a DVM was started in, and of further jobs that
// it asks Slurm for. Unlike the others it has to wait for its answers, and hears of changes that
// nobody here has asked for: jobs that end or are made smaller, nodes that are added, limits that
// move.
//
// One watcher looks at all jobs at once, by one command: often while something changes, then less
// and less.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/actions.hpp"
#include "core/events.hpp"
#include "rm/slurm_book.hpp"
#include "rm/slurm_control.hpp"

namespace tide::rm {

// The time, and what comes later. Pure code stays so.
struct SlurmClock {
  std::function<std::uint64_t()> now_ms{};  // since 1970
  std::function<void(std::uint32_t after_ms, std::function<void()>)> after{};
};

class SlurmListener {
 public:
  struct Grant {
    std::vector<Host> hosts{};
    core::Lease lease{};
    bool cut = false;  // shorter than was wished
  };
  virtual ~SlurmListener() = default;
  // The nodes that the DVM has, gets or gives back.
  virtual std::set<std::string> known() = 0;
  // One of the three ends an ask; none comes for one that was cancelled.
  virtual void on_granted(std::uint32_t ask, Grant grant) = 0;
  virtual void on_time_granted(std::uint32_t ask, std::uint32_t time_ms, bool cut) = 0;
  virtual void on_refused(std::uint32_t ask, Error why) = 0;
  virtual void on_queued(std::uint32_t ask, std::string text) = 0;
  virtual void on_pushed(Grant grant) = 0;
  virtual void on_reclaimed(std::vector<std::string> nodes, std::string reason) = 0;
  virtual void on_lease_moved(std::vector<std::string> nodes, std::uint32_t time_ms) = 0;
  virtual void on_returned(std::uint32_t number, core::ReturnVerdict verdict, std::string why) = 0;
  // The job that the DVM was started in is over.
  virtual void on_parent_over(std::string reason) = 0;
  // How long that one can last; 0: no limit.
  virtual void on_parent_limit(std::uint64_t left_ms) = 0;
  // For people; nothing depends on it.
  virtual void on_note(std::string text) = 0;
};

struct SlurmSettings {
  std::string job_name{};               // of new jobs
  std::uint32_t first_look_ms = 2'000;  // after a change
  std::uint32_t last_look_ms = 60'000;  // when there was none for long
  std::uint32_t silence_ms = 20'000;    // of a salloc whose job runs; 0: no limit
  std::uint32_t settle_ms = 90'000;     // at the end, for jobs to be given back
};

class SlurmManager {
 public:
  SlurmManager(SlurmControl& control, SlurmClock clock, SlurmListener& listener, SlurmBook book,
               SlurmSettings settings);

  // Once: learns what Slurm knows of the job we are in, and watches from then on.
  void start();

  // What is free in our jobs first, the rest from Slurm. `known` are the nodes that the DVM has,
  // gets or gives back.
  void ask(const core::AskForNodes& wanted, std::span<const hosts::HostWord> words,
           std::span<const hosts::HostWord> idle, const std::set<std::string>& known);
  void ask(const core::AskForTime& wanted);
  void cancel(std::uint32_t ask);
  void give_back(const core::ReturnNodes& order);
  void note_started(std::span<const std::string> names) { book_.note_started(names); }
  // Why a node may be of no use any more: what Slurm has done to its job is told before `then`,
  // which does not wait long.
  void look_why(const std::string& node, std::function<void()> then);

  [[nodiscard]] std::string job_of(const std::string& node) const { return book_.job_of(node); }
  // How long nodes may stay in the job that the DVM was started in; 0: as long as they like.
  [[nodiscard]] std::uint32_t parent_left_ms() const { return left_ms(book_.parent()); }

  // Takes back all requests and gives back all jobs but the parent. `then` comes after a bounded
  // time; whether Slurm has them all.
  void finish(std::function<void(bool)> then);
  [[nodiscard]] bool gives_back(pid_t pid) const { return control_.gives_back(pid); }

 private:
  using Grant = SlurmListener::Grant;
  struct Ask {
    SlurmBook::Share share{};
    core::Lease wish{};
    std::unique_ptr<SlurmHold> hold{};
    std::uint32_t minutes = 0;
    std::string queued{};                          // the job that waits in the queue
    std::string told{};                            // of it
    std::optional<std::uint64_t> runs_since_ms{};  // as Slurm has it, and salloc has not said so
    std::string granted{};                         // the job of which the end is not known yet
  };
  struct Wanted {
    core::AskForNodes ask{};
    std::vector<hosts::HostWord> words{};
    std::set<std::string> looked_at{};  // jobs
  };
  // Nodes on their way back, until the last of their jobs has been seen to.
  struct Return {
    std::uint32_t number = 0;
    std::set<std::string> jobs{};
    std::set<std::string> late{};  // of these: that had another order to be carried out
    core::ReturnVerdict verdict = core::ReturnVerdict::kTaken;
    std::string why{};
  };
  struct Prolonging {
    std::map<std::string, std::vector<std::string>> nodes{};  // by job
    std::set<std::string> jobs{};                             // that are still asked for it
    std::uint32_t time_ms = 0;
    bool cut = false;
  };

  // At one job, for those who wait for it.
  struct CloserLook {
    std::uint64_t turn = 0;
    std::vector<std::function<void()>> waiting{};
  };

  // ---- asking ----
  void ask_for(Wanted wanted);
  [[nodiscard]] std::function<void()> unless_cancelled(std::uint32_t number,
                                                       std::function<void()> then);
  [[nodiscard]] SlurmWish wish_of(const Ask& ask) const;
  void allocate(std::uint32_t number);
  void on_granted(std::uint32_t number, const SlurmJob& job);
  void on_end_known(std::uint32_t number, SlurmJob job, const Result<SlurmJob>& closer);
  void not_given(std::uint32_t number, Error why);
  void refuse(std::uint32_t number, Error why);
  // Nodes have gone that requests which wait were to have.
  void refuse_without(const std::vector<std::string>& gone, const std::string& reason);
  void grant(std::uint32_t number, std::vector<Host> hosts);
  [[nodiscard]] Grant grant_of(std::vector<Host> hosts, core::Lease wish);
  void queued(std::uint32_t number, std::string text);
  // Granted, and its end is not known yet.
  [[nodiscard]] bool is_coming(const std::string& job) const;
  // How long nodes of it may stay here; 0: no limit, or none is known.
  [[nodiscard]] std::uint32_t left_ms(const std::string& job) const;

  // ---- more time ----
  [[nodiscard]] Result<Prolonging> prolonging_of(const core::AskForTime& wanted) const;
  [[nodiscard]] bool parent_may_last_longer() const;
  void look_at_parent(std::function<void()> then);
  void prolong(std::uint32_t number, const std::string& job);
  void on_new_end(std::uint32_t number, const SlurmJob& job);
  void prolonged(std::uint32_t number, const std::string& job, const Status& status);
  // Until when nodes may stay, as they were told; 0: as above.
  [[nodiscard]] std::uint64_t end_ms(const std::string& node) const;
  [[nodiscard]] std::uint64_t last_end_ms(const std::vector<std::string>& nodes) const;

  // ---- giving back ----
  void see_to(const std::string& job);
  void take_up(const std::string& job);
  void resize(const std::string& job, SlurmBook::Order order);
  void resized(const std::string& job, const SlurmBook::Order& order, const Status& status);
  void drop(const std::string& job);
  void settle_returns(const std::string& job, core::ReturnVerdict verdict,
                      const std::string& why = {});
  void try_again(const std::string& job);
  void cancel_left(const std::string& job);
  void give_back_the_rest();

  // ---- watching ----
  void hurry();
  void plan_look();
  void look();
  void looked_closer(const std::string& job, std::uint64_t age, const Result<SlurmJob>& closer);
  void go_on(const std::string& job, std::uint64_t turn);
  void compare(const std::vector<SlurmRow>& rows);
  void compare(const SlurmRow& row);
  void compare(std::uint32_t number, const SlurmRow& row);
  void compare_running(std::uint32_t number);
  void know_parent(const SlurmJob& job);
  void look_for_queued(const std::vector<SlurmRow>& rows);
  void look_closer(const std::string& job);
  void learn(const SlurmJob& job);
  void tell(const std::string& job, SlurmBook::News news);
  void reclaimed(std::vector<std::string> nodes, const std::string& reason);
  void lease_moved(const std::string& job, std::vector<std::string> nodes);
  void bound_children_anew(std::optional<std::uint64_t> before_s,
                           std::optional<std::uint64_t> now_s);
  void on_over(const std::string& job);
  void over(const std::string& job, const std::string& state);
  void lost(const std::string& job, const std::string& state);

  SlurmControl& control_;
  SlurmClock clock_;
  SlurmListener& listener_;
  SlurmBook book_;
  SlurmSettings settings_;
  SlurmJob parent_{};        // partition, account and QOS are for new jobs, too
  std::uint32_t cores_ = 0;  // of the smallest node of the parent
  std::map<std::uint32_t, Ask> asks_;
  std::set<std::uint32_t> looking_for_;  // asks of which a node is looked at first
  std::map<std::uint32_t, Prolonging> prolongings_;
  std::vector<Return> returns_;
  std::map<std::string, std::unique_ptr<SlurmHold>> holds_;  // by job
  std::set<std::string> unheld_;                             // lost their holder, and run
  std::map<std::string, std::uint32_t> left_;     // to be cancelled; how often that was tried
  std::map<std::string, std::uint32_t> retries_;  // of orders that did not reach Slurm: pauses
  std::set<std::string> waiting_;                 // for such a pause to be over
  std::map<std::string, CloserLook> looks_;       // by job
  std::uint64_t closer_turn_ = 0;
  std::uint32_t look_ms_ = 0;
  std::uint64_t look_turn_ = 0;
  std::optional<std::uint64_t> look_due_ms_{};
  bool looking_ = false;
  bool parent_seen_ = false;
  std::uint64_t parent_looked_ms_ = 0;
  bool parent_over_ = false;
  bool finishing_ = false;
  std::uint64_t finish_by_ms_ = 0;
  std::function<void(bool)> finished_;
};

}  // namespace tide::rm
