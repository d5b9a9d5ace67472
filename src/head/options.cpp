#include "head/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <span>
#include <string_view>

#include "base/run_directory.hpp"
#include "base/text.hpp"
#include "say/campaigns.hpp"
#include "say/checking.hpp"
#include "say/command_line.hpp"
#include "say/granting.hpp"
#include "say/hosts.hpp"
#include "say/pool.hpp"

namespace tide::head {

namespace {

constexpr std::int64_t kMaxNodes = 4096;
constexpr std::int64_t kMaxSlots = 65536;

constexpr std::string_view kHelp = R"(prte: start a DVM (a distributed virtual machine) and serve it

Usage: prte [options]

  --nodes N             virtual nodes v1…vN on this machine (default 1; in a job of a scheduler the
                        nodes of the job)
  --host, -H LIST       the machines of the DVM: a,b:2,node[01-04], on each at most so many slots
  --hostfile FILE       the same from a file, a host on each line: node1 slots=4 max-slots=8
  --machinefile FILE    the same as --hostfile; with --host too, --host chooses among them
  --default-hostfile FILE
                        the machines there are; --hostfile and --host choose among them
  --slots N             slots of nodes for which none are given (default: see --set-slots)
  --set-slots WHAT      cores (the default), sockets, hwthreads or a number: the slots of nodes
                        for which none are given
  --max-vm-size N       start with no more than N nodes, the first ones; the others are there for a
                        grow, or for a job that activates them
  --elastic             the DVM can grow and shrink while it runs (tide grow, tide shrink); the same as
                        --prtemca prte_elastic_mode 1
  --pool N              N virtual nodes more, named on after the first, that it can grow by
  --pool-hostfile FILE  machines that it can grow by
  --pool-lease TIME     what it grows by stays so long at most: 90, 90s, 5m
  --pool-warn TIME      and is warned of so long before the end
  --check               try every host as a start would, say what was found there, and start no DVM;
                        'tide check' is this
  --json                with --check: for programs
  --dvm NAME            a name for the DVM: a small letter, then up to 31 small letters, digits,
                        - and _
  --daemonize           go to the background once the DVM is ready
  --show-progress       say on standard error when each node is up
  --no-ready-msg        do not print "DVM ready"
  --report-uri F|-|+    write the DVM's URI to a file, standard output or standard error
  --report-pid F|-|+    the same for the process number
  --keepalive FD        end when this inherited pipe closes
  --ready-fd FD         write one byte K to this inherited pipe when ready
  --prefix DIR          other machines have prted in DIR/bin; else it is looked for where it is here
  --noprefix            other machines have prted in their PATH
  --launch-agent CMD    run CMD on other machines, in place of prted
  --leave-session-attached, --debug-daemons
                        daemons write to standard error, and not to logs; with --daemonize to
                        logs on this machine; sessions on other machines stay
  --system-server       be the DVM of this machine for tools that name no other
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
  prte --host node1:4,node2               two machines, four slots on the first
  prte --hostfile nodes.txt --host ^node7 all of a file but one
  prte --elastic --nodes 2 --pool 6       two nodes that can become eight
  prte --check --hostfile nodes.txt       are all of them usable?
  prun -n 4 hostname                      run something in it
  pterm                                   end it
)";

// Options of the wider command surface that this head does not have.
constexpr std::array<std::string_view, 5> kNotBuilt = {
    "--set-sid", "--singleton", "--uniform-nodes", "--display", "--forward-signals"};

struct OptionRow {
  std::string_view name;
  std::string_view value_names;
  int values;
  std::function<Status(HeadOptions&, std::span<const std::string>)> apply;
  bool often = false;
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

// Where nothing would mean that the option was not given.
auto some_text(std::string_view option, std::string_view value_name,
               std::string HeadOptions::* member) {
  return [=](HeadOptions& options, std::span<const std::string> values) -> Status {
    if (trim(values[0]).empty()) return say::empty_value(option, value_name);
    options.*member = values[0];
    return ok_status();
  };
}

auto hosts_from(std::vector<std::string> rm::HostArguments::* member) {
  return [member](HeadOptions& options, std::span<const std::string> values) -> Status {
    (options.named.*member).push_back(values[0]);
    return ok_status();
  };
}

auto time_into(const char* option, std::uint32_t HeadOptions::* member) {
  return [option, member](HeadOptions& options, std::span<const std::string> values) -> Status {
    const auto time_ms = parse_duration_ms(values[0]);
    if (!time_ms || *time_ms == 0) return say::not_a_time(option, values[0]);
    constexpr std::uint64_t kLongestMs = std::numeric_limits<std::uint32_t>::max();
    constexpr std::uint64_t kHourMs = 3'600'000;
    if (*time_ms > kLongestMs) {
      return say::time_too_long(option, values[0], kLongestMs / kHourMs);
    }
    options.*member = static_cast<std::uint32_t>(*time_ms);
    return ok_status();
  };
}

// Another way to write a parameter.
auto parameter(const char* name) {
  return [name](HeadOptions& options, std::span<const std::string> values) -> Status {
    options.params.emplace_back(name, values[0]);
    return ok_status();
  };
}

Status make_elastic(HeadOptions& options, std::span<const std::string> /*values*/) {
  options.params.emplace_back("prte_elastic_mode", "1");
  return ok_status();
}

Status take_pool_hostfile(HeadOptions& options, std::span<const std::string> values) {
  options.pool_hostfiles.push_back(values[0]);
  return ok_status();
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
      {"--elastic", "", 0, make_elastic},
      {"--pool", "N", 1,
       number_into(
           "--pool", 1, kMaxNodes,
           [](HeadOptions& o, std::int64_t v) { o.pool_nodes = static_cast<std::uint32_t>(v); })},
      {"--pool-hostfile", "FILE", 1, take_pool_hostfile, true},
      {"--pool-lease", "TIME", 1, time_into("--pool-lease", &HeadOptions::pool_lease_ms)},
      {"--pool-warn", "TIME", 1, time_into("--pool-warn", &HeadOptions::pool_warn_ms)},
      {"--host", "NODE[:SLOTS],…", 1, hosts_from(&rm::HostArguments::host_lists), true},
      {"-H", "NODE[:SLOTS],…", 1, hosts_from(&rm::HostArguments::host_lists), true},
      {"--hostfile", "FILE", 1, hosts_from(&rm::HostArguments::hostfiles), true},
      {"--machinefile", "FILE", 1, hosts_from(&rm::HostArguments::hostfiles), true},
      {"--default-hostfile", "FILE", 1, hosts_from(&rm::HostArguments::default_hostfiles)},
      {"--set-slots", "WHAT", 1, parameter("prte_set_default_slots")},
      {"--max-vm-size", "N", 1, parameter("prte_max_vm_size")},
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
       },
       true},
      {"--report-uri", "F|-|+", 1, text(&HeadOptions::report_uri)},
      {"--report-pid", "F|-|+", 1, text(&HeadOptions::report_pid)},
      {"--check", "", 0, flag(&HeadOptions::check)},
      {"--json", "", 0, flag(&HeadOptions::json)},
      {"--daemonize", "", 0, flag(&HeadOptions::daemonize)},
      {"--show-progress", "", 0, flag(&HeadOptions::show_progress)},
      {"--no-ready-msg", "", 0, flag(&HeadOptions::no_ready_message)},
      {"--one-shot", "", 0, flag(&HeadOptions::one_shot)},
      {"--system-server", "", 0, flag(&HeadOptions::system_server)},
      {"--prefix", "DIR", 1, some_text("--prefix", "DIR", &HeadOptions::prefix)},
      {"--noprefix", "", 0, flag(&HeadOptions::no_prefix)},
      {"--launch-agent", "CMD", 1, some_text("--launch-agent", "CMD", &HeadOptions::launch_agent)},
      {"--leave-session-attached", "", 0, flag(&HeadOptions::stay_attached)},
      {"--debug-daemons", "", 0, flag(&HeadOptions::stay_attached)},
      {"--verbose", "", 0, ignored},
      {"-v", "", 0, ignored},
      {"--no-aggregate-help", "", 0, ignored},
      {"--allow-run-as-root", "", 0, ignored},
  };
  return kRows;
}

Error unknown_option(const std::string& given) {
  for (const auto name : kNotBuilt) {
    if (given == name) return say::unbuilt_option(given, "");
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

Result<std::vector<rm::Host>> hosts_of(const rm::HostArguments& named,
                                       const std::optional<rm::Grant>& grant, std::uint32_t slots) {
  auto hosts = rm::find_hosts(named, grant);
  if (!hosts) return hosts;
  for (auto& host : *hosts) {
    if (host.slots > 0) continue;
    host.slots = host.max_slots > 0 ? std::min(slots, host.max_slots) : slots;
  }
  return hosts;
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
    const bool repeatable = found->often || found->values == 0;
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
  parsed.options.gave_nodes = std::ranges::find(seen, "--nodes") != seen.end();
  return parsed;
}

Status choose_nodes(HeadOptions& options, std::optional<rm::Grant> grant) {
  if (!options.pool_hostfiles.empty()) {
    auto pool = hosts_of({{}, options.pool_hostfiles, {}}, std::nullopt, options.slots);
    if (!pool) return pool.error();
    options.pool_hosts = std::move(*pool);
  }
  const bool named = !options.named.empty();
  if (options.gave_nodes && named) return say::nodes_and_hosts(options.named.first_option());
  if (options.check && !named && !grant) return say::check_needs_hosts();
  if (options.gave_nodes) return ok_status();
  auto hosts = hosts_of(options.named, grant, options.slots);
  if (!hosts) return hosts.error();
  options.hosts = std::move(*hosts);
  options.grant = std::move(grant);
  return ok_status();
}

Status check_pool(const HeadOptions& options) {
  const bool of_hosts = !options.pool_hosts.empty();
  const char* given = of_hosts                    ? "--pool-hostfile"
                      : options.pool_nodes > 0    ? "--pool"
                      : options.pool_lease_ms > 0 ? "--pool-lease"
                                                  : nullptr;
  if (given == nullptr) return ok_status();
  if (options.grant && (of_hosts || options.pool_nodes > 0)) {
    return say::pool_in_a_job(given, options.grant->manager, options.grant->job);
  }
  if (!options.elastic) return say::pool_without_elastic(given);
  if (options.pool_lease_ms > 0 && options.pool_warn_ms >= options.pool_lease_ms) {
    return say::warning_before_the_lease("--pool-warn", human_duration_ms(options.pool_warn_ms),
                                         human_duration_ms(options.pool_lease_ms));
  }
  if (options.pool_nodes > 0 && !options.hosts.empty()) {
    return say::pool_of_virtual_nodes_and_hosts();
  }
  if (of_hosts && options.hosts.empty()) return say::pool_hostfile_without_hosts();
  return ok_status();
}

void keep_the_rest(HeadOptions& options) {
  if (!options.grant || options.grant->manager == "slurm") return;
  for (const auto& host : options.grant->hosts) {
    if (std::ranges::find(options.hosts, host.name, &rm::Host::name) == options.hosts.end()) {
      options.pool_hosts.push_back(host);
    }
  }
}

void limit_size(HeadOptions& options, std::size_t most) {
  if (most == 0) return;
  if (options.hosts.empty() && options.nodes > most) {
    options.pool_nodes += options.nodes - static_cast<std::uint32_t>(most);
    options.nodes = static_cast<std::uint32_t>(most);
  }
  if (options.hosts.size() > most) {
    const auto rest = options.hosts.begin() + static_cast<std::ptrdiff_t>(most);
    options.pool_hosts.insert(options.pool_hosts.begin(), rest, options.hosts.end());
    options.hosts.erase(rest, options.hosts.end());
  }
}

}  // namespace tide::head
