#include "cli/values.hpp"

#include <array>
#include <csignal>
#include <cstring>
#include <limits>
#include <string>

#include "base/text.hpp"
#include "say/campaigns.hpp"
#include "say/command_line.hpp"

namespace tide::cli {
namespace {

// More would be a slip of the finger.
constexpr std::uint32_t kMaxRank = 999'999;

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

// In any case; the answer is as the table writes it.
std::optional<std::string> nearest_word(std::string_view word,
                                        std::span<const std::string_view> words) {
  const auto lowered = [](std::string_view text) {
    std::string result(text);
    for (char& c : result) c = lower(c);
    return result;
  };
  std::vector<std::string> small;
  for (const std::string_view known : words) small.push_back(lowered(known));
  const auto near =
      nearest(lowered(word), std::vector<std::string_view>(small.begin(), small.end()));
  for (std::size_t i = 0; near && i < words.size(); ++i) {
    if (small[i] == *near) return std::string(words[i]);
  }
  return std::nullopt;
}

Status take_map_qualifier(std::string_view text, MapPolicy& policy) {
  static constexpr std::array<std::string_view, 12> kQualifiers = {
      "OVERSUBSCRIBE", "NOOVERSUBSCRIBE", "DISPLAY", "PE",        "SPAN",    "NOLOCAL",
      "HWTCPUS",       "CORECPUS",        "INHERIT", "NOINHERIT", "ORDERED", "FILE"};
  constexpr std::size_t kDisplay = 2;
  const Directive directive = split_directive(text);
  Result<std::size_t> index = match_word(directive.word, kQualifiers, "qualifier of --map-by", 3);
  if (!index) return index.error();
  if (*index > kDisplay) {
    return say::unbuilt_value("--map-by :" + std::string(kQualifiers[*index]),
                              "OVERSUBSCRIBE, NOOVERSUBSCRIBE and DISPLAY are");
  }
  Result<bool> on = directive_bool(directive);
  if (!on) return on.error();
  if (*index == kDisplay) {
    policy.only_display = *on;
    return ok_status();
  }
  const bool oversubscribe = (*index == 0) == *on;
  if (policy.oversubscribe.value_or(oversubscribe) != oversubscribe) {
    return say::both_oversubscribe_and_not();
  }
  policy.oversubscribe = oversubscribe;
  return ok_status();
}

}  // namespace

Directive split_directive(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos) return {text, std::nullopt};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Result<bool> directive_bool(const Directive& directive) {
  if (!directive.value) return true;
  Result<bool> value = parse_bool(*directive.value);
  if (!value) return say::neither_yes_nor_no(*directive.value, directive.word);
  return value;
}

Result<std::size_t> match_word(std::string_view word, std::span<const std::string_view> words,
                               std::string_view what, std::size_t built) {
  std::vector<std::string_view> candidates;
  std::size_t found = 0;
  for (std::size_t i = 0; i < words.size() && !word.empty(); ++i) {
    if (!begins(words[i], word)) continue;
    if (words[i].size() == word.size()) return i;
    candidates.push_back(words[i]);
    found = i;
  }
  if (candidates.size() == 1) return found;
  if (!candidates.empty()) return say::ambiguous_word(word, what, candidates);
  return say::unknown_word(word, what, words.first(built), nearest_word(word, words.first(built)));
}

Result<std::uint32_t> parse_count(std::string_view text, std::string_view what,
                                  std::uint32_t minimum, std::uint32_t maximum) {
  const Result<std::int64_t> number = parse_int(text);
  if (!is_whole_number(text)) return say::not_a_number(text, what);
  if (!number || *number < minimum || *number > maximum) {
    return say::number_out_of_range(what, minimum, maximum, text);
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
        match_word(split_directive(directive).word, kDirectives, "value of --map-by", 2);
    if (!index) return index.error();
    if (*index > 1) {
      return say::unbuilt_value("--map-by " + std::string(kDirectives[*index]),
                                "slot and node are");
    }
    if (split_directive(directive).value) {
      return say::takes_no_equals("--map-by " + std::string(kDirectives[*index]));
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
    Result<std::size_t> index = match_word(directive.word, kDirectives, "value of --output", 2);
    if (!index) return index.error();
    if (*index > 1) {
      return say::unbuilt_value("--output " + std::string(kDirectives[*index]),
                                "tag and merge-stderr-to-stdout are");
    }
    if (item.find(':') != item.npos) {
      return say::unbuilt_qualifiers("--output " + std::string(kDirectives[*index]));
    }
    Result<bool> on = directive_bool(directive);
    if (!on) return on.error();
    (*index == 0 ? style.tag : style.merge_stderr) = *on;
  }
  return ok_status();
}

Result<std::int32_t> parse_stdin_rank(std::string_view text) {
  static constexpr std::array<std::string_view, 2> kWords = {"none", "all"};
  if (text.empty() || (text[0] >= '0' && text[0] <= '9') || text[0] == '-') {
    Result<std::uint32_t> rank = parse_count(text, "the rank of --stdin", 0, kMaxRank);
    if (!rank) return rank.error();
    return static_cast<std::int32_t>(*rank);
  }
  Result<std::size_t> index = match_word(text, kWords, "value of --stdin", 1);
  if (!index) return index.error();
  if (*index == 1) return say::unbuilt_value("--stdin all", "a rank and none are");
  return -1;
}

Result<int> parse_signal(std::string_view text) {
  if (const Result<std::int64_t> number = parse_int(text)) {
    if (*number >= 1 && *number < NSIG) return static_cast<int>(*number);
    return say::no_such_signal(text);
  }
  const std::string_view wanted = begins(text, "SIG") ? text.substr(3) : text;
  for (int signal = 1; signal < NSIG; ++signal) {
    const char* name = sigabbrev_np(signal);
    if (name != nullptr && std::strlen(name) == wanted.size() && begins(name, wanted)) {
      return signal;
    }
  }
  return say::no_such_signal(text);
}

Result<std::vector<int>> parse_forwarded_signals(std::string_view text) {
  std::vector<int> signals;
  if (text.size() == 4 && begins("none", text)) return signals;
  for (const std::string& word : split(text, ',')) {
    const Result<int> signal = parse_signal(word);
    if (!signal) return signal.error();
    if (*signal == SIGKILL || *signal == SIGSTOP) return say::signal_cannot_be_forwarded(word);
    signals.push_back(*signal);
  }
  return signals;
}

Status parse_display(std::string_view text, wire::JobSpec& job) {
  static constexpr std::array<std::string_view, 6> kWords = {"map",  "allocation", "map-devel",
                                                             "bind", "topo",       "cpus"};
  for (const std::string& item : split(text, ',')) {
    const Directive directive = split_directive(item);
    const Result<std::size_t> index = match_word(directive.word, kWords, "value of --display", 1);
    if (!index) return index.error();
    if (*index > 0) return say::unbuilt_value("--display " + std::string(kWords[*index]), "map is");
    const Result<bool> on = directive_bool(directive);
    if (!on) return on.error();
    job.mutable_runtime()->set_show_map(*on);
  }
  return ok_status();
}

Result<bool> parse_personality(std::string_view text) {
  static constexpr std::array<std::string_view, 2> kWords = {"prte", "ompi"};
  bool ompi = false;
  for (const std::string& item : split(text, ',')) {
    const Result<std::size_t> index = match_word(item, kWords, "value of --personality", 2);
    if (!index) return index.error();
    ompi = ompi || *index == 1;
  }
  return ompi;
}

Result<std::uint32_t> parse_timeout_ms(std::string_view text, std::string_view option) {
  const Result<std::uint64_t> timeout_ms = parse_duration_ms(text);
  if (!timeout_ms) return say::not_a_time(option, text);
  constexpr std::uint32_t kLongestMs = std::numeric_limits<std::uint32_t>::max();
  if (*timeout_ms > kLongestMs) {
    constexpr std::uint32_t kHourMs = 3'600'000;
    return say::time_too_long(option, text, kLongestMs / kHourMs);
  }
  return static_cast<std::uint32_t>(*timeout_ms);
}

Result<JobName> parse_job_name(std::string_view text) {
  if (text.find('@') != text.npos) return JobName{0, text};
  const Result<std::int64_t> number = parse_int(text);
  if (!number || *number < 1 || *number > std::numeric_limits<std::uint32_t>::max()) {
    return say::not_a_job_name(text);
  }
  return JobName{static_cast<std::uint32_t>(*number), {}};
}

Result<ExplainName> parse_explain_name(std::string_view text) {
  if (const Result<JobName> job = parse_job_name(text)) return ExplainName{*job, 0, {}};
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  if (colon != text.npos && (word == "change" || word == "grow" || word == "shrink")) {
    const Result<std::int64_t> number = parse_int(text.substr(colon + 1));
    if (number && *number > 0 && *number <= std::numeric_limits<std::uint32_t>::max()) {
      return ExplainName{{}, static_cast<std::uint32_t>(*number), {}};
    }
  }
  const bool is_id =
      text.size() > 1 && text.starts_with('a') && static_cast<bool>(parse_int(text.substr(1)));
  if (is_id) return ExplainName{{}, 0, text};
  return say::not_to_be_explained(text);
}

}  // namespace tide::cli
