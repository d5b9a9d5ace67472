// Which jobs are held while the DVM changes its size, and what becomes of them when a change ends.
//
// Nothing is counted: that jobs are held follows from the changes that are under way. A job waits
// at one of two places. Before it is mapped it waits until no change is left. When it is mapped it
// waits for shrinks only, because one may take a node from under it; if that happens it goes back
// to the first place.
//
// Where a DVM is not elastic nobody is held but the jobs for which it is extended, each for itself.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.hpp"

namespace tide::core {

enum class CampaignKind : std::uint8_t { kGrow, kShrink };

class LaunchFence {
 public:
  struct Released {
    std::vector<JobId> to_map;
    std::vector<JobId> to_launch;
    std::vector<JobId> to_map_anew;  // lost their place; they go on waiting, for to_map
    std::vector<JobId> given_up;     // a grow failed on whose account they waited
    std::vector<JobId> extended;     // held alone: what they asked for is there
  };
  // Whether all nodes of a job's map are still there.
  using KeepsItsMap = std::function<bool(JobId)>;

  // Of a grow that a job asked for: whoever comes with number `spared` or later is kept back, but
  // not given up with it.
  void open(CampaignId campaign, CampaignKind kind, std::optional<JobId> spared = {});
  // Who was held for it and for nothing else goes on, in the order in which they came.
  Released close(CampaignId campaign, bool failed, const KeepsItsMap& keeps_its_map);

  [[nodiscard]] bool holds_mapping() const { return !open_.empty(); }
  [[nodiscard]] bool holds_launch() const { return shrinks(); }
  // `needed`: grows that bring what it asked for.
  void park_before_map(JobId job, const std::set<CampaignId>& needed = {});
  // Until these have ended, and for nothing else. They need not be open for others.
  void hold_alone(JobId job, std::set<CampaignId> needed) {
    alone_.push_back({job, std::move(needed)});
  }
  void park_before_launch(JobId job) { before_launch_.push_back(job); }
  // It has ended: it is not waited for.
  void forget(JobId job);

  [[nodiscard]] bool parks(JobId job) const;
  [[nodiscard]] std::size_t parked() const {
    return before_map_.size() + before_launch_.size() + alone_.size();
  }
  [[nodiscard]] std::vector<JobId> parked_for(CampaignId campaign) const;
  // What a parked job waits for.
  [[nodiscard]] std::vector<CampaignId> awaited_by(JobId job) const;
  [[nodiscard]] const std::map<CampaignId, CampaignKind>& campaigns() const { return open_; }

 private:
  struct BeforeMap {
    JobId job;
    std::set<CampaignId> account;  // grows that take it along if they fail
  };
  struct Alone {
    JobId job;
    std::set<CampaignId> needed;
  };
  [[nodiscard]] bool shrinks() const;
  [[nodiscard]] bool waits_before_launch(JobId job) const;
  void give_up_with(CampaignId campaign, Released& out);
  void close_for_the_alone(CampaignId campaign, bool failed, Released& out);

  std::map<CampaignId, CampaignKind> open_;
  std::map<CampaignId, JobId> spared_;  // by the grow: the first job that it does not take along
  std::vector<BeforeMap> before_map_;
  std::vector<Alone> alone_;
  std::vector<JobId> before_launch_;
};

}  // namespace tide::core
