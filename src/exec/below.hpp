// Files below a directory that is open: no symbolic link on the way is followed.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "exec/unique_fd.hpp"

namespace tide::exec {

struct Below {
  UniqueFd parent;
  std::string name;  // in it
};

// Opens the directory in which `name` is to be, and makes what is missing on the way. `name` has to
// be one that stays_below().
Result<Below> make_way(int root, std::string_view name);

// A file that is being written, or, where there is one of that name, compared with it.
class WrittenFile {
 public:
  static Result<WrittenFile> open(int root, std::string_view name);

  Status write(std::string_view data);
  // Nothing follows; it gets these permissions at least.
  Status finish(unsigned mode);

 private:
  UniqueFd fd_;
  bool compares_ = false;
};

}  // namespace tide::exec
