// Keeps a flood of refused connections from becoming a flood of log lines, and one flood from
// hiding what else was refused meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tide::net {

class RefusalLog {
 public:
  using Clock = std::chrono::steady_clock;

  // Counts a refusal and returns the line to log now, which tells how many of its cause were left
  // out before. At most one line per second and cause, and a few for all causes together. `cause`
  // must come from a small set, not from the peer.
  std::optional<std::string> note(std::string_view cause, std::string text, Clock::time_point now);

  // Refusals so far, with a line or without.
  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  struct Cause {
    std::optional<Clock::time_point> last;
    std::uint64_t left_out = 0;
  };

  bool may_speak(const Cause& cause, Clock::time_point now);

  std::map<std::string, Cause, std::less<>> causes_;
  Clock::time_point second_began_{};
  std::uint32_t lines_this_second_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace tide::net
