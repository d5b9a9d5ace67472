#include "launch/step_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "exec/program_lookup.hpp"
#include "hosts/short_list.hpp"
#include "launch/ssh_agent.hpp"
#include "say/launching.hpp"
#include "say/stepping.hpp"

namespace tide::launch {
namespace {

// The kernel takes no longer word: 32 pages.
constexpr std::size_t kLongestWord = 128UL * 1024 - 1;
constexpr std::size_t kLongestName = 255;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool consists_of(std::string_view text, std::string_view others) {
  const bool known = std::ranges::all_of(text, [others](char c) {
    return is_letter_or_digit(c) || others.find(c) != std::string_view::npos;
  });
  return known && !text.empty() && text.size() <= kLongestName && text.front() != '-';
}

// Flux begins its own with a letter that is none of ASCII.
bool is_job_id(std::string_view job) {
  std::string ascii(job);
  std::erase_if(ascii, [](char c) { return static_cast<unsigned char>(c) >= 0x80U; });
  return consists_of(ascii, "._-+:@[]") && job.front() != '-';
}

struct Value {
  std::string_view mark;
  std::string text;
};
using Values = std::array<Value, 5>;

Values values_of(const std::string& job, const std::vector<std::string>& hosts) {
  return {Value{"{count}", std::to_string(hosts.size())}, Value{"{hosts}", join(hosts, ",")},
          Value{"{host}", hosts.front()}, Value{"{ranges}", hosts::short_list(hosts)},
          Value{"{job}", job}};
}

std::string filled_in(const std::string& word, const Values& values) {
  std::string out;
  std::string_view rest = word;
  while (!rest.empty()) {
    const auto* const value = std::ranges::find_if(
        values, [rest](const Value& one) { return rest.starts_with(one.mark); });
    if (value == values.end()) {
      out += rest.front();
      rest.remove_prefix(1);
    } else {
      out += value->text;
      rest.remove_prefix(value->mark.size());
    }
  }
  return out;
}

}  // namespace

bool is_scheduler_name(std::string_view host) {
  return consists_of(host, "._-");
}

StepCommand::StepCommand(std::vector<std::string> words, StepCommandSettings settings)
    : words_(std::move(words)),
      settings_(std::move(settings)),
      name_(words_.front().substr(words_.front().rfind('/') + 1)) {}

Result<StepCommand> StepCommand::choose(StepCommandSettings settings,
                                        std::optional<std::string_view> search_path) {
  const std::string& line = settings.pattern.line;
  auto words = split_words(line);
  const auto more = split_words(settings.args);
  if (!words || words->empty()) return say::step_command_unreadable(line);
  if (!more) return say::step_command_unreadable(settings.args);
  const auto program = exec::find_program(words->front(), search_path, "");
  if (!program || ::access(program->path.c_str(), X_OK) != 0) {
    return say::no_step_command(words->front());
  }
  const auto args = std::ranges::find(*words, "{args}");
  if (args != words->end()) {
    words->insert(words->erase(args), more->begin(), more->end());
  }
  if (std::ranges::find(*words, "{command}") == words->end()) words->emplace_back("{command}");
  return StepCommand(std::move(*words), std::move(settings));
}

Result<std::vector<std::string>> StepCommand::argv(const std::string& job,
                                                   const std::vector<std::string>& hosts) const {
  const auto bad = std::ranges::find_if_not(hosts, is_scheduler_name);
  if (bad != hosts.end()) return Error{ErrorCode::kInvalidArgument, say::not_a_host_name(*bad)};
  if (!job.empty() && !is_job_id(job)) return say::not_a_job_id(job);
  const Values values = values_of(job, hosts);
  std::vector<std::string> out;
  for (const auto& word : words_) {
    if (job.empty() && word.find("{job}") != std::string::npos) continue;
    if (word == "{command}") {
      out.insert(out.end(), settings_.program.begin(), settings_.program.end());
    } else {
      out.push_back(filled_in(word, values));
    }
    if (out.back().size() > kLongestWord) {
      return say::too_many_hosts_for_command(name_, hosts.size(), kLongestWord);
    }
  }
  return out;
}

std::string StepCommand::by_hand(const std::string& job, const std::string& host) const {
  // With the user's own options, which may be what is wrong.
  constexpr std::string_view kArgs = "{args}";
  std::string pattern = settings_.pattern.try_by_hand;
  const std::size_t place = pattern.find(kArgs);
  if (place != std::string::npos) {
    pattern.replace(place, kArgs.size(), settings_.args.empty() ? "" : settings_.args + " ");
  }
  return filled_in(pattern, values_of(job, {host}));
}

}  // namespace tide::launch
