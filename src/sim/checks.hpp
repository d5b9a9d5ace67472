// The promises, looked at with every step and at the end. Whatever does not hold is thrown as a
// BrokenPromise.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/actions.hpp"
#include "core/membership.hpp"
#include "core/roster.hpp"
#include "sim/ask_checks.hpp"
#include "sim/network.hpp"
#include "sim/scenario.hpp"
#include "sim/session_checks.hpp"
#include "sim/size_checks.hpp"
#include "sim/tree_checks.hpp"
#include "sim/watchers.hpp"

namespace tide::sim {

class World;
struct Outcome;

class Checks {
 public:
  explicit Checks(const World& world);

  // ---- what the world tells ----
  void on_head_step(const core::HeadEvent& event, const core::Actions& actions,
                    std::uint64_t now_ms);
  void on_daemon_step(HostId host, const core::DaemonEvent& event, const core::Actions& actions);
  void on_job_ended(JobId job) const;
  // A fault that may cost the host its place in the DVM, if it lasts long enough.
  void on_struck(HostId host, std::uint64_t for_ms);
  void on_launch_fault(const Fault& fault);
  void on_fault();
  // The grow that this daemon belongs to may fail.
  void on_grow_fault(Rank rank) { excused_.insert(rank); }
  [[nodiscard]] std::uint64_t last_fault_ms() const { return last_fault_ms_; }
  [[nodiscard]] bool is_excused(Rank rank) const { return excused_.contains(rank); }
  [[nodiscard]] std::uint64_t asked_anew() const { return asks_.asked_anew(); }

  // Faults are over and nothing happens any more: everything has recovered.
  void when_quiet();
  // The head has exited: nothing is left.
  void at_the_end();

 private:
  void check_addressee(const core::Reply& reply) const;
  void check_launch_data(const core::Send& send);
  void check_ranks(const std::vector<core::LaunchTarget>& targets);
  void check_lost_nodes(std::uint64_t now_ms);
  void check_fence();
  void check_size(const core::HeadEvent& event);
  void check_unchanged() const;
  void check_agreement() const;
  void check_same_membership(Rank rank, const core::Membership& seen) const;
  void check_jobs_gone() const;
  void check_outcome(const Outcome& outcome) const;
  void check_success(const Outcome& outcome) const;
  void check_output(const Outcome& outcome, std::uint32_t rank) const;
  void check_misfit(const Outcome& outcome) const;
  void check_recoverable(const Outcome& outcome) const;
  void check_child(const Outcome& outcome) const;
  void check_replay() const;
  [[nodiscard]] bool lost_between(std::uint64_t from_ms, std::uint64_t to_ms) const;
  [[nodiscard]] bool must_succeed(const Outcome& outcome) const;
  [[nodiscard]] bool is_left_alone(const Outcome& outcome) const;

  const World& world_;
  bool keep_events_;
  Watchers watchers_;
  std::vector<std::pair<core::HeadEvent, std::uint64_t>> head_events_;
  std::set<Rank> ranks_given_;
  std::size_t campaigns_ = 0;  // that held jobs, after the last step
  std::set<ClientId> gone_clients_;
  std::map<Rank, core::NodeState> members_;
  std::set<std::pair<std::uint32_t, Rank>> launches_;  // what was sent to be launched, and where
  std::set<Rank> excused_;                             // struck hard enough to be lost
  std::map<Rank, std::pair<std::uint64_t, std::uint64_t>> spells_;  // of being struck: from, until
  std::uint64_t unsure_until_ms_ = 0;  // a silent fault may still be unnoticed
  std::uint64_t last_fault_ms_ = 0;
  std::set<CampaignId> shrinks_;  // after the step before
  std::uint64_t launched_ = 0;    // jobs, by then
  bool start_may_fail_ = false;
  std::vector<std::uint64_t> losses_ms_;
  SizeChecks sizes_;
  TreeChecks trees_;
  SessionChecks sessions_;
  AskChecks asks_;
  std::uint64_t events_seen_ = 0;
};

}  // namespace tide::sim
