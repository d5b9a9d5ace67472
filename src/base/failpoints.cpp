#include "base/failpoints.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tide {
namespace {

constexpr std::int64_t kMaxDelayMs = 600'000;
constexpr std::int64_t kMaxPasses = 1'000'000;

Error bad_spec(std::string_view piece, std::string_view why) {
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("failpoint '{}' {}; wanted is NAME:hold, NAME:delay=MS or NAME:fail, and "
                  "NAME@2:hold from the second time on, NAME/v2:hold on node v2 only",
                  one_line(piece), why)};
}

bool is_name(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

// After `@`: the first time that counts.
Result<std::uint32_t> parse_passes(std::string_view piece, std::string_view text) {
  const Result<std::int64_t> first = parse_int(text);
  if (!first || *first < 1 || *first > kMaxPasses) {
    return bad_spec(piece, fmt::format("needs a number from 1 to {} after '@'", kMaxPasses));
  }
  return static_cast<std::uint32_t>(*first - 1);
}

Result<Failpoint> parse_what(std::string_view piece, std::string_view what) {
  constexpr std::string_view kDelay = "delay=";
  if (what == "hold") return Failpoint{.kind = Failpoint::Kind::kHold};
  if (what == "fail") return Failpoint{.kind = Failpoint::Kind::kFail};
  if (!what.starts_with(kDelay)) return bad_spec(piece, "asks for something unknown");
  const Result<std::int64_t> delay_ms = parse_int(what.substr(kDelay.size()));
  if (!delay_ms || *delay_ms < 0 || *delay_ms > kMaxDelayMs) {
    return bad_spec(piece, fmt::format("needs a delay of 0 to {} ms", kMaxDelayMs));
  }
  return Failpoint{.kind = Failpoint::Kind::kDelay,
                   .delay_ms = static_cast<std::uint32_t>(*delay_ms)};
}

}  // namespace

Result<Failpoints> Failpoints::parse(std::string_view spec) {
  Failpoints failpoints;
  if (trim(spec).empty()) return failpoints;
  for (const std::string& untrimmed : split(spec, ',')) {
    const std::string_view piece = trim(untrimmed);
    const std::size_t colon = piece.find(':');
    const std::string_view place = piece.substr(0, colon);
    const std::size_t at = place.find('@');
    const std::string_view where = place.substr(0, at);
    const std::size_t slash = where.find('/');
    const std::string_view name = where.substr(0, slash);
    if (!is_name(name)) return bad_spec(piece, "has no proper name");
    if (colon == std::string_view::npos) return bad_spec(piece, "does not say what to do");
    Result<Failpoint> what = parse_what(piece, piece.substr(colon + 1));
    if (!what) return what.error();
    if (at != std::string_view::npos) {
      const Result<std::uint32_t> passes = parse_passes(piece, place.substr(at + 1));
      if (!passes) return passes.error();
      what->passes = *passes;
    }
    if (slash != std::string_view::npos) {
      const std::string_view node = where.substr(slash + 1);
      if (!is_name(node)) return bad_spec(piece, "names no proper node after '/'");
      what->node = node;
    }
    if (!failpoints.points_.try_emplace(std::string(name), *what).second) {
      return bad_spec(piece, "is given twice");
    }
  }
  return failpoints;
}

Failpoints Failpoints::at(std::string_view node) const {
  Failpoints out = *this;
  std::erase_if(out.points_, [node](const auto& entry) {
    return !entry.second.node.empty() && entry.second.node != node;
  });
  return out;
}

std::optional<Failpoint> Failpoints::lookup(std::string_view name) const {
  const auto found = points_.find(name);
  if (found == points_.end()) return std::nullopt;
  return found->second;
}

std::optional<Failpoint> Failpoints::count(std::string_view name) {
  const auto found = points_.find(name);
  if (found == points_.end()) return std::nullopt;
  if (found->second.passes == 0) return found->second;
  --found->second.passes;
  return std::nullopt;
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
