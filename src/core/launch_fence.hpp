// Which jobs are held while the DVM changes its size, and what becomes of them when a change ends.
//
// Nothing is counted: that jobs are held follows from the changes that are under way. A job waits
// at one of two places. Before it is mapped it waits until no change is left. When it is mapped it
// waits for shrinks only, because one may take a node from under it; if that happens it goes back
// to the first place.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
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
  };
  // Whether all nodes of a job's map are still there.
  using KeepsItsMap = std::function<bool(JobId)>;

  void open(CampaignId campaign, CampaignKind kind) { open_.emplace(campaign, kind); }
  // Who was held for it and for nothing else goes on, in the order in which they came.
  Released close(CampaignId campaign, bool failed, const KeepsItsMap& keeps_its_map);

  [[nodiscard]] bool holds_mapping() const { return !open_.empty(); }
  [[nodiscard]] bool holds_launch() const { return shrinks(); }
  void park_before_map(JobId job);
  void park_before_launch(JobId job) { before_launch_.push_back(job); }
  // It has ended: it is not waited for.
  void forget(JobId job);

  [[nodiscard]] bool parks(JobId job) const;
  [[nodiscard]] std::size_t parked() const { return before_map_.size() + before_launch_.size(); }
  [[nodiscard]] std::size_t parked_for(CampaignId campaign) const;
  // What a parked job waits for.
  [[nodiscard]] std::vector<CampaignId> awaited_by(JobId job) const;
  [[nodiscard]] const std::map<CampaignId, CampaignKind>& campaigns() const { return open_; }

 private:
  struct BeforeMap {
    JobId job;
    std::set<CampaignId> account;  // grows that take it along if they fail
  };
  [[nodiscard]] bool shrinks() const;
  [[nodiscard]] bool waits_before_launch(JobId job) const;
  void give_up_with(CampaignId campaign, Released& out);

  std::map<CampaignId, CampaignKind> open_;
  std::vector<BeforeMap> before_map_;
  std::vector<JobId> before_launch_;
};

}  // namespace tide::core
