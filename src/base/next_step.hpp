// What the messages of the catalogue (src/say, base/messages.hpp) are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tide::say {

// Before what to do next, which stands on lines of its own; the same in every message.
inline constexpr std::string_view kTry = "\n  try: ";
inline constexpr std::string_view kDidYouMean = "; did you mean ";

// The text as people typed it, in quotes, on one line.
std::string quoted(std::string_view text);

// `; did you mean X?`, or nothing if none is near.
std::string did_you_mean(const std::optional<std::string>& near);

// As nearest(), for names that end with a number: v9 is another node than v1, not a slip.
std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> names);

// `v1, v2, v3`; of a long list the first ones and how many there are more.
std::string name_list(std::span<const std::string> names);

// `1 process`, `2 processes`.
std::string counted(std::size_t count, std::string_view one, std::string_view many);
// "rank 7", "ranks 3, 5-7": what stands in a row as a range, and no more than a line may hold.
std::string rank_words(std::span<const std::uint32_t> ranks);

// For logs, where a message is one line: without tables and advice.
std::string_view first_line(std::string_view text);

// `SIGSEGV`; `signal 11 (SIGSEGV, Segmentation fault)`.
std::string signal_name(int signal);
std::string signal_words(int signal);

Error invalid(std::string text);
Error not_found(std::string text);

}  // namespace tide::say
