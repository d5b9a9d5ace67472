#include "base/params.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>

#include "base/messages.hpp"
#include "base/text.hpp"

namespace tide {
namespace {

constexpr std::string_view kEnvironmentPrefix = "PRTE_MCA_";
constexpr std::size_t kMaxFileBytes = 1024UL * 1024;

std::optional<std::size_t> find_param(std::string_view name) {
  const std::span<const ParamDef> table = param_table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const ParamDef& def = table[i];
    if (def.name == name || std::ranges::find(def.aliases, name) != def.aliases.end()) return i;
  }
  return std::nullopt;
}

Error unknown_param(std::string_view name, const ParamSource& source) {
  std::vector<std::string_view> known;
  for (const ParamDef& def : param_table()) {
    known.push_back(def.name);
    known.insert(known.end(), def.aliases.begin(), def.aliases.end());
  }
  return say::unknown_parameter(name, source.text, nearest(name, known));
}

std::string readable(const ParamDef& def, std::int64_t number) {
  if (def.type == ParamType::kDurationMs) {
    return human_duration_ms(static_cast<std::uint64_t>(number));
  }
  if (def.type == ParamType::kSizeBytes) return fmt::format("{} bytes", number);
  return fmt::format("{}", number);
}

Status check_range(const ParamDef& def, std::int64_t number) {
  if (number >= def.min && number <= def.max) return ok_status();
  return say::parameter_out_of_range(readable(def, def.min), readable(def, def.max));
}

Status check_choice(const ParamDef& def, std::string_view value) {
  if (std::ranges::find(def.choices, value) != def.choices.end()) return ok_status();
  if (def.max > 0) {
    if (const Result<std::int64_t> number = parse_int(value); number) {
      return check_range(def, *number);
    }
  }
  return say::parameter_not_a_choice(def.choices, def.max > 0, nearest(value, def.choices));
}

// The value as a number, for the types that have one.
Result<std::int64_t> parse_number(ParamType type, std::string_view value) {
  if (type == ParamType::kInt) return parse_int(value);
  if (type == ParamType::kBool) {
    const Result<bool> truth = parse_bool(value);
    if (!truth) return truth.error();
    return std::int64_t{*truth ? 1 : 0};
  }
  const Result<std::uint64_t> amount =
      type == ParamType::kDurationMs ? parse_duration_ms(value) : parse_size_bytes(value);
  if (!amount) return amount.error();
  return static_cast<std::int64_t>(*amount);
}

Status check_value(const ParamDef& def, std::string_view value) {
  if (def.check != nullptr) {
    if (const Status status = def.check(value); !status) return status.error();
  }
  if (def.type == ParamType::kString) return ok_status();
  if (def.type == ParamType::kChoice) return check_choice(def, value);
  const Result<std::int64_t> number = parse_number(def.type, value);
  if (!number) return number.error();
  return def.type == ParamType::kBool ? ok_status() : check_range(def, *number);
}

std::int64_t number_of(const ParamEntry& entry, ParamType type) {
  TIDE_CHECK(entry.def->type == type);
  return parse_number(type, entry.value).value();
}

// kNotFound if there is no such file.
Result<std::string> read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int errnum = errno;
    Error error = system_error(fmt::format("parameter file {}", path), errnum);
    if (errnum == ENOENT || errnum == ENOTDIR) error.code = ErrorCode::kNotFound;
    return error;
  }
  std::string text;
  std::array<char, 4096> piece{};
  do {
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  } while (file && text.size() <= kMaxFileBytes);
  if (file.bad()) return system_error(fmt::format("parameter file {}", path), errno);
  if (text.size() > kMaxFileBytes) {
    return say::parameter_file_too_large(path, kMaxFileBytes);
  }
  return text;
}

}  // namespace

const char* param_type_name(ParamType type) {
  switch (type) {
    case ParamType::kInt:
      return "int";
    case ParamType::kBool:
      return "bool";
    case ParamType::kString:
      return "string";
    case ParamType::kDurationMs:
      return "duration";
    case ParamType::kSizeBytes:
      return "size";
    case ParamType::kChoice:
      return "choice";
  }
  return "unknown";
}

ParamInputs standard_param_inputs(std::vector<std::pair<std::string, std::string>> command_line,
                                  const char* const* environment) {
  ParamInputs inputs;
  inputs.command_line = std::move(command_line);
  inputs.site_file = "/etc/prte/mca-params.conf";
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (entry.starts_with(kEnvironmentPrefix)) inputs.environment.emplace_back(entry);
    constexpr std::string_view kHome = "HOME=";
    if (entry.starts_with(kHome) && entry.size() > kHome.size()) {
      inputs.user_file = std::string(entry.substr(kHome.size())) + "/.prte/mca-params.conf";
    }
  }
  return inputs;
}

Params::Params() {
  for (const ParamDef& def : param_table()) {
    entries_.push_back({&def, std::string(def.default_value), ParamSource{}});
  }
}

Result<Params> Params::load(const ParamInputs& inputs) {
  Params params;
  // From the weakest to the strongest: what comes later replaces what was there.
  for (const auto& [path, origin] : {std::pair{inputs.site_file, ParamOrigin::kSiteFile},
                                     std::pair{inputs.user_file, ParamOrigin::kUserFile}}) {
    if (const Status status = params.read_file(path, origin); !status) return status.error();
  }
  for (const std::string& assignment : inputs.environment) {
    const std::size_t equals = assignment.find('=');
    if (!assignment.starts_with(kEnvironmentPrefix) || equals == std::string::npos) continue;
    const std::string_view variable = std::string_view(assignment).substr(0, equals);
    const Status status =
        params.set(variable.substr(kEnvironmentPrefix.size()), assignment.substr(equals + 1),
                   {ParamOrigin::kEnvironment, fmt::format("environment {}", variable)});
    if (!status) return status.error();
  }
  for (const auto& [name, value] : inputs.command_line) {
    const Status status = params.set(
        name, value, {ParamOrigin::kCommandLine, fmt::format("command line --prtemca {}", name)});
    if (!status) return status.error();
  }
  if (const Status status = params.check_together(); !status) return status.error();
  return params;
}

Result<Params> Params::from_map(const std::map<std::string, std::string>& values) {
  Params params;
  for (const auto& [name, value] : values) {
    const Status status = params.set(name, value, {ParamOrigin::kHead, "head"});
    if (!status) return status.error();
  }
  if (const Status status = params.check_together(); !status) return status.error();
  return params;
}

Status Params::set(std::string_view name, std::string_view value, ParamSource source) {
  const std::optional<std::size_t> index = find_param(name);
  if (!index) return unknown_param(name, source);
  ParamEntry& entry = entries_[*index];
  if (const Status status = check_value(*entry.def, value); !status) {
    return say::bad_parameter_value(value, name, source.text, status.error().message,
                                    entry.def->help, entry.def->default_value);
  }
  entry.value = value;
  entry.source = std::move(source);
  return ok_status();
}

Status Params::read_file(const std::string& path, ParamOrigin origin) {
  if (path.empty()) return ok_status();
  const Result<std::string> text = read_text_file(path);
  if (!text && text.error().code == ErrorCode::kNotFound) return ok_status();
  if (!text) return text.error();
  std::size_t number = 0;
  for (const std::string& untrimmed : split(*text, '\n')) {
    ++number;
    const std::string_view line = trim(std::string_view(untrimmed).substr(0, untrimmed.find('#')));
    if (line.empty()) continue;
    ParamSource source{origin, fmt::format("file {}:{}", path, number)};
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return say::parameter_line_without_equals(source.text, line);
    }
    const Status status =
        set(trim(line.substr(0, equals)), trim(line.substr(equals + 1)), std::move(source));
    if (!status) return status.error();
  }
  return ok_status();
}

// What no parameter can check alone.
Status Params::check_together() const {
  if (const Status status = check_places_to_listen(); !status) return status;
  const ParamEntry& interval = entry("tide_heartbeat_interval");
  const ParamEntry& timeout = entry("tide_heartbeat_timeout");
  if (get_duration_ms(interval.def->name) < get_duration_ms(timeout.def->name)) return ok_status();
  return say::heartbeats_too_rare(timeout.value, timeout.source.text, interval.value,
                                  interval.source.text);
}

Status Params::check_places_to_listen() const {
  const ParamEntry* said = nullptr;
  for (const auto* name : {"prte_if_include", "prte_if_exclude", "tide_listen_address"}) {
    const ParamEntry& next = entry(name);
    if (next.value.empty()) continue;
    if (said != nullptr) {
      return say::two_choices_of_network(said->def->name, said->source.text, next.def->name,
                                         next.source.text);
    }
    said = &next;
  }
  return ok_status();
}

const ParamEntry& Params::entry(std::string_view name) const {
  const std::optional<std::size_t> index = find_param(name);
  TIDE_CHECK(index.has_value());
  return entries_[*index];
}

std::int64_t Params::get_int(std::string_view name) const {
  return number_of(entry(name), ParamType::kInt);
}

bool Params::get_bool(std::string_view name) const {
  return number_of(entry(name), ParamType::kBool) != 0;
}

const std::string& Params::get_string(std::string_view name) const {
  const ParamEntry& found = entry(name);
  TIDE_CHECK(found.def->type == ParamType::kString || found.def->type == ParamType::kChoice);
  return found.value;
}

std::uint32_t Params::get_duration_ms(std::string_view name) const {
  return static_cast<std::uint32_t>(number_of(entry(name), ParamType::kDurationMs));
}

std::uint64_t Params::get_size(std::string_view name) const {
  return static_cast<std::uint64_t>(number_of(entry(name), ParamType::kSizeBytes));
}

const ParamSource& Params::source(std::string_view name) const {
  return entry(name).source;
}

std::map<std::string, std::string> Params::explicitly_set() const {
  std::map<std::string, std::string> values;
  for (const ParamEntry& entry : entries_) {
    if (entry.source.origin == ParamOrigin::kDefault) continue;
    values.emplace(entry.def->name, entry.value);
  }
  return values;
}

}  // namespace tide
