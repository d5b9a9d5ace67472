#include "pmix/system_server.hpp"

#include <sys/types.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tide::pmix {
namespace {

// The same order as libpmix's.
std::string directory_of_tools() {
  for (const char* name : {"PMIX_SYSTEM_TMPDIR", "TMPDIR", "TEMP", "TMP"}) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment meanwhile
    if (const char* value = std::getenv(name)) return value;
  }
  return "/tmp";
}

// The address, the release and then the process that wrote it, a line each. 0: there is none.
pid_t writer_of(std::ifstream& file) {
  std::string line;
  std::getline(file, line);
  std::getline(file, line);
  pid_t pid = 0;
  file >> pid;
  return file ? pid : 0;
}

}  // namespace

std::string system_server_directory(const std::string& named) {
  return named.empty() ? directory_of_tools() : named;
}

Status check_system_server(const std::string& directory, const std::string& host) {
  const std::string path = system_server_directory(directory) + "/pmix.sys." + host;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return ok_status();
  std::ifstream file(path);
  if (!file) {
    return Error{ErrorCode::kPermissionDenied,
                 path + " belongs to another user's PMIx server; name another directory"};
  }
  const pid_t pid = writer_of(file);
  const bool runs = pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM);
  if (!runs) return ok_status();
  return Error{ErrorCode::kAlreadyExists, "the PMIx server with process id " + std::to_string(pid) +
                                              " is the one of this host (" + path + ")"};
}

}  // namespace tide::pmix
