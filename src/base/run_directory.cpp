#include "base/run_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/text.hpp"

namespace tide {
namespace {

using nlohmann::json;

constexpr mode_t kPrivateDirectory = S_IRWXU;
constexpr mode_t kPrivateFile = S_IRUSR | S_IWUSR;
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
constexpr std::size_t kMaxInfoBytes = 64UL * 1024;
constexpr std::size_t kMaxNameLength = 32;
constexpr int kMaxDepth = 32;  // our own trees have two levels
constexpr auto kLockTimeout = std::chrono::seconds(10);
constexpr auto kLockPoll = std::chrono::milliseconds(10);
constexpr const char* kInfoFile = "dvm.json";
constexpr const char* kLogsFolder = "logs";

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&&) = delete;
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

Error refused(std::string text) {
  return Error{ErrorCode::kPermissionDenied, std::move(text)};
}

// Opens a directory that nobody but us can have written to. kNotFound if there is none.
Result<Fd> open_private_directory(int parent, const char* name, const std::string& shown) {
  Fd fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0) {
    const int errnum = errno;
    if (errnum == ELOOP || errnum == ENOTDIR) {
      return refused(fmt::format("{} is a symbolic link or no directory; not using it", shown));
    }
    Error error = system_error(shown, errnum);
    if (errnum == ENOENT) error.code = ErrorCode::kNotFound;
    if (errnum == EACCES) error.code = ErrorCode::kPermissionDenied;
    return error;
  }
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return system_error(shown, errno);
  if (status.st_uid != ::geteuid()) {
    return refused(fmt::format("{} belongs to user {}, not to us (user {}); not using it", shown,
                               status.st_uid, ::geteuid()));
  }
  if ((status.st_mode & kOthers) != 0) {
    return refused(fmt::format("{} has mode {:04o}, which lets others in; it must be 0700", shown,
                               status.st_mode & 07777U));
  }
  return fd;
}

Result<Fd> make_private_directory(int parent, const char* name, const std::string& shown) {
  if (::mkdirat(parent, name, kPrivateDirectory) != 0 && errno != EEXIST) {
    return system_error(fmt::format("cannot make directory {}", shown), errno);
  }
  return open_private_directory(parent, name, shown);
}

// Whether `path` still names the directory that is open as `fd`.
bool is_still_at(const std::string& path, int fd) {
  struct stat named{};
  struct stat opened{};
  return ::fstatat(AT_FDCWD, path.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

// One maker or remover at a time; the lock ends with the descriptor. Bounded, because the holder
// may be stopped in a debugger.
Result<Fd> open_locked_base(const std::string& base, bool make) {
  const auto deadline = std::chrono::steady_clock::now() + kLockTimeout;
  while (true) {
    Result<Fd> fd = make ? make_private_directory(AT_FDCWD, base.c_str(), base)
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
      return Error{ErrorCode::kTimedOut, fmt::format("{} is locked by another command", base)};
    }
    std::this_thread::sleep_for(kLockPoll);
  }
}

Result<std::string> read_bounded(int fd, const std::string& shown) {
  std::string text;
  std::array<char, 2048> piece{};  // small: every page that a client touches costs start-up time
  while (text.size() <= kMaxInfoBytes) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(shown, errno);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return Error{ErrorCode::kInvalidArgument, fmt::format("{} is too large", shown)};
}

Status write_file(int directory, const char* name, std::string_view text,
                  const std::string& shown) {
  const Fd fd(::openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
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

template <class T>
bool take_unsigned(const json& object, const char* key, T* value) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return false;
  const auto number = found->get<std::uint64_t>();
  *value = static_cast<T>(number);
  return *value == number;
}

bool take_string(const json& object, const char* key, std::string* value) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return false;
  *value = found->get<std::string>();
  return true;
}

bool parse_info(const std::string& text, DvmInfo* info) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return false;
  const auto ready = object.find("ready");
  if (ready == object.end() || !ready->is_boolean()) return false;
  info->ready = ready->get<bool>();
  return take_string(object, "name", &info->name) && take_string(object, "dvm_id", &info->dvm_id) &&
         take_string(object, "uri", &info->uri) && take_unsigned(object, "pid", &info->pid) &&
         take_unsigned(object, "pid_start_ticks", &info->pid_start_ticks) &&
         take_unsigned(object, "nodes", &info->nodes) &&
         take_unsigned(object, "slots", &info->slots) &&
         take_unsigned(object, "started_unix_ms", &info->started_unix_ms);
}

Status write_info_at(int directory, const DvmInfo& info) {
  const json object = {{"name", info.name},   {"dvm_id", info.dvm_id},
                       {"pid", info.pid},     {"pid_start_ticks", info.pid_start_ticks},
                       {"uri", info.uri},     {"nodes", info.nodes},
                       {"slots", info.slots}, {"started_unix_ms", info.started_unix_ms},
                       {"ready", info.ready}};
  const std::string text = object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  const std::string shown = fmt::format("{}/{}", info.directory, kInfoFile);
  const std::string temporary = fmt::format(".{}.{}", kInfoFile, ::getpid());
  if (const Status status = write_file(directory, temporary.c_str(), text, shown); !status) {
    ::unlinkat(directory, temporary.c_str(), 0);
    return status.error();
  }
  if (::renameat(directory, temporary.c_str(), directory, kInfoFile) != 0) {
    const int errnum = errno;
    ::unlinkat(directory, temporary.c_str(), 0);
    return system_error(shown, errnum);
  }
  return ok_status();
}

Result<DvmInfo> read_info_at(int directory, const std::string& shown_directory) {
  const std::string shown = fmt::format("{}/{}", shown_directory, kInfoFile);
  const Fd fd(::openat(directory, kInfoFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) {
    const int errnum = errno;
    Error error = system_error(shown, errnum);
    if (errnum == ENOENT) error.code = ErrorCode::kNotFound;
    return error;
  }
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return system_error(shown, errno);
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) {
    return refused(fmt::format("{} is not a file of ours", shown));
  }
  const Result<std::string> text = read_bounded(fd.get(), shown);
  if (!text) return text.error();
  DvmInfo info;
  if (!parse_info(*text, &info)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} does not describe a DVM as it should", shown)};
  }
  info.directory = shown_directory;
  const Result<std::uint64_t> ticks = process_start_ticks(info.pid);
  info.alive = ticks.ok() && *ticks == info.pid_start_ticks;
  return info;
}

Result<std::vector<std::string>> entry_names(int directory, const std::string& shown) {
  // A descriptor of its own: reading moves its position.
  Fd own(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
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
  const Fd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
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

Status remove_dvm_at(int base, const std::string& base_path, const std::string& name) {
  const std::string shown = dvm_directory_path(base_path, name);
  struct stat status{};
  if (::fstat(base, &status) != 0) return system_error(base_path, errno);
  {
    // Owner and mode as of any directory that we use.
    const Result<Fd> checked = open_private_directory(base, name.c_str(), shown);
    if (!checked && checked.error().code == ErrorCode::kNotFound) return ok_status();
    if (!checked) return checked.error();
  }
  return remove_tree_at(base, name, shown, status.st_dev, 0);
}

// Under the lock: nobody is making one now, so what has no living head is a leftover.
Status clear_leftover(int base, const std::string& base_path, const std::string& name) {
  const std::string shown = dvm_directory_path(base_path, name);
  const Result<Fd> directory = open_private_directory(base, name.c_str(), shown);
  if (!directory && directory.error().code == ErrorCode::kNotFound) return ok_status();
  if (!directory) return directory.error();
  const Result<DvmInfo> info = read_info_at(directory->get(), shown);
  if (info && info->alive) {
    return Error{ErrorCode::kAlreadyExists,
                 fmt::format("a DVM named '{}' is running already (pid {})", name, info->pid)};
  }
  return remove_dvm_at(base, base_path, name);
}

std::string short_host_name() {
  std::array<char, HOST_NAME_MAX + 1> buffer{};
  if (::gethostname(buffer.data(), buffer.size() - 1) != 0) return "localhost";
  std::string host(buffer.data());
  host.resize(std::min(host.find('.'), host.size()));
  // It becomes part of a path.
  std::ranges::replace_if(
      host,
      [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '_');
      },
      '_');
  return host.empty() ? "localhost" : host;
}

}  // namespace

Status validate_dvm_name(std::string_view name) {
  for (const std::string_view word : {"search", "system", "system-first"}) {
    if (name == word) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("'{}' cannot name a DVM: with --dvm the word has a meaning", name)};
    }
  }
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  if (!name.empty() && name.size() <= kMaxNameLength && name[0] >= 'a' && name[0] <= 'z' &&
      name.find_first_not_of(kAllowed) == std::string_view::npos) {
    return ok_status();
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("'{}' cannot name a DVM: a small letter, then up to {} small letters, "
                           "digits, '_' or '-'",
                           one_line(name), kMaxNameLength - 1)};
}

std::string run_base_path(const std::string& tmpdir_base) {
  std::string parent = tmpdir_base;
  if (parent.empty()) {
    const char* const tmpdir = ::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): start-up only
    parent = tmpdir != nullptr && tmpdir[0] == '/' ? tmpdir : "/tmp";
  }
  while (parent.size() > 1 && parent.ends_with('/')) parent.pop_back();
  if (parent == "/") parent.clear();
  return fmt::format("{}/prte.{}.{}", parent, short_host_name(), ::geteuid());
}

std::string dvm_directory_path(const std::string& base, std::string_view name) {
  return fmt::format("{}/{}", base, name);
}

std::string dvm_log_path(const std::string& directory, std::string_view node) {
  std::string file(node);
  std::ranges::replace(file, '/', '_');
  return fmt::format("{}/{}/{}.log", directory, kLogsFolder, file);
}

Result<std::string> dvm_socket_path(const std::string& directory) {
  std::string path = directory + "/sock";
  constexpr std::size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;  // with the closing zero
  if (path.size() <= kMaxPath) return path;
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("the socket path {} is {} bytes long and the system takes at most {}; "
                           "set TMPDIR or the parameter prte_tmpdir_base to a shorter path",
                           path, path.size(), kMaxPath)};
}

Result<DvmInfo> create_dvm_directory(const std::string& base, DvmInfo info) {
  if (const Status status = validate_dvm_name(info.name); !status) return status.error();
  info.directory = dvm_directory_path(base, info.name);
  if (const auto socket = dvm_socket_path(info.directory); !socket) return socket.error();
  info.pid = static_cast<std::uint32_t>(::getpid());
  const Result<std::uint64_t> ticks = process_start_ticks(info.pid);
  if (!ticks) return ticks.error();
  info.pid_start_ticks = *ticks;

  const Result<Fd> base_fd = open_locked_base(base, /*make=*/true);
  if (!base_fd) return base_fd.error();
  if (const Status status = clear_leftover(base_fd->get(), base, info.name); !status) {
    return status.error();
  }
  const Result<Fd> directory =
      make_private_directory(base_fd->get(), info.name.c_str(), info.directory);
  if (!directory) return directory.error();
  const Result<Fd> logs = make_private_directory(directory->get(), kLogsFolder,
                                                 fmt::format("{}/{}", info.directory, kLogsFolder));
  if (!logs) return logs.error();
  if (const Status status = write_info_at(directory->get(), info); !status) return status.error();
  info.alive = true;
  return info;
}

Status write_dvm_info(const DvmInfo& info) {
  const Result<Fd> directory =
      open_private_directory(AT_FDCWD, info.directory.c_str(), info.directory);
  if (!directory) return directory.error();
  return write_info_at(directory->get(), info);
}

Result<DvmInfo> read_dvm_info(const std::string& directory) {
  const Result<Fd> fd = open_private_directory(AT_FDCWD, directory.c_str(), directory);
  if (!fd) return fd.error();
  return read_info_at(fd->get(), directory);
}

Result<std::vector<DvmInfo>> list_dvms(const std::string& base) {
  std::vector<DvmInfo> dvms;
  const Result<Fd> fd = open_private_directory(AT_FDCWD, base.c_str(), base);
  if (!fd && fd.error().code == ErrorCode::kNotFound) return dvms;
  if (!fd) return fd.error();
  const Result<std::vector<std::string>> names = entry_names(fd->get(), base);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (!validate_dvm_name(name)) continue;
    const std::string shown = dvm_directory_path(base, name);
    const Result<Fd> directory = open_private_directory(fd->get(), name.c_str(), shown);
    if (!directory) continue;
    Result<DvmInfo> info = read_info_at(directory->get(), shown);
    // The folder's name is what people pass to --dvm; a file that says otherwise is not ours.
    if (info && info->name == name) dvms.push_back(std::move(*info));
  }
  return dvms;
}

Status remove_dvm_directory(const std::string& base, std::string_view name) {
  if (const Status status = validate_dvm_name(name); !status) return status.error();
  const Result<Fd> fd = open_locked_base(base, /*make=*/false);
  if (!fd && fd.error().code == ErrorCode::kNotFound) return ok_status();
  if (!fd) return fd.error();
  if (const Status status = remove_dvm_at(fd->get(), base, std::string(name)); !status) {
    return status.error();
  }
  ::rmdir(base.c_str());  // succeeds for the last DVM only
  return ok_status();
}

Result<std::uint64_t> process_start_ticks(std::uint32_t pid) {
  const std::string path = fmt::format("/proc/{}/stat", pid);
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    return Error{ErrorCode::kNotFound, fmt::format("there is no process {}", pid)};
  }
  const Result<std::string> text = read_bounded(fd.get(), path);
  if (!text) return text.error();
  // The second field is the program's name in parentheses and may hold anything; the state comes
  // after it, and the start time is the 22nd field of all.
  constexpr std::size_t kStartTimeAfterName = 19;
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos || name_end + 2 > text->size()) {
    return Error{ErrorCode::kInternal, fmt::format("{} cannot be understood", path)};
  }
  const std::vector<std::string> fields = split(trim(text->substr(name_end + 2)), ' ');
  if (fields.size() <= kStartTimeAfterName) {
    return Error{ErrorCode::kInternal, fmt::format("{} cannot be understood", path)};
  }
  if (fields[0] == "Z" || fields[0] == "X") {
    return Error{ErrorCode::kNotFound, fmt::format("process {} has ended", pid)};
  }
  const Result<std::int64_t> ticks = parse_int(fields[kStartTimeAfterName]);
  if (!ticks) return ticks.error();
  return static_cast<std::uint64_t>(*ticks);
}

}  // namespace tide
