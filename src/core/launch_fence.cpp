#include "core/launch_fence.hpp"

#include <algorithm>
#include <utility>

namespace tide::core {

bool LaunchFence::shrinks() const {
  return std::ranges::any_of(
      open_, [](const auto& entry) { return entry.second == CampaignKind::kShrink; });
}

void LaunchFence::park_before_map(JobId job) {
  BeforeMap parked{job, {}};
  for (const auto& [campaign, kind] : open_) {
    if (kind == CampaignKind::kGrow) parked.account.insert(campaign);
  }
  before_map_.push_back(std::move(parked));
}

void LaunchFence::give_up_with(CampaignId campaign, Released& out) {
  std::erase_if(before_map_, [&](const BeforeMap& parked) {
    if (!parked.account.contains(campaign)) return false;
    out.given_up.push_back(parked.job);
    return true;
  });
}

LaunchFence::Released LaunchFence::close(CampaignId campaign, bool failed,
                                         const KeepsItsMap& keeps_its_map) {
  Released out;
  const auto found = open_.find(campaign);
  if (found == open_.end()) return out;
  const bool grew = found->second == CampaignKind::kGrow;
  open_.erase(found);
  if (grew && failed) give_up_with(campaign, out);
  if (!shrinks()) {
    for (const JobId job : std::exchange(before_launch_, {})) {
      if (keeps_its_map(job)) {
        out.to_launch.push_back(job);
      } else {
        out.to_map_anew.push_back(job);
        before_map_.push_back(BeforeMap{job, {}});
      }
    }
  }
  if (open_.empty()) {
    for (const auto& parked : std::exchange(before_map_, {})) out.to_map.push_back(parked.job);
  }
  return out;
}

void LaunchFence::forget(JobId job) {
  std::erase_if(before_map_, [job](const BeforeMap& parked) { return parked.job == job; });
  std::erase(before_launch_, job);
}

bool LaunchFence::waits_before_launch(JobId job) const {
  return std::ranges::find(before_launch_, job) != before_launch_.end();
}

bool LaunchFence::parks(JobId job) const {
  return waits_before_launch(job) ||
         std::ranges::find(before_map_, job, &BeforeMap::job) != before_map_.end();
}

std::size_t LaunchFence::parked_for(CampaignId campaign) const {
  const auto found = open_.find(campaign);
  if (found == open_.end()) return 0;
  const bool shrinks = found->second == CampaignKind::kShrink;
  return before_map_.size() + (shrinks ? before_launch_.size() : 0);
}

std::vector<CampaignId> LaunchFence::awaited_by(JobId job) const {
  std::vector<CampaignId> out;
  const bool for_shrinks = waits_before_launch(job);
  if (!for_shrinks && !parks(job)) return out;
  for (const auto& [campaign, kind] : open_) {
    if (!for_shrinks || kind == CampaignKind::kShrink) out.push_back(campaign);
  }
  return out;
}

}  // namespace tide::core
