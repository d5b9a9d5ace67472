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
  std::uint32_t passes = 0;  // so often it is passed before it counts
  std::string node = {};     // only in the program of this node; empty: in every program

  bool operator==(const Failpoint&) const = default;
};

class Failpoints {
 public:
  // `NAME:hold|delay=MS|fail`, separated by commas; empty is none. Names are exact. `NAME@2:hold`
  // holds from the second time on, `NAME/v2:hold` in the daemon of node v2 only.
  static Result<Failpoints> parse(std::string_view spec);

  // Those that count in the program of this node, or at the "head".
  [[nodiscard]] Failpoints at(std::string_view node) const;

  // What is set for the place of this name.
  [[nodiscard]] std::optional<Failpoint> lookup(std::string_view name) const;

  // The program comes to the place of this name: what to do. Nothing costs one comparison.
  [[nodiscard]] std::optional<Failpoint> meet(std::string_view name) {
    if (points_.empty()) [[likely]] {
      return std::nullopt;
    }
    return count(name);
  }

  // Ends a hold, for good; false if there is no hold of this name.
  bool release(std::string_view name);

  // Sorted.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  [[nodiscard]] std::optional<Failpoint> count(std::string_view name);

  std::map<std::string, Failpoint, std::less<>> points_;
};

}  // namespace tide
