// The program that reaches other machines: which one, and how it is called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tide::launch {

struct SshAgentSettings {
  std::string agents = "ssh : rsh";  // the first one that is found is taken; each may have options
  std::string args = {};
  std::uint32_t timeout_ms = 30'000;
};

class SshAgent {
 public:
  // Looks in `search_path` (PATH). An error is for people.
  static Result<SshAgent> choose(const SshAgentSettings& settings,
                                 std::optional<std::string_view> search_path);

  // AGENT ARGS [-l USER] HOST COMMAND, or as the template says. An empty user is whoever we are.
  [[nodiscard]] std::vector<std::string> argv(const std::string& host, const std::string& user,
                                              const std::string& command) const;
  // As people call it: without its folder.
  [[nodiscard]] const std::string& name() const { return name_; }
  // With the options that the user gave, for people: `ssh -p 2222`.
  [[nodiscard]] const std::string& call() const { return call_; }
  // What people may run in our place; `host` may have a user: me@node7.
  [[nodiscard]] std::string by_hand(const std::string& host, const std::string& command) const;

 private:
  SshAgent(std::vector<std::string> words, const SshAgentSettings& settings);

  std::vector<std::string> words_;
  std::string name_;
  std::string call_;
  bool is_template_ = false;  // it says itself where host and command go
};

// What the shell of the other machine is to run: `program` is a path or a name.
std::string remote_command(const std::string& program);

// Words of a line; quotes hold one together. Nothing: a quote is not closed.
std::optional<std::vector<std::string>> split_words(std::string_view line);

}  // namespace tide::launch
