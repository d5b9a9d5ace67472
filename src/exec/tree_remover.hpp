// Removes a directory of ours and all below it, a bounded number of entries at a time: what
// processes left in it may be a lot, and whoever removes it has other things to do.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace tide::exec {

class TreeRemover {
 public:
  explicit TreeRemover(std::string path) : path_(std::move(path)) {}

  // Removes up to so many entries. True: nothing is left. No symbolic link is followed.
  Result<bool> step(std::size_t entries);
  Status run();  // to the end

 private:
  // How many were removed or moved.
  Result<std::size_t> empty(int directory, int top, std::size_t entries);
  Status remove_directory(int directory, const std::string& name, int top, std::size_t entries);

  std::string path_;
  std::size_t moved_ = 0;
};

// Where a daemon keeps the files of jobs.
std::string files_directory(const std::string& run_directory, pid_t daemon);

}  // namespace tide::exec
