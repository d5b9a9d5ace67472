#include "rm/named_hosts.hpp"

#include "rm/dvm_hosts.hpp"
#include "say/pool.hpp"

namespace tide::rm {

Result<std::vector<Host>> NamedHosts::grant(std::uint32_t count,
                                            std::span<const hosts::HostWord> named) {
  if (count > 0 || named.empty()) return say::no_pool();
  auto hosts = choose_hosts({{}, {}, {named.begin(), named.end()}});
  if (!hosts) return hosts;
  for (auto& host : *hosts) {
    if (host.slots == 0) host.slots = smaller_limit(default_slots_, host.max_slots);
    granted_[host.name] = false;
  }
  return hosts;
}

core::ReturnVerdict NamedHosts::take_back(std::span<const std::string> names) {
  std::size_t taken = 0;
  for (const auto& name : names) taken += granted_.erase(name);
  return taken > 0 ? core::ReturnVerdict::kTaken : core::ReturnVerdict::kDeclined;
}

void NamedHosts::note_started(std::span<const std::string> names) {
  for (const auto& name : names) {
    const auto found = granted_.find(name);
    if (found != granted_.end()) found->second = true;
  }
}

void NamedHosts::free_lost(const std::set<std::string>& known) {
  std::erase_if(granted_, [&known](const auto& entry) {
    return entry.second && !known.contains(entry.first);
  });
}

}  // namespace tide::rm
