// Keeps a flood of refused connections from becoming a flood of log lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tide::net {

class RefusalLog {
 public:
  using Clock = std::chrono::steady_clock;

  // The line to log now, which counts those left out before it; nothing within a second of the
  // last.
  std::optional<std::string> note(std::string text, Clock::time_point now);

 private:
  std::optional<Clock::time_point> last_;
  std::uint64_t left_out_ = 0;
};

}  // namespace tide::net
