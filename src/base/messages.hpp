// The part of the catalogue of messages that base itself needs: parameters and run directories.
// The rest is in src/say, which lies above. Each function is one message; docs/messages.md shows
// them all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/next_step.hpp"
#include "base/result.hpp"

namespace tide::say {

// ---- parameters; `source` is as in ParamSource ----
Error unknown_parameter(std::string_view name, std::string_view source,
                        const std::optional<std::string>& near);
Error bad_parameter_value(std::string_view value, std::string_view name, std::string_view source,
                          std::string_view why, std::string_view help,
                          std::string_view default_value);
Error parameter_out_of_range(std::string_view low, std::string_view high);
Error parameter_not_a_choice(std::span<const std::string_view> choices, bool or_a_number,
                             const std::optional<std::string>& near);
Error parameter_not_absolute();
Error not_an_interface_or_network(std::string_view word);
Error two_choices_of_network(std::string_view name, std::string_view source,
                             std::string_view other_name, std::string_view other_source);
Error parameter_line_without_equals(std::string_view source, std::string_view line);
Error parameter_file_too_large(std::string_view path, std::size_t limit_bytes);
Error heartbeats_too_rare(std::string_view timeout, std::string_view timeout_source,
                          std::string_view interval, std::string_view interval_source);

// ---- run directories ----
Error dvm_name_taken(std::string_view name, std::uint32_t pid);
Error dvm_name_held(std::string_view name, std::string_view directory);
Error dvm_directory_of_unknown(std::string_view directory, std::string_view name);
Error dvm_name_reserved(std::string_view name);
Error dvm_name_invalid(std::string_view name, std::size_t max_length);
Error socket_path_too_long(std::string_view path, std::size_t limit_bytes);
Error run_directory_not_a_directory(std::string_view path);
Error run_directory_of_another(std::string_view path, std::uint32_t owner, std::uint32_t us);
Error run_directory_open_to_others(std::string_view path, std::uint32_t mode);
Error run_directory_not_made(std::string_view path, int errnum);
Error run_directory_locked(std::string_view path);
std::string relative_tmpdir(std::string_view value, std::string_view used);

}  // namespace tide::say
