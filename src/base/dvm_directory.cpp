#include "base/dvm_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/messages.hpp"

namespace tide {
namespace {

constexpr auto kLockTimeout = std::chrono::seconds(10);
constexpr auto kShortLockTimeout = std::chrono::seconds(2);
constexpr auto kLockPoll = std::chrono::milliseconds(10);

// One maker or remover at a time; the lock ends with the descriptor. Bounded, because the holder
// may be stopped in a debugger.
Result<OwnedFd> open_locked_base(const std::string& base, bool make,
                                 std::chrono::milliseconds patience = kLockTimeout) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    Result<OwnedFd> fd = make ? make_private_directory(AT_FDCWD, base.c_str(), base)
                              : open_private_directory(AT_FDCWD, base.c_str(), base);
    const bool vanished = make && !fd && fd.error().code == ErrorCode::kNotFound;
    if (!fd && !vanished) return fd.error();
    if (fd && ::flock(fd->get(), LOCK_EX | LOCK_NB) == 0) {
      // A remover may have taken the directory away between opening and locking.
      if (is_still_at(base, fd->get())) return fd;
    } else if (fd && errno != EWOULDBLOCK && errno != EINTR) {
      return system_error(fmt::format("cannot lock {}", base), errno);
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return say::run_directory_locked(base);
    }
    std::this_thread::sleep_for(kLockPoll);
  }
}

// Holds it until the descriptor is closed. Only under the lock of the base: a trial may succeed.
bool try_hold(int directory) {
  return ::flock(directory, LOCK_EX | LOCK_NB) == 0;
}

bool ends_like_a_log(const std::string& name) {
  return name.ends_with(".log") || name.ends_with(".crash");
}

bool logs_are_ours(int directory, const std::string& shown) {
  const Result<OwnedFd> logs = open_private_directory(directory, kDvmLogsFolder, shown);
  if (!logs) return false;
  const Result<std::vector<std::string>> names = entry_names(logs->get(), shown);
  return names && std::ranges::all_of(*names, ends_like_a_log);
}

bool is_empty_file(int directory, const std::string& name) {
  struct stat status{};
  return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(status.st_mode) && status.st_size == 0;
}

// What a head that died between making its directory and describing it leaves: nothing but what it
// makes itself.
bool is_skeleton(int directory, const std::string& shown) {
  const Result<std::vector<std::string>> names = entry_names(directory, shown);
  return names && std::ranges::all_of(*names, [&](const std::string& name) {
           if (name == kDvmLogsFolder) return logs_are_ours(directory, shown + "/" + name);
           if (name == kDvmInfoFile) return is_empty_file(directory, name);
           return name == "sock" || name.starts_with(fmt::format(".{}.", kDvmInfoFile));
         });
}

bool has_crash_dump(int directory, const std::string& shown) {
  const Result<OwnedFd> logs = open_private_directory(directory, kDvmLogsFolder, shown);
  if (!logs) return false;
  const Result<std::vector<std::string>> names = entry_names(logs->get(), shown);
  return names && std::ranges::any_of(
                      *names, [](const std::string& name) { return name.ends_with(".crash"); });
}

struct Leftover {
  OwnedFd directory;   // held by us
  std::string dvm_id;  // empty: it did not come so far
};

// Under the lock of the base, so nobody is making one now. Errors: kNotFound; kAlreadyExists, it
// lives; kPermissionDenied, nothing shows that it is ours.
Result<Leftover> take_leftover(int base, const std::string& base_path, const std::string& name) {
  const std::string shown = dvm_directory_path(base_path, name);
  Result<OwnedFd> directory = open_private_directory(base, name.c_str(), shown);
  if (!directory) return directory.error();
  const Result<DvmInfo> info = read_dvm_info_at(directory->get(), shown);
  if (info && info->alive) {
    return say::dvm_name_taken(name, info->pid);
  }
  if (!try_hold(directory->get())) {
    return say::dvm_name_held(name, shown);
  }
  if (info && info->name == name) return Leftover{std::move(*directory), info->dvm_id};
  if (!info && is_skeleton(directory->get(), shown)) return Leftover{std::move(*directory), {}};
  return say::dvm_directory_of_unknown(shown, name);
}

Status clear_leftover(int base, const std::string& base_path, const std::string& name) {
  const Result<Leftover> leftover = take_leftover(base, base_path, name);
  if (leftover) return remove_private_tree(base, name, dvm_directory_path(base_path, name));
  if (leftover.error().code == ErrorCode::kNotFound) return ok_status();
  return leftover.error();
}

Result<DvmDirectory> make_directory(int base, const DvmInfo& info) {
  Result<OwnedFd> fd = make_private_directory(base, info.name.c_str(), info.directory);
  if (!fd) return fd.error();
  if (!try_hold(fd->get())) return system_error("cannot lock " + info.directory, errno);
  const Result<OwnedFd> logs = make_private_directory(
      fd->get(), kDvmLogsFolder, fmt::format("{}/{}", info.directory, kDvmLogsFolder));
  if (!logs) return logs.error();
  if (const Status status = write_dvm_info_at(fd->get(), info); !status) return status.error();
  return DvmDirectory(info.directory, std::move(*fd));
}

}  // namespace

// ---- one that is open ----

Result<DvmDirectory> DvmDirectory::open(const std::string& path) {
  Result<OwnedFd> fd = open_private_directory(AT_FDCWD, path.c_str(), path);
  if (!fd) return fd.error();
  return DvmDirectory(path, std::move(*fd));
}

Status DvmDirectory::write_info(const DvmInfo& info) const {
  return write_dvm_info_at(fd_.get(), info);
}

bool DvmDirectory::has_info() const {
  return ::faccessat(fd_.get(), kDvmInfoFile, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Status DvmDirectory::remove() {
  const Result<bool> removed = try_remove(Whose::kOurs);
  return removed ? ok_status() : Status(removed.error());
}

Status DvmDirectory::remove_if_abandoned(std::chrono::milliseconds patience,
                                         const std::function<void()>& before) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    const Result<bool> removed = try_remove(Whose::kNobodys, before);
    if (!removed) return removed.error();
    if (*removed || std::chrono::steady_clock::now() >= deadline) return ok_status();
    std::this_thread::sleep_for(kLockPoll);
  }
}

Result<bool> DvmDirectory::try_remove(Whose whose, const std::function<void()>& before) {
  if (fd_.get() < 0) return true;
  const std::string base = path_.substr(0, path_.rfind('/'));
  const auto patience = whose == Whose::kOurs ? kLockTimeout : kShortLockTimeout;
  const Result<OwnedFd> base_fd = open_locked_base(base, /*make=*/false, patience);
  if (!base_fd && base_fd.error().code == ErrorCode::kNotFound) return true;
  if (!base_fd) return base_fd.error();
  if (!is_still_at(path_, fd_.get())) return true;
  if (whose == Whose::kNobodys) {
    if (!try_hold(fd_.get())) return false;
    if (before) before();
    if (has_crash_dump(fd_.get(), path_)) return true;  // on purpose, and so it is done
  }
  const std::string name = path_.substr(path_.rfind('/') + 1);
  if (const Status removed = remove_private_tree(base_fd->get(), name, path_); !removed) {
    return removed.error();
  }
  ::rmdir(base.c_str());  // succeeds for the last DVM only
  return true;
}

// ---- making ----

Result<NewDvm> create_dvm_directory(const std::string& base, DvmInfo info) {
  if (const Status status = validate_dvm_name(info.name); !status) return status.error();
  info.directory = dvm_directory_path(base, info.name);
  if (const auto socket = dvm_socket_path(info.directory); !socket) return socket.error();
  info.pid = static_cast<std::uint32_t>(::getpid());
  const Result<std::uint64_t> ticks = process_start_ticks(info.pid);
  if (!ticks) return ticks.error();
  info.pid_start_ticks = *ticks;

  const Result<OwnedFd> base_fd = open_locked_base(base, /*make=*/true);
  if (!base_fd) return base_fd.error();
  if (const Status status = clear_leftover(base_fd->get(), base, info.name); !status) {
    return status.error();
  }
  Result<DvmDirectory> directory = make_directory(base_fd->get(), info);
  if (!directory) {
    (void)remove_private_tree(base_fd->get(), info.name, info.directory);
    ::rmdir(base.c_str());
    return Error{directory.error().code,
                 "cannot make the DVM's directory: " + directory.error().message};
  }
  info.alive = true;
  return NewDvm{std::move(info), std::move(*directory)};
}

// ---- what the dead left ----

std::vector<std::string> sweep_dead_dvms(const std::string& base,
                                         const std::function<void(const std::string&)>& before) {
  std::vector<std::string> complaints;
  const Result<OwnedFd> base_fd = open_locked_base(base, /*make=*/false);
  // A base that is not safely ours is for create_dvm_directory() to complain of.
  if (!base_fd) return complaints;
  const Result<std::vector<std::string>> names = entry_names(base_fd->get(), base);
  if (!names) return {names.error().message};
  std::map<std::string, Leftover> dead;
  std::set<std::string> living;  // ids: another node of the same DVM may live here
  for (const std::string& name : *names) {
    if (!validate_dvm_name(name)) continue;
    Result<Leftover> leftover = take_leftover(base_fd->get(), base, name);
    if (leftover) {
      dead.emplace(name, std::move(*leftover));
    } else if (const auto info = read_dvm_info(dvm_directory_path(base, name)); info) {
      living.insert(info->dvm_id);
    }
  }
  for (const auto& [name, leftover] : dead) {
    if (!leftover.dvm_id.empty() && !living.contains(leftover.dvm_id)) before(leftover.dvm_id);
    const Status removed =
        remove_private_tree(base_fd->get(), name, dvm_directory_path(base, name));
    if (!removed) complaints.push_back(removed.error().message);
  }
  return complaints;
}

Status remove_dead_dvm(const std::string& base, std::string_view name) {
  if (const Status status = validate_dvm_name(name); !status) return status.error();
  const Result<OwnedFd> base_fd = open_locked_base(base, /*make=*/false);
  if (!base_fd && base_fd.error().code == ErrorCode::kNotFound) return ok_status();
  if (!base_fd) return base_fd.error();
  if (const Status status = clear_leftover(base_fd->get(), base, std::string(name)); !status) {
    return status.error();
  }
  ::rmdir(base.c_str());  // succeeds for the last DVM only
  return ok_status();
}

}  // namespace tide
