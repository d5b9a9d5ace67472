#include "rm/pool.hpp"

#include <algorithm>
#include <utility>

#include "say/pool.hpp"

namespace tide::rm {

namespace {

std::vector<hosts::Candidate> candidates_of(const std::vector<Host>& inventory) {
  std::vector<hosts::Candidate> out;
  for (const auto& host : inventory) out.push_back({.name = host.name});
  return out;
}

}  // namespace

Pool::Pool(const std::vector<Host>& inventory, std::size_t in_use, core::Lease limit)
    : spellings_(candidates_of(inventory)), limit_(limit) {
  for (const auto& host : inventory) {
    const bool used = entries_.size() < in_use;
    index_.emplace(host.name, entries_.size());
    entries_.push_back({host, used ? State::kStarted : State::kFree, used ? ++last_turn_ : 0});
  }
}

Pool::Entry* Pool::find(std::string_view name) {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

const Pool::Entry* Pool::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

bool Pool::supplies(std::string_view host) const {
  return !spellings_.find(host).empty();
}

core::Lease Pool::lease(core::Lease wish) const {
  return {smaller_limit(wish.time_ms, limit_.time_ms),
          wish.warn_ms > 0 ? wish.warn_ms : limit_.warn_ms};
}

std::vector<std::string> Pool::free_names() const {
  std::vector<std::string> out;
  for (const auto& entry : entries_) {
    if (entry.state == State::kFree) out.push_back(entry.host.name);
  }
  return out;
}

Result<std::vector<Host>> Pool::choose_by_name(std::span<const hosts::HostWord> named) const {
  std::vector<hosts::Candidate> candidates;
  for (const auto& entry : entries_) candidates.push_back({.name = entry.host.name});
  auto chosen = hosts::select(named, candidates, "the pool");
  if (!chosen) return chosen.error();
  std::vector<Host> out;
  for (auto& choice : *chosen) {
    const Entry& entry = entries_[choice.candidate];
    if (entry.state != State::kFree) return say::pool_node_taken(entry.host.name);
    Host host = entry.host;
    if (host.user.empty()) host.user = std::move(choice.user);
    host.slots = smaller_limit(host.slots, choice.slots);
    host.max_slots = smaller_limit(host.max_slots, choice.max_slots);
    out.push_back(std::move(host));
  }
  return out;
}

Result<std::vector<Host>> Pool::grant(std::uint32_t count, std::span<const hosts::HostWord> named) {
  std::vector<Host> granted;
  if (!named.empty()) {
    auto chosen = choose_by_name(named);
    if (!chosen) return chosen.error();
    granted = std::move(*chosen);
  }
  if (count > 0) {
    auto free = free_names();
    std::erase_if(free, [&granted](const auto& name) {
      return std::ranges::find(granted, name, &Host::name) != granted.end();
    });
    if (free.size() < count) return say::pool_has_too_few(count, free.size());
    for (std::uint32_t i = 0; i < count; ++i) granted.push_back(find(free[i])->host);
  }
  for (const auto& host : granted) {
    Entry& entry = *find(host.name);
    entry.state = State::kGranted;
    entry.turn = ++last_turn_;
  }
  return granted;
}

Result<std::vector<std::string>> Pool::reclaim(std::uint32_t count,
                                               std::span<const std::string> named,
                                               const std::set<std::string>& there) const {
  const auto can_go = [&there](const Entry& entry) {
    return entry.state != State::kFree && there.contains(entry.host.name);
  };
  std::vector<const Entry*> candidates;
  for (const auto& entry : entries_) {
    if (can_go(entry)) candidates.push_back(&entry);
  }
  std::vector<std::string> out;
  for (const auto& name : named) {
    const Entry* entry = find(name);
    if (entry == nullptr || !can_go(*entry)) {
      std::vector<std::string> names;
      for (const Entry* one : candidates) names.push_back(one->host.name);
      return say::pool_node_not_in_dvm(name, names);
    }
    if (std::ranges::find(out, name) == out.end()) out.push_back(name);
  }
  if (!named.empty()) return out;
  if (candidates.size() < count) return say::too_few_nodes_to_reclaim(count, candidates.size());
  std::ranges::sort(candidates, std::ranges::greater(), &Entry::turn);
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(candidates[i]->host.name);
  return out;
}

core::ReturnVerdict Pool::take_back(std::span<const std::string> names) {
  bool any = false;
  for (const auto& name : names) {
    Entry* entry = find(name);
    if (entry == nullptr || entry->state == State::kFree) continue;
    entry->state = State::kFree;
    any = true;
  }
  return any ? core::ReturnVerdict::kTaken : core::ReturnVerdict::kDeclined;
}

void Pool::note_started(std::span<const std::string> names) {
  for (const auto& name : names) {
    Entry* entry = find(name);
    if (entry != nullptr && entry->state == State::kGranted) entry->state = State::kStarted;
  }
}

void Pool::free_lost(const std::set<std::string>& known) {
  for (auto& entry : entries_) {
    if (entry.state == State::kStarted && !known.contains(entry.host.name)) {
      entry.state = State::kFree;
    }
  }
}

}  // namespace tide::rm
