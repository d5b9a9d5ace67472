#include "base/private_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "base/messages.hpp"

namespace tide {
namespace {

constexpr mode_t kPrivateDirectory = S_IRWXU;
constexpr mode_t kPrivateFile = S_IRUSR | S_IWUSR;
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
constexpr std::size_t kMaxFileBytes = 64UL * 1024;
constexpr int kMaxDepth = 32;  // our own trees have two levels

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

Status remove_tree_at(int parent, const std::string& name, const std::string& shown, dev_t device,
                      int depth);

Status remove_contents(int directory, const std::string& shown, dev_t device, int depth) {
  const Result<std::vector<std::string>> names = entry_names(directory, shown);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) continue;
    // Linux says EISDIR, POSIX EPERM; anything else is a real failure.
    if (errno != EISDIR && errno != EPERM) {
      return system_error(fmt::format("cannot remove {}/{}", shown, name), errno);
    }
    const Status status =
        remove_tree_at(directory, name, fmt::format("{}/{}", shown, name), device, depth + 1);
    if (!status) return status.error();
  }
  return ok_status();
}

Status remove_tree_at(int parent, const std::string& name, const std::string& shown, dev_t device,
                      int depth) {
  if (depth > kMaxDepth) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} is nested too deep", shown)};
  }
  const OwnedFd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0) {
    return errno == ENOENT ? ok_status()
                           : Status(system_error(fmt::format("cannot remove {}", shown), errno));
  }
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return system_error(shown, errno);
  if (status.st_dev != device) {
    return refused(fmt::format("{} is on another file system; not removing it", shown));
  }
  if (const Status emptied = remove_contents(fd.get(), shown, device, depth); !emptied) {
    return emptied.error();
  }
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return system_error(fmt::format("cannot remove {}", shown), errno);
  }
  return ok_status();
}

}  // namespace

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) ::close(fd_);
}

Error refused(std::string text) {
  return Error{ErrorCode::kPermissionDenied, std::move(text)};
}

Result<OwnedFd> open_private_directory(int parent, const char* name, const std::string& shown) {
  OwnedFd fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0) {
    const int errnum = errno;
    if (errnum == ELOOP || errnum == ENOTDIR) {
      return say::run_directory_not_a_directory(shown);
    }
    Error error = system_error(shown, errnum);
    if (errnum == ENOENT) error.code = ErrorCode::kNotFound;
    if (errnum == EACCES) error.code = ErrorCode::kPermissionDenied;
    return error;
  }
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return system_error(shown, errno);
  if (status.st_uid != ::geteuid()) {
    return say::run_directory_of_another(shown, status.st_uid, ::geteuid());
  }
  if ((status.st_mode & kOthers) != 0) {
    return say::run_directory_open_to_others(shown, status.st_mode & 07777U);
  }
  return fd;
}

Result<OwnedFd> make_private_directory(int parent, const char* name, const std::string& shown) {
  if (::mkdirat(parent, name, kPrivateDirectory) != 0 && errno != EEXIST) {
    return say::run_directory_not_made(shown, errno);
  }
  return open_private_directory(parent, name, shown);
}

bool is_still_at(const std::string& path, int fd) {
  struct stat named{};
  struct stat opened{};
  return ::fstatat(AT_FDCWD, path.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

Result<std::vector<std::string>> entry_names(int directory, const std::string& shown) {
  // A descriptor of its own: reading moves its position.
  OwnedFd own(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (own.get() < 0) return system_error(shown, errno);
  const Directory stream(::fdopendir(own.get()));
  if (!stream) return system_error(shown, errno);
  own.release();
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return system_error(shown, errno);
  std::ranges::sort(names);
  return names;
}

Result<std::string> read_bounded(int fd, const std::string& shown) {
  std::string text;
  std::array<char, 2048> piece{};  // small: every page that a client touches costs start-up time
  while (text.size() <= kMaxFileBytes) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(shown, errno);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return Error{ErrorCode::kInvalidArgument, fmt::format("{} is too large", shown)};
}

Status write_private_file(int directory, const char* name, std::string_view text,
                          const std::string& shown) {
  const OwnedFd fd(::openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                            kPrivateFile));
  if (fd.get() < 0) return system_error(shown, errno);
  while (!text.empty()) {
    const ssize_t written = ::write(fd.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return system_error(shown, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ok_status();
}

Status remove_private_tree(int parent, const std::string& name, const std::string& shown) {
  struct stat status{};
  if (::fstat(parent, &status) != 0) return system_error(shown, errno);
  {
    // Owner and mode as of any directory that we use.
    const Result<OwnedFd> checked = open_private_directory(parent, name.c_str(), shown);
    if (!checked && checked.error().code == ErrorCode::kNotFound) return ok_status();
    if (!checked) return checked.error();
  }
  return remove_tree_at(parent, name, shown, status.st_dev, 0);
}

}  // namespace tide
