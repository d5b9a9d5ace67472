#include "rm/granted_hosts.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/text.hpp"
#include "hosts/host_word.hpp"
#include "hosts/name_pattern.hpp"
#include "say/granting.hpp"

namespace tide::rm {

namespace {

using hosts::kMaxHosts;
using hosts::kMaxSlotsPerHost;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

}  // namespace

std::vector<GrantedWord> granted_words(std::string_view line) {
  std::vector<GrantedWord> out;
  for (std::size_t at = 0; at < line.size();) {
    if (is_blank(line[at])) {
      ++at;
      continue;
    }
    const auto* const end = std::find_if(line.begin() + at, line.end(), is_blank);
    const auto length = static_cast<std::size_t>(end - line.begin()) - at;
    out.push_back({line.substr(at, length), static_cast<std::uint32_t>(at + 1)});
    at += length;
  }
  return out;
}

say::HostPlace GrantedHosts::place_of(const GrantedWord& word, std::uint32_t line) const {
  return {source_, line, word.column, std::string(word.text)};
}

Status GrantedHosts::add(const GrantedWord& name, std::uint32_t slots, std::uint32_t line) {
  if (const auto known = index_.find(name.text); known != index_.end()) {
    auto& sum = hosts_[known->second].slots;
    sum = std::min(sum + slots, kMaxSlotsPerHost);
    return ok_status();
  }
  if (hosts_.size() == kMaxHosts) {
    return say::bad_node_list(place_of(name, line), say::HostFault::kTooMany);
  }
  // One name is what it is: brackets are of lists.
  const bool is_list = name.text.find_first_of("[]") != std::string_view::npos;
  const auto written = hosts::written_out(name.text, 1);
  const auto* const wrong = std::get_if<hosts::NameFault>(&written);
  if (is_list || wrong != nullptr) {
    const auto fault = is_list ? say::HostFault::kBadCharacter : wrong->fault;
    return say::bad_node_list(place_of(name, line), fault);
  }
  index_.emplace(name.text, hosts_.size());
  hosts_.push_back({std::string(name.text), "", slots, 0});
  return ok_status();
}

Result<std::uint32_t> GrantedHosts::slots(const GrantedWord& number, std::uint32_t line) const {
  const auto value = parse_int(number.text);
  if (!value || *value < 1 || *value > kMaxSlotsPerHost) {
    return say::bad_count_list(place_of(number, line));
  }
  return static_cast<std::uint32_t>(*value);
}

Status GrantedHosts::add_lines(std::string_view text) {
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto words = granted_words(line);
    if (words.empty()) continue;
    if (words.size() > 1) {
      return say::bad_node_list(place_of(words[1], number), say::HostFault::kWordTooMany);
    }
    if (auto added = add(words[0], 1, number); !added) return added;
  }
  return ok_status();
}

Result<std::vector<Host>> GrantedHosts::take() {
  if (hosts_.empty()) return say::grant_without_nodes(source_);
  return std::move(hosts_);
}

}  // namespace tide::rm
