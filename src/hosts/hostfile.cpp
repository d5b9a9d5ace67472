#include "hosts/hostfile.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/text.hpp"
#include "hosts/word_parser.hpp"

namespace tide::hosts {

namespace {

using say::HostFault;

constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20U;
constexpr std::string_view kBlanks = " \t\r\v\f";

void skip_blanks(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
}

// Up to a blank or one of `ends`.
std::string_view take_word(std::string_view& rest, std::string_view ends = {}) {
  const std::string stops = std::string(kBlanks) + std::string(ends);
  const auto word = rest.substr(0, std::min(rest.find_first_of(stops), rest.size()));
  rest.remove_prefix(word.size());
  return word;
}

struct Settings {
  std::optional<std::uint32_t> slots;
  std::optional<std::uint32_t> max_slots;
};

// `slots=4`, also with blanks around the `=`.
Status take_setting(const WordParser& parser, std::string_view& rest, Settings& settings) {
  static constexpr std::array<std::string_view, 3> kNames = {"slots", "max-slots", "max_slots"};
  const auto key = take_word(rest, "=");
  skip_blanks(rest);
  const bool known = std::ranges::find(kNames, key) != kNames.end();
  if (!rest.starts_with('=')) {
    return parser.fault(key, known ? HostFault::kNoValue : HostFault::kWordTooMany);
  }
  if (!known) return say::unknown_host_setting(parser.place_of(key), nearest(key, kNames));
  rest.remove_prefix(1);
  skip_blanks(rest);
  const auto value = take_word(rest);
  if (value.empty()) return parser.fault(key, HostFault::kNoValue);
  auto& target = key == kNames[0] ? settings.slots : settings.max_slots;
  if (target) return parser.fault(key, HostFault::kGivenTwice);
  const auto number = parser.slots(value);
  if (!number) return number.error();
  target = *number;
  return ok_status();
}

Status apply(const WordParser& parser, std::string_view word, const Settings& settings,
             std::vector<HostWord>& hosts) {
  const auto& first = hosts.front();
  if (settings.slots && first.slots > 0) return parser.fault(word, HostFault::kGivenTwice);
  for (auto& host : hosts) {
    if (settings.slots) host.slots = *settings.slots;
    host.max_slots = settings.max_slots.value_or(0);
  }
  const bool has_slots = settings.slots || settings.max_slots || first.slots > 0;
  if (first.excluded && (has_slots || !first.user.empty())) {
    return parser.fault(word, HostFault::kExcludedWithSlots);
  }
  if (first.max_slots > 0 && first.slots > first.max_slots) {
    return say::more_slots_than_max(first.place, first.slots, first.max_slots);
  }
  return ok_status();
}

// Adds the hosts that one word with its settings names.
Status add_hosts(const WordParser& parser, std::string_view word, std::string_view settings_text,
                 std::vector<HostWord>& words) {
  const auto limit = kMaxHosts - words.size();
  auto hosts = parser.parse(word, limit);
  if (!hosts) return hosts.error();
  if (hosts->size() > limit) return parser.fault(word, HostFault::kTooMany);
  Settings settings;
  for (skip_blanks(settings_text); !settings_text.empty(); skip_blanks(settings_text)) {
    if (auto taken = take_setting(parser, settings_text, settings); !taken) return taken;
  }
  if (auto applied = apply(parser, word, settings, *hosts); !applied) return applied;
  std::ranges::move(*hosts, std::back_inserter(words));
  return ok_status();
}

std::size_t comma_outside_brackets(std::string_view text) {
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] == ',' && !inside) return i;
  }
  return text.size();
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return say::hostfile_not_readable(path, errno);
  std::string text;
  std::array<char, 16384> piece{};
  do {
    errno = 0;  // a directory opens, and fails when it is read
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  } while (file && text.size() <= kMaxFileBytes);
  if (file.bad()) return say::hostfile_not_readable(path, errno);
  if (text.size() > kMaxFileBytes) return say::hostfile_too_large(path, kMaxFileBytes);
  return text;
}

}  // namespace

Result<std::vector<HostWord>> parse_hostfile(std::string_view text, std::string_view file) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // some editors begin files with it
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<HostWord> words;
  std::uint32_t number = 0;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    auto rest = line.substr(0, line.find('#'));
    skip_blanks(rest);
    if (rest.empty()) continue;
    const auto word = take_word(rest);
    const WordParser parser(file, line, number);
    if (auto added = add_hosts(parser, word, rest, words); !added) return added.error();
  }
  return words;
}

Result<std::vector<HostWord>> parse_host_list(std::string_view text, std::string_view option) {
  std::vector<HostWord> words;
  const WordParser parser(option, text, 0);
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto item = text.substr(begin, comma_outside_brackets(text.substr(begin)));
    const auto word = trim(item);
    if (word.empty()) return parser.fault(item, HostFault::kNoName);
    if (auto added = add_hosts(parser, word, {}, words); !added) return added.error();
    begin += item.size() + 1;
  }
  return words;
}

Result<std::vector<HostWord>> read_hostfiles(std::span<const std::string> files) {
  std::vector<HostWord> all;
  for (const auto& list : files) {
    for (const auto& file : split(list, ',')) {
      auto text = read_text(file);
      if (!text) return text.error();
      auto words = parse_hostfile(*text, file);
      if (!words) return words.error();
      if (words->empty()) return say::hostfile_without_hosts(file);
      std::ranges::move(*words, std::back_inserter(all));
    }
  }
  return all;
}

}  // namespace tide::hosts
