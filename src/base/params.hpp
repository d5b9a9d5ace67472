// Parameters in the MCA manner: one table, several places to set them, one clear precedence.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace tide {

enum class ParamType : std::uint8_t { kInt, kBool, kString, kDurationMs, kSizeBytes, kChoice };

// "int", "bool", "string", "duration", "size", "choice".
const char* param_type_name(ParamType type);

struct ParamDef {
  std::string_view name;
  ParamType type = ParamType::kString;
  std::string_view default_value;
  std::string_view help;  // one line
  // Inclusive, for numbers; durations in milliseconds, sizes in bytes. A choice with max > 0
  // also takes a number in this range.
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::span<const std::string_view> aliases{};
  std::span<const std::string_view> choices{};
  Status (*check)(std::string_view value) = nullptr;  // what the type alone cannot say
};

// All parameters there are, sorted by name.
std::span<const ParamDef> param_table();

enum class ParamOrigin : std::uint8_t {
  kDefault,
  kSiteFile,
  kUserFile,
  kEnvironment,
  kCommandLine,
  kHead,  // at a daemon: sent by the head
};

struct ParamSource {
  ParamOrigin origin = ParamOrigin::kDefault;
  std::string text = "default";  // "environment PRTE_MCA_rml_radix", "file /etc/…:3"
};

struct ParamInputs {
  std::vector<std::pair<std::string, std::string>> command_line;  // --prtemca NAME VALUE
  std::vector<std::string> environment;  // "K=V"; only PRTE_MCA_* is looked at
  std::string user_file;                 // empty or not there: skipped
  std::string site_file;
};

// This process's environment (a null-terminated array such as environ) and the usual files:
// ~/.prte/mca-params.conf and /etc/prte/mca-params.conf.
ParamInputs standard_param_inputs(std::vector<std::pair<std::string, std::string>> command_line,
                                  const char* const* environment);

struct ParamEntry {
  const ParamDef* def = nullptr;
  std::string value;
  ParamSource source;
};

class Params {
 public:
  // All defaults.
  Params();

  // Command line before environment before user file before site file before default; within
  // one of them the last setting wins. Every setting is checked, also one that is overridden.
  static Result<Params> load(const ParamInputs& inputs);

  // The daemon's side of explicitly_set().
  static Result<Params> from_map(const std::map<std::string, std::string>& values);

  // Name or alias; asking for a name that is not in the table, or by the wrong type, is a
  // programming mistake and ends the program.
  [[nodiscard]] std::int64_t get_int(std::string_view name) const;
  [[nodiscard]] bool get_bool(std::string_view name) const;
  [[nodiscard]] const std::string& get_string(std::string_view name) const;  // also choices
  [[nodiscard]] std::uint32_t get_duration_ms(std::string_view name) const;
  [[nodiscard]] std::uint64_t get_size(std::string_view name) const;
  [[nodiscard]] const ParamSource& source(std::string_view name) const;

  // In the order of the table.
  [[nodiscard]] std::span<const ParamEntry> entries() const { return entries_; }

  // Name to value of all that is not a default: what a daemon must be told.
  [[nodiscard]] std::map<std::string, std::string> explicitly_set() const;

 private:
  Status set(std::string_view name, std::string_view value, ParamSource source);
  Status read_file(const std::string& path, ParamOrigin origin);
  [[nodiscard]] Status check_together() const;
  [[nodiscard]] Status check_places_to_listen() const;
  [[nodiscard]] const ParamEntry& entry(std::string_view name) const;

  std::vector<ParamEntry> entries_;
};

}  // namespace tide
