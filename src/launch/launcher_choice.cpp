#include "launch/launcher_choice.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "exec/program_lookup.hpp"
#include "launch/scheduler_templates.hpp"
#include "launch/ssh_agent.hpp"
#include "say/stepping.hpp"

namespace tide::launch {
namespace {

constexpr std::string_view kAuto = "auto";
constexpr std::string_view kAgentsName = "ssh";

// Empty: nothing is in it.
std::string first_word(const std::string& line) {
  const auto words = split_words(line);
  return words && !words->empty() ? words->front() : "";
}

Result<LauncherChoice> command_of_user(const std::string& parameter, StepTemplate pattern,
                                       const FindProgram& find) {
  const std::string program = first_word(pattern.line);
  if (program.empty()) return say::step_command_unreadable(pattern.line);
  if (!find(program)) return say::no_step_command(program);
  return LauncherChoice{.kind = LauncherKind::kStep,
                        .pattern = std::move(pattern),
                        .is_slurms = false,
                        .why = say::launcher_as_parameter(program, parameter)};
}

LauncherChoice agent(std::string why) {
  return {.kind = LauncherKind::kAgent, .pattern = {}, .is_slurms = false, .why = std::move(why)};
}

Result<LauncherChoice> of_scheduler(const LauncherQuestion& question, const FindProgram& find) {
  const bool asked_for = question.plm != kAuto;
  auto pattern = template_of(question.manager);
  if (!pattern) return agent(say::launcher_is_agent_for(question.manager));
  const std::string program = first_word(pattern->line);
  const auto path = find(program);
  if (path) {
    return LauncherChoice{
        .kind = LauncherKind::kStep,
        .pattern = std::move(*pattern),
        .is_slurms = question.manager == "slurm",
        .why = say::launcher_of_job(program, question.manager, question.job, *path)};
  }
  if (asked_for) return say::no_step_command(program);
  return agent(say::launcher_is_agent_without(program, question.manager, question.job));
}

}  // namespace

Result<LauncherChoice> choose_launcher(const LauncherQuestion& question, const FindProgram& find) {
  if (!question.command_all.empty() && !question.command_each.empty()) {
    return say::two_step_commands();
  }
  if (question.plm == kAgentsName) return agent(say::launcher_as_parameter("ssh", "plm"));
  if (!question.command_all.empty()) {
    return command_of_user("plm_command_all",
                           {.line = question.command_all, .each = false, .try_by_hand = ""}, find);
  }
  if (!question.command_each.empty()) {
    return command_of_user("plm_command_each",
                           {.line = question.command_each, .each = true, .try_by_hand = ""}, find);
  }
  if (question.plm != kAuto && question.plm != question.manager) {
    return say::launcher_of_other_scheduler(question.plm, question.manager, question.job);
  }
  if (question.manager.empty()) return agent(say::launcher_is_agent_for(""));
  return of_scheduler(question, find);
}

std::optional<std::string> find_in_path(const std::string& name) {
  const char* const path = ::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): one thread
  const auto program = exec::find_program(
      name, path == nullptr ? std::nullopt : std::optional<std::string_view>(path), "");
  if (!program || ::access(program->path.c_str(), X_OK) != 0) return std::nullopt;
  return program->path;
}

}  // namespace tide::launch
