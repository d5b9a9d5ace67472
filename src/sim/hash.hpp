// A hash that tells states of a world apart; good mixing, no claim to more.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace tide::sim {

class Hash {
 public:
  constexpr Hash() = default;
  constexpr Hash(std::initializer_list<std::uint64_t> values) {
    for (const auto value : values) add(value);
  }
  constexpr void add(std::uint64_t value) {
    std::uint64_t mixed = (state_ ^ value) + 0x9E3779B97F4A7C15ULL;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBULL;
    state_ = mixed ^ (mixed >> 31U);
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x243F6A8885A308D3ULL;
};

}  // namespace tide::sim
