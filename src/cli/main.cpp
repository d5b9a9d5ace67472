// The thin client: `tide` and the names that people know. It acts by the name it is called with.
#include <unistd.h>

#include <vector>

#include "cli/program.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv, argv + argc);
  return tide::cli::run_program(words, environ);
}
