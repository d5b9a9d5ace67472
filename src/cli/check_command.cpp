#include <unistd.h>

#include <cerrno>

#include "cli/commands.hpp"
#include "cli/head_arguments.hpp"

namespace tide::cli {

int check_command(const ClientContext& context) {
  Result<std::string> head = sibling_program("prte");
  if (!head) return fail(context.line, head.error());
  std::vector<std::string> argv = {"prte", "--check"};
  if (context.line.has(Option::kJson)) argv.emplace_back("--json");
  if (context.line.has(Option::kVerbose) || ::isatty(STDERR_FILENO) != 0) {
    argv.emplace_back("--show-progress");
  }
  add_head_options(context.line, argv);
  execv(head->c_str(), argument_pointers(argv).data());
  return fail(context.line, system_error("cannot start " + *head, errno));
}

}  // namespace tide::cli
