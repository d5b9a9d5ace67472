// By what the daemons on other machines are started, and why.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "launch/step_command.hpp"

namespace tide::launch {

enum class LauncherKind : std::uint8_t {
  kAgent,  // ssh, or what plm_ssh_agent names
  kStep,   // the command of a scheduler
};

struct LauncherChoice {
  LauncherKind kind = LauncherKind::kAgent;
  StepTemplate pattern = {};  // of a step
  bool is_slurms = false;     // that is srun, and may get the user's options for it
  std::string why = {};       // a sentence for people
};

// The job that we run in, and what the user wants.
struct LauncherQuestion {
  std::string manager = {};       // as the parameter ras has it; empty: no scheduler is around
  std::string job = {};           // its id; may be empty
  std::string plm = "auto";       // the parameters
  std::string command_all = {};   // plm_command_all
  std::string command_each = {};  // plm_command_each
};

// The path of a program in the PATH.
using FindProgram = std::function<std::optional<std::string>(const std::string& name)>;

// A command that the user gives comes first; then, with auto, the command of the scheduler whose
// job we are in, if it is installed; else the agent. Asks only whether programs are there: of what
// version they are nobody can tell from a number. An error, for people, where what the user wants
// can't be.
Result<LauncherChoice> choose_launcher(const LauncherQuestion& question, const FindProgram& find);

// In our PATH.
std::optional<std::string> find_in_path(const std::string& name);

}  // namespace tide::launch
