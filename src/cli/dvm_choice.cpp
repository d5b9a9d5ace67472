#include "cli/dvm_choice.hpp"

#include <array>
#include <limits>
#include <vector>

#include "base/run_directory.hpp"
#include "base/uri.hpp"
#include "cli/values.hpp"
#include "say/command_line.hpp"

namespace tide::cli {
namespace {

using Kind = DvmChoice::Kind;

Result<DvmChoice> by_pid(std::string_view text) {
  constexpr std::string_view kFile = "file:";
  if (text.starts_with(kFile)) {
    return DvmChoice{Kind::kPidFile, std::string(text.substr(kFile.size())), 0};
  }
  Result<std::uint32_t> pid =
      parse_count(text, "a process number", 1, std::numeric_limits<std::int32_t>::max());
  if (!pid) return pid.error();
  return DvmChoice{Kind::kPid, {}, *pid};
}

Result<DvmChoice> by_uri(std::string_view text) {
  constexpr std::string_view kFile = "file:";
  if (text.starts_with(kFile)) {
    return DvmChoice{Kind::kUriFile, std::string(text.substr(kFile.size())), 0};
  }
  if (const Result<DvmUri> uri = parse_dvm_uri(text); !uri) return uri.error();
  return DvmChoice{Kind::kUri, std::string(text), 0};
}

Result<DvmChoice> by_namespace(std::string_view text) {
  if (text.empty()) return say::empty_namespace();
  return DvmChoice{Kind::kNamespace, std::string(text), 0};
}

Result<DvmChoice> by_prefix(std::string_view prefix, std::string_view rest) {
  if (prefix == "pid") return by_pid(rest);
  if (prefix == "uri") return by_uri(rest);
  if (prefix == "ns") return by_namespace(rest);
  if (prefix == "file") return DvmChoice{Kind::kUriFile, std::string(rest), 0};
  return say::unknown_dvm_form(prefix);
}

}  // namespace

Result<DvmChoice> parse_dvm_choice(std::string_view text) {
  if (text == "search") return DvmChoice{};
  if (text == "system") return DvmChoice{Kind::kSystem, {}, 0};
  if (text == "system-first") return DvmChoice{Kind::kSystemFirst, {}, 0};
  if (!text.empty() && text[0] >= '0' && text[0] <= '9') return by_pid(text);
  if (const std::size_t colon = text.find(':'); colon != text.npos) {
    return by_prefix(text.substr(0, colon), text.substr(colon + 1));
  }
  if (Status status = validate_dvm_name(text); !status) return status.error();
  return DvmChoice{Kind::kName, std::string(text), 0};
}

Result<DvmChoice> dvm_choice(const CommandLine& line) {
  static constexpr std::array kOptions = {Option::kDvm,         Option::kDvmUri,
                                          Option::kPid,         Option::kNamespace,
                                          Option::kSystemFirst, Option::kSystemOnly};
  const GivenOption* given = nullptr;
  for (const Option option : kOptions) {
    const GivenOption* other = line.find(option);
    if (other == nullptr) continue;
    if (given != nullptr) {
      return say::dvm_chosen_twice(given->spelling, other->spelling);
    }
    given = other;
  }
  if (given == nullptr) return DvmChoice{};
  switch (given->option) {
    case Option::kDvmUri:
      return by_uri(given->value);
    case Option::kPid:
      return by_pid(given->value);
    case Option::kNamespace:
      return by_namespace(given->value);
    case Option::kSystemFirst:
      return DvmChoice{Kind::kSystemFirst, {}, 0};
    case Option::kSystemOnly:
      return DvmChoice{Kind::kSystem, {}, 0};
    default:
      return parse_dvm_choice(given->value);
  }
}

}  // namespace tide::cli
