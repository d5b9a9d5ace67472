// Chance that one seed determines. Each purpose draws from a source of its own, so that what is
// drawn for one of them does not move the others: a scenario that is made smaller stays itself.
#pragma once

#include <cstdint>

namespace tide::sim {

class Chance {
 public:
  explicit constexpr Chance(std::uint64_t seed) : state_(scramble(seed + kStep)) {}

  [[nodiscard]] constexpr Chance of(std::uint64_t purpose) const {
    return Chance(state_ ^ scramble((purpose + 1) * kStep));
  }
  constexpr std::uint64_t next() {
    state_ += kStep;
    return scramble(state_);
  }
  constexpr std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  constexpr std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }
  constexpr std::uint32_t small(std::uint64_t low, std::uint64_t high) {
    return static_cast<std::uint32_t>(between(low, high));
  }
  constexpr bool percent(unsigned likely) { return below(100) < likely; }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ULL;

  // The finaliser of splitmix64: every bit of the input moves about half of the output's.
  static constexpr std::uint64_t scramble(std::uint64_t value) {
    value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    value = (value ^ (value >> 27U)) * 0x94D049BB133111EBULL;
    return value ^ (value >> 31U);
  }

  std::uint64_t state_;
};

}  // namespace tide::sim
