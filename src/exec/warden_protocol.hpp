// What a launcher and its warden say to each other over a stream socket.
// A frame is a 32-bit length in the byte order of this machine (both ends are on it), a byte
// that names the message, and its fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "exec/secret.hpp"

namespace tide::exec {

// ---- to the warden ----

struct StartDaemon {
  std::uint32_t id = 0;  // chosen by the launcher; free again after DaemonEnded or StartFailed
  std::vector<std::string> argv;
  std::string working_directory;  // empty: the warden's
  std::string log_path;           // takes standard output and error; empty: the warden's own error
  Secret blob;                    // for standard input
};
struct StopDaemon {  // SIGTERM, and after the grace period SIGKILL; unknown ids are ignored
  std::uint32_t id = 0;
  std::uint32_t grace_ms = 0;
};
// From now on the end of the socket is no order to end: the warden ends with its last daemon.
struct LetGo {};
using WardenCommand = std::variant<StartDaemon, StopDaemon, LetGo>;

// ---- from the warden ----

struct Started {
  std::uint32_t id = 0;
  std::uint32_t pid = 0;
  bool operator==(const Started&) const = default;
};
struct StartFailed {
  std::uint32_t id = 0;
  std::string text;
  bool operator==(const StartFailed&) const = default;
};
struct DaemonEnded {
  std::uint32_t id = 0;
  std::uint32_t wait_status = 0;  // as waitpid() gave it
  std::string text;               // the same in words
  bool operator==(const DaemonEnded&) const = default;
};
using WardenReport = std::variant<Started, StartFailed, DaemonEnded>;

inline constexpr std::size_t kMaxBlobBytes = std::size_t{1024} * 1024;
inline constexpr std::size_t kMaxWardenFrameBytes = kMaxBlobBytes + std::size_t{256} * 1024;

// Whole frames. Commands may hold key material and are wiped by whoever sent them.
Secret encode(const WardenCommand& command);
std::string encode(const WardenReport& report);

// One frame without its length. kProtocol if it makes no sense.
Result<WardenCommand> decode_command(std::string_view frame);
Result<WardenReport> decode_report(std::string_view frame);

// Cuts a stream into frames. The caller reads at most free_space().size() bytes into free_space(),
// says how many by filled(), and takes the frame when there is one.
class WardenFrameReader {
 public:
  WardenFrameReader() { begin_header(); }

  [[nodiscard]] std::span<char> free_space();
  // kProtocol: the stream announces a frame that is empty or too long, and can't be read on.
  Status filled(std::size_t bytes);
  [[nodiscard]] std::optional<Secret> take_frame();

 private:
  void begin_header();
  [[nodiscard]] bool complete() const { return used_ == buffer_.text().size(); }

  Secret buffer_;  // exactly as long as what is being read, so it never moves
  std::size_t used_ = 0;
  bool in_header_ = true;
};

// "exit status 3", "signal 9 (SIGKILL)".
std::string describe_wait_status(int wait_status);

}  // namespace tide::exec
