#include "exec/machine_identity.hpp"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>

namespace tide::exec {

std::string machine_identity() {
  const char* const given = ::getenv("TIDE_MACHINE");  // NOLINT(concurrency-mt-unsafe): start-up
  if (given != nullptr && given[0] != '\0') return given;
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  utsname names{};
  if (::uname(&names) != 0) return {};
  struct stat network{};
  if (::stat("/proc/self/ns/net", &network) != 0) network.st_ino = 0;
  return boot + "/" + names.nodename + "/" + std::to_string(network.st_ino);
}

}  // namespace tide::exec
