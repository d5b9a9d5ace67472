#include <unistd.h>

#include <cerrno>

#include "cli/commands.hpp"
#include "cli/head_arguments.hpp"

namespace tide::cli {

int up_command(const ClientContext& context) {
  Result<std::string> head = sibling_program("prte");
  if (!head) return fail(context.line, head.error());
  // Known to ps by its own name, wherever it is installed.
  std::vector<std::string> argv = {"prte", "--daemonize", "--show-progress"};
  if (const GivenOption* name = context.line.find(Option::kDvm)) {
    argv.insert(argv.end(), {"--dvm", name->value});
  }
  add_head_options(context.line, argv);
  execv(head->c_str(), argument_pointers(argv).data());
  return fail(context.line, system_error("cannot start " + *head, errno));
}

}  // namespace tide::cli
