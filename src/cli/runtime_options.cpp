#include "cli/runtime_options.hpp"

#include <array>
#include <limits>
#include <string>

#include "base/text.hpp"
#include "cli/values.hpp"
#include "say/command_line.hpp"
#include "say/debugging.hpp"

namespace tide::cli {
namespace {

constexpr std::string_view kOption = "--runtime-options";
// A program that always fails must not be started for ever, unless that is asked for.
constexpr std::uint32_t kUsualRestarts = 3;
constexpr std::uint32_t kWithoutLimit = std::numeric_limits<std::uint32_t>::max();

constexpr std::array<std::string_view, 16> kBuilt = {"error-nonzero-status",
                                                     "recoverable",
                                                     "continuous",
                                                     "autorestart",
                                                     "max-restarts",
                                                     "notifyerrors",
                                                     "timeout",
                                                     "spawn-timeout",
                                                     "report-state-on-timeout",
                                                     "get-stack-traces",
                                                     "donotlaunch",
                                                     "report-child-jobs-separately",
                                                     "aggregate-help-messages",
                                                     "stop-on-exec",
                                                     "stop-in-init",
                                                     "stop-in-app"};
constexpr std::array<std::string_view, 4> kUnbuilt = {"donotspawn", "show-progress", "exec-agent",
                                                      "output-proctable"};

struct Stop {
  std::string_view word;
  wire::StopAt where;
};
constexpr std::array kStops = {Stop{"stop-on-exec", wire::STOP_ON_EXEC},
                               Stop{"stop-in-init", wire::STOP_IN_INIT},
                               Stop{"stop-in-app", wire::STOP_IN_APP}};

const Stop* find_stop(std::string_view word) {
  for (const Stop& stop : kStops) {
    if (stop.word == word) return &stop;
  }
  return nullptr;
}

Status set_stop(const Stop& stop, bool on, wire::JobSpec& job) {
  auto& runtime = *job.mutable_runtime();
  for (const Stop& other : kStops) {
    if (on && other.where != stop.where && runtime.stop_at() == other.where) {
      return say::stops_twice(stop.word, other.word);
    }
  }
  if (on) {
    runtime.set_stop_at(stop.where);
  } else if (runtime.stop_at() == stop.where) {
    runtime.clear_stop_at();
  }
  return ok_status();
}

std::string full_name(std::string_view word) {
  return std::string(kOption) + " " + std::string(word);
}

Result<std::string_view> value_of(const Directive& directive, std::string_view word) {
  if (!directive.value || directive.value->empty()) return say::value_missing(full_name(word));
  return *directive.value;
}

Status take_number_or_time(const Directive& directive, std::string_view word, wire::JobSpec& job) {
  const Result<std::string_view> value = value_of(directive, word);
  if (!value) return value.error();
  if (word == "max-restarts") {
    const auto count = parse_count(*value, full_name(word), 0, kWithoutLimit);
    if (!count) return count.error();
    job.mutable_runtime()->set_max_restarts(*count);
    return ok_status();
  }
  const auto limit_ms = parse_timeout_ms(*value, full_name(word));
  if (!limit_ms) return limit_ms.error();
  word == "timeout" ? job.set_timeout_ms(*limit_ms)
                    : job.mutable_runtime()->set_spawn_timeout_ms(*limit_ms);
  return ok_status();
}

void set_flag(std::string_view word, bool on, wire::JobSpec& job) {
  auto& runtime = *job.mutable_runtime();
  const auto restart = [&](std::uint32_t times) {
    if (!on || runtime.max_restarts() == 0) runtime.set_max_restarts(on ? times : 0);
  };
  if (word == "error-nonzero-status") runtime.set_nonzero_is_no_error(!on);
  if (word == "recoverable") runtime.set_recoverable(on);
  if (word == "notifyerrors") runtime.set_notify_errors(on);
  if (word == "autorestart") restart(kUsualRestarts);
  if (word == "continuous") {
    runtime.set_recoverable(on);
    restart(kWithoutLimit);
  }
  if (word == "report-state-on-timeout") runtime.set_report_state_on_timeout(on);
  if (word == "get-stack-traces") runtime.set_get_stack_traces(on);
  if (word == "donotlaunch") runtime.set_do_not_launch(on);
  if (word == "report-child-jobs-separately") runtime.set_children_apart(on);
}

Status take_directive(std::string_view text, wire::JobSpec& job) {
  std::vector<std::string_view> words(kBuilt.begin(), kBuilt.end());
  words.insert(words.end(), kUnbuilt.begin(), kUnbuilt.end());
  const Directive directive = split_directive(text);
  const auto index = match_word(directive.word, words, "value of --runtime-options", kBuilt.size());
  if (!index) return index.error();
  const std::string_view word = words[*index];
  if (*index >= kBuilt.size()) return say::unbuilt_value(full_name(word), "the others are");
  if (word == "max-restarts" || word == "timeout" || word == "spawn-timeout") {
    return take_number_or_time(directive, word, job);
  }
  const Result<bool> on = directive_bool(directive);
  if (!on) return on.error();
  if (const Stop* stop = find_stop(word)) return set_stop(*stop, *on, job);
  set_flag(word, *on, job);
  return ok_status();
}

}  // namespace

Status parse_runtime_options(std::string_view text, wire::JobSpec& job) {
  for (const std::string& item : split(text, ',')) {
    if (Status status = take_directive(item, job); !status) return status;
  }
  return ok_status();
}

}  // namespace tide::cli
