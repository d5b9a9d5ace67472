#include <limits>

#include "base/run_directory.hpp"
#include "cli/alloc_request.hpp"
#include "cli/commands.hpp"
#include "cli/dvm_choice.hpp"
#include "cli/head_arguments.hpp"
#include "cli/values.hpp"
#include "hosts/hostfile.hpp"
#include "say/campaigns.hpp"
#include "say/command_line.hpp"
#include "say/pool.hpp"

namespace tide::cli {
namespace {

// The same bounds as the head's.
constexpr std::uint32_t kMaxNodes = 4096;
constexpr std::uint32_t kMaxSlots = 65536;
constexpr std::uint32_t kMaxHosts = 100'000;

Status check_operands(const CommandLine& line) {
  const std::vector<std::string>& operands = line.apps.front().argv;
  switch (line.command) {
    case Command::kRun:
    case Command::kOneShot:
    case Command::kParams:
    case Command::kLogs:
    case Command::kAlloc:  // has words of its own
      return ok_status();
    case Command::kPs:
      if (operands.empty()) return ok_status();
      [[fallthrough]];
    case Command::kKill: {
      if (operands.size() != 1) return say::needs_one_job(line.program);
      const Result<JobName> job = parse_job_name(operands[0]);
      return job ? ok_status() : Status(job.error());
    }
    case Command::kExplain: {
      if (operands.size() != 1) return say::needs_something_to_explain(line.program);
      const Result<ExplainName> name = parse_explain_name(operands[0]);
      return name ? ok_status() : Status(name.error());
    }
    case Command::kPool:
      if (operands.size() == 1 && (operands[0] == "push" || operands[0] == "reclaim")) {
        return ok_status();
      }
      return say::needs_pool_word();
    case Command::kDebug:
      if (operands.size() == 1 && operands[0] == "recorder") return ok_status();
      if (operands.size() == 2 && operands[0] == "release") return ok_status();
      return say::needs_debug_word();
    default:
      if (operands.empty()) return ok_status();
      return say::one_word_too_many(operands[0]);
  }
}

Status check_number(const CommandLine& line, Option option, std::string_view what,
                    std::uint32_t maximum) {
  const GivenOption* given = line.find(option);
  if (given == nullptr) return ok_status();
  const Result<std::uint32_t> number = parse_count(given->value, what, 1, maximum);
  return number ? ok_status() : Status(number.error());
}

bool extends(const CommandLine& line) {
  if (line.command != Command::kAlloc) return line.has(Option::kExtend);
  const auto word = alloc_word(line);
  return word && *word == AllocWord::kExtend;
}

// Of an extension the time is what comes on top of what is left.
Status check_warning(const CommandLine& line) {
  const GivenOption* lease = line.find(Option::kLeaseTime);
  const GivenOption* warning = line.find(Option::kLeaseWarn);
  if (lease == nullptr || warning == nullptr || extends(line)) return ok_status();
  const auto lease_ms = *parse_timeout_ms(lease->value, lease->spelling);
  const auto warning_ms = *parse_timeout_ms(warning->value, warning->spelling);
  if (warning_ms < lease_ms) return ok_status();
  return say::warning_before_the_lease(warning->spelling, warning->value, lease->value);
}

Status check_times(const CommandLine& line) {
  for (const Option option :
       {Option::kPoolLease, Option::kPoolWarn, Option::kLeaseTime, Option::kLeaseWarn}) {
    const GivenOption* given = line.find(option);
    if (given == nullptr) continue;
    const Result<std::uint32_t> time_ms = parse_timeout_ms(given->value, given->spelling);
    if (!time_ms) return time_ms.error();
    if (*time_ms == 0) return say::not_a_time(given->spelling, given->value);
  }
  return check_warning(line);
}

Status check_values(const CommandLine& line) {
  if (Status s = check_times(line); !s) return s;
  if (Status s = check_number(line, Option::kNodes, "the number of nodes", kMaxNodes); !s) return s;
  if (Status s = check_number(line, Option::kSlots, "the number of slots", kMaxSlots); !s) return s;
  if (Status s = check_number(line, Option::kMaxVmSize, "the number of nodes", kMaxHosts); !s) {
    return s;
  }
  if (Status s = check_number(line, Option::kPoolNodes, "the number of nodes", kMaxNodes); !s) {
    return s;
  }
  if (Status s = check_number(line, Option::kCount, "the number of nodes", kMaxHosts); !s) return s;
  const GivenOption* lines = line.find(Option::kLines);
  if (lines != nullptr && lines->value != "all") {
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
    if (Status s = check_number(line, Option::kLines, "the number of lines", kMost); !s) return s;
  }
  if (const GivenOption* signal = line.find(Option::kSignal)) {
    if (const Result<int> number = parse_signal(signal->value); !number) return number.error();
  }
  return ok_status();
}

// Names for nodes that are there, for others also what --host says at a start.
Status check_nodes(const CommandLine& line, bool there) {
  for (const GivenOption& given : line.apps.front().options) {
    if (given.option != Option::kHost) continue;
    const auto words = hosts::parse_host_list(given.value, given.spelling);
    if (!words) return words.error();
    if (!there) continue;
    for (const hosts::HostWord& word : *words) {
      const bool plain = word.kind == hosts::HostWord::Kind::kName && !word.excluded &&
                         word.user.empty() && word.slots == 0;
      if (!plain) return say::names_of_nodes_only(word.place.text, given.spelling);
    }
  }
  return ok_status();
}

Status check_change(const CommandLine& line) {
  const bool shrinks = line.command == Command::kShrink;
  if (line.command != Command::kGrow && !shrinks && line.command != Command::kPool) {
    return ok_status();
  }
  const GivenOption* which = nullptr;
  for (const Option option :
       {Option::kCount, Option::kHost, Option::kAllocation, Option::kExtend}) {
    const GivenOption* given = line.find(option);
    if (given == nullptr) continue;
    if (which != nullptr) return say::change_by_two(which->spelling, given->spelling);
    which = given;
  }
  if (which == nullptr && line.command == Command::kPool) return say::needs_pool_word();
  if (which == nullptr) return say::change_of_nothing(line.program, shrinks);
  const bool by_id = which->option == Option::kAllocation || which->option == Option::kExtend;
  if (by_id && which->value.empty()) return say::empty_value(which->spelling, "ID");
  if (which->option == Option::kExtend && !line.has(Option::kLeaseTime)) {
    return say::extend_by_what();
  }
  if (line.has(Option::kLeaseWarn) && !line.has(Option::kLeaseTime)) return say::warning_of_what();
  return check_nodes(line, line.command != Command::kGrow);
}

Status check_allocation(const CommandLine& line) {
  if (line.command != Command::kAlloc) return ok_status();
  if (Status status = check_alloc(line); !status) return status;
  return check_nodes(line, *alloc_word(line) == AllocWord::kRelease);
}

Status check_dvm(const CommandLine& line) {
  if (line.command == Command::kUp) {
    const GivenOption* name = line.find(Option::kDvm);
    return name == nullptr ? ok_status() : validate_dvm_name(name->value);
  }
  if (line.command == Command::kCheck) return ok_status();  // there is no DVM
  const Result<DvmChoice> choice = dvm_choice(line);
  if (!choice) return choice.error();
  if (line.has(Option::kAll) && line.command == Command::kDown && *choice != DvmChoice{}) {
    return say::all_and_one_dvm();
  }
  return ok_status();
}

}  // namespace

Status check_use(const CommandLine& line) {
  if (Status status = check_operands(line); !status) return status;
  if (Status status = check_values(line); !status) return status;
  if (Status status = check_hosts(line); !status) return status;
  if (Status status = check_change(line); !status) return status;
  if (Status status = check_allocation(line); !status) return status;
  return check_dvm(line);
}

}  // namespace tide::cli
