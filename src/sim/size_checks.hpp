// What is promised while the DVM changes its size, held against what the head shows of itself after
// every step. A Sight is all that is looked at, so that each promise can be shown to be noticed
// when it is broken.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/head_core.hpp"

namespace tide::sim {

struct Sight {
  struct Node {
    std::string name;
    core::NodeState state = core::NodeState::kUp;
    CampaignId campaign = core::kFirstStart;  // that brought it
    Serial order{};                           // to leave
  };
  struct Job {
    core::JobState state = core::JobState::kRunning;
    std::set<Rank> mapped{};
    std::size_t processes = 0;
    bool parked = false;
    std::vector<CampaignId> awaited{};
    std::optional<JobId> parent{};
    bool sent = false;       // launch data, anywhere
    bool somewhere = false;  // it has a process or a file on some node
    [[nodiscard]] bool lives() const { return state < core::JobState::kUnterminated; }
    // It has not come to where jobs are held: it waits for what it asked of resource managers.
    [[nodiscard]] bool asks() const { return state <= core::JobState::kAllocate; }
    [[nodiscard]] bool waits_for_map() const { return parked && mapped.empty(); }
    [[nodiscard]] bool waits_for_launch() const { return parked && !mapped.empty(); }
  };
  std::map<CampaignId, core::CampaignKind> open;
  std::map<CampaignId, std::set<Rank>> leavers;  // of each shrink that is under way
  std::map<Rank, Node> nodes;
  core::RankSet living{kHeadRank};
  std::map<JobId, Job> jobs;
  std::uint64_t rollbacks = 0;
  std::uint64_t repairs = 0;
  // Of the step that led here: whether it may have ended a job that waits, and not for another
  // size, and whether it may have cost a daemon its place.
  bool of_a_job = false;
  bool of_a_loss = false;
  bool orders_fail = false;  // no order to leave can be sent: who was to leave stays

  [[nodiscard]] bool shrinks() const;
  [[nodiscard]] bool is_up(Rank rank) const;
};

// Without what only a world knows: sent, somewhere, of_a_job, of_a_loss, orders_fail.
Sight look_at(const core::HeadCore& head, const Sight* before);

// Given one sight after the other, throws BrokenPromise.
class SizeChecks {
 public:
  void take(Sight now);
  // Nothing changes: what comes next is not compared with what was before.
  void rest();
  [[nodiscard]] const Sight* last() const { return before_ ? &*before_ : nullptr; }

 private:
  void check_parked(const Sight& now) const;
  void check_held(const Sight& now) const;
  void check_released(const Sight& now) const;
  void check_ended(const Sight& now) const;
  void check_maps(const Sight& now) const;
  void check_nodes(const Sight& now) const;
  void check_departed(const Sight& now) const;
  void check_rolled_back(const Sight& now) const;
  void check_repairs(const Sight& now) const;
  void remember(const Sight& now);
  [[nodiscard]] bool one_got_its_nodes(const Sight& now) const;

  [[nodiscard]] std::set<CampaignId> closed(const Sight& now) const;
  [[nodiscard]] std::set<CampaignId> failed(const Sight& now) const;
  [[nodiscard]] const Sight::Job* earlier(JobId id) const;
  [[nodiscard]] bool goes_with(JobId job, const std::set<CampaignId>& grows) const;
  [[nodiscard]] static bool ends_with_its_parent(const Sight::Job& job, const Sight& now);

  std::optional<Sight> before_;
  std::map<JobId, std::set<CampaignId>> accounts_;  // grows that a job came to wait for
  std::set<CampaignId> of_jobs_;  // grows that may have been asked for by a job, who spare others
  std::set<JobId> admitted_;
};

}  // namespace tide::sim
