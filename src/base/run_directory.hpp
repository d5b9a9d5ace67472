// Where DVMs of this user on this machine leave their socket, logs and description:
// `<tmp>/prte.<host>.<uid>/<dvm>/`. Nothing in it is trusted before owner and mode were checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tide {

struct DvmInfo {
  std::string name;
  std::string dvm_id;
  std::uint32_t pid = 0;
  std::uint64_t pid_start_ticks = 0;  // tells the head from a later process with its pid
  std::string uri;                    // where PMIx tools find the head
  std::string link_uri;               // where daemons do
  bool system = false;                // serves whoever names no other: --system-server
  std::uint32_t nodes = 0;
  std::uint32_t slots = 0;
  std::uint64_t started_unix_ms = 0;
  bool ready = false;
  std::string node;       // of a node of a head elsewhere: its name; clients have no business here
  std::string directory;  // not stored: where it was found
  bool alive = false;     // not stored: the process of pid and pid_start_ticks exists

  bool operator==(const DvmInfo&) const = default;
};

// Of this machine, without its domain; other characters than those of a file name are replaced.
std::string short_host_name();

inline constexpr const char* kDvmInfoFile = "dvm.json";
inline constexpr const char* kDvmLogsFolder = "logs";

// `[a-z][a-z0-9_-]{0,31}`
Status validate_dvm_name(std::string_view name);

// The directory of this user for all DVMs on this machine. `tmpdir_base` is the parameter
// prte_tmpdir_base; where it is empty TMPDIR (if absolute), else /tmp is taken.
std::string run_base_path(const std::string& tmpdir_base);

// TMPDIR where it is passed over because it is no absolute path.
std::optional<std::string> ignored_tmpdir(const std::string& tmpdir_base);

// `<base>/<name>`, `<directory>/logs`, `<directory>/logs/<node>.log`.
std::string dvm_directory_path(const std::string& base, std::string_view name);
std::string dvm_log_path(const std::string& directory, std::string_view node);

// `<directory>/sock`; an error where that is longer than a socket address can be.
Result<std::string> dvm_socket_path(const std::string& directory);

// What stands in `<directory>/dvm.json`.
Result<DvmInfo> read_dvm_info(const std::string& directory);

// The same with the directory open; writing replaces the file (0600) in one step.
Result<DvmInfo> read_dvm_info_at(int directory, const std::string& shown_directory);
Status write_dvm_info_at(int directory, const DvmInfo& info);

// All heads that have a readable dvm.json, dead ones too, sorted by name. No base: an empty list.
// Error: the base is not safely ours.
Result<std::vector<DvmInfo>> list_dvms(const std::string& base);

// Start time of a process in clock ticks since boot; an error if there is no such process.
Result<std::uint64_t> process_start_ticks(std::uint32_t pid);

}  // namespace tide
