#include "base/next_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/text.hpp"

namespace tide::say {
namespace {

constexpr std::size_t kNamesShown = 8;

std::string digits_of(std::string_view text) {
  std::string digits;
  std::ranges::copy_if(text, std::back_inserter(digits),
                       [](char c) { return c >= '0' && c <= '9'; });
  return digits;
}

}  // namespace

std::string quoted(std::string_view text) {
  return "'" + one_line(text) + "'";
}

std::string did_you_mean(const std::optional<std::string>& near) {
  return near ? std::string(kDidYouMean) + *near + "?" : std::string();
}

std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> names) {
  const std::string digits = digits_of(word);
  std::vector<std::string_view> candidates;
  for (const std::string& name : names) {
    if (digits_of(name) == digits) candidates.emplace_back(name);
  }
  return nearest(word, candidates);
}

std::string name_list(std::span<const std::string> names) {
  if (names.size() <= kNamesShown) return join(names, ", ");
  return fmt::format("{} and {} more", join(names.first(kNamesShown - 1), ", "),
                     names.size() - (kNamesShown - 1));
}

std::string rank_words(std::span<const std::uint32_t> ranks) {
  constexpr std::size_t kMostRanges = 12;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t ranges = 0;
  for (std::size_t first = 0; first < ranks.size(); ++ranges) {
    if (ranges == kMostRanges) {
      return text + fmt::format(" and {} more", ranks.size() - first);
    }
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += ranges == 0 ? "" : ", ";
    text += fmt::format("{}", ranks[first]);
    if (last > first) text += fmt::format("{}{}", last == first + 1 ? ", " : "-", ranks[last]);
    first = last + 1;
  }
  return text;
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

std::string signal_words(int signal) {
  const char* name = sigabbrev_np(signal);
  const char* words = sigdescr_np(signal);
  return fmt::format("signal {} (SIG{}, {})", signal, name != nullptr ? name : "?",
                     words != nullptr ? words : "unknown");
}

Error invalid(std::string text) {
  return Error{ErrorCode::kInvalidArgument, std::move(text)};
}

Error not_found(std::string text) {
  return Error{ErrorCode::kNotFound, std::move(text)};
}

}  // namespace tide::say
