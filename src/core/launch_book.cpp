#include "core/launch_book.hpp"

#include <algorithm>

namespace tide::core {

void LaunchBook::expect(Rank by, const std::vector<LaunchTarget>& targets) {
  for (const auto& target : targets) {
    entries_[target.rank] = Entry{target.node, by};
    expect(target.rank, target.below);
  }
}

void LaunchBook::reported(Rank rank) {
  const auto found = entries_.find(rank);
  if (found == entries_.end() || found->second.reported) return;
  found->second.reported = true;
  ++reports_;
}

void LaunchBook::failed(Rank rank, const std::string& reason) {
  if (entries_.contains(rank)) reasons_.try_emplace(rank, reason);
}

bool LaunchBook::starts(Rank by, Rank rank) const {
  const auto found = entries_.find(rank);
  return found != entries_.end() && found->second.by == by;
}

// A daemon that was lost after it had started others takes them along, so theirs are no news.
bool LaunchBook::is_waited_for(Rank rank, const Entry& entry) const {
  if (entry.reported) return false;
  for (auto at = entries_.find(rank); at != entries_.end(); at = entries_.find(at->second.by)) {
    if (reasons_.contains(at->first)) return false;
  }
  return true;
}

bool LaunchBook::settled() const {
  return std::none_of(entries_.begin(), entries_.end(), [this](const auto& entry) {
    return is_waited_for(entry.first, entry.second);
  });
}

std::vector<std::string> LaunchBook::silent() const {
  std::vector<std::string> out;
  for (const auto& [rank, entry] : entries_) {
    if (is_waited_for(rank, entry)) out.push_back(entry.node);
  }
  return out;
}

std::vector<std::string> LaunchBook::reasons() const {
  std::vector<std::string> out;
  for (const auto& [rank, reason] : reasons_) out.push_back(reason);
  return out;
}

std::vector<LaunchBook::Failure> LaunchBook::failures() const {
  std::vector<Failure> out;
  for (const auto& [rank, reason] : reasons_) out.push_back({entries_.at(rank).node, reason});
  return out;
}

}  // namespace tide::core
