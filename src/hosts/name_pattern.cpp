#include "hosts/name_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/ip_network.hpp"
#include "base/text.hpp"
#include "hosts/host_word.hpp"

namespace tide::hosts {

namespace {

using say::HostFault;

constexpr std::size_t kMaxDigits = 18;  // what a 64-bit number holds, whatever the digits

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool in_names(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' ||
         c == '_';
}

// The numbers of one part of a bracket, `01-16` or `20`.
struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::size_t width = 0;

  [[nodiscard]] std::uint64_t count() const { return high - low + 1; }
};

// A stretch of a name: text as it is, or the numbers of a bracket.
struct Piece {
  std::string_view text;
  std::vector<Range> ranges;
};

std::optional<std::uint64_t> number(std::string_view text) {
  if (text.empty() || text.size() > kMaxDigits || !std::ranges::all_of(text, is_digit)) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<Range> range_of(std::string_view text) {
  const auto dash = text.find('-');
  const auto low = number(text.substr(0, dash));
  const auto high = dash == text.npos ? low : number(text.substr(dash + 1));
  if (!low || !high || *high < *low) return std::nullopt;
  return Range{*low, *high, std::min(dash, text.size())};
}

std::optional<NameFault> read_bracket(std::string_view inside, Piece& piece) {
  for (std::size_t begin = 0; begin <= inside.size();) {
    const auto comma = std::min(inside.find(',', begin), inside.size());
    const auto text = inside.substr(begin, comma - begin);
    const auto range = range_of(text);
    if (!range) return NameFault{HostFault::kBadRange, text.empty() ? inside : text};
    if (piece.ranges.size() == kMaxHosts) return NameFault{HostFault::kTooMany, text};
    piece.ranges.push_back(*range);
    begin = comma + 1;
  }
  return std::nullopt;
}

std::variant<std::vector<Piece>, NameFault> pieces_of(std::string_view pattern) {
  std::vector<Piece> pieces;
  for (std::size_t at = 0; at < pattern.size();) {
    Piece piece;
    if (pattern[at] == '[') {
      const auto end = pattern.find(']', at);
      if (end == pattern.npos) return NameFault{HostFault::kOpenBracket, pattern.substr(at)};
      if (auto fault = read_bracket(pattern.substr(at + 1, end - at - 1), piece)) return *fault;
      at = end + 1;
    } else {
      const auto end = std::min(pattern.find('[', at), pattern.size());
      piece.text = pattern.substr(at, end - at);
      const auto bad = std::ranges::find_if_not(piece.text, in_names);
      if (bad != piece.text.end()) {
        const auto fault = *bad == ']' ? HostFault::kStrayBracket : HostFault::kBadCharacter;
        const auto rest = pattern.substr(at + static_cast<std::size_t>(bad - piece.text.begin()));
        return NameFault{fault, rest.substr(0, std::max<std::size_t>(character_bytes(rest), 1))};
      }
      at = end;
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

bool more_than(const std::vector<Piece>& pieces, std::size_t limit) {
  std::uint64_t product = 1;
  for (const auto& piece : pieces) {
    if (piece.ranges.empty()) continue;
    std::uint64_t sum = 0;
    for (const auto& range : piece.ranges) {
      if (range.count() > limit) return true;
      sum += range.count();
    }
    if (sum > limit) return true;
    product *= sum;  // of two numbers that are no larger than the limit
    if (product > limit) return true;
  }
  return product > limit;
}

// A name is that long at least, whatever the numbers.
std::size_t least_length(const std::vector<Piece>& pieces) {
  std::size_t sum = 0;
  for (const auto& piece : pieces) sum += piece.ranges.empty() ? piece.text.size() : 1;
  return sum;
}

std::vector<std::string> with_piece(const std::vector<std::string>& stems, const Piece& piece) {
  std::vector<std::string> out;
  for (const auto& stem : stems) {
    if (piece.ranges.empty()) out.push_back(stem + std::string(piece.text));
    for (const auto& range : piece.ranges) {
      for (auto n = range.low; n <= range.high; ++n) {
        out.push_back(fmt::format("{}{:0{}}", stem, n, range.width));
      }
    }
  }
  return out;
}

// 10.0.0 and 300.1.1.1 would be taken for something else by whoever looks them up.
bool is_broken_address(std::string_view name) {
  const bool numbers = std::ranges::all_of(name, [](char c) { return is_digit(c) || c == '.'; });
  return numbers && name.find('.') != name.npos && !is_ipv4_address(name);
}

}  // namespace

std::variant<std::vector<std::string>, NameFault> written_out(std::string_view pattern,
                                                              std::size_t limit) {
  if (pattern.empty()) return NameFault{HostFault::kNoName, pattern};
  if (pattern[0] == '-') return NameFault{HostFault::kDashFirst, pattern};
  auto read = pieces_of(pattern);
  if (const auto* fault = std::get_if<NameFault>(&read)) return *fault;
  const auto& pieces = std::get<std::vector<Piece>>(read);
  if (more_than(pieces, limit)) return NameFault{HostFault::kTooMany, pattern};
  if (least_length(pieces) > kMaxHostNameLength) return NameFault{HostFault::kTooLong, pattern};
  std::vector<std::string> names = {""};
  for (const auto& piece : pieces) names = with_piece(names, piece);
  for (const auto& name : names) {
    if (name.size() > kMaxHostNameLength) return NameFault{HostFault::kTooLong, pattern};
    if (is_broken_address(name)) return NameFault{HostFault::kBadAddress, pattern};
  }
  return names;
}

bool is_ipv6(std::string_view text) {
  const auto percent = text.find('%');
  if (percent != text.npos) {
    const auto zone = text.substr(percent + 1);
    if (zone.empty() || zone.size() > 32 || !std::ranges::all_of(zone, in_names)) return false;
  }
  return is_ipv6_address(text.substr(0, percent));
}

}  // namespace tide::hosts
