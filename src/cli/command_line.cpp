#include "cli/command_line.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "say/command_line.hpp"

namespace tide::cli {
namespace {

struct Subcommand {
  std::string_view name;
  Command command;
};

constexpr std::array kSubcommands = {
    Subcommand{"up", Command::kUp},       Subcommand{"check", Command::kCheck},
    Subcommand{"run", Command::kRun},     Subcommand{"status", Command::kStatus},
    Subcommand{"jobs", Command::kJobs},   Subcommand{"explain", Command::kExplain},
    Subcommand{"ps", Command::kPs},       Subcommand{"events", Command::kEvents},
    Subcommand{"watch", Command::kWatch}, Subcommand{"kill", Command::kKill},
    Subcommand{"grow", Command::kGrow},   Subcommand{"shrink", Command::kShrink},
    Subcommand{"pool", Command::kPool},   Subcommand{"alloc", Command::kAlloc},
    Subcommand{"logs", Command::kLogs},   Subcommand{"params", Command::kParams},
    Subcommand{"debug", Command::kDebug}, Subcommand{"down", Command::kDown},
    Subcommand{"sim", Command::kSim},
};

constexpr std::array kPrograms = {
    Subcommand{"prun", Command::kRun},
    Subcommand{"prterun", Command::kOneShot},
    Subcommand{"pterm", Command::kDown},
    Subcommand{"prte_info", Command::kParams},
};

bool starts_program(Command command) {
  return command == Command::kRun || command == Command::kOneShot;
}

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// An option word taken apart: `--np=4` is name "np", value "4".
struct OptionWord {
  std::string spelling;
  std::string_view name;
  std::optional<std::string> value;
};

OptionWord take_apart(std::string_view word) {
  const std::size_t dashes = word.starts_with("--") ? 2 : 1;
  const std::size_t equals = word.find('=', dashes);
  OptionWord result;
  result.spelling = word.substr(0, equals);
  result.name = word.substr(dashes, equals == word.npos ? word.npos : equals - dashes);
  if (equals != word.npos) result.value = std::string(word.substr(equals + 1));
  return result;
}

class Parser {
 public:
  explicit Parser(const Invocation& invocation)
      : command_(invocation.command), words_(invocation.words) {
    line_.program = invocation.program;
    line_.command = invocation.command;
    line_.apps.emplace_back();
  }

  Result<CommandLine> parse() {
    while (next_ < words_.size() && !line_.wants_help && !line_.wants_version) {
      if (Status status = take_word(); !status) return status.error();
    }
    if (!line_.wants_help && !line_.wants_version && starts_program(command_)) {
      if (Status status = check_app_complete(); !status) return status.error();
    }
    return std::move(line_);
  }

 private:
  Status take_word() {
    const std::string& word = words_[next_++];
    if (starts_program(command_) && word == ":") return begin_next_app();
    if (!options_ended_ && word.size() > 1 && word[0] == '-') {
      if (word == "--") {
        options_ended_ = true;
        return ok_status();
      }
      return take_option(word);
    }
    line_.apps.back().argv.push_back(word);
    // What follows the name of a program is the program's.
    if (starts_program(command_)) options_ended_ = true;
    return ok_status();
  }

  Status check_app_complete() {
    if (!line_.apps.back().argv.empty()) return ok_status();
    if (line_.apps.size() > 1) return say::no_program_after_colon();
    return say::no_program(line_.program);
  }

  Status begin_next_app() {
    if (line_.apps.back().argv.empty()) return say::no_program_before_colon();
    line_.apps.emplace_back();
    options_ended_ = false;
    return ok_status();
  }

  Status take_option(const std::string& word) {
    OptionWord parts = take_apart(word);
    const OptionRow* row = find_option(command_, parts.name);
    if (row == nullptr) row = find_attached_number(word, parts);
    if (row == nullptr) return refuse(parts);

    if (row->option == Option::kHelp) return take_help(parts);
    if (row->option == Option::kVersion) {
      line_.wants_version = true;
      return ok_status();
    }
    if (!row->instead.empty()) {
      line_.hints.push_back(say::old_spelling(parts.spelling, row->instead));
    }
    GivenOption given{row->option, parts.spelling, std::string(row->implied), {}};
    if (Status status = take_values(*row, parts, given); !status) return status;
    if (Status status = check_repeat(given); !status) return status;
    line_.apps.back().options.push_back(std::move(given));
    return ok_status();
  }

  // `-n4`: only for numbers, so that a mistyped long option is not taken for a short one.
  const OptionRow* find_attached_number(const std::string& word, OptionWord& parts) const {
    if (word.starts_with("--") || word.size() < 3) return nullptr;
    const std::string_view digits = std::string_view(word).substr(2);
    const OptionRow* row = find_option(command_, std::string_view(word).substr(1, 1));
    if (row == nullptr || row->arity != Arity::kOne || !all_digits(digits)) return nullptr;
    parts.spelling = word.substr(0, 2);
    parts.value = std::string(digits);
    return row;
  }

  Status take_values(const OptionRow& row, OptionWord& parts, GivenOption& given) {
    if (row.arity == Arity::kNone) {
      if (!parts.value) return ok_status();
      return say::takes_no_value(parts.spelling);
    }
    if (!parts.value) parts.value = take_next();
    if (!parts.value) return lacks_value(parts, row);
    given.value = *std::move(parts.value);
    if (row.arity != Arity::kTwo) return ok_status();
    std::optional<std::string> second = take_next();
    if (!second) return lacks_value(parts, row);
    given.second_value = *std::move(second);
    return ok_status();
  }

  Status lacks_value(const OptionWord& parts, const OptionRow& row) const {
    std::string_view values = row.value_name;
    for (const OptionRow& other : option_table()) {
      const bool same = other.option == row.option && (other.commands & row.commands) != 0;
      if (values.empty() && same) values = other.value_name;
    }
    return say::needs_value(parts.spelling, values);
  }

  std::optional<std::string> take_next() {
    if (next_ == words_.size()) return std::nullopt;
    return words_[next_++];
  }

  Status check_repeat(const GivenOption& given) const {
    const Repeat repeat = repeat_of(given.option);
    if (repeat == Repeat::kOften) return ok_status();
    const auto same = [&given](const GivenOption& other) { return other.option == given.option; };
    for (const AppWords& app : line_.apps) {
      if (repeat == Repeat::kOncePerApp && &app != &line_.apps.back()) continue;
      const auto earlier = std::find_if(app.options.begin(), app.options.end(), same);
      if (earlier == app.options.end()) continue;
      if (earlier->spelling == given.spelling) return say::given_twice(given.spelling);
      return say::same_option_twice(earlier->spelling, given.spelling);
    }
    return ok_status();
  }

  Status take_help(OptionWord& parts) {
    line_.wants_help = true;
    if (parts.value) {
      line_.help_topic = *parts.value;
    } else if (next_ < words_.size()) {
      take_help_topic(words_[next_]);
    }
    return ok_status();
  }

  // A topic, or an option of the command: --help --host.
  void take_help_topic(const std::string& word) {
    const bool is_option = word.starts_with('-') && word.size() > 1;
    if (!is_option) {
      line_.help_topic = word;
    } else if (const std::string_view name = take_apart(word).name;
               find_option(command_, name) != nullptr) {
      line_.help_topic = name;
    }
  }

  Status refuse(const OptionWord& parts) const {
    const UnbuiltOption* unbuilt = find_unbuilt_option(command_, parts.name);
    if (unbuilt != nullptr && !unbuilt->never.empty()) {
      return say::option_without_meaning(parts.spelling, unbuilt->never, unbuilt->alternative);
    }
    if (unbuilt != nullptr) return say::unbuilt_option(parts.spelling, unbuilt->alternative);
    std::vector<std::string_view> names;
    for (const OptionRow& row : option_table()) {
      if ((row.commands & only(command_)) != 0 && row.name.size() > 1) names.push_back(row.name);
    }
    auto near = nearest(parts.name, names);
    if (near) near->insert(0, "--");
    return say::unknown_option(parts.spelling, near);
  }

  Command command_;
  const std::vector<std::string>& words_;
  std::size_t next_ = 0;
  bool options_ended_ = false;
  CommandLine line_;
};

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

std::vector<std::string> words_from(std::span<const std::string_view> argv, std::size_t first) {
  std::vector<std::string> words;
  for (std::size_t i = first; i < argv.size(); ++i) words.emplace_back(argv[i]);
  return words;
}

}  // namespace

std::span<const std::string_view> subcommand_names() {
  static constexpr auto kNames = [] {
    std::array<std::string_view, kSubcommands.size()> names{};
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = kSubcommands[i].name;
    return names;
  }();
  return kNames;
}

Result<Invocation> make_invocation(std::span<const std::string_view> argv) {
  const std::string_view called = argv.empty() ? "tide" : base_name(argv[0]);
  for (const Subcommand& program : kPrograms) {
    if (program.name != called) continue;
    return Invocation{std::string(called), program.command, words_from(argv, 1)};
  }
  if (argv.size() < 2) return say::no_command();
  const bool says_help = argv[1] == "help" || argv[1] == "-h" || argv[1] == "--help";
  const bool asks_help = says_help && argv.size() > 2;
  const std::string_view word = asks_help ? argv[2] : argv[1];
  for (const Subcommand& subcommand : kSubcommands) {
    if (subcommand.name != word) continue;
    Invocation invocation{"tide " + std::string(word), subcommand.command, {}};
    invocation.words = words_from(argv, asks_help ? 3 : 2);
    if (asks_help) invocation.words.insert(invocation.words.begin(), "--help");
    return invocation;
  }
  return say::unknown_command(word, nearest(word, subcommand_names()));
}

const GivenOption* CommandLine::find(Option option) const {
  const GivenOption* found = nullptr;
  for (const AppWords& app : apps) {
    for (const GivenOption& given : app.options) {
      if (given.option == option) found = &given;
    }
  }
  return found;
}

Result<CommandLine> parse_command_line(const Invocation& invocation) {
  return Parser(invocation).parse();
}

}  // namespace tide::cli
