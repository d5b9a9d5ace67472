// Small text helpers: what people type becomes values, values become what people read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tide {

// Insertions, deletions, replacements and swaps of neighbours needed to turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that `word` was probably meant to be; nothing if none is near.
// Among equals the first candidate wins.
std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates);

// A whole decimal number with an optional sign, nothing around it.
Result<std::int64_t> parse_int(std::string_view text);

// One of those, however large: what tells a number out of range from no number.
bool is_whole_number(std::string_view text);

// 1/0, true/false, yes/no, t/f, y/n, enable/disable, in any case.
Result<bool> parse_bool(std::string_view text);

// `90`, `90s`, `5m`, `250ms`, `2h`; a bare number is seconds.
Result<std::uint64_t> parse_duration_ms(std::string_view text);

// `4096`, `64k`, `1m`, `2g`: powers of 1024, in any case.
Result<std::uint64_t> parse_size_bytes(std::string_view text);

// `250 ms`, `1.5 s`, `2 min 5 s`, `3 h 4 min`, `2 d 3 h`.
std::string human_duration_ms(std::uint64_t duration_ms);

std::string_view trim(std::string_view text);

// Always at least one piece; empty pieces are kept.
std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> pieces, std::string_view separator);

// One shell word that reads as `argument`, quoted only where needed; for display.
std::string quote_argument(std::string_view argument);
std::string quote_argv(std::span<const std::string> argv);

// Bytes of the first character, in UTF-8; 0: it is none, or broken off.
std::size_t character_bytes(std::string_view text);

// `text` with control characters, and bytes that are no UTF-8, written as escapes, so that it stays
// one line in a log and can be read.
std::string one_line(std::string_view text);

}  // namespace tide
