// The end of a log file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tide::cli {

// Gives the last `lines` lines of the file to `sink`, in order, in pieces of bounded size; nothing
// said: all of it.
Status read_last_lines(const std::string& path, std::optional<std::uint32_t> lines,
                       const std::function<void(std::string_view)>& sink);

}  // namespace tide::cli
