#include <limits>

#include "base/run_directory.hpp"
#include "cli/commands.hpp"
#include "cli/dvm_choice.hpp"
#include "cli/values.hpp"
#include "say/command_line.hpp"

namespace tide::cli {
namespace {

// The same bounds as the head's.
constexpr std::uint32_t kMaxNodes = 4096;
constexpr std::uint32_t kMaxSlots = 65536;

Status check_operands(const CommandLine& line) {
  const std::vector<std::string>& operands = line.apps.front().argv;
  switch (line.command) {
    case Command::kRun:
    case Command::kOneShot:
    case Command::kParams:
    case Command::kLogs:
      return ok_status();
    case Command::kKill: {
      if (operands.size() != 1) return say::needs_one_job();
      const Result<JobName> job = parse_job_name(operands[0]);
      return job ? ok_status() : Status(job.error());
    }
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

Status check_values(const CommandLine& line) {
  if (Status s = check_number(line, Option::kNodes, "the number of nodes", kMaxNodes); !s) return s;
  if (Status s = check_number(line, Option::kSlots, "the number of slots", kMaxSlots); !s) return s;
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

Status check_dvm(const CommandLine& line) {
  if (line.command == Command::kUp) {
    const GivenOption* name = line.find(Option::kDvm);
    return name == nullptr ? ok_status() : validate_dvm_name(name->value);
  }
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
  return check_dvm(line);
}

}  // namespace tide::cli
