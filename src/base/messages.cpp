#include "base/messages.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tide::say {

namespace {
// What says where run directories are.
constexpr std::string_view kPlaceSettings = "by TMPDIR, or by prte_tmpdir_base where that is set";
}  // namespace

Error unknown_parameter(std::string_view name, std::string_view source,
                        const std::optional<std::string>& near) {
  std::string text = fmt::format("unknown parameter {} (from {})", quoted(name), source);
  if (near) return not_found(text + did_you_mean(quoted(*near)));
  return not_found(
      fmt::format("{}{}leave it out; then tide params lists those there are", text, kTry));
}

Error bad_parameter_value(std::string_view value, std::string_view name, std::string_view source,
                          std::string_view why, std::string_view help,
                          std::string_view default_value) {
  const std::string otherwise =
      default_value.empty() ? "leave it out" : fmt::format("{}, as without it", default_value);
  return invalid(fmt::format("bad value {} for parameter {} (from {}): {}{}{}; it means: {}",
                             quoted(value), name, source, why, kTry, otherwise, help));
}

Error parameter_out_of_range(std::string_view low, std::string_view high) {
  return invalid(fmt::format("it must be from {} to {}", low, high));
}

Error parameter_not_a_choice(std::span<const std::string_view> choices, bool or_a_number,
                             const std::optional<std::string>& near) {
  return invalid(fmt::format("it must be one of {}{}{}", fmt::join(choices, ", "),
                             or_a_number ? " or a number" : "",
                             did_you_mean(near ? std::optional(quoted(*near)) : std::nullopt)));
}

Error parameter_not_absolute() {
  return invalid("an absolute path is needed");
}

Error not_an_interface_or_network(std::string_view word) {
  return invalid(
      fmt::format("{} is neither the name of an interface nor a network such as 10.78.0.0/16 or "
                  "fd00:78::/64",
                  quoted(word)));
}

Error two_choices_of_network(std::string_view name, std::string_view source,
                             std::string_view other_name, std::string_view other_source) {
  return invalid(fmt::format(
      "{0} (from {1}) and {2} (from {3}) can't both be given: each says which network "
      "to use{4}one of them; --prtemca {0} '' does away with what a file or the environment says",
      name, source, other_name, other_source, kTry));
}

Error parameter_line_without_equals(std::string_view source, std::string_view line) {
  return invalid(fmt::format("{}: {} is not of the form NAME = VALUE", source, quoted(line)));
}

Error parameter_file_too_large(std::string_view path, std::size_t limit_bytes) {
  return invalid(fmt::format("parameter file {} is larger than {} bytes", path, limit_bytes));
}

Error heartbeats_too_rare(std::string_view timeout, std::string_view timeout_source,
                          std::string_view interval, std::string_view interval_source) {
  return invalid(
      fmt::format("tide_heartbeat_timeout ({}, from {}) must be longer than "
                  "tide_heartbeat_interval ({}, from {})",
                  timeout, timeout_source, interval, interval_source));
}

Error dvm_name_taken(std::string_view name, std::uint32_t pid) {
  return Error{ErrorCode::kAlreadyExists,
               fmt::format("a DVM named '{0}' is running already (pid {1}){2}tide down --dvm {0}, "
                           "or another name",
                           name, pid, kTry)};
}

Error dvm_name_held(std::string_view name, std::string_view directory) {
  return Error{ErrorCode::kAlreadyExists,
               fmt::format("a DVM named '{}' is running already: its head holds {}{}another name",
                           name, directory, kTry)};
}

Error dvm_directory_of_unknown(std::string_view directory, std::string_view name) {
  return Error{ErrorCode::kPermissionDenied,
               fmt::format("{} has files in it and nothing shows that a DVM named '{}' left them{}"
                           "remove it yourself, or another name",
                           directory, name, kTry)};
}

Error dvm_name_reserved(std::string_view name) {
  return invalid(
      fmt::format("{} cannot name a DVM: with --dvm the word has a meaning", quoted(name)));
}

Error dvm_name_invalid(std::string_view name, std::size_t max_length) {
  return invalid(
      fmt::format("{} cannot name a DVM: a small letter, then up to {} small letters, "
                  "digits, '_' or '-'",
                  quoted(name), max_length - 1));
}

Error socket_path_too_long(std::string_view path, std::size_t limit_bytes) {
  return invalid(
      fmt::format("the socket path {} is {} bytes long and the system takes at most {}"
                  "{}TMPDIR=/tmp, or the parameter prte_tmpdir_base with a shorter path",
                  path, path.size(), limit_bytes, kTry));
}

Error run_directory_not_a_directory(std::string_view path) {
  return Error{ErrorCode::kPermissionDenied,
               fmt::format("{} is a symbolic link or no directory; not using it{}remove it, or "
                           "another place, {}",
                           path, kTry, kPlaceSettings)};
}

Error run_directory_of_another(std::string_view path, std::uint32_t owner, std::uint32_t us) {
  return Error{ErrorCode::kPermissionDenied,
               fmt::format("{} belongs to user {}, not to us (user {}); not using it{}a "
                           "directory of your own, {}",
                           path, owner, us, kTry, kPlaceSettings)};
}

Error run_directory_open_to_others(std::string_view path, std::uint32_t mode) {
  return Error{
      ErrorCode::kPermissionDenied,
      fmt::format("{0} has mode {1:04o}, which lets others in; it must be 0700{2}chmod 700 {3}",
                  path, mode, kTry, quote_argument(path))};
}

Error run_directory_not_made(std::string_view path, int errnum) {
  Error error = system_error(fmt::format("cannot make directory {}", path), errnum);
  error.message +=
      fmt::format("{}a directory that exists and that you can write to, {}", kTry, kPlaceSettings);
  return error;
}

Error run_directory_locked(std::string_view path) {
  return Error{
      ErrorCode::kTimedOut,
      fmt::format("{} is locked by another command{}again when tide up, tide down or prterun "
                  "of yours that is under way has ended",
                  path, kTry)};
}

std::string relative_tmpdir(std::string_view value, std::string_view used) {
  return fmt::format("TMPDIR={} is not an absolute path and is not used; run directories are in {}",
                     quote_argument(value), used);
}

}  // namespace tide::say
