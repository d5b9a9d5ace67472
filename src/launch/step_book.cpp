#include "launch/step_book.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "base/ip_network.hpp"
#include "base/text.hpp"
#include "hosts/name_pattern.hpp"

namespace tide::launch {
namespace {

constexpr std::size_t kKeptLines = 6;
constexpr std::size_t kMostHostsInLine = 100'000;

// Said by srun on machines that are in order.
constexpr std::array<std::string_view, 2> kNoise = {
    "cluster configuration lacks support for cpu binding",
    "Job step creation temporarily disabled"};

// The first lines say what is wrong, the later ones what follows from it.
void keep_first(std::vector<std::string>& lines, std::string_view line) {
  if (lines.size() < kKeptLines) lines.push_back(one_line(line));
}

void keep_last(std::vector<std::string>& lines, std::string_view line) {
  if (lines.size() == kKeptLines) lines.erase(lines.begin());
  lines.push_back(one_line(line));
}

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-[],").find(c) != std::string_view::npos;
}

bool is_noise(std::string_view line) {
  return std::ranges::any_of(
      kNoise, [line](auto noise) { return line.find(noise) != std::string_view::npos; });
}

// What could be names of hosts: `node3`, `node[2-4]`, and of `slurmstepd-node3` what is behind.
std::vector<std::string> possible_hosts(std::string_view text) {
  constexpr std::string_view kStepDaemon = "slurmstepd-";
  std::vector<std::string> out;
  while (!text.empty()) {
    std::size_t length = 0;
    while (length < text.size() && is_of_name(text[length])) ++length;
    std::string_view word = text.substr(0, length);
    text.remove_prefix(std::min(text.size(), length + 1));
    if (word.starts_with(kStepDaemon)) word.remove_prefix(kStepDaemon.size());
    while (!word.empty() && (word.back() == '.' || word.back() == ',')) word.remove_suffix(1);
    if (word.empty()) continue;
    if (word.find('[') == std::string_view::npos) {
      for (auto& name : split(word, ',')) out.push_back(std::move(name));
      continue;
    }
    auto names =
        hosts::written_out(word, kMostHostsInLine - std::min(kMostHostsInLine, out.size()));
    if (auto* list = std::get_if<std::vector<std::string>>(&names)) {
      out.insert(out.end(), list->begin(), list->end());
    }
  }
  return out;
}

// `task 3: ` of a line that names one host: its label.
std::optional<std::uint32_t> task_in(std::string_view text) {
  constexpr std::string_view kTask = " task ";
  const std::size_t begin = text.find(kTask);
  if (begin == std::string_view::npos) return std::nullopt;
  return without_label(text.substr(begin + kTask.size())).label;
}

}  // namespace

StepBook::StepBook(const std::vector<StepMember>& members) {
  counts_[static_cast<std::size_t>(State::kSilent)] = members.size();
  for (const auto& member : members) {
    members_[member.rank].host = member.host;
    by_host_[usual_host_spelling(member.host)] = member.rank;
  }
}

std::optional<StepWord> StepBook::heard(std::string_view line) {
  auto word = step_word_of(line);
  if (!word) return std::nullopt;
  const auto found = members_.find(word->rank);
  if (found == members_.end()) return std::nullopt;
  Member& member = found->second;
  if (const auto label = without_label(line).label) member.label = label;
  switch (word->what) {
    case StepWord::What::kSays:
      keep_last(member.said, trim(word->text));
      return std::nullopt;
    case StepWord::What::kGreets:
      if (member.state != State::kSilent) return std::nullopt;
      enter(member, State::kGreeted);
      return word;
    case StepWord::What::kJoined:
      if (member.state >= State::kJoined) return std::nullopt;
      enter(member, State::kJoined);
      return word;
    case StepWord::What::kLeaves:
      if (member.state != State::kJoined) return std::nullopt;
      return word;
    case StepWord::What::kEnded:
      if (member.state == State::kOver) return std::nullopt;
      return word;
  }
  return std::nullopt;
}

void StepBook::complained(std::string_view line) {
  const auto [label, text] = without_label(trim(line));
  if (text.empty() || is_noise(text)) return;
  const std::set<Rank> named = named_in(text);
  if (label) {
    // Of more tasks than there are: somebody else's numbers.
    if (*label < members_.size()) keep_last(by_label_[*label], text);
    if (named.size() == 1) members_.at(*named.begin()).label = label;
    return;
  }
  if (first_trouble_.empty() && text.find("error") != std::string_view::npos) {
    first_trouble_ = one_line(text);
  }
  if (named.empty()) return keep_first(general_, text);
  const auto task = task_in(text);
  for (const Rank rank : named) note_about(rank, text);
  if (task && named.size() == 1) members_.at(*named.begin()).label = task;
}

void StepBook::enter(Member& member, State state) {
  --counts_[static_cast<std::size_t>(member.state)];
  ++counts_[static_cast<std::size_t>(state)];
  member.state = state;
}

void StepBook::note_about(Rank rank, std::string_view text) {
  Member& member = members_.at(rank);
  keep_first(member.about, text);
  const bool says_failure = text.find("error") != std::string_view::npos;
  const bool still_starts = member.state == State::kSilent || member.state == State::kGreeted;
  if (says_failure && still_starts) suspects_.insert(rank);
}

std::set<Rank> StepBook::take_suspects() {
  auto out = std::exchange(suspects_, {});
  std::erase_if(out, [this](Rank rank) { return members_.at(rank).state >= State::kJoined; });
  return out;
}

void StepBook::over(Rank rank) {
  enter(members_.at(rank), State::kOver);
}

std::vector<Rank> StepBook::in_state(State state) const {
  std::vector<Rank> out;
  for (const auto& [rank, member] : members_) {
    if (member.state == state) out.push_back(rank);
  }
  return out;
}

std::vector<Rank> StepBook::living() const {
  std::vector<Rank> out;
  for (const auto& [rank, member] : members_) {
    if (member.state != State::kOver) out.push_back(rank);
  }
  return out;
}

std::set<Rank> StepBook::named_in(std::string_view text) const {
  std::set<Rank> out;
  for (const auto& name : possible_hosts(text)) {
    const auto found = by_host_.find(usual_host_spelling(name));
    if (found != by_host_.end()) out.insert(found->second);
  }
  return out;
}

std::vector<std::string> StepBook::words_at_the_end(Rank rank) const {
  auto out = words_of(rank);
  if (first_trouble_.empty() || std::ranges::find(out, first_trouble_) != out.end()) return out;
  out.insert(out.begin(), first_trouble_);
  return out;
}

std::vector<std::string> StepBook::words_of(Rank rank) const {
  const Member& member = members_.at(rank);
  if (!member.said.empty()) return member.said;
  std::vector<std::string> out;
  if (member.label) {
    const auto found = by_label_.find(*member.label);
    if (found != by_label_.end()) out = found->second;
  }
  for (const auto& line : member.about) {
    if (out.size() < kKeptLines) out.push_back(line);
  }
  return out.empty() ? general_ : out;
}

}  // namespace tide::launch
