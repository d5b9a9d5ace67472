#include "base/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/messages.hpp"
#include "base/private_directory.hpp"
#include "base/process_stat.hpp"
#include "base/text.hpp"

namespace tide {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxNameLength = 32;

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
  const auto system = object.find("system");
  info->system = system != object.end() && system->is_boolean() && system->get<bool>();
  take_string(object, "link_uri", &info->link_uri);
  take_string(object, "node", &info->node);
  return take_string(object, "name", &info->name) && take_string(object, "dvm_id", &info->dvm_id) &&
         take_string(object, "uri", &info->uri) && take_unsigned(object, "pid", &info->pid) &&
         take_unsigned(object, "pid_start_ticks", &info->pid_start_ticks) &&
         take_unsigned(object, "nodes", &info->nodes) &&
         take_unsigned(object, "slots", &info->slots) &&
         take_unsigned(object, "started_unix_ms", &info->started_unix_ms);
}

}  // namespace

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

namespace {}  // namespace

Status validate_dvm_name(std::string_view name) {
  for (const std::string_view word : {"search", "system", "system-first"}) {
    if (name == word) return say::dvm_name_reserved(name);
  }
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  if (!name.empty() && name.size() <= kMaxNameLength && name[0] >= 'a' && name[0] <= 'z' &&
      name.find_first_not_of(kAllowed) == std::string_view::npos) {
    return ok_status();
  }
  return say::dvm_name_invalid(name, kMaxNameLength);
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

std::optional<std::string> ignored_tmpdir(const std::string& tmpdir_base) {
  const char* const tmpdir = ::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): start-up only
  const bool counts = tmpdir_base.empty() && tmpdir != nullptr && tmpdir[0] != '\0';
  if (!counts || tmpdir[0] == '/') return std::nullopt;
  return tmpdir;
}

std::string dvm_directory_path(const std::string& base, std::string_view name) {
  return fmt::format("{}/{}", base, name);
}

std::string dvm_log_path(const std::string& directory, std::string_view node) {
  std::string file(node);
  std::ranges::replace(file, '/', '_');
  return fmt::format("{}/{}/{}.log", directory, kDvmLogsFolder, file);
}

Result<std::string> dvm_socket_path(const std::string& directory) {
  std::string path = directory + "/sock";
  constexpr std::size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;  // with the closing zero
  if (path.size() <= kMaxPath) return path;
  return say::socket_path_too_long(path, kMaxPath);
}

Status write_dvm_info_at(int directory, const DvmInfo& info) {
  const json object = {{"name", info.name},     {"dvm_id", info.dvm_id},
                       {"pid", info.pid},       {"pid_start_ticks", info.pid_start_ticks},
                       {"uri", info.uri},       {"link_uri", info.link_uri},
                       {"system", info.system}, {"nodes", info.nodes},
                       {"slots", info.slots},   {"started_unix_ms", info.started_unix_ms},
                       {"ready", info.ready},   {"node", info.node}};
  const std::string text = object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  const std::string shown = fmt::format("{}/{}", info.directory, kDvmInfoFile);
  const std::string temporary = fmt::format(".{}.{}", kDvmInfoFile, ::getpid());
  if (const Status status = write_private_file(directory, temporary.c_str(), text, shown);
      !status) {
    ::unlinkat(directory, temporary.c_str(), 0);
    return status.error();
  }
  if (::renameat(directory, temporary.c_str(), directory, kDvmInfoFile) != 0) {
    const int errnum = errno;
    ::unlinkat(directory, temporary.c_str(), 0);
    return system_error(shown, errnum);
  }
  return ok_status();
}

Result<DvmInfo> read_dvm_info_at(int directory, const std::string& shown_directory) {
  const std::string shown = fmt::format("{}/{}", shown_directory, kDvmInfoFile);
  const OwnedFd fd(
      ::openat(directory, kDvmInfoFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
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

Result<DvmInfo> read_dvm_info(const std::string& directory) {
  const Result<OwnedFd> fd = open_private_directory(AT_FDCWD, directory.c_str(), directory);
  if (!fd) return fd.error();
  return read_dvm_info_at(fd->get(), directory);
}

Result<std::vector<DvmInfo>> list_dvms(const std::string& base) {
  std::vector<DvmInfo> dvms;
  const Result<OwnedFd> fd = open_private_directory(AT_FDCWD, base.c_str(), base);
  if (!fd && fd.error().code == ErrorCode::kNotFound) return dvms;
  if (!fd) return fd.error();
  const Result<std::vector<std::string>> names = entry_names(fd->get(), base);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (!validate_dvm_name(name)) continue;
    const std::string shown = dvm_directory_path(base, name);
    const Result<OwnedFd> directory = open_private_directory(fd->get(), name.c_str(), shown);
    if (!directory) continue;
    Result<DvmInfo> info = read_dvm_info_at(directory->get(), shown);
    // The folder's name is what people pass to --dvm; a file that says otherwise is not ours.
    if (info && info->name == name && info->node.empty()) dvms.push_back(std::move(*info));
  }
  return dvms;
}

Result<std::uint64_t> process_start_ticks(std::uint32_t pid) {
  const std::string path = fmt::format("/proc/{}/stat", pid);
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    return Error{ErrorCode::kNotFound, fmt::format("there is no process {}", pid)};
  }
  const Result<std::string> text = read_bounded(fd.get(), path);
  if (!text) return text.error();
  constexpr std::size_t kStartTimeAfterName = 19;  // the 22nd field of all
  const std::vector<std::string> fields = stat_fields_after_name(*text);
  if (fields.size() <= kStartTimeAfterName) {
    return Error{ErrorCode::kInternal, fmt::format("{} cannot be understood", path)};
  }
  if (is_ended_state(fields[0])) {
    return Error{ErrorCode::kNotFound, fmt::format("process {} has ended", pid)};
  }
  const Result<std::int64_t> ticks = parse_int(fields[kStartTimeAfterName]);
  if (!ticks) return ticks.error();
  return static_cast<std::uint64_t>(*ticks);
}

}  // namespace tide
