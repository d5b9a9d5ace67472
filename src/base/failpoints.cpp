#include "base/failpoints.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tide {
namespace {

constexpr std::int64_t kMaxDelayMs = 600'000;

Error bad_spec(std::string_view piece, std::string_view why) {
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("failpoint '{}' {}; wanted is NAME:hold, NAME:delay=MS or NAME:fail",
                           one_line(piece), why)};
}

bool is_name(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

Result<Failpoint> parse_what(std::string_view piece, std::string_view what) {
  constexpr std::string_view kDelay = "delay=";
  if (what == "hold") return Failpoint{Failpoint::Kind::kHold, 0};
  if (what == "fail") return Failpoint{Failpoint::Kind::kFail, 0};
  if (!what.starts_with(kDelay)) return bad_spec(piece, "asks for something unknown");
  const Result<std::int64_t> delay_ms = parse_int(what.substr(kDelay.size()));
  if (!delay_ms || *delay_ms < 0 || *delay_ms > kMaxDelayMs) {
    return bad_spec(piece, fmt::format("needs a delay of 0 to {} ms", kMaxDelayMs));
  }
  return Failpoint{Failpoint::Kind::kDelay, static_cast<std::uint32_t>(*delay_ms)};
}

}  // namespace

Result<Failpoints> Failpoints::parse(std::string_view spec) {
  Failpoints failpoints;
  if (trim(spec).empty()) return failpoints;
  for (const std::string& untrimmed : split(spec, ',')) {
    const std::string_view piece = trim(untrimmed);
    const std::size_t colon = piece.find(':');
    const std::string_view name = piece.substr(0, colon);
    if (!is_name(name)) return bad_spec(piece, "has no proper name");
    if (colon == std::string_view::npos) return bad_spec(piece, "does not say what to do");
    const Result<Failpoint> what = parse_what(piece, piece.substr(colon + 1));
    if (!what) return what.error();
    if (!failpoints.points_.try_emplace(std::string(name), *what).second) {
      return bad_spec(piece, "is given twice");
    }
  }
  return failpoints;
}

std::optional<Failpoint> Failpoints::find(std::string_view name) const {
  const auto found = points_.find(name);
  if (found == points_.end()) return std::nullopt;
  return found->second;
}

bool Failpoints::release(std::string_view name) {
  const auto found = points_.find(name);
  if (found == points_.end() || found->second.kind != Failpoint::Kind::kHold) return false;
  points_.erase(found);
  return true;
}

std::vector<std::string> Failpoints::names() const {
  std::vector<std::string> names;
  names.reserve(points_.size());
  for (const auto& [name, point] : points_) names.push_back(name);
  return names;
}

}  // namespace tide
