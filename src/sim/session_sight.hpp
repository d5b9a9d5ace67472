// What the head shows of sessions after a step, and what led to it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/head_core.hpp"

namespace tide::sim {

inline constexpr const char* kSchedulerKey = "known to the scheduler";

// What somebody wants of allocations, or a job that somebody wants.
struct SessionRequest {
  std::string who{};
  bool by_command = false;  // of the user, at the head
  bool by_tool = false;     // known to who looks
  bool is_job = false;
  std::string key{};                 // of a scheduler
  wire::AllocationRequest wanted{};  // if it is no job
  std::optional<wire::Targets> targets{};
  bool refused = false;  // in this step
};

struct SessionSight {
  struct Node {
    std::string session{};
    std::string allocation{};
    core::NodeState state = core::NodeState::kUp;
  };
  struct Job {
    std::string spawner{};  // empty: a client
    std::set<std::string> sessions{};
    std::set<Rank> mapped{};
    bool lives = true;
    bool launched = false;
    bool recoverable = false;
  };
  struct Allocation {
    std::string owner{};
    std::string asker{};
    std::string request_id{};
    bool shared = false;
    bool ending = false;
    core::Inheritance inheritance{};
    std::set<std::string> users{};
    bool operator==(const Allocation&) const = default;
  };
  struct News {  // one of the events that tell of allocations
    core::EventKind kind{};
    std::string id{};
    std::string detail{};
  };
  std::map<Rank, Node> nodes;
  std::map<std::string, Job> jobs;
  std::map<std::string, Allocation> allocations;
  std::map<CampaignId, core::CampaignKind> open;  // changes
  std::uint64_t rollbacks = 0;
  // ---- of this step ----
  std::vector<News> news;
  std::set<std::string> tools_in;  // namespace:rank
  std::set<std::string> tools_out;
  std::optional<SessionRequest> request;
  std::set<std::uint32_t> asked;                // questions to resource managers
  std::map<std::uint32_t, std::uint32_t> anew;  // … in place of others
  std::optional<std::uint32_t> granted;         // … one of which was answered
  std::vector<core::ReturnNodes> returns;       // to these
  std::set<std::string> returned;               // nodes that are not in the book
  std::set<std::string> hit;                    // jobs with something on nodes that begin to leave
  bool lease_over = false;
  bool by_hand = false;    // a change of size that somebody who may wants, not by a request
  bool of_a_loss = false;  // what it is about may have cost jobs their processes
};

// `seen`: the last of the head's events that was looked at.
SessionSight look_at_sessions(const core::HeadCore& head, const core::HeadEvent& event,
                              const core::Actions& actions, const SessionSight* before,
                              std::uint64_t& seen);

}  // namespace tide::sim
