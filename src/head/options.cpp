#include "head/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string_view>

#include "base/run_directory.hpp"
#include "base/text.hpp"
#include "say/command_line.hpp"

namespace tide::head {

namespace {

constexpr std::int64_t kMaxNodes = 4096;
constexpr std::int64_t kMaxSlots = 65536;

constexpr std::string_view kHelp = R"(prte: start a DVM (a distributed virtual machine) and serve it

Usage: prte [options]

  --nodes N             virtual nodes v1…vN on this machine (default 1)
  --slots N             slots per node (default: as prte_set_default_slots says, the cores)
  --dvm NAME            a name for the DVM: a small letter, then up to 31 small letters, digits,
                        - and _
  --daemonize           go to the background once the DVM is ready
  --show-progress       say on standard error when each node is up
  --no-ready-msg        do not print "DVM ready"
  --report-uri F|-|+    write the DVM's URI to a file, standard output or standard error
  --report-pid F|-|+    the same for the process number
  --keepalive FD        end when this inherited pipe closes
  --ready-fd FD         write one byte K to this inherited pipe when ready
  --one-shot            end when the jobs that were submitted have ended
  --prtemca NAME VALUE  set a parameter ('prte_info' lists them)
  -v, --verbose, --no-aggregate-help, --allow-run-as-root
                        accepted; they make no difference
  -V, --version         print the version
  -h, --help            print this text

Examples:
  prte --daemonize --nodes 4              four nodes in the background
  prte --nodes 8 --slots 2 --dvm work     eight nodes with two slots each, named 'work'
  prte --nodes 16 --prtemca rml_radix 2   a deep tree
  prun -n 4 hostname                      run something in it
  pterm                                   end it
)";

// Options of the wider command surface that this head does not have.
constexpr std::array<std::string_view, 16> kNotBuilt = {
    "--system-server", "--set-sid",          "--singleton", "--max-vm-size",
    "--launch-agent",  "--prefix",           "--noprefix",  "--leave-session-attached",
    "--debug-daemons", "--uniform-nodes",    "--host",      "--hostfile",
    "--machinefile",   "--default-hostfile", "--display",   "--forward-signals"};

struct OptionRow {
  std::string_view name;
  std::string_view value_names;
  int values;
  std::function<Status(HeadOptions&, std::span<const std::string>)> apply;
};

Result<std::int64_t> number(std::string_view option, const std::string& text, std::int64_t low,
                            std::int64_t high) {
  auto value = parse_int(text);
  if (!is_whole_number(text)) return say::not_a_number(text, option);
  if (!value || *value < low || *value > high) {
    return say::number_out_of_range(option, static_cast<std::uint64_t>(low),
                                    static_cast<std::uint64_t>(high), text);
  }
  return *value;
}

template <class Target>
auto number_into(std::string_view option, std::int64_t low, std::int64_t high, Target target) {
  return [=](HeadOptions& options, std::span<const std::string> values) -> Status {
    auto value = number(option, values[0], low, high);
    if (!value) return value.error();
    target(options, *value);
    return ok_status();
  };
}

auto flag(bool HeadOptions::* member) {
  return [member](HeadOptions& options, std::span<const std::string>) -> Status {
    options.*member = true;
    return ok_status();
  };
}

auto text(std::string HeadOptions::* member) {
  return [member](HeadOptions& options, std::span<const std::string> values) -> Status {
    options.*member = values[0];
    return ok_status();
  };
}

// What scripts pass and what changes nothing here.
Status ignored(HeadOptions& /*options*/, std::span<const std::string> /*values*/) {
  return ok_status();
}

const std::vector<OptionRow>& rows() {
  static const std::vector<OptionRow> kRows = {
      {"--nodes", "N", 1,
       number_into(
           "--nodes", 1, kMaxNodes,
           [](HeadOptions& o, std::int64_t v) { o.nodes = static_cast<std::uint32_t>(v); })},
      {"--slots", "N", 1,
       number_into(
           "--slots", 1, kMaxSlots,
           [](HeadOptions& o, std::int64_t v) { o.slots = static_cast<std::uint32_t>(v); })},
      {"--keepalive", "FD", 1,
       number_into("--keepalive", 0, 1 << 20,
                   [](HeadOptions& o, std::int64_t v) { o.keepalive_fd = static_cast<int>(v); })},
      {"--ready-fd", "FD", 1,
       number_into("--ready-fd", 0, 1 << 20,
                   [](HeadOptions& o, std::int64_t v) { o.ready_fd = static_cast<int>(v); })},
      {"--dvm", "NAME", 1,
       [](HeadOptions& options, std::span<const std::string> values) -> Status {
         options.dvm_name = values[0];
         return validate_dvm_name(values[0]);
       }},
      {"--prtemca", "NAME VALUE", 2,
       [](HeadOptions& options, std::span<const std::string> values) -> Status {
         options.params.emplace_back(values[0], values[1]);
         return ok_status();
       }},
      {"--report-uri", "F|-|+", 1, text(&HeadOptions::report_uri)},
      {"--report-pid", "F|-|+", 1, text(&HeadOptions::report_pid)},
      {"--daemonize", "", 0, flag(&HeadOptions::daemonize)},
      {"--show-progress", "", 0, flag(&HeadOptions::show_progress)},
      {"--no-ready-msg", "", 0, flag(&HeadOptions::no_ready_message)},
      {"--one-shot", "", 0, flag(&HeadOptions::one_shot)},
      {"--verbose", "", 0, ignored},
      {"-v", "", 0, ignored},
      {"--no-aggregate-help", "", 0, ignored},
      {"--allow-run-as-root", "", 0, ignored},
  };
  return kRows;
}

Error unknown_option(const std::string& given) {
  for (const auto name : kNotBuilt) {
    if (given == name)
      return say::unbuilt_option(given, "--nodes N, virtual nodes on this machine");
  }
  std::vector<std::string_view> names;
  for (const auto& row : rows()) names.push_back(row.name);
  return say::unknown_option(given, nearest(given, names));
}

const OptionRow* find_row(std::string_view name) {
  const auto& all = rows();
  const auto found = std::ranges::find(all, name, &OptionRow::name);
  return found == all.end() ? nullptr : &*found;
}

// `-nodes` is `--nodes`, `--nodes=8` is `--nodes 8`. The values of an option stay as they are.
std::vector<std::string> normalise(int argc, const char* const* argv) {
  std::vector<std::string> out;
  int values_due = 0;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (values_due > 0) {
      --values_due;
      out.push_back(std::move(word));
      continue;
    }
    if (word.size() > 2 && word[0] == '-' && word[1] != '-') word = fmt::format("-{}", word);
    const auto equals = word.find('=');
    const bool attached = word.starts_with("--") && equals != std::string::npos;
    out.push_back(word.substr(0, attached ? equals : word.size()));
    const OptionRow* row = find_row(out.back());
    values_due = (row == nullptr ? 0 : row->values) - (attached ? 1 : 0);
    if (attached) out.push_back(word.substr(equals + 1));
  }
  return out;
}

}  // namespace

Result<ParsedOptions> parse_options(int argc, const char* const* argv) {
  const auto words = normalise(argc, argv);
  ParsedOptions parsed;
  std::vector<std::string_view> seen;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& word = words[i];
    if (word == "-h" || word == "--help") return ParsedOptions{{}, std::string(kHelp)};
    if (word == "-V" || word == "--version") {
      return ParsedOptions{{}, fmt::format("prte (Tide) {}\n", TIDE_VERSION)};
    }
    const OptionRow* found = find_row(word);
    if (found == nullptr) return unknown_option(word);
    const bool repeatable = found->values != 1;
    for (const auto earlier : seen) {
      if (earlier == found->name && !repeatable) return say::given_twice(word);
    }
    seen.push_back(found->name);
    const auto count = static_cast<std::size_t>(found->values);
    if (i + count >= words.size() + (count == 0 ? 1 : 0)) {
      return say::needs_value(word, found->value_names);
    }
    auto applied =
        found->apply(parsed.options, std::span(words).subspan(i + (count > 0 ? 1 : 0), count));
    if (!applied) return applied.error();
    i += count;
  }
  return parsed;
}

}  // namespace tide::head
