// Messages about finding a DVM, talking to it, and what it left to read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/messages.hpp"

namespace tide::say {

Error no_dvm();
// `table` has a line per DVM.
Error several_dvms(std::string_view table, std::string_view first);
Error no_dvm_named(std::string_view name, std::span<const std::string> running);
// `what`: "has the process number 17".
Error no_dvm_that(std::string_view what, std::span<const std::string> running);
Error no_system_dvm();
Error no_pid_in_file(std::string_view path);
Error dvm_still_starting(std::string_view name, std::string_view why);
Error dvm_does_not_listen(std::string_view name, std::string_view why);
// Another reason why the DVM cannot be talked to; keeps the code.
Error dvm_unreachable(std::string_view name, Error why);
Error dvm_does_not_answer(std::uint32_t seconds);
Error unknown_request();
Error no_such_failpoint(std::string_view name, std::span<const std::string> set);
Error no_log_of(std::string_view node, std::span<const std::string> known);
// `path` is on the machine of the node.
Error log_is_elsewhere(std::string_view node, std::string_view path);
std::string empty_log(std::string_view node, std::string_view path);

}  // namespace tide::say
