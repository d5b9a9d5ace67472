#include "rm/flux_resources.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.hpp"
#include "hosts/host_word.hpp"
#include "rm/granted_hosts.hpp"
#include "rm/slurm_list.hpp"
#include "say/granting.hpp"

namespace tide::rm {

namespace {

using Json = nlohmann::json;
using hosts::kMaxHosts;
using hosts::kMaxSlotsPerHost;

// The member of that name, of that kind.
const Json* member(const Json* object, const char* name, Json::value_t kind) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(name);
  return found == object->end() || found->type() != kind ? nullptr : &*found;
}

struct Ids {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

struct IdSet {
  std::vector<Ids> ranges;
  std::uint64_t count = 0;
};

// `0-3` or `7`.
std::optional<Ids> ids_of(std::string_view piece) {
  const auto dash = piece.find('-');
  const auto first = parse_int(piece.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_int(piece.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first) return std::nullopt;
  return Ids{static_cast<std::uint64_t>(*first), static_cast<std::uint64_t>(*last)};
}

// `0-3,7`, which may stand in brackets: so many at most.
std::optional<IdSet> set_of(std::string_view text, std::uint64_t most) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  IdSet out;
  for (const auto& piece : split(text, ',')) {
    const auto ids = ids_of(piece);
    if (!ids || ids->last - ids->first >= most - out.count) return std::nullopt;
    out.ranges.push_back(*ids);
    out.count += ids->last - ids->first + 1;
  }
  return out;
}

using Cores = std::map<std::uint64_t, std::uint64_t>;  // of each rank

// Of one entry, for `most` ranks; false: it is not as it should be.
bool add_entry(const Json& entry, std::uint64_t& most, Cores& cores) {
  const auto* const rank = member(&entry, "rank", Json::value_t::string);
  const auto* const children = member(&entry, "children", Json::value_t::object);
  const auto* const core = member(children, "core", Json::value_t::string);
  if (rank == nullptr || core == nullptr) return false;
  const auto ranks = set_of(rank->get_ref<const std::string&>(), most);
  const auto ids = set_of(core->get_ref<const std::string&>(), kMaxSlotsPerHost);
  if (!ranks || !ids) return false;
  most -= ranks->count;
  for (const auto& range : ranks->ranges) {
    for (auto id = range.first; id <= range.last; ++id) cores[id] += ids->count;
  }
  return true;
}

Result<std::vector<std::string>> names_of(const Json& nodelist, std::string_view source) {
  std::vector<std::string> out;
  for (const auto& part : nodelist) {
    if (!part.is_string()) return say::flux_resources_unreadable(source, "nodelist");
    auto names = expand_slurm_list(part.get_ref<const std::string&>(), source);
    if (!names) return names;
    if (names->size() > kMaxHosts - out.size()) {
      return say::flux_resources_unreadable(source, "nodelist");
    }
    std::ranges::move(*names, std::back_inserter(out));
  }
  return out;
}

}  // namespace

Result<std::vector<Host>> parse_flux_resources(std::string_view document, std::string_view source) {
  const Json json = Json::parse(document, nullptr, false);
  const auto* const execution = member(&json, "execution", Json::value_t::object);
  const auto* const entries = member(execution, "R_lite", Json::value_t::array);
  const auto* const nodelist = member(execution, "nodelist", Json::value_t::array);
  if (entries == nullptr) return say::flux_resources_unreadable(source, "R_lite");
  if (nodelist == nullptr) return say::flux_resources_unreadable(source, "nodelist");
  Cores cores;
  std::uint64_t ranks_left = kMaxHosts;
  for (const auto& entry : *entries) {
    if (!add_entry(entry, ranks_left, cores))
      return say::flux_resources_unreadable(source, "R_lite");
  }
  const auto names = names_of(*nodelist, source);
  if (!names) return names.error();
  if (names->size() != cores.size()) {
    return say::counts_do_not_match("nodelist", names->size(), "R_lite", cores.size());
  }
  GrantedHosts hosts{std::string(source)};
  auto name = names->begin();  // in the order of the ranks
  for (const auto& [rank, slots] : cores) {
    const auto granted = std::min<std::uint64_t>(slots, kMaxSlotsPerHost);
    auto added = hosts.add({*name++}, static_cast<std::uint32_t>(granted));
    if (!added) return added.error();
  }
  return hosts.take();
}

}  // namespace tide::rm
