// libpmix 4.2.2 opens the directories for its rendezvous files to everybody, and removes them at
// the end if they are empty then and were ours alone before.
#pragma once

#include <sys/stat.h>

#include <string>
#include <utility>

namespace tide::pmix {

class DirectoryKeeper {
 public:
  // An existing directory; what does not exist is not kept.
  explicit DirectoryKeeper(std::string path) : path_(std::move(path)) {
    struct stat found{};
    kept_ = ::stat(path_.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
    mode_ = found.st_mode & 07777;
  }

  // After each of them it is as before.
  void library_started() const {
    if (kept_) ::chmod(path_.c_str(), mode_);
  }
  void library_ended() const {
    if (kept_) ::mkdir(path_.c_str(), mode_);
  }

 private:
  std::string path_;
  bool kept_ = false;
  mode_t mode_ = 0;
};

}  // namespace tide::pmix
