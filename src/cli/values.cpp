#include "cli/values.hpp"

#include <array>
#include <csignal>
#include <cstring>
#include <limits>
#include <string>

#include "base/text.hpp"

namespace tide::cli {
namespace {

// More would be a slip of the finger.
constexpr std::uint32_t kMaxRank = 999'999;

Error bad(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

std::string quoted(std::string_view text) {
  return "'" + one_line(text) + "'";
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool begins(std::string_view whole, std::string_view start) {
  if (start.size() > whole.size()) return false;
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (lower(whole[i]) != lower(start[i])) return false;
  }
  return true;
}

std::string list_words(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

// A directive or qualifier: `over=no` is word "over", value "no".
struct Directive {
  std::string_view word;
  std::optional<std::string_view> value;
};

Directive split_directive(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos) return {text, std::nullopt};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Result<bool> directive_bool(const Directive& directive) {
  if (!directive.value) return true;
  Result<bool> value = parse_bool(*directive.value);
  if (!value) {
    return bad(quoted(*directive.value) + " after " + std::string(directive.word) +
               "= is neither yes nor no");
  }
  return value;
}

Status take_map_qualifier(std::string_view text, MapPolicy& policy) {
  static constexpr std::array<std::string_view, 12> kQualifiers = {
      "OVERSUBSCRIBE", "NOOVERSUBSCRIBE", "PE",        "SPAN",    "NOLOCAL", "HWTCPUS",
      "CORECPUS",      "INHERIT",         "NOINHERIT", "ORDERED", "FILE",    "DISPLAY"};
  const Directive directive = split_directive(text);
  Result<std::size_t> index = match_word(directive.word, kQualifiers, "qualifier of --map-by");
  if (!index) return index.error();
  if (*index > 1) {
    return bad("--map-by :" + std::string(kQualifiers[*index]) +
               " is not built yet; OVERSUBSCRIBE and NOOVERSUBSCRIBE are");
  }
  Result<bool> on = directive_bool(directive);
  if (!on) return on.error();
  const bool oversubscribe = (*index == 0) == *on;
  if (policy.oversubscribe.value_or(oversubscribe) != oversubscribe) {
    return bad("--map-by says both OVERSUBSCRIBE and NOOVERSUBSCRIBE");
  }
  policy.oversubscribe = oversubscribe;
  return ok_status();
}

}  // namespace

Result<std::size_t> match_word(std::string_view word, std::span<const std::string_view> words,
                               std::string_view what) {
  std::vector<std::string_view> candidates;
  std::size_t found = 0;
  for (std::size_t i = 0; i < words.size() && !word.empty(); ++i) {
    if (!begins(words[i], word)) continue;
    if (words[i].size() == word.size()) return i;
    candidates.push_back(words[i]);
    found = i;
  }
  if (candidates.size() == 1) return found;
  if (!candidates.empty()) {
    return bad(quoted(word) + " as " + std::string(what) + " could be " + list_words(candidates));
  }
  return bad(quoted(word) + " is no " + std::string(what) + "; there are " + list_words(words));
}

Result<std::uint32_t> parse_count(std::string_view text, std::string_view what,
                                  std::uint32_t minimum, std::uint32_t maximum) {
  const Result<std::int64_t> number = parse_int(text);
  if (!number) return bad(quoted(text) + " is no number: " + std::string(what));
  if (*number < minimum || *number > maximum) {
    return bad(std::string(what) + " has to be between " + std::to_string(minimum) + " and " +
               std::to_string(maximum) + ", not " + std::to_string(*number));
  }
  return static_cast<std::uint32_t>(*number);
}

Result<MapPolicy> parse_map_by(std::string_view text) {
  static constexpr std::array<std::string_view, 15> kDirectives = {
      "slot",    "node",   "hwthread", "core", "l1cache", "l2cache",  "l3cache", "numa",
      "package", "socket", "seq",      "ppr",  "device",  "rankfile", "pe-list"};
  MapPolicy policy;
  const std::size_t colon = text.find(':');
  const std::string_view directive = text.substr(0, colon);
  if (!directive.empty() || colon == text.npos) {
    Result<std::size_t> index =
        match_word(split_directive(directive).word, kDirectives, "value of --map-by");
    if (!index) return index.error();
    if (*index > 1) {
      return bad("--map-by " + std::string(kDirectives[*index]) +
                 " is not built yet; slot and node are");
    }
    if (split_directive(directive).value) {
      return bad("--map-by " + std::string(kDirectives[*index]) + " takes no '='");
    }
    policy.map_by = *index == 0 ? wire::JobSpec::SLOT : wire::JobSpec::NODE;
  }
  if (colon == text.npos) return policy;
  for (const std::string& group : split(text.substr(colon + 1), ':')) {
    for (const std::string& qualifier : split(group, ',')) {
      if (Status status = take_map_qualifier(qualifier, policy); !status) return status.error();
    }
  }
  return policy;
}

Status parse_output(std::string_view text, OutputStyle& style) {
  static constexpr std::array<std::string_view, 8> kDirectives = {
      "tag", "merge-stderr-to-stdout", "tag-detailed", "tag-fullname", "timestamp", "xml", "dir",
      "file"};
  for (const std::string& item : split(text, ',')) {
    const Directive directive = split_directive(std::string_view(item).substr(0, item.find(':')));
    Result<std::size_t> index = match_word(directive.word, kDirectives, "value of --output");
    if (!index) return index.error();
    if (*index > 1) {
      return bad("--output " + std::string(kDirectives[*index]) +
                 " is not built yet; tag and merge-stderr-to-stdout are");
    }
    if (item.find(':') != item.npos) {
      return bad("--output " + std::string(kDirectives[*index]) + ": qualifiers are not built yet");
    }
    Result<bool> on = directive_bool(directive);
    if (!on) return on.error();
    (*index == 0 ? style.tag : style.merge_stderr) = *on;
  }
  return ok_status();
}

Result<std::vector<wire::HostRequest>> parse_hosts(std::string_view text) {
  std::vector<wire::HostRequest> hosts;
  for (const std::string& item : split(text, ',')) {
    const std::size_t colon = item.find(':');
    const std::string name(trim(std::string_view(item).substr(0, colon)));
    if (name.empty()) return bad("--host " + quoted(text) + " has an empty node name");
    if (name[0] == '+') {
      return bad("--host " + quoted(name) + ": relative node names are not built yet");
    }
    wire::HostRequest host;
    host.set_node(name);
    if (colon != item.npos) {
      Result<std::uint32_t> slots = parse_count(std::string_view(item).substr(colon + 1),
                                                "the slots of host " + name, 1, kMaxRank);
      if (!slots) return slots.error();
      host.set_slots(*slots);
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

Result<std::int32_t> parse_stdin_rank(std::string_view text) {
  static constexpr std::array<std::string_view, 2> kWords = {"none", "all"};
  if (text.empty() || (text[0] >= '0' && text[0] <= '9') || text[0] == '-') {
    Result<std::uint32_t> rank = parse_count(text, "the rank of --stdin", 0, kMaxRank);
    if (!rank) return rank.error();
    return static_cast<std::int32_t>(*rank);
  }
  Result<std::size_t> index = match_word(text, kWords, "value of --stdin");
  if (!index) return index.error();
  if (*index == 1) return bad("--stdin all is not built yet; a rank and none are");
  return -1;
}

Result<int> parse_signal(std::string_view text) {
  if (const Result<std::int64_t> number = parse_int(text)) {
    if (*number >= 1 && *number < NSIG) return static_cast<int>(*number);
    return bad("there is no signal " + std::string(text));
  }
  const std::string_view wanted = begins(text, "SIG") ? text.substr(3) : text;
  for (int signal = 1; signal < NSIG; ++signal) {
    const char* name = sigabbrev_np(signal);
    if (name != nullptr && std::strlen(name) == wanted.size() && begins(name, wanted)) {
      return signal;
    }
  }
  return bad("there is no signal " + quoted(text));
}

Result<std::uint32_t> parse_timeout_ms(std::string_view text) {
  const Result<std::uint64_t> timeout_ms = parse_duration_ms(text);
  if (!timeout_ms) {
    return bad("--timeout " + quoted(text) + " is no time; write 90, 90s, 5m or 2h");
  }
  if (*timeout_ms > std::numeric_limits<std::uint32_t>::max()) {
    return bad("--timeout " + std::string(text) + " is too long; the longest is 1193 hours");
  }
  return static_cast<std::uint32_t>(*timeout_ms);
}

Result<JobName> parse_job_name(std::string_view text) {
  if (text.find('@') != text.npos) return JobName{0, text};
  const Result<std::int64_t> number = parse_int(text);
  if (!number || *number < 1 || *number > std::numeric_limits<std::uint32_t>::max()) {
    return bad(quoted(text) + " is neither the number nor the namespace of a job");
  }
  return JobName{static_cast<std::uint32_t>(*number), {}};
}

}  // namespace tide::cli
