#include "core/launch_fence.hpp"

#include <algorithm>
#include <utility>

namespace tide::core {

bool LaunchFence::shrinks() const {
  return std::ranges::any_of(
      open_, [](const auto& entry) { return entry.second == CampaignKind::kShrink; });
}

void LaunchFence::open(CampaignId campaign, CampaignKind kind, std::optional<JobId> spared) {
  open_.emplace(campaign, kind);
  if (spared) spared_.emplace(campaign, *spared);
}

void LaunchFence::park_before_map(JobId job, const std::set<CampaignId>& needed) {
  BeforeMap parked{job, needed};
  for (const auto& [campaign, kind] : open_) {
    const auto spared = spared_.find(campaign);
    const bool is_spared = spared != spared_.end() && job >= spared->second;
    if (kind == CampaignKind::kGrow && !is_spared) parked.account.insert(campaign);
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

void LaunchFence::close_for_the_alone(CampaignId campaign, bool failed, Released& out) {
  std::erase_if(alone_, [&](Alone& held) {
    if (held.needed.erase(campaign) == 0 || (!failed && !held.needed.empty())) return false;
    (failed ? out.given_up : out.extended).push_back(held.job);
    return true;
  });
}

LaunchFence::Released LaunchFence::close(CampaignId campaign, bool failed,
                                         const KeepsItsMap& keeps_its_map) {
  Released out;
  close_for_the_alone(campaign, failed, out);
  const auto found = open_.find(campaign);
  if (found == open_.end()) return out;
  const bool grew = found->second == CampaignKind::kGrow;
  open_.erase(found);
  spared_.erase(campaign);
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
    std::ranges::sort(out.to_map);  // who lost its map came before those who had none yet
  }
  return out;
}

void LaunchFence::forget(JobId job) {
  std::erase_if(before_map_, [job](const BeforeMap& parked) { return parked.job == job; });
  std::erase(before_launch_, job);
  std::erase_if(alone_, [job](const Alone& held) { return held.job == job; });
}

bool LaunchFence::waits_before_launch(JobId job) const {
  return std::ranges::find(before_launch_, job) != before_launch_.end();
}

bool LaunchFence::parks(JobId job) const {
  return waits_before_launch(job) ||
         std::ranges::find(before_map_, job, &BeforeMap::job) != before_map_.end() ||
         std::ranges::find(alone_, job, &Alone::job) != alone_.end();
}

std::vector<JobId> LaunchFence::parked_for(CampaignId campaign) const {
  std::vector<JobId> out;
  const auto found = open_.find(campaign);
  for (const auto& held : alone_) {
    if (held.needed.contains(campaign)) out.push_back(held.job);
  }
  if (found == open_.end()) return out;
  for (const auto& parked : before_map_) out.push_back(parked.job);
  if (found->second == CampaignKind::kShrink) {
    out.insert(out.end(), before_launch_.begin(), before_launch_.end());
  }
  std::ranges::sort(out);
  return out;
}

std::vector<CampaignId> LaunchFence::awaited_by(JobId job) const {
  const auto alone = std::ranges::find(alone_, job, &Alone::job);
  if (alone != alone_.end()) return {alone->needed.begin(), alone->needed.end()};
  std::vector<CampaignId> out;
  const bool for_shrinks = waits_before_launch(job);
  if (!for_shrinks && !parks(job)) return out;
  for (const auto& [campaign, kind] : open_) {
    if (!for_shrinks || kind == CampaignKind::kShrink) out.push_back(campaign);
  }
  return out;
}

}  // namespace tide::core
