#include <unistd.h>

#include <cerrno>

#include "cli/commands.hpp"
#include "cli/head_arguments.hpp"

namespace tide::cli {

int sim_command(const Invocation& invocation) {
  CommandLine line;
  line.program = invocation.program;
  Result<std::string> program = sibling_program("tide-sim");
  if (!program) return fail(line, program.error());
  std::vector<std::string> argv = {"tide-sim"};
  argv.insert(argv.end(), invocation.words.begin(), invocation.words.end());
  execv(program->c_str(), argument_pointers(argv).data());
  return fail(line, system_error("cannot start " + *program, errno));
}

}  // namespace tide::cli
