#include "exec/tree_remover.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "exec/unique_fd.hpp"

namespace tide::exec {

namespace {

constexpr std::size_t kStepEntries = 4096;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

UniqueFd open_directory(int at, const char* name) {
  return UniqueFd(::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Who may have forbidden himself to read or write there.
void allow_owner(int at, const char* name) {
  static_cast<void>(::fchmodat(at, name, S_IRWXU, 0));
}

}  // namespace

std::string files_directory(const std::string& run_directory, pid_t daemon) {
  return run_directory + "/files." + std::to_string(daemon);
}

Status TreeRemover::run() {
  for (;;) {
    const auto done = step(kStepEntries);
    if (!done) return done.error();
    if (*done) return ok_status();
  }
}

Result<bool> TreeRemover::step(std::size_t entries) {
  UniqueFd top = open_directory(AT_FDCWD, path_.c_str());
  if (!top.is_open() && errno == EACCES) {
    allow_owner(AT_FDCWD, path_.c_str());
    top = open_directory(AT_FDCWD, path_.c_str());
  }
  if (!top.is_open()) {
    return errno == ENOENT ? Result<bool>(true) : system_error("cannot open " + path_, errno);
  }
  static_cast<void>(::fchmod(top.get(), S_IRWXU));
  const auto count = empty(top.get(), top.get(), entries);
  if (!count) return count.error();
  if (*count > 0) return false;
  if (::rmdir(path_.c_str()) == 0 || errno == ENOENT) return true;
  if (errno == ENOTEMPTY) return false;  // somebody puts more into it
  return system_error("cannot remove " + path_, errno);
}

Result<std::size_t> TreeRemover::empty(int directory, int top, std::size_t entries) {
  const std::unique_ptr<DIR, CloseDirectory> list(
      ::fdopendir(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!list) return system_error("cannot read a directory in " + path_, errno);
  std::size_t count = 0;
  while (count < entries) {
    const dirent* entry = ::readdir(list.get());  // NOLINT(concurrency-mt-unsafe): our own list
    if (entry == nullptr) break;
    const std::string name(entry->d_name);
    if (name == "." || name == "..") continue;
    ++count;
    if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) {
      return system_error("cannot remove " + path_ + "/…/" + name, errno);
    }
    if (auto removed = remove_directory(directory, name, top, entries); !removed) {
      return removed.error();
    }
  }
  return count;
}

// Those that lie deeper come to the top and have their turn there: however deep the tree, two
// directories are open at a time.
Status TreeRemover::remove_directory(int directory, const std::string& name, int top,
                                     std::size_t entries) {
  if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return ok_status();
  allow_owner(directory, name.c_str());
  if (directory != top) {
    const std::string higher = ".going." + std::to_string(++moved_);
    if (::renameat(directory, name.c_str(), top, higher.c_str()) == 0) return ok_status();
    if (errno == EEXIST || errno == ENOTEMPTY)
      return ok_status();  // the next look has another name
    return system_error("cannot move " + path_ + "/…/" + name, errno);
  }
  const UniqueFd inner = open_directory(directory, name.c_str());
  if (!inner.is_open()) return system_error("cannot open " + path_ + "/" + name, errno);
  const auto count = empty(inner.get(), top, entries);
  if (!count) return count.error();
  if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOTEMPTY &&
      errno != ENOENT) {
    return system_error("cannot remove " + path_ + "/" + name, errno);
  }
  return ok_status();
}

}  // namespace tide::exec
