// Looking at the processes of this machine through /proc.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>
#include <vector>

namespace tide::exec {

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  bool zombie = false;

  bool operator==(const ProcessEntry&) const = default;
};

// One line of /proc/PID/stat. The program's name in it may hold anything, parentheses included.
std::optional<ProcessEntry> parse_process_stat(std::string_view line);

// All processes that can be seen. Those that come or go meanwhile may be missing.
std::vector<ProcessEntry> scan_processes();

// Whether `pid` is `ancestor` or descends from it, as far as `processes` tells.
bool descends_from(const std::vector<ProcessEntry>& processes, pid_t pid, pid_t ancestor);

}  // namespace tide::exec
