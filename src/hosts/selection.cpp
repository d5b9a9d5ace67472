#include "hosts/selection.hpp"

#include <algorithm>
#include <set>

#include "base/ip_network.hpp"
#include "hosts/name_pattern.hpp"

namespace tide::hosts {

namespace {

bool has_domain(std::string_view name) {
  return name.find('.') != name.npos && !is_ipv4_address(name);
}

std::string_view short_name(std::string_view name) {
  return has_domain(name) ? name.substr(0, name.find('.')) : name;
}

class Selecting {
 public:
  Selecting(std::span<const Candidate> candidates, std::string_view list)
      : candidates_(candidates),
        list_(list),
        index_(candidates),
        tallies_(candidates.size()),
        excluded_(candidates.size(), false) {}

  Status take(const HostWord& word) {
    if (word.kind == HostWord::Kind::kEmpty) return take_empty(word);
    auto found = word.kind == HostWord::Kind::kIndex ? at_index(word) : by_name(word);
    if (!found) return found.error();
    if (!*found) return ok_status();
    const std::size_t node = **found;
    if (word.excluded) {
      excluded_[node] = true;
      return ok_status();
    }
    if (!candidates_[node].usable) return say::host_left_out(word.place, candidates_[node].name);
    tallies_[node].add(word);
    any_chosen_ = true;
    return ok_status();
  }

  [[nodiscard]] std::vector<Choice> chosen() const {
    std::vector<Choice> out;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const auto& tally = tallies_[i];
      const bool offered = candidates_[i].usable && candidates_[i].unasked;
      const bool wanted = any_chosen_ ? tally.times > 0 : offered;
      if (wanted && !excluded_[i]) out.push_back({i, tally.user, tally.slots(), tally.max_slots});
    }
    return out;
  }

 private:
  Result<std::optional<std::size_t>> at_index(const HostWord& word) const {
    if (word.number < candidates_.size()) return std::optional<std::size_t>(word.number);
    return say::index_past_the_end(word.place, list_, candidates_.size());
  }

  // Who excludes a node that is not there has what was wanted.
  Result<std::optional<std::size_t>> by_name(const HostWord& word) const {
    const auto found = index_.find(word.name);
    if (found.size() == 1) return std::optional(found[0]);
    if (found.empty() && word.excluded) return std::optional<std::size_t>();
    std::vector<std::string> names;
    if (found.empty()) {
      for (const auto& candidate : candidates_) names.push_back(candidate.name);
    }
    for (const std::size_t node : found) names.push_back(candidates_[node].name);
    auto place = word.place;
    place.text = word.name;
    return found.empty() ? say::host_not_there(place, list_, names)
                         : say::ambiguous_host(place, names);
  }

  Status take_empty(const HostWord& word) {
    std::size_t there = 0;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const auto& node = candidates_[i];
      const bool free = node.usable && node.empty && node.unasked && tallies_[i].times == 0;
      if (!free || (word.number > 0 && there == word.number)) continue;
      tallies_[i].add(word);
      any_chosen_ = true;
      ++there;
    }
    if (there == 0 || there < word.number) {
      return say::too_few_empty_nodes(word.place, list_, there);
    }
    return ok_status();
  }

  std::span<const Candidate> candidates_;
  std::string_view list_;
  NameIndex index_;
  std::vector<Tally> tallies_;
  std::vector<bool> excluded_;
  bool any_chosen_ = false;
};

}  // namespace

void Tally::add(const HostWord& word) {
  if (user.empty()) user = word.user;
  ++times;
  if (word.slots == 0) ++without_number;
  sum += word.slots;
  max_slots = std::max(max_slots, word.max_slots);
}

std::uint32_t Tally::slots() const {
  if (times == without_number && times <= 1) return 0;
  const auto most = max_slots > 0 ? max_slots : kMaxSlotsPerHost;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum + without_number, most));
}

NameIndex::NameIndex(std::span<const Candidate> candidates) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& name = candidates[i].name;
    by_name_.emplace(name, i);
    const std::string usual = usual_host_spelling(name);
    by_any_name_.emplace(usual, i);
    by_short_name_.emplace(short_name(usual), i);
    for (const auto& alias : candidates[i].aliases) {
      by_any_name_.emplace(usual_host_spelling(alias), i);
    }
  }
}

std::vector<std::size_t> NameIndex::all_in(const Nodes& nodes, std::string_view name) {
  std::set<std::size_t> out;
  const auto [begin, end] = nodes.equal_range(name);
  for (auto it = begin; it != end; ++it) out.insert(it->second);
  return {out.begin(), out.end()};
}

std::vector<std::size_t> NameIndex::find(std::string_view name) const {
  if (const auto exact = by_name_.find(name); exact != by_name_.end()) return {exact->second};
  const std::string usual = usual_host_spelling(name);
  if (auto found = all_in(by_any_name_, usual); !found.empty()) return found;
  // Another domain is another host; a node without one may be meant.
  return has_domain(usual) ? all_in(by_any_name_, short_name(usual))
                           : all_in(by_short_name_, usual);
}

Result<std::vector<Choice>> select(std::span<const HostWord> words,
                                   std::span<const Candidate> candidates, std::string_view list) {
  Selecting selecting(candidates, list);
  for (const auto& word : words) {
    if (auto taken = selecting.take(word); !taken) return taken.error();
  }
  auto chosen = selecting.chosen();
  if (chosen.empty()) return say::no_hosts_left(words.empty() ? list : words[0].place.source);
  return chosen;
}

}  // namespace tide::hosts
