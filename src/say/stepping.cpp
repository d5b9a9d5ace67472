#include "say/stepping.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "say/granting.hpp"

namespace tide::say {
namespace {

std::string of_job(const StepFailure& failure) {
  return failure.job.empty() ? failure.command
                             : fmt::format("{} of job {}", failure.command, failure.job);
}

std::string what_happened(const StepFailure& failure) {
  const std::string& host = failure.host;
  switch (failure.trouble) {
    case LaunchTrouble::kProgramMissing:
      return fmt::format("{} has no {}, or can't run it", host, failure.program);
    case LaunchTrouble::kLibraryMissing:
      return fmt::format("a library that prted needs is missing on {}", host);
    case LaunchTrouble::kVersion:
      return fmt::format("prted on {} is of version {}, this is version {}", host,
                         failure.their_version, failure.our_version);
    case LaunchTrouble::kTimedOut:
      return fmt::format("nothing was heard from {} within {}", host,
                         human_duration_ms(failure.waited_ms));
    case LaunchTrouble::kNoWayBack:
      return fmt::format("the daemon was started on {} and can't connect to the head", host);
    case LaunchTrouble::kDaemonEnded:
      return failure.command_ended
                 ? fmt::format("the daemon was started on {} and did not come up: {} ended ({})",
                               host, of_job(failure), failure.how)
                 : fmt::format("the daemon was started on {} and did not come up ({})", host,
                               failure.how);
    default:
      break;
  }
  return failure.command_ended
             ? fmt::format("{} ended with {} before {} was up", of_job(failure), failure.how, host)
             : fmt::format("{} could not start the daemon on {}", of_job(failure), host);
}

std::string what_to_do(const StepFailure& failure) {
  switch (failure.trouble) {
    case LaunchTrouble::kProgramMissing:
      return "install Tide there at the same place, or say where it is: --prefix DIR";
    case LaunchTrouble::kLibraryMissing:
      return fmt::format("install it there; 'ldd {}' shows what is missing", failure.program);
    case LaunchTrouble::kVersion:
      return "install the same version everywhere, or name it: --prefix DIR";
    case LaunchTrouble::kNoWayBack:
      return fmt::format(
          "a firewall must let {} in at any port of the head's machine; a network that works is "
          "chosen with --prtemca prte_if_include NETWORK, such as 10.78.0.0/16",
          failure.host);
    case LaunchTrouble::kTimedOut:
      return fmt::format("{}more time: --prtemca plm_step_timeout {}s",
                         failure.by_hand.empty() ? "" : "by hand: " + failure.by_hand + "; or ",
                         failure.timeout_ms / 1000 * 2 + 1);
    default:
      break;
  }
  return failure.by_hand.empty() ? "without it: --prtemca plm ssh"
                                 : fmt::format("by hand: {}", failure.by_hand);
}

std::string lines_of(std::span<const std::string> words) {
  std::string out;
  for (const std::string& line : words) out += "\n    " + one_line(line);
  return out;
}

}  // namespace

std::string step_failed(const StepFailure& failure) {
  const std::string text = what_happened(failure) + lines_of(failure.words);
  const bool advised = std::ranges::any_of(
      failure.words, [](const std::string& line) { return trim(line).starts_with("try: "); });
  return advised ? text : text + std::string(kTry) + what_to_do(failure);
}

std::string step_daemon_ended(std::string_view command, std::string_view how,
                              std::span<const std::string> words) {
  const std::string what =
      command.empty() ? std::string(how)
                      : fmt::format("{} ended ({}), and all that it had started", command, how);
  return what + lines_of(words);
}

std::string launcher_of_job(std::string_view program, std::string_view manager,
                            std::string_view job, std::string_view path) {
  return fmt::format("{} of {}, found at {}", program, scheduler_job(manager, job), path);
}

std::string launcher_as_parameter(std::string_view program, std::string_view parameter) {
  return fmt::format("{}, as the parameter {} says", program, parameter);
}

std::string launcher_is_agent_for(std::string_view manager) {
  if (manager.empty()) return "ssh, because this is no scheduler's job";
  return fmt::format("ssh, because {} has no command that passes standard input on",
                     scheduler_name(manager));
}

std::string launcher_is_agent_without(std::string_view program, std::string_view manager,
                                      std::string_view job) {
  return fmt::format("ssh, because {} of {} is not in the PATH", program,
                     scheduler_job(manager, job));
}

Error launcher_of_other_scheduler(std::string_view wanted, std::string_view manager,
                                  std::string_view job) {
  return not_found(fmt::format(
      "the parameter plm wants {}, and this is {}{}--prtemca plm auto", scheduler_name(wanted),
      manager.empty() ? "no scheduler's job" : scheduler_job(manager, job), kTry));
}

Error two_step_commands() {
  return invalid(
      fmt::format("plm_command_all and plm_command_each are both given{}one of them: "
                  "the first starts all daemons at once, the second one for each host",
                  kTry));
}

Error no_step_command(std::string_view program) {
  return not_found(
      fmt::format("{} is not in the PATH{}--prtemca plm ssh, or name it with its path: --prtemca "
                  "plm_command_all '/opt/…'",
                  quoted(program), kTry));
}

Error step_command_unreadable(std::string_view line) {
  return invalid(
      fmt::format("{} is no command: a quote is not closed, or there is nothing in it{}--prtemca "
                  "plm_command_all 'mpiexec -n {{count}} --hosts {{hosts}} {{command}}'",
                  quoted(line), kTry));
}

Error not_a_job_id(std::string_view job) {
  return invalid(fmt::format("{} can't be the id of a scheduler's job", quoted(job)));
}

Error too_many_hosts_for_command(std::string_view command, std::size_t hosts,
                                 std::size_t limit_bytes) {
  return invalid(
      fmt::format("the names of {} hosts are too long for one call of {}, which takes {} bytes{}"
                  "fewer nodes at once",
                  hosts, command, limit_bytes, kTry));
}

Error not_one_of_the_step(std::span<const std::string> names, std::span<const std::string> hosts) {
  return not_found(fmt::format("no daemon is meant for this machine, {}; they are for {}",
                               join(names, " or "), name_list(hosts)));
}

Error two_of_the_step(std::string_view name) {
  return invalid(fmt::format("more than one daemon is meant for {}", name));
}

}  // namespace tide::say
