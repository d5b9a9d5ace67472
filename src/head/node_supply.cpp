#include "head/node_supply.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "head/head_setup.hpp"
#include "hosts/wire_words.hpp"
#include "rm/dvm_hosts.hpp"
#include "say/elastic.hpp"
#include "say/pool.hpp"

namespace tide::head {

namespace {

rm::Pool pool_of(const NodePlaces& places) {
  std::vector<rm::Host> inventory;
  for (const auto& place : places.all()) {
    inventory.push_back({place.name, place.user, place.slots, place.max_slots});
  }
  return {inventory, places.at_start().size()};
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
    : places_(places), pool_(pool_of(places)), default_slots_(options.slots) {}

// Hosts that nobody has listed: as --host at the start.
Result<std::vector<rm::Host>> NodeSupply::strangers(const Words& words) const {
  if (words.empty()) return std::vector<rm::Host>();
  if (places_.are_virtual()) return say::only_virtual_nodes(words[0].name, pool_.free_names());
  auto hosts = rm::choose_hosts({{}, {}, words});
  if (!hosts) return hosts;
  for (auto& host : *hosts) {
    if (host.slots == 0) host.slots = rm::smaller_limit(default_slots_, host.max_slots);
  }
  return hosts;
}

Result<std::vector<core::NodeRequest>> NodeSupply::grant(std::uint32_t count, const Words& words) {
  Words listed;
  Words unlisted;
  for (const auto& word : words) (pool_.has(word.name) ? listed : unlisted).push_back(word);
  auto hosts = strangers(unlisted);
  if (!hosts) return hosts.error();
  if (count > 0 || !listed.empty()) {
    if (words.empty() && pool_.size() == places_.at_start().size() && pool_.free_names().empty()) {
      return say::no_pool();
    }
    auto granted = pool_.grant(count, listed);
    if (!granted) return granted.error();
    std::ranges::move(*granted, std::back_inserter(*hosts));
  }
  std::vector<core::NodeRequest> out;
  for (const auto& host : *hosts) out.push_back(node_request(places_.add(host)));
  return out;
}

Result<std::vector<core::NodeRequest>> NodeSupply::grant(const core::AskForNodes& ask,
                                                         const View& view) {
  pool_.free_lost(view.known);
  Words words;
  for (const auto& host : ask.hosts) words.push_back(hosts::from_wire(host, "--host"));
  return grant(ask.count, words);
}

Result<std::vector<core::NodeRequest>> NodeSupply::push(const wire::PoolOrder& order,
                                                        const View& view) {
  if (!says_which(order)) return say::needs_pool_word();
  pool_.free_lost(view.known);
  Words words;
  for (const auto& name : order.nodes()) {
    wire::HostRequest host;
    host.set_node(name);
    words.push_back(hosts::from_wire(host, "--host"));
  }
  return grant(order.count(), words);
}

Result<std::vector<std::string>> NodeSupply::reclaim(const wire::PoolOrder& order,
                                                     const View& view) const {
  if (!says_which(order)) return say::needs_pool_word();
  const std::vector<std::string> named(order.nodes().begin(), order.nodes().end());
  return pool_.reclaim(order.count(), named, view.staying);
}

}  // namespace tide::head
