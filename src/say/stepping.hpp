// Messages about daemons that a scheduler's own command starts, many at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/messages.hpp"
#include "say/launching.hpp"

namespace tide::say {

struct StepFailure {
  LaunchTrouble trouble = LaunchTrouble::kOther;
  std::string host;
  std::string command;             // as people call it: srun
  std::string job;                 // the scheduler's; empty: it has none
  std::string by_hand;             // what people may run to see for themselves; may be empty
  std::string program;             // that was to run there
  std::string how;                 // "exit status 1"
  bool command_ended = false;      // it is the command that ended so
  std::vector<std::string> words;  // the last lines about it, as they are
  std::uint32_t waited_ms = 0;     // in vain
  std::uint32_t timeout_ms = 0;    // plm_step_timeout
  std::string our_version;
  std::string their_version;
};

// Why a daemon was not started, the scheduler's words or its own, and what to do.
std::string step_failed(const StepFailure& failure);

// How a daemon that was up ended; `command` is what ended and took it along, or empty.
std::string step_daemon_ended(std::string_view command, std::string_view how,
                              std::span<const std::string> words);

// ---- which launcher, and why; `manager` as the parameter ras has it ----
std::string launcher_of_job(std::string_view program, std::string_view manager,
                            std::string_view job, std::string_view path);
std::string launcher_as_parameter(std::string_view program, std::string_view parameter);
// `manager` empty: there is no scheduler.
std::string launcher_is_agent_for(std::string_view manager);
std::string launcher_is_agent_without(std::string_view program, std::string_view manager,
                                      std::string_view job);
Error launcher_of_other_scheduler(std::string_view wanted, std::string_view manager,
                                  std::string_view job);
Error two_step_commands();

Error no_step_command(std::string_view program);
Error step_command_unreadable(std::string_view line);
Error not_a_job_id(std::string_view job);
Error too_many_hosts_for_command(std::string_view command, std::size_t hosts,
                                 std::size_t limit_bytes);

// Said on a machine that a scheduler chose. `names` are those that it has.
Error not_one_of_the_step(std::span<const std::string> names, std::span<const std::string> hosts);
Error two_of_the_step(std::string_view name);

}  // namespace tide::say
