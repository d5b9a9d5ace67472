// Directories that belong to this user alone, and what is done in them: nothing is trusted before
// owner and mode were checked, and no symbolic link is followed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace tide {

class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  OwnedFd(const OwnedFd&) = delete;
  OwnedFd& operator=(const OwnedFd&) = delete;
  ~OwnedFd();
  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// kPermissionDenied.
Error refused(std::string text);

// Opens a directory that nobody but us can have written to. kNotFound if there is none. `shown` is
// its path for messages.
Result<OwnedFd> open_private_directory(int parent, const char* name, const std::string& shown);
// The same, made first if it is not there.
Result<OwnedFd> make_private_directory(int parent, const char* name, const std::string& shown);

// Whether `path` still names the directory that is open as `fd`.
bool is_still_at(const std::string& path, int fd);

// Of all but "." and "..", sorted.
Result<std::vector<std::string>> entry_names(int directory, const std::string& shown);

// All of a file, which must not be long.
Result<std::string> read_bounded(int fd, const std::string& shown);
// Makes or replaces a file (0600).
Status write_private_file(int directory, const char* name, std::string_view text,
                          const std::string& shown);

// Removes the directory `name` and all below it, following no symbolic link and staying on the
// file system of `parent`. Not there: done already.
Status remove_private_tree(int parent, const std::string& name, const std::string& shown);

}  // namespace tide
