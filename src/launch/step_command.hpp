// The command of a scheduler that starts a program on many machines at once, and how it is called.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tide::launch {

// Words of a command, parted at blanks; no shell has a look at them. {count} is the number of
// hosts, {hosts} their names with commas between, {host} where there is one, {ranges} the same in
// short, {job} the job's id: a word with it is left out where there is none. The words {args} and
// {command} on their own are what the user adds, and the program there.
struct StepTemplate {
  std::string line = {};
  bool each = false;             // it reaches one host, and is called for each
  std::string try_by_hand = {};  // what shows whether it reaches one host; empty: nothing does
};

struct StepCommandSettings {
  StepTemplate pattern = {};
  std::string args = {};                  // the user's
  std::vector<std::string> program = {};  // with its arguments
};

class StepCommand {
 public:
  // Looks for the command in `search_path` (PATH). An error is for people.
  static Result<StepCommand> choose(StepCommandSettings settings,
                                    std::optional<std::string_view> search_path);

  // An error for a host or a job that can't be one, and where the list is longer than a word of a
  // command may be.
  [[nodiscard]] Result<std::vector<std::string>> argv(const std::string& job,
                                                      const std::vector<std::string>& hosts) const;
  // As people call it: without its folder.
  [[nodiscard]] const std::string& name() const { return name_; }
  // What people may run to see for themselves; empty: nothing is known.
  [[nodiscard]] std::string by_hand(const std::string& job, const std::string& host) const;

 private:
  StepCommand(std::vector<std::string> words, StepCommandSettings settings);

  std::vector<std::string> words_;
  StepCommandSettings settings_;
  std::string name_;
};

// Letters, digits, '.', '_' and '-', which is not the first: no option, no list, no pattern.
bool is_scheduler_name(std::string_view host);

}  // namespace tide::launch
