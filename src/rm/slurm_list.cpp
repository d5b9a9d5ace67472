#include "rm/slurm_list.hpp"

#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include "hosts/host_word.hpp"
#include "hosts/name_pattern.hpp"
#include "say/granting.hpp"

namespace tide::rm {

namespace {

using hosts::kMaxHosts;
using hosts::kMaxSlotsPerHost;

// `part` is one of `list`.
say::HostPlace place_of(std::string_view part, std::string_view list, std::string_view source) {
  const auto column = static_cast<std::uint32_t>(part.data() - list.data() + 1);
  return {std::string(source), 0, column, std::string(part)};
}

// Up to a comma that stands in no bracket.
std::size_t end_of_pattern(std::string_view text) {
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] == ',' && !inside) return i;
  }
  return text.size();
}

std::optional<std::uint32_t> number(std::string_view text, std::uint32_t most) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value == 0 || value > most) return std::nullopt;
  return value;
}

struct Repeated {
  std::uint32_t value = 0;
  std::uint32_t times = 1;
};

// `4` or `4(x3)`.
std::optional<Repeated> repeated(std::string_view word) {
  const auto bracket = word.find('(');
  const auto value = number(word.substr(0, bracket), kMaxSlotsPerHost);
  if (!value) return std::nullopt;
  if (bracket == std::string_view::npos) return Repeated{*value};
  const auto rest = word.substr(bracket);
  if (!rest.starts_with("(x") || !rest.ends_with(')')) return std::nullopt;
  const auto times = number(rest.substr(2, rest.size() - 3), kMaxHosts);
  if (!times) return std::nullopt;
  return Repeated{*value, *times};
}

}  // namespace

Result<std::vector<std::string>> expand_slurm_list(std::string_view list, std::string_view source) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= list.size();) {
    const auto rest = list.substr(begin);
    const auto pattern = rest.substr(0, end_of_pattern(rest));
    auto names = hosts::written_out(pattern, kMaxHosts - out.size());
    if (const auto* wrong = std::get_if<hosts::NameFault>(&names)) {
      return say::bad_node_list(place_of(wrong->part, list, source), wrong->fault);
    }
    auto& written = std::get<std::vector<std::string>>(names);
    std::move(written.begin(), written.end(), std::back_inserter(out));
    begin += pattern.size() + 1;
  }
  return out;
}

Result<std::vector<std::uint32_t>> expand_slurm_counts(std::string_view list,
                                                       std::string_view source) {
  std::vector<std::uint32_t> out;
  for (std::size_t begin = 0; begin <= list.size();) {
    const auto rest = list.substr(begin);
    const auto word = rest.substr(0, rest.find(','));
    const auto counts = repeated(word);
    if (!counts) return say::bad_count_list(place_of(word, list, source));
    if (counts->times > kMaxHosts - out.size()) {
      return say::bad_node_list(place_of(word, list, source), say::HostFault::kTooMany);
    }
    out.insert(out.end(), counts->times, counts->value);
    begin += word.size() + 1;
  }
  return out;
}

}  // namespace tide::rm
