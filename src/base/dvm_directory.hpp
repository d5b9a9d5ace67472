// The directory of one DVM: made and held by its head, removed by it or by those who outlive it.
//
// A head holds a lock on its directory as long as it lives. Where the lock is held there is a
// living DVM, whatever became of the files; where it is free and the marks are ours, a dead one.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/private_directory.hpp"
#include "base/run_directory.hpp"

namespace tide {

class DvmDirectory {
 public:
  DvmDirectory() = default;  // of no DVM: there is nothing to remove
  DvmDirectory(std::string path, OwnedFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  // To look after it, without holding it.
  static Result<DvmDirectory> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }

  // Writes into this very directory, whatever stands at its path by now.
  [[nodiscard]] Status write_info(const DvmInfo& info) const;
  [[nodiscard]] bool has_info() const;

  // By its holder: removes it and all below it, and the base with the last DVM, unless another
  // directory is at its path now. No symbolic link is followed and no file system left.
  Status remove();

  // By anybody: the same if nobody holds it. A crash dump in it is kept, with the rest, for the
  // start that sweeps it. Waits a short time for other commands, and for so long for a holder: one
  // that was killed holds it until the kernel comes to that. `before` is called when nobody holds
  // it, once, and before anything is removed.
  Status remove_if_abandoned(std::chrono::milliseconds patience = {},
                             const std::function<void()>& before = {});

 private:
  enum class Whose { kOurs, kNobodys };
  // False: somebody holds it.
  Result<bool> try_remove(Whose whose, const std::function<void()>& before = {});

  std::string path_;
  OwnedFd fd_;
};

struct NewDvm {
  DvmInfo info;
  DvmDirectory directory;  // held
};

// Makes base (if need be) and DVM directory with logs/ and a first dvm.json (not ready), and fills
// in directory, pid and start time. To be called by the process that is the head. What a dead DVM
// of this name left behind is removed; a living one is kAlreadyExists; what can't be told to be
// ours is kPermissionDenied. After an error nothing new is there.
Result<NewDvm> create_dvm_directory(const std::string& base, DvmInfo info);

// Removes what dead DVMs of this user left below the base and is provably ours: a directory of
// ours (no link) that nobody holds, with a dvm.json of its name whose process is gone, or with
// nothing in it but what a head makes before it writes that. `before` gets the id of each DVM
// whose directory is about to go and that has no other here which lives. Returns what could not be
// removed, for people.
std::vector<std::string> sweep_dead_dvms(const std::string& base,
                                         const std::function<void(const std::string&)>& before);

// The same for one. Not there: done already. A living one is kAlreadyExists.
Status remove_dead_dvm(const std::string& base, std::string_view name);

}  // namespace tide
