#include "pmix/local_waiters.hpp"

#include <algorithm>
#include <utility>

namespace tide::pmix {

bool LocalWaiters::Group::forgotten() const {
  const std::lock_guard lock(mutex_);
  return forgotten_;
}

void LocalWaiters::Group::lose(const ProcName& proc) {
  const std::lock_guard lock(mutex_);
  if (names_.erase(proc) > 0) forgotten_ = names_.empty();
}

void LocalWaiters::connected(const ProcName& proc) {
  const std::lock_guard lock(mutex_);
  connected_.insert(proc);
  ending_.erase(proc);
}

void LocalWaiters::disconnected(const ProcName& proc) {
  const auto one = connected_.find(proc);
  if (one != connected_.end()) connected_.erase(one);
  if (!connected_.contains(proc)) ending_.erase(proc);
}

void LocalWaiters::finalized(const ProcName& proc) {
  const std::lock_guard lock(mutex_);
  disconnected(proc);
  if (!connected_.contains(proc)) lose_in_groups(proc);
}

bool LocalWaiters::lost(const ProcName& proc) {
  const std::lock_guard lock(mutex_);
  disconnected(proc);
  lose_in_groups(proc);
  return connected_.contains(proc);
}

void LocalWaiters::gone(const ProcName& proc) {
  const std::lock_guard lock(mutex_);
  connected_.erase(proc);
  ending_.erase(proc);
  lose_in_groups(proc);
}

void LocalWaiters::is_being_ended(const ProcName& proc) {
  const std::lock_guard lock(mutex_);
  if (connected_.contains(proc)) ending_.insert(proc);
  lose_in_groups(proc);
}

void LocalWaiters::lose_in_groups(const ProcName& proc) {
  std::erase_if(groups_, [](const auto& group) { return group.expired(); });
  for (const auto& group : groups_) {
    if (const auto living = group.lock()) living->lose(proc);
  }
}

std::shared_ptr<const LocalWaiters::Group> LocalWaiters::enter(
    const std::vector<ProcName>& participants) {
  const std::lock_guard lock(mutex_);
  std::set<ProcName> here;
  for (const ProcName& each : participants) {
    if (each.rank != kAllRanks) {
      if (connected_.contains(each)) here.insert(each);
      continue;
    }
    const auto first = connected_.lower_bound({each.nspace, 0});
    const auto end = connected_.upper_bound({each.nspace, kAllRanks});
    here.insert(first, end);
  }
  std::erase_if(groups_, [](const auto& group) { return group.expired(); });
  const auto ended =
      std::erase_if(here, [this](const auto& each) { return ending_.contains(each); });
  const bool forgotten = ended > 0 && here.empty();
  const std::shared_ptr<Group> group(new Group(std::move(here), forgotten));
  groups_.push_back(group);
  return group;
}

}  // namespace tide::pmix
