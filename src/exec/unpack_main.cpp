// tide-unpack NAME: unpacks the archive of that name in the working directory. Started by prted.
#include <fcntl.h>

#include <cstdio>

#include "exec/unique_fd.hpp"
#include "exec/unpack.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: tide-unpack NAME\n", stderr);
    return 2;
  }
  const tide::exec::UniqueFd here(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto failure = tide::exec::unpack(here.get(), argv[1]);
  if (!failure) return 0;
  std::fprintf(stderr, "%s\n", failure->c_str());
  return 1;
}
