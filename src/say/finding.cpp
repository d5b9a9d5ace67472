#include "say/finding.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tide::say {
namespace {

std::string indented(std::string_view table) {
  std::string text;
  for (const std::string& line : split(table, '\n')) {
    if (!line.empty()) text += "\n  " + line;
  }
  return text;
}

}  // namespace

Error no_dvm() {
  return not_found(fmt::format("no DVM is running{}tide up --nodes 4", kTry));
}

Error several_dvms(std::string_view table, std::string_view first) {
  return invalid(
      fmt::format("several DVMs are running and none was chosen:{}{}--dvm {}, or another of them",
                  indented(table), kTry, first));
}

Error no_dvm_named(std::string_view name, std::span<const std::string> running) {
  std::string text = fmt::format("no DVM named {} is running", name);
  if (const auto near = nearest_name(name, running)) return not_found(text + did_you_mean(near));
  if (!running.empty()) text += "; running: " + name_list(running);
  return not_found(fmt::format("{}{}tide up --dvm {} --nodes 4", text, kTry, name));
}

Error no_dvm_that(std::string_view what, std::span<const std::string> running) {
  std::string text = fmt::format("no DVM of yours on this machine {}", what);
  if (running.empty()) {
    return not_found(fmt::format("{}; none is running{}tide up --nodes 4", text, kTry));
  }
  return not_found(
      fmt::format("{}; running: {}{}--dvm {}", text, name_list(running), kTry, running.front()));
}

Error no_system_dvm() {
  return not_found(
      fmt::format("there is no system DVM of yours on this machine{}tide up --system-server, "
                  "or --dvm NAME for another one",
                  kTry));
}

Error no_pid_in_file(std::string_view path) {
  return invalid(fmt::format("{} holds no process number; --report-pid writes such a file", path));
}

Error dvm_still_starting(std::string_view name, std::string_view why) {
  return Error{
      ErrorCode::kUnavailable,
      fmt::format("the DVM {0} is still starting ({1}){2}again in a moment; tide logs head "
                  "--dvm {0} shows how far it is",
                  name, why, kTry)};
}

Error dvm_does_not_listen(std::string_view name, std::string_view why) {
  return Error{
      ErrorCode::kUnavailable,
      fmt::format("the DVM {0} is ending, or does not listen ({1}){2}tide down --force --dvm "
                  "{0}, then tide up --dvm {0}",
                  name, why, kTry)};
}

Error dvm_unreachable(std::string_view name, Error why) {
  why.message = fmt::format("the DVM {}: {}", name, why.message);
  if (why.code == ErrorCode::kTimedOut) {
    why.message += fmt::format("{}again, or tide down --force --dvm {}", kTry, name);
  }
  return why;
}

Error dvm_does_not_answer(std::uint32_t seconds) {
  return Error{ErrorCode::kTimedOut,
               fmt::format("the DVM does not answer within {} s; its head is stopped, stuck or "
                           "overloaded{}again, or tide down --force",
                           seconds, kTry)};
}

Error unknown_request() {
  return Error{ErrorCode::kProtocol,
               fmt::format("this head does not know that request{}commands of the same version as "
                           "the DVM: tide --version",
                           kTry)};
}

Error no_such_failpoint(std::string_view name, std::span<const std::string> set) {
  std::string text = fmt::format("no failpoint {} is set", quoted(name));
  if (const auto near = nearest_name(name, set)) return not_found(text + did_you_mean(near));
  return not_found(set.empty() ? text + ", nor any other" : text + "; set are: " + name_list(set));
}

Error no_log_of(std::string_view node, std::span<const std::string> known) {
  std::string text = fmt::format("there is no log of {}", quoted(node));
  if (const auto near = nearest_name(node, known)) return not_found(text + did_you_mean(near));
  return not_found(text + "; there are " + name_list(known));
}

Error log_is_elsewhere(std::string_view node, std::string_view path) {
  return not_found(fmt::format("the log of {0} is on its own machine, in {1}{2}ssh {0} cat {3}",
                               node, path, kTry, quote_argument(path)));
}

std::string empty_log(std::string_view node, std::string_view path) {
  return fmt::format(
      "the log of {} is empty ({}){}tide up --prtemca odls_base_verbose 1, for a DVM "
      "that says more",
      node, path, kTry);
}

}  // namespace tide::say
