#include "exec/below.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "say/staging.hpp"

namespace tide::exec {

namespace {

constexpr mode_t kPermissions = S_IRWXU | S_IRWXG | S_IRWXO;

Error failed(int errnum) {
  if (errnum == ELOOP || errnum == ENOTDIR || errnum == EISDIR) {
    return say::staged_name_is_no_file();
  }
  Error error = system_error("", errnum);
  error.message = std::strerror(errnum);  // NOLINT(concurrency-mt-unsafe): one thread
  return error;
}

}  // namespace

Result<Below> make_way(int root, std::string_view name) {
  Below at{UniqueFd(::fcntl(root, F_DUPFD_CLOEXEC, 3)), {}};
  if (!at.parent.is_open()) return failed(errno);
  for (std::size_t slash = name.find('/'); slash != std::string_view::npos;
       slash = name.find('/')) {
    const std::string element(name.substr(0, slash));
    name.remove_prefix(slash + 1);
    if (::mkdirat(at.parent.get(), element.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      return failed(errno);
    }
    UniqueFd next(::openat(at.parent.get(), element.c_str(),
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.is_open()) return failed(errno);
    at.parent = std::move(next);
  }
  at.name = std::string(name);
  return at;
}

Result<WrittenFile> WrittenFile::open(int root, std::string_view name) {
  auto at = make_way(root, name);
  if (!at) return at.error();
  WrittenFile file;
  file.fd_.reset(::openat(at->parent.get(), at->name.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file.fd_.is_open()) return file;
  if (errno != EEXIST) return failed(errno);
  file.compares_ = true;
  file.fd_.reset(
      ::openat(at->parent.get(), at->name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat found{};
  const bool is_file =
      file.fd_.is_open() && ::fstat(file.fd_.get(), &found) == 0 && S_ISREG(found.st_mode);
  if (!is_file) return say::staged_name_is_no_file();
  return file;
}

Status WrittenFile::write(std::string_view data) {
  std::string seen(compares_ ? data.size() : 0, '\0');
  for (std::size_t done = 0; done < data.size();) {
    const ssize_t count = compares_ ? ::read(fd_.get(), seen.data() + done, data.size() - done)
                                    : ::write(fd_.get(), data.data() + done, data.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(errno);
    if (count == 0) return say::staged_file_differs();
    done += static_cast<std::size_t>(count);
  }
  if (compares_ && seen != data) return say::staged_file_differs();
  return ok_status();
}

Status WrittenFile::finish(unsigned mode) {
  struct stat found{};
  char more = 0;
  if (compares_ && ::read(fd_.get(), &more, 1) != 0) return say::staged_file_differs();
  if (::fstat(fd_.get(), &found) != 0) return failed(errno);
  const mode_t before = compares_ ? found.st_mode & kPermissions : S_IRUSR;
  if (::fchmod(fd_.get(), before | (mode & kPermissions)) != 0) return failed(errno);
  fd_.reset();
  return ok_status();
}

}  // namespace tide::exec
