// What `prted --remote` and whoever started it say to each other over the streams of a session:
// first a greeting on its standard output, then, length first, the DaemonBlob on its standard
// input, which stays open as a life line, then `joined PID` on its standard output.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "exec/secret.hpp"

namespace tide::launch {

inline constexpr std::uint32_t kRemoteProtocol = 1;
// Of `prted --remote` when the daemon did not come up; the reason is on its standard error.
inline constexpr int kRemoteFailed = 71;
inline constexpr std::size_t kBlobHeaderBytes = 4;

struct Greeting {
  std::uint32_t protocol = 0;
  std::string version;
  bool operator==(const Greeting&) const = default;
};

// On a line of its own, whatever a login shell wrote before it.
std::string greeting_text(const Greeting& greeting);
std::string joined_text(pid_t pid);

// The blob with its length before it.
exec::Secret framed_blob(const std::string& blob);
std::size_t blob_bytes(std::string_view header);

// Reads what comes from the other side. Noise is passed over and costs no memory.
class SessionReader {
 public:
  void feed(std::string_view text);
  // Each once.
  std::optional<Greeting> take_greeting();
  std::optional<pid_t> take_joined();

 private:
  std::optional<std::string> take_line_of(std::string_view word);

  std::string text_;
};

}  // namespace tide::launch
