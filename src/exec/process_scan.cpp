#include "exec/process_scan.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <memory>
#include <string>

#include "exec/unique_fd.hpp"

namespace tide::exec {
namespace {

// Takes the next number and the blank after it from the front of `text`.
std::optional<pid_t> take_number(std::string_view& text) {
  pid_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return value;
}

std::optional<ProcessEntry> read_process(int proc_fd, const char* pid_name) {
  const std::string path = std::string(pid_name) + "/stat";
  const UniqueFd file(::openat(proc_fd, path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  std::array<char, 512> line{};  // what we want stands in its first hundred bytes
  const ssize_t size = ::read(file.get(), line.data(), line.size());
  if (size <= 0) return std::nullopt;
  return parse_process_stat({line.data(), static_cast<std::size_t>(size)});
}

}  // namespace

std::optional<ProcessEntry> parse_process_stat(std::string_view line) {
  ProcessEntry entry;
  const auto name_end = line.rfind(')');
  if (name_end == std::string_view::npos || line.size() < name_end + 4) return std::nullopt;
  std::string_view head = line;
  const auto pid = take_number(head);
  const char state = line[name_end + 2];
  std::string_view rest = line.substr(name_end + 4);
  const auto parent = take_number(rest);
  const auto group = take_number(rest);
  if (!pid || !parent || !group) return std::nullopt;
  entry.pid = *pid;
  entry.parent = *parent;
  entry.group = *group;
  entry.zombie = state == 'Z' || state == 'X';
  return entry;
}

std::vector<ProcessEntry> scan_processes() {
  std::vector<ProcessEntry> processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), &::closedir);
  if (!proc) return processes;
  while (const dirent* item = ::readdir(proc.get())) {
    if (std::isdigit(static_cast<unsigned char>(item->d_name[0])) == 0) continue;
    if (const auto entry = read_process(::dirfd(proc.get()), item->d_name)) {
      processes.push_back(*entry);
    }
  }
  return processes;
}

bool descends_from(const std::vector<ProcessEntry>& processes, pid_t pid, pid_t ancestor) {
  // A chain can't be longer than the list: the bound guards against a torn picture with a cycle.
  for (std::size_t step = 0; step <= processes.size(); ++step) {
    if (pid == ancestor) return true;
    const auto found =
        std::ranges::find_if(processes, [pid](const ProcessEntry& e) { return e.pid == pid; });
    if (found == processes.end()) return false;
    pid = found->parent;
  }
  return false;
}

}  // namespace tide::exec
