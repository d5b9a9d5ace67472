#include "hosts/word_parser.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "hosts/name_pattern.hpp"

namespace tide::hosts {

namespace {

using say::HostFault;

constexpr std::size_t kShownCharacters = 80;  // of a word, in messages

// `name:4` and what the colon does not separate: `[fe80::1]:4`, `fe80::1`.
struct NameAndSlots {
  std::string_view name;
  std::string_view slots;
  bool has_slots = false;
  bool is_address = false;
};

bool is_user_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         c == '-' || c == '_' || c == '+';
}

bool begins_with_address(std::string_view text) {
  const auto inside = text.substr(0, text.find(']'));
  return text.starts_with('[') && inside.find(':') != text.npos;
}

NameAndSlots split_slots(std::string_view text) {
  if (begins_with_address(text)) {
    const auto end = std::min(text.find(']'), text.size() - 1);
    const auto rest = text.substr(end + 1);
    const bool has_slots = rest.starts_with(':');
    return {text.substr(0, text.size() - (has_slots ? rest.size() : 0)),
            has_slots ? rest.substr(1) : rest, has_slots, true};
  }
  const auto colon = text.find(':');
  if (colon == text.npos) return {text, {}, false, false};
  if (text.find(':', colon + 1) != text.npos) return {text, {}, false, true};
  return {text.substr(0, colon), text.substr(colon + 1), true, false};
}

// Without the brackets, if it has both.
std::string_view bare_address(std::string_view text) {
  const bool in_brackets = text.starts_with('[') && text.ends_with(']');
  return in_brackets ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

say::HostPlace WordParser::place_of(std::string_view part) const {
  const auto offset = static_cast<std::uint32_t>(part.data() - text_.data());
  std::string text(part.substr(0, kShownCharacters));
  if (part.size() > kShownCharacters) text += "…";
  return {std::string(source_), line_, offset + 1, std::move(text)};
}

Error WordParser::fault(std::string_view part, HostFault fault) const {
  return say::bad_host(place_of(part), fault);
}

Result<std::uint32_t> WordParser::slots(std::string_view text) const {
  if (text == "*" || text == "auto") return 0U;
  const auto number = parse_int(text);
  if (!number || *number < 1 || *number > kMaxSlotsPerHost) {
    return fault(text, HostFault::kBadSlots);
  }
  return static_cast<std::uint32_t>(*number);
}

Result<std::vector<HostWord>> WordParser::relative(std::string_view rest, HostWord made) const {
  if (rest.find('@') != rest.npos) return fault(rest, HostFault::kRelativeUser);
  const auto colon = rest.find(':');
  const auto name = rest.substr(0, colon);
  const bool has_colon = colon != rest.npos;
  const auto after = has_colon ? rest.substr(colon + 1) : std::string_view();
  if (name == "+e" || name == "+E") {
    made.kind = HostWord::Kind::kEmpty;
    if (made.excluded) return fault(rest, HostFault::kExcludedEmpty);
    if (!has_colon) return std::vector{std::move(made)};
    const auto count = parse_int(after);
    const bool fits = count && *count >= 1 && *count <= static_cast<std::int64_t>(kMaxHosts);
    if (!fits) return fault(after, HostFault::kNoEmptyNodes);
    made.number = static_cast<std::uint32_t>(*count);
    return std::vector{std::move(made)};
  }
  const bool indexed =
      name.size() > 2 && (name[1] == 'n' || name[1] == 'N') &&
      std::ranges::all_of(name.substr(2), [](char c) { return c >= '0' && c <= '9'; });
  const auto index = parse_int(indexed ? name.substr(2) : "");
  if (!index || *index > UINT32_MAX) return fault(rest, HostFault::kBadRelative);
  made.kind = HostWord::Kind::kIndex;
  made.number = static_cast<std::uint32_t>(*index);
  if (has_colon) {
    const auto given = slots(after);
    if (!given) return given.error();
    made.slots = *given;
  }
  return std::vector{std::move(made)};
}

Status WordParser::take_user(std::string_view& rest, HostWord& made) const {
  const auto at = rest.find('@');
  if (at == rest.npos) return ok_status();
  if (rest.find('@', at + 1) != rest.npos) return fault(rest, HostFault::kTwoUsers);
  const auto user = rest.substr(0, at);
  if (user.empty()) return fault(rest, HostFault::kNoUser);
  if (user[0] == '-') return fault(user, HostFault::kDashFirst);
  const auto bad = std::ranges::find_if_not(user, is_user_character);
  if (bad != user.end()) {
    const auto from = user.substr(static_cast<std::size_t>(bad - user.begin()));
    const auto whole = std::max<std::size_t>(character_bytes(from), 1);
    return fault(from.substr(0, whole), HostFault::kBadCharacter);
  }
  made.user = user;
  rest.remove_prefix(at + 1);
  return ok_status();
}

Result<std::vector<HostWord>> WordParser::named(std::string_view rest, const HostWord& made,
                                                std::size_t limit) const {
  const auto parts = split_slots(rest);
  std::uint32_t given = 0;
  if (parts.has_slots) {
    const auto count = slots(parts.slots);
    if (!count) return count.error();
    given = *count;
  }
  std::vector<std::string> names;
  if (parts.is_address) {
    const auto address = bare_address(parts.name);
    if (!is_ipv6(address)) return fault(parts.name, HostFault::kBadAddress);
    names.emplace_back(address);
  } else {
    auto written = written_out(parts.name, limit);
    if (const auto* wrong = std::get_if<NameFault>(&written)) {
      return fault(wrong->part, wrong->fault);
    }
    names = std::get<std::vector<std::string>>(std::move(written));
  }
  std::vector<HostWord> words(names.size(), made);
  for (std::size_t i = 0; i < names.size(); ++i) {
    words[i].name = std::move(names[i]);
    words[i].slots = given;
  }
  return words;
}

Result<std::vector<HostWord>> WordParser::parse(std::string_view word, std::size_t limit) const {
  HostWord made;
  made.place = place_of(word);
  auto rest = word;
  if (rest.starts_with('^')) {
    made.excluded = true;
    rest.remove_prefix(1);
  }
  if (rest.starts_with('+')) return relative(rest, std::move(made));
  if (auto user = take_user(rest, made); !user) return user.error();
  return named(rest, made, limit);
}

}  // namespace tide::hosts
