#include "hosts/short_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace tide::hosts {
namespace {

constexpr std::size_t kMostDigits = 9;

struct Stem {
  std::string text;
  std::size_t width = 0;  // of numbers with zeros in front; 0: they have none
  auto operator<=>(const Stem&) const = default;
};

struct Numbered {
  Stem stem;
  std::uint32_t number = 0;
};

// A name without a number at its end has no stem of that kind, nor has an address.
bool take_apart(std::string_view name, Numbered& out) {
  const std::size_t last = name.find_last_not_of("0123456789");
  const std::size_t begin = last == std::string_view::npos ? 0 : last + 1;
  const std::string_view digits = name.substr(begin);
  if (begin == 0 || digits.empty() || digits.size() > kMostDigits || name[last] == '.')
    return false;
  std::from_chars(digits.data(), digits.data() + digits.size(), out.number);
  const bool padded = digits.size() > 1 && digits.front() == '0';
  out.stem = {std::string(name.substr(0, begin)), padded ? digits.size() : 0};
  return true;
}

std::string ranges(const Stem& stem, const std::set<std::uint32_t>& numbers) {
  std::string out;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::uint32_t first = *at;
    std::uint32_t last = first;
    while (++at != numbers.end() && *at == last + 1) ++last;
    if (!out.empty()) out += ',';
    out += fmt::format("{:0{}}", first, stem.width);
    if (last != first) out += fmt::format("-{:0{}}", last, stem.width);
  }
  return numbers.size() == 1 ? stem.text + out : fmt::format("{}[{}]", stem.text, out);
}

}  // namespace

std::string short_list(const std::vector<std::string>& names) {
  std::map<Stem, std::set<std::uint32_t>> numbered;
  std::set<std::string> words;
  for (const auto& name : names) {
    Numbered parts;
    if (take_apart(name, parts)) {
      numbered[std::move(parts.stem)].insert(parts.number);
    } else {
      words.insert(name);
    }
  }
  for (const auto& [stem, numbers] : numbered) words.insert(ranges(stem, numbers));
  return fmt::format("{}", fmt::join(words, ","));
}

}  // namespace tide::hosts
