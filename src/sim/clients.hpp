// The virtual clients: each submits one job of the scenario and does with it what its habit is.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "sim/scenario.hpp"

namespace tide::sim {

class World;

// What a client saw of its job.
struct Outcome {
  JobPlan plan;
  std::uint32_t number = 0;  // of the job; 0: not accepted
  std::uint32_t parent = 0;  // of the job that spawned it; 0: none
  std::uint64_t submitted_ms = 0;
  std::uint64_t answered_ms = 0;
  int answers = 0;  // the last word on the job: must be exactly one
  int exit_status = -1;
  bool left = false;  // the client went away
  bool held = false;  // it was told that all processes wait
  bool late = false;  // it got no nodes: one that it named was about to leave
  bool order_kept = true;
  std::vector<std::string> named;  // nodes that are to be added for it
  std::vector<std::string> messages;
  std::set<std::string> traces;  // what was said of the stacks of its processes
  std::map<std::uint32_t, std::uint64_t> output_bytes;  // by process rank
  std::map<std::uint32_t, std::uint64_t> logged_bytes;  // beside them
  std::map<std::uint32_t, std::uint64_t> uncredited;    // of both, no credit was given back yet
  std::map<std::uint32_t, std::uint64_t> unpaid;        // of what was logged: credit pays it first
};

class Clients {
 public:
  static constexpr std::uint64_t kByteCycle = 251;

  explicit Clients(World& world);

  void plan_all();
  void on_reply(const core::Reply& reply);
  void request_down();

  [[nodiscard]] const std::vector<Outcome>& outcomes() const { return outcomes_; }
  // Of jobs that the clients' jobs spawned.
  [[nodiscard]] const std::map<std::uint32_t, Outcome>& children() const { return children_; }
  [[nodiscard]] const JobPlan& plan_of(JobId job) const;
  [[nodiscard]] bool knows(JobId job) const { return by_number_.contains(job.value()); }
  [[nodiscard]] int kills_unanswered() const { return kills_unanswered_; }
  [[nodiscard]] bool down_requested() const { return down_requested_; }

 private:
  void submit(std::size_t index);
  void act(std::size_t index);
  void on_accepted(Outcome& outcome, const wire::Accepted& accepted);
  void on_job_reply(Outcome& outcome, const core::Reply& reply);
  [[nodiscard]] bool names_a_leaver(const Outcome& outcome) const;
  Outcome* child(std::uint32_t job);
  void take_output(Outcome& outcome, const core::Reply& reply);
  void send_input(Outcome& outcome, const core::Reply& reply);
  void send_files(Outcome& outcome, const core::Reply& reply);
  void let_go(Outcome& outcome);
  static void take_trace(Outcome& outcome, const wire::JobTrace& trace);
  void answered(Outcome& outcome);

  World& world_;
  std::vector<Outcome> outcomes_;
  std::map<std::uint32_t, Outcome> children_;  // by job number
  std::map<std::uint32_t, std::size_t> by_number_;
  std::map<std::uint32_t, std::uint32_t> input_left_;   // by job number
  std::map<std::uint32_t, std::uint32_t> pieces_sent_;  // of its files, by job number
  int kills_unanswered_ = 0;
  int downs_unanswered_ = 0;
  bool down_requested_ = false;
};

}  // namespace tide::sim
