#include "launch/ssh_agent.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "exec/program_lookup.hpp"
#include "launch/this_machine.hpp"
#include "say/launching.hpp"

namespace tide::launch {
namespace {

constexpr std::uint32_t kSecondMs = 1000;
// Of the time for a session so much is for the connection: one part in three.
constexpr std::uint32_t kConnectShare = 3;

std::string without_folder(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Asks for nothing, since nobody could answer, and does not wait for ever. A machine that is there
// takes a connection soon; what takes its time is the login. What the user gives comes before, and
// the first of two that say the same wins.
std::vector<std::string> options_for_ssh(std::uint32_t timeout_ms) {
  const std::uint32_t connect_s = std::max(1U, timeout_ms / kSecondMs / kConnectShare);
  return {"-T", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=" + std::to_string(connect_s)};
}

std::string filled_in(const std::string& word, const std::string& host, const std::string& user,
                      const std::string& command) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char next = word[i] == '%' && i + 1 < word.size() ? word[i + 1] : '\0';
    if (next == 'h') out += host;
    if (next == 'c') out += command;
    if (next == 'u') out += user.empty() ? our_user_name() : user;
    if (next == '%') out += '%';
    const bool known = next == 'h' || next == 'c' || next == 'u' || next == '%';
    if (known) {
      ++i;
    } else {
      out += word[i];
    }
  }
  return out;
}

bool has_mark(const std::vector<std::string>& words, std::string_view mark) {
  return std::ranges::any_of(
      words, [mark](const auto& word) { return word.find(mark) != std::string::npos; });
}

// `a x : b`, and `a:b` where there is nothing else.
std::vector<std::vector<std::string>> alternatives(std::vector<std::string> words) {
  if (words.size() == 1 && words[0].find('/') == std::string::npos) {
    std::vector<std::vector<std::string>> out;
    for (auto& name : split(words[0], ':')) out.push_back({std::move(name)});
    return out;
  }
  std::vector<std::vector<std::string>> out(1);
  for (auto& word : words) {
    if (word == ":") {
      out.emplace_back();
    } else {
      out.back().push_back(std::move(word));
    }
  }
  return out;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("/._-+,:@%=").find(c) != std::string_view::npos;
}

}  // namespace

std::optional<std::vector<std::string>> split_words(std::string_view line) {
  std::vector<std::string> words;
  char quote = '\0';
  bool inside = false;
  for (const char c : line) {
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (quote == '\0' && blank) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (quote == c) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  if (quote != '\0') return std::nullopt;
  return words;
}

std::string remote_command(const std::string& program) {
  std::string out = program;
  if (!std::ranges::all_of(program, is_plain)) {
    out = "'";
    for (const char c : program) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += "'";
  }
  return "exec " + out + " --remote";
}

SshAgent::SshAgent(std::vector<std::string> words, const SshAgentSettings& settings)
    : words_(std::move(words)),
      name_(without_folder(words_[0])),
      is_template_(has_mark(words_, "%h") || has_mark(words_, "%c")) {
  auto more = split_words(settings.args).value_or(std::vector<std::string>{});
  call_ = is_template_ ? name_ : quote_argv(words_);
  if (!is_template_ && !more.empty()) call_ += " " + quote_argv(more);
  if (name_ == "ssh" && !is_template_) {
    for (auto& word : options_for_ssh(settings.timeout_ms)) more.push_back(std::move(word));
  }
  words_.insert(is_template_ ? words_.begin() + 1 : words_.end(), more.begin(), more.end());
}

Result<SshAgent> SshAgent::choose(const SshAgentSettings& settings,
                                  std::optional<std::string_view> search_path) {
  auto words = split_words(settings.agents);
  if (!words || !split_words(settings.args)) {
    return say::launch_agent_unreadable(settings.agents, "a quote is not closed");
  }
  for (auto& candidate : alternatives(std::move(*words))) {
    if (candidate.empty() || candidate[0].empty()) continue;
    if (without_folder(candidate[0]) == "pdsh") return say::launch_agent_without_input("pdsh");
    const auto program = exec::find_program(candidate[0], search_path, "");
    if (!program || ::access(program->path.c_str(), X_OK) != 0) continue;
    return SshAgent(std::move(candidate), settings);
  }
  return say::no_launch_agent(settings.agents);
}

std::string SshAgent::by_hand(const std::string& host, const std::string& command) const {
  if (!is_template_) return fmt::format("{} {} {}", call_, host, quote_argument(command));
  const std::size_t at = host.find('@');
  const std::string user = at == std::string::npos ? "" : host.substr(0, at);
  return quote_argv(argv(at == std::string::npos ? host : host.substr(at + 1), user, command));
}

std::vector<std::string> SshAgent::argv(const std::string& host, const std::string& user,
                                        const std::string& command) const {
  std::vector<std::string> out;
  if (is_template_) {
    for (const auto& word : words_) out.push_back(filled_in(word, host, user, command));
    if (!has_mark(words_, "%h")) out.push_back(host);
    if (!has_mark(words_, "%c")) out.push_back(command);
    return out;
  }
  out = words_;
  if (!user.empty()) out.insert(out.end(), {"-l", user});
  out.push_back(host);
  out.push_back(command);
  return out;
}

}  // namespace tide::launch
