// Named places where a test can hold, delay or fail the program. None are set in ordinary use.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tide {

struct Failpoint {
  enum class Kind : std::uint8_t { kHold, kDelay, kFail };
  Kind kind = Kind::kHold;
  std::uint32_t delay_ms = 0;

  bool operator==(const Failpoint&) const = default;
};

class Failpoints {
 public:
  // `NAME:hold|delay=MS|fail`, separated by commas; empty is none. Names are exact.
  static Result<Failpoints> parse(std::string_view spec);

  // What to do at the place of this name; nothing costs one comparison.
  [[nodiscard]] std::optional<Failpoint> lookup(std::string_view name) const {
    if (points_.empty()) [[likely]] {
      return std::nullopt;
    }
    return find(name);
  }

  // Ends a hold, for good; false if there is no hold of this name.
  bool release(std::string_view name);

  // Sorted.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  [[nodiscard]] std::optional<Failpoint> find(std::string_view name) const;

  std::map<std::string, Failpoint, std::less<>> points_;
};

}  // namespace tide
