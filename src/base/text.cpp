#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace tide {
namespace {

struct Scale {
  std::string_view suffix;
  std::uint64_t factor;
};

constexpr std::array kDurationUnits = {Scale{"", 1000}, Scale{"ms", 1}, Scale{"s", 1000},
                                       Scale{"m", 60'000}, Scale{"h", 3'600'000}};
constexpr std::array kSizeUnits = {Scale{"", 1},           Scale{"b", 1},
                                   Scale{"k", 1ULL << 10}, Scale{"kb", 1ULL << 10},
                                   Scale{"m", 1ULL << 20}, Scale{"mb", 1ULL << 20},
                                   Scale{"g", 1ULL << 30}, Scale{"gb", 1ULL << 30}};

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

Error bad_value(std::string_view text, std::string_view wanted) {
  return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' is not {}", one_line(text), wanted)};
}

Result<std::uint64_t> parse_with_unit(std::string_view text, std::span<const Scale> units,
                                      std::string_view wanted) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc{}) return bad_value(text, wanted);
  const std::string suffix = lower(std::string_view(rest, static_cast<std::size_t>(end - rest)));
  const auto* const unit = std::ranges::find(units, suffix, &Scale::suffix).base();
  if (unit == units.data() + units.size()) return bad_value(text, wanted);
  // Everything fits a signed number, too, so that ranges can be compared without care.
  constexpr auto kLimit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (number > kLimit / unit->factor) return bad_value(text, fmt::format("{}: too large", wanted));
  return number * unit->factor;
}

// How far a typing mistake may be from what was meant.
std::size_t near_enough(std::string_view word) {
  return std::clamp<std::size_t>(word.size() / 3, 1, 4);
}

bool is_plain_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  return !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongestWord = 256;     // nobody mistypes more than that
  constexpr std::size_t kShortestFragment = 4;  // less is contained in too many
  if (word.size() > kLongestWord) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = near_enough(word) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best && word.size() >= kShortestFragment) {
    const auto found = std::ranges::find_if(candidates, [&](std::string_view candidate) {
      return candidate.find(word) != std::string_view::npos;
    });
    if (found != candidates.end()) best = *found;
  }
  if (!best) return std::nullopt;
  return std::string(*best);
}

Result<std::int64_t> parse_int(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+') && digits.find('-') == std::string_view::npos) {
    digits.remove_prefix(1);
  }
  std::int64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, failure] = std::from_chars(digits.data(), end, number);
  if (failure != std::errc{} || rest != end) return bad_value(text, "a whole number");
  return number;
}

bool is_whole_number(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<bool> parse_bool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kYes = {"1", "true", "yes", "t", "y", "enable"};
  constexpr std::array<std::string_view, 6> kNo = {"0", "false", "no", "f", "n", "disable"};
  const std::string word = lower(text);
  if (std::ranges::find(kYes, word) != kYes.end()) return true;
  if (std::ranges::find(kNo, word) != kNo.end()) return false;
  return bad_value(text, "a truth value (yes or no, true or false, 1 or 0)");
}

Result<std::uint64_t> parse_duration_ms(std::string_view text) {
  return parse_with_unit(text, kDurationUnits, "a duration (such as 90, 90s, 5m, 250ms or 2h)");
}

Result<std::uint64_t> parse_size_bytes(std::string_view text) {
  return parse_with_unit(text, kSizeUnits, "a size (such as 4096, 64k or 1m)");
}

std::string human_duration_ms(std::uint64_t duration_ms) {
  constexpr std::uint64_t kSecond = 1000;
  constexpr std::uint64_t kMinute = 60 * kSecond;
  constexpr std::uint64_t kHour = 60 * kMinute;
  constexpr std::uint64_t kDay = 24 * kHour;
  const auto with_rest = [&](std::uint64_t unit, const char* name, std::uint64_t smaller,
                             const char* smaller_name) {
    const std::uint64_t rest = duration_ms % unit / smaller;
    std::string text = fmt::format("{} {}", duration_ms / unit, name);
    if (rest != 0) text += fmt::format(" {} {}", rest, smaller_name);
    return text;
  };
  if (duration_ms < kSecond) return fmt::format("{} ms", duration_ms);
  if (duration_ms < kMinute) {
    const std::uint64_t tenths = duration_ms % kSecond / 100;
    return tenths == 0 ? fmt::format("{} s", duration_ms / kSecond)
                       : fmt::format("{}.{} s", duration_ms / kSecond, tenths);
  }
  if (duration_ms < kHour) return with_rest(kMinute, "min", kSecond, "s");
  if (duration_ms < kDay) return with_rest(kHour, "h", kMinute, "min");
  return with_rest(kDay, "d", kHour, "h");
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  while (true) {
    const std::size_t end = text.find(separator);
    pieces.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::string join(std::span<const std::string> pieces, std::string_view separator) {
  return fmt::format("{}", fmt::join(pieces, separator));
}

std::string quote_argument(std::string_view argument) {
  if (is_plain_word(argument)) return std::string(argument);
  const bool has_control = std::ranges::any_of(argument, is_control);
  std::string quoted = has_control ? "$'" : "'";
  for (const char c : argument) {
    if (has_control && (is_control(c) || c == '\\')) {
      quoted += c == '\\' ? "\\\\" : one_line(std::string_view(&c, 1));
    } else if (c == '\'') {
      quoted += has_control ? "\\'" : "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + '\'';
}

std::string quote_argv(std::span<const std::string> argv) {
  std::string line;
  for (const std::string& argument : argv) {
    if (!line.empty()) line += ' ';
    line += quote_argument(argument);
  }
  return line;
}

std::size_t character_bytes(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  std::size_t size = 0;
  if (first < 0x80) size = 1;
  if (first >= 0xc2 && first < 0xe0) size = 2;
  if (first >= 0xe0 && first < 0xf0) size = 3;
  if (first >= 0xf0 && first < 0xf5) size = 4;
  if (size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  return size;
}

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    const std::size_t whole = character_bytes(text);
    const char c = text[0];
    const std::string_view character = text.substr(0, std::max<std::size_t>(whole, 1));
    text.remove_prefix(character.size());
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (c == '\r') {
      line += "\\r";
    } else if (is_control(c) || whole == 0) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += character;
    }
  }
  return line;
}

}  // namespace tide
