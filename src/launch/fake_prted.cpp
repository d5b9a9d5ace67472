// Stands in for prted in the tests of the launcher. As a warden it is the real one; as a daemon it
// runs the shell script that it is given in place of the blob. A node called `deaf` reads nothing.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "exec/warden.hpp"

namespace {

constexpr std::size_t kLongestScript = 100'000;

int run_daemon(std::string_view node) {
  if (node == "deaf") return ::pause();
  const std::string blob(std::istreambuf_iterator<char>(std::cin), {});
  if (blob.size() > kLongestScript) {
    std::printf("a blob of %zu bytes\n", blob.size());
    return 0;
  }
  ::execl("/bin/sh", "sh", "-c", blob.c_str(), nullptr);
  return 127;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string_view mode = argv[1];
  if (mode == "--warden") return tide::exec::run_warden(std::atoi(argv[2]), "");
  if (mode == "--node") {
    for (int i = 3; i < argc; ++i) std::printf("extra %s\n", argv[i]);
    std::fflush(stdout);
    return run_daemon(argv[2]);
  }
  return 2;
}
