#include "exec/orphans.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/process_stat.hpp"
#include "exec/process_scan.hpp"
#include "exec/unique_fd.hpp"

namespace tide::exec {
namespace {

constexpr auto kFirstInterval = std::chrono::milliseconds(5);
constexpr auto kLastInterval = std::chrono::milliseconds(1000);
// An environment is as long as the kernel lets it be, which is a quarter of the stack at most.
constexpr std::size_t kLongestEnvironment = std::size_t{16} * 1024 * 1024;
// For a DVM whose processes start new ones as fast as they are killed.
constexpr auto kKillPatience = std::chrono::seconds(2);
constexpr auto kKillInterval = std::chrono::milliseconds(5);

std::optional<std::string> read_proc_file(const std::string& path, std::size_t limit) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  std::string text;
  std::array<char, 8192> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init): is read into
  while (text.size() < limit) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::vector<pid_t> numbers_in(std::string_view text) {
  std::vector<pid_t> numbers;
  while (!text.empty()) {
    pid_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{}) numbers.push_back(value);
    text.remove_prefix(std::max<std::size_t>(static_cast<std::size_t>(end - text.data()), 1));
  }
  return numbers;
}

// While a process executes another program its old environment is gone and the new one not yet
// there: what was read is all of it only if it is as long as the kernel says, who notes where the
// code is when the environment is in place. One that has ended has none.
bool is_whole_environment(pid_t pid, std::size_t bytes) {
  constexpr std::size_t kState = 0;  // fields after the name
  constexpr std::size_t kEndOfCode = 24;
  constexpr std::size_t kBegin = 47;
  constexpr std::size_t kEnd = 48;
  const auto stat = read_proc_file("/proc/" + std::to_string(pid) + "/stat", SIZE_MAX);
  const auto fields = stat_fields_after_name(stat.value_or(""));
  if (fields.size() <= kEnd || is_ended_state(fields[kState])) return true;
  const auto number = [&](std::size_t field) {
    return std::strtoull(fields[field].c_str(), nullptr, 10);
  };
  return number(kEndOfCode) != 0 && number(kEnd) - number(kBegin) == bytes;
}

bool is_ours(pid_t pid) {
  struct stat status{};
  return ::stat(("/proc/" + std::to_string(pid)).c_str(), &status) == 0 &&
         status.st_uid == ::geteuid();
}

// One look over all processes; true if another is needed.
bool kill_processes_once(const std::string& marker) {
  const auto processes = scan_processes();
  bool found = false;
  for (const ProcessEntry& process : processes) {
    if (process.zombie || descends_from(processes, ::getpid(), process.pid)) continue;
    if (!is_ours(process.pid)) continue;
    const auto name = environment_value(process.pid, kNamespaceVariable);
    if (!name) found = true;  // nobody's for the moment
    if (!name || !name->starts_with(marker)) continue;
    found = ::kill(process.pid, SIGKILL) == 0 || found;
  }
  return found;
}

}  // namespace

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

// Nobody but us reaps our children, so the kernel's list does not change under the reader except
// at its end.
std::vector<pid_t> child_pids() {
  const std::string self = std::to_string(::getpid());
  if (const auto list = read_proc_file("/proc/self/task/" + self + "/children", SIZE_MAX)) {
    return numbers_in(*list);
  }
  std::vector<pid_t> children;
  for (const ProcessEntry& process : scan_processes()) {
    if (process.parent == ::getpid()) children.push_back(process.pid);
  }
  return children;
}

std::optional<std::string> environment_value(pid_t pid, std::string_view name) {
  const auto environment =
      read_proc_file("/proc/" + std::to_string(pid) + "/environ", kLongestEnvironment);
  std::string_view rest = environment ? std::string_view(*environment) : std::string_view();
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return std::string(entry.substr(name.size() + 1));
    }
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
  }
  if (environment && !is_whole_environment(pid, environment->size())) return std::nullopt;
  return std::string();
}

std::size_t end_children_unless(const std::function<bool(pid_t)>& keep) {
  std::size_t found = 0;
  if (!has_children()) return found;
  for (const pid_t pid : child_pids()) {
    if (keep(pid)) continue;
    ++found;
    if (::waitpid(pid, nullptr, WNOHANG) != pid) ::kill(pid, SIGKILL);
  }
  return found;
}

void SweepPace::start(Clock::time_point now) {
  running_ = true;
  next_ = now;
  interval_ = kFirstInterval;
}

void SweepPace::looked(Clock::time_point now, bool found) {
  running_ = found;
  next_ = now + interval_;
  interval_ = std::min(2 * interval_, kLastInterval);
}

void kill_processes_of_dvm(const std::string& dvm_id) {
  if (dvm_id.empty()) return;
  const auto deadline = std::chrono::steady_clock::now() + kKillPatience;
  while (kill_processes_once(dvm_id + "@") && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kKillInterval);
  }
}

}  // namespace tide::exec
