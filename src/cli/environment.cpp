#include "cli/environment.hpp"

#include <algorithm>

#include "say/command_line.hpp"

namespace tide::cli {
namespace {

using Directives = std::vector<wire::EnvDirective>;

wire::EnvDirective directive(wire::EnvDirective::Kind kind, std::string_view name,
                             std::string_view value = {}, std::string_view separator = {}) {
  wire::EnvDirective result;
  result.set_kind(kind);
  result.set_name(std::string(name));
  result.set_value(std::string(value));
  result.set_separator(std::string(separator));
  return result;
}

Error no_name(const GivenOption& given) {
  return say::names_no_variable(given.spelling, given.value);
}

// One item of the list after -x, without a value.
Status forward(const GivenOption& given, std::string_view item, const Environment& environment,
               Directives& directives, std::vector<std::string>& warnings) {
  if (item.empty() || item == "*") return no_name(given);
  if (item.back() == '*') {
    const auto entries = environment.with_prefix(item.substr(0, item.size() - 1));
    if (entries.empty()) warnings.push_back(say::no_variable_fits(item));
    for (const std::string_view entry : entries) {
      const std::size_t equals = entry.find('=');
      directives.push_back(
          directive(wire::EnvDirective::SET, entry.substr(0, equals), entry.substr(equals + 1)));
    }
    return ok_status();
  }
  if (const auto value = environment.get(item)) {
    directives.push_back(directive(wire::EnvDirective::SET, item, *value));
  } else {
    warnings.push_back(say::no_such_variable(item));
  }
  return ok_status();
}

Status take_forward(const GivenOption& given, const Environment& environment,
                    Directives& directives, std::vector<std::string>& warnings) {
  std::string_view rest = given.value;
  while (true) {
    const std::size_t end = rest.find_first_of(",=");
    if (end != rest.npos && rest[end] == '=') {
      if (end == 0) return no_name(given);
      if (rest[end - 1] == '*') {
        return say::pattern_with_value(given.spelling, rest.substr(0, end), rest.substr(end + 1));
      }
      directives.push_back(
          directive(wire::EnvDirective::SET, rest.substr(0, end), rest.substr(end + 1)));
      return ok_status();
    }
    Status status = forward(given, rest.substr(0, end), environment, directives, warnings);
    if (!status || end == rest.npos) return status;
    rest.remove_prefix(end + 1);
  }
}

Status take_set(const GivenOption& given, Directives& directives) {
  const std::string_view text = given.value;
  const std::size_t equals = text.find('=');
  if (equals == 0) return no_name(given);
  if (equals == text.npos) {
    return say::variable_without_value(given.spelling, text);
  }
  directives.push_back(
      directive(wire::EnvDirective::SET, text.substr(0, equals), text.substr(equals + 1)));
  return ok_status();
}

Status take_unset(const GivenOption& given, Directives& directives) {
  if (given.value.empty() || given.value.find('=') != std::string::npos) return no_name(given);
  directives.push_back(directive(wire::EnvDirective::UNSET, given.value));
  return ok_status();
}

// `PATH` or `PATH[;]`.
Status take_extend(const GivenOption& given, wire::EnvDirective::Kind kind,
                   Directives& directives) {
  std::string_view name = given.value;
  std::string_view separator = ":";
  const std::size_t bracket = name.find('[');
  if (bracket != name.npos) {
    if (name.back() != ']') {
      return say::unclosed_bracket(given.spelling, name);
    }
    separator = name.substr(bracket + 1, name.size() - bracket - 2);
    name = name.substr(0, bracket);
  }
  if (name.empty() || name.find('=') != name.npos) return no_name(given);
  directives.push_back(directive(kind, name, given.second_value, separator));
  return ok_status();
}

Status take_option(const GivenOption& given, const Environment& environment, Directives& directives,
                   std::vector<std::string>& warnings) {
  switch (given.option) {
    case Option::kEnvForward:
      return take_forward(given, environment, directives, warnings);
    case Option::kEnvSet:
      return take_set(given, directives);
    case Option::kEnvUnset:
      return take_unset(given, directives);
    case Option::kEnvPrepend:
      return take_extend(given, wire::EnvDirective::PREPEND, directives);
    case Option::kEnvAppend:
      return take_extend(given, wire::EnvDirective::APPEND, directives);
    default:
      return ok_status();
  }
}

}  // namespace

std::optional<std::string_view> Environment::get(std::string_view name) const {
  for (const char* const* entry = entries_; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with(name) && text.size() > name.size() && text[name.size()] == '=') {
      return text.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> Environment::with_prefix(std::string_view prefix) const {
  std::vector<std::string_view> found;
  for (const char* const* entry = entries_; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with(prefix) && text.find('=') != text.npos) found.push_back(text);
  }
  return found;
}

Result<std::vector<wire::EnvDirective>> environment_directives(
    const std::vector<GivenOption>& options, const Environment& environment,
    std::vector<std::string>& warnings) {
  Directives directives;
  for (const GivenOption& given : options) {
    if (Status status = take_option(given, environment, directives, warnings); !status) {
      return status.error();
    }
  }
  return directives;
}

}  // namespace tide::cli
