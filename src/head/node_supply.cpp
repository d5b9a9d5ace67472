#include "head/node_supply.hpp"

#include <algorithm>
#include <utility>

#include "head/head_setup.hpp"
#include "hosts/wire_words.hpp"
#include "rm/named_hosts.hpp"
#include "say/elastic.hpp"
#include "say/granting.hpp"
#include "say/pool.hpp"

namespace tide::head {

namespace {

std::vector<std::unique_ptr<rm::Manager>> managers_of(const HeadOptions& options,
                                                      const NodePlaces& places) {
  std::vector<rm::Host> inventory;
  for (const auto& place : places.all()) {
    inventory.push_back({place.name, place.user, place.slots, place.max_slots});
  }
  std::vector<std::unique_ptr<rm::Manager>> out;
  out.push_back(
      std::make_unique<rm::Pool>(inventory, places.at_start().size(),
                                 core::Lease{options.pool_lease_ms, options.pool_warn_ms}));
  if (!places.are_virtual() && !options.grant)
    out.push_back(std::make_unique<rm::NamedHosts>(options.slots));
  return out;
}

// Of two that hold for the same nodes: the shorter time, and the earlier warning.
core::Lease both(core::Lease a, core::Lease b) {
  return {rm::smaller_limit(a.time_ms, b.time_ms), std::max(a.warn_ms, b.warn_ms)};
}

bool says_which(const wire::PoolOrder& order) {
  return (order.count() > 0) != !order.nodes().empty();
}

}  // namespace

core::NodeRequest node_request(const NodePlace& place) {
  return {.name = place.name,
          .slots = place.slots,
          .incarnation = fresh_incarnation(),
          .max_slots = place.max_slots,
          .watched = place.host.empty(),
          .aliases = place.aliases};
}

NodeSupply::NodeSupply(const HeadOptions& options, NodePlaces& places)
    : places_(places),
      managers_(managers_of(options, places)),
      pool_(static_cast<rm::Pool&>(*managers_.front())),
      job_(options.grant ? say::scheduler_job(options.grant->manager, options.grant->job) : "") {}

std::vector<std::string> NodeSupply::managers() const {
  std::vector<std::string> out;
  for (const auto& manager : managers_) out.emplace_back(manager->name());
  return out;
}

rm::Manager* NodeSupply::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      managers_, [name](const auto& manager) { return manager->name() == name; });
  return found == managers_.end() ? nullptr : found->get();
}

// For each manager what is its to give.
Result<std::vector<NodeSupply::Words>> NodeSupply::shares_of(const Words& words) const {
  std::vector<Words> out(managers_.size());
  for (const auto& word : words) {
    const auto found = std::ranges::find_if(
        managers_, [&word](const auto& manager) { return manager->supplies(word.name); });
    if (found == managers_.end()) return not_to_be_had(word.name);
    out[static_cast<std::size_t>(found - managers_.begin())].push_back(word);
  }
  return out;
}

Error NodeSupply::not_to_be_had(std::string_view host) const {
  const auto free = pool_.free_names();
  return job_.empty() ? say::only_virtual_nodes(host, free)
                      : say::only_nodes_of_job(host, job_, free);
}

// As a whole or not at all; a count is the pool's to serve.
Result<NodeSupply::Parts> NodeSupply::parts_of(std::uint32_t count, const Words& words) {
  auto shares = shares_of(words);
  if (!shares) return shares.error();
  Parts out;
  for (std::size_t i = 0; i < managers_.size(); ++i) {
    const auto counted = i == 0 ? count : 0;
    if (counted == 0 && (*shares)[i].empty()) continue;
    auto hosts = managers_[i]->grant(counted, (*shares)[i]);
    if (hosts) {
      out.emplace_back(managers_[i].get(), std::move(*hosts));
      continue;
    }
    for (const auto& [manager, part] : out) {
      std::vector<std::string> names;
      for (const auto& host : part) names.push_back(host.name);
      manager->take_back(names);
    }
    return hosts.error();
  }
  return out;
}

Result<NodeSupply::Granted> NodeSupply::grant(std::uint32_t count, const Words& words,
                                              core::Lease wish) {
  if (words.empty() && pool_.size() == places_.at_start().size() && pool_.free_names().empty()) {
    return say::no_pool();
  }
  const auto parts = parts_of(count, words);
  if (!parts) return parts.error();
  Granted out;
  for (const auto& [manager, part] : *parts) {
    const core::Lease lease = manager->lease(wish);
    const bool first_cut = out.cut_by.empty() || lease.time_ms < out.lease.time_ms;
    if (lease.time_ms < wish.time_ms && first_cut) out.cut_by = manager->name();
    out.lease = out.nodes.empty() ? lease : both(out.lease, lease);
    for (const auto& host : part) {
      out.nodes.push_back(node_request(places_.add(host)));
      out.nodes.back().manager = manager->name();
    }
  }
  return out;
}

void NodeSupply::free_lost(const View& view) {
  for (const auto& manager : managers_) manager->free_lost(view.known);
}

// Those that are free, beside the named ones; there may be none.
std::uint32_t NodeSupply::count_free_beside(const Words& words) const {
  auto free = pool_.free_names();
  std::erase_if(free, [&words](const auto& name) {
    return std::ranges::find(words, name, &hosts::HostWord::name) != words.end();
  });
  return static_cast<std::uint32_t>(free.size());
}

Result<NodeSupply::Granted> NodeSupply::grant(const core::AskForNodes& ask, const View& view) {
  free_lost(view);
  Words words;
  for (const auto& host : ask.hosts) words.push_back(hosts::from_wire(host, "--host"));
  for (const auto& host : ask.listed) {
    words.push_back(hosts::from_wire(host, "--activate"));
    if (!pool_.supplies(words.back().name)) {
      return say::not_to_be_activated(words.back().name, pool_.free_names());
    }
  }
  const auto count = ask.all ? count_free_beside(words) : ask.count;
  if (words.empty() && count == 0) return Granted();
  return grant(count, words, ask.wish);
}

Result<NodeSupply::Granted> NodeSupply::push(const wire::PoolOrder& order, const View& view) {
  if (!says_which(order)) return say::needs_pool_word();
  free_lost(view);
  Words words;
  for (const auto& name : order.nodes()) {
    wire::HostRequest host;
    host.set_node(name);
    words.push_back(hosts::from_wire(host, "--host"));
  }
  return grant(order.count(), words, {});
}

Result<std::vector<std::string>> NodeSupply::reclaim(const wire::PoolOrder& order,
                                                     const View& view) const {
  if (!says_which(order)) return say::needs_pool_word();
  const std::vector<std::string> named(order.nodes().begin(), order.nodes().end());
  return pool_.reclaim(order.count(), named, view.staying);
}

NodeSupply::MoreTime NodeSupply::more_time(const core::AskForTime& ask) const {
  MoreTime out{.time_ms = ask.time_ms};
  for (const auto& name : ask.managers) {
    const auto* manager = find(name);
    if (manager == nullptr) continue;
    const auto granted_ms = manager->lease({ask.time_ms}).time_ms;
    if (granted_ms < out.time_ms) out = {granted_ms, name};
  }
  return out;
}

void NodeSupply::note_started(std::span<const std::string> nodes) {
  for (const auto& manager : managers_) manager->note_started(nodes);
}

core::ReturnVerdict NodeSupply::take_back(const core::ReturnNodes& order) {
  auto* manager = find(order.manager);
  return manager == nullptr ? core::ReturnVerdict::kDeclined : manager->take_back(order.nodes);
}

}  // namespace tide::head
