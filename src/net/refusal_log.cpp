#include "net/refusal_log.hpp"

#include <fmt/format.h>

namespace tide::net {
namespace {
constexpr std::chrono::seconds kQuietTime{1};
}  // namespace

std::optional<std::string> RefusalLog::note(std::string text, Clock::time_point now) {
  if (last_ && now - *last_ < kQuietTime) {
    ++left_out_;
    return std::nullopt;
  }
  if (left_out_ > 0) text += fmt::format(" (and {} more before)", left_out_);
  last_ = now;
  left_out_ = 0;
  return text;
}

}  // namespace tide::net
