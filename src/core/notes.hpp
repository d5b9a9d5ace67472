// Lines for the log, made only if the subsystem's verbosity asks for them.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>

#include "core/actions.hpp"

namespace tide::core {

// By Subsystem. Level 0 is always shown; 5 is everything.
using Verbosity = std::array<std::uint8_t, kSubsystems>;

class Notes {
 public:
  Notes(Actions& out, const Verbosity& verbosity) : out_(out), verbosity_(verbosity) {}

  [[nodiscard]] bool wanted(Subsystem subsystem, std::uint8_t level) const {
    return level <= verbosity_.at(static_cast<std::size_t>(subsystem));
  }
  template <class... Args>
  void add(Subsystem subsystem, std::uint8_t level, fmt::format_string<Args...> text,
           Args&&... args) {
    if (!wanted(subsystem, level)) return;
    out_.emplace_back(Note{subsystem, level, fmt::format(text, std::forward<Args>(args)...)});
  }

 private:
  Actions& out_;
  Verbosity verbosity_;
};

}  // namespace tide::core
