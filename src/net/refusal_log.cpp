#include "net/refusal_log.hpp"

#include <fmt/format.h>

namespace tide::net {
namespace {
constexpr std::chrono::seconds kQuietTime{1};
constexpr std::uint32_t kLinesPerSecond = 10;
}  // namespace

bool RefusalLog::may_speak(const Cause& cause, Clock::time_point now) {
  if (cause.last && now - *cause.last < kQuietTime) return false;
  if (now - second_began_ >= kQuietTime) {
    second_began_ = now;
    lines_this_second_ = 0;
  }
  return lines_this_second_ < kLinesPerSecond;
}

std::optional<std::string> RefusalLog::note(std::string_view cause, std::string text,
                                            Clock::time_point now) {
  ++total_;
  Cause& known = causes_.try_emplace(std::string(cause)).first->second;
  if (!may_speak(known, now)) {
    ++known.left_out;
    return std::nullopt;
  }
  ++lines_this_second_;
  if (known.left_out > 0) text += fmt::format(" (and {} more like this before)", known.left_out);
  known.last = now;
  known.left_out = 0;
  return text;
}

}  // namespace tide::net
