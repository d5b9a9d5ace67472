#include "exec/program_lookup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "say/running.hpp"

namespace tide::exec {
namespace {

constexpr std::string_view kDefaultSearchPath = "/usr/local/bin:/usr/bin:/bin";

std::string joined(const std::string& directory, const std::string& path) {
  if (directory.empty() || path.starts_with('/')) return path;
  return directory + "/" + path;
}

enum class Finding { kExecutable, kDirectory, kNotExecutable, kNothing };

Finding look_at(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return Finding::kNothing;
  if (S_ISDIR(info.st_mode)) return Finding::kDirectory;
  if (!S_ISREG(info.st_mode)) return Finding::kNotExecutable;
  if (::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0) return Finding::kNotExecutable;
  return Finding::kExecutable;
}

Error not_executable(const std::string& path, Finding finding) {
  return finding == Finding::kDirectory ? say::program_is_a_directory(path)
                                        : say::program_not_executable(path);
}

}  // namespace

Result<Program> find_program(const std::string& name, std::optional<std::string_view> search_path,
                             const std::string& working_directory) {
  if (name.empty()) return Error{ErrorCode::kInvalidArgument, "the name of the program is empty"};
  if (name.find('/') != std::string::npos) return Program{name, joined(working_directory, name)};
  const std::string_view path = search_path.value_or(kDefaultSearchPath);
  std::optional<Error> near_miss;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string element(path.substr(begin, end - begin));
    begin = end + 1;
    const std::string candidate = (element.empty() ? "." : element) + "/" + name;
    const std::string here = joined(working_directory, candidate);
    const Finding finding = look_at(here);
    if (finding == Finding::kExecutable) return Program{candidate, here};
    if (finding != Finding::kNothing && !near_miss) near_miss = not_executable(here, finding);
  }
  if (near_miss) return *near_miss;
  return say::program_not_in_path(path);
}

Error explain_exec_failure(const Program& program, int errnum) {
  const Finding finding = look_at(program.seen_from_here);
  if (errnum == ENOENT && finding == Finding::kExecutable) {
    return say::program_without_interpreter();
  }
  if (errnum == ENOENT || errnum == ENOTDIR) {
    return say::program_not_there(errnum);
  }
  if (errnum == ENOEXEC) {
    return say::program_of_no_known_kind();
  }
  if (errnum == EACCES && (finding == Finding::kDirectory || finding == Finding::kNotExecutable)) {
    return not_executable(program.seen_from_here, finding);
  }
  Error error{ErrorCode::kSystem, system_error("", errnum).message.substr(2)};
  if (errnum == EACCES) error.code = ErrorCode::kPermissionDenied;
  if (errnum == ENOMEM || errnum == EAGAIN) error.code = ErrorCode::kOutOfResources;
  return error;
}

}  // namespace tide::exec
