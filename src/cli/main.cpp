// The thin client: `tide` and the names that people know. It acts by the name it is called with.
#include <unistd.h>

#include <vector>

#include "base/standard_descriptors.hpp"
#include "cli/program.hpp"

int main(int argc, char** argv) {
  tide::open_missing_standard_descriptors();
  const std::vector<std::string_view> words(argv, argv + argc);
  return tide::cli::run_program(words, environ);
}
