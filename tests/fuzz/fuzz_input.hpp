// What the fuzzers share: the entry point, taking an input apart, and saying that a promise is
// broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

// NOLINTBEGIN(readability-identifier-naming): libFuzzer looks for these names.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
// Where a fuzzer has its own way to change an input, or something to set up.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
// NOLINTEND(readability-identifier-naming)

// A promise about any input at all; one that breaks it is kept by libFuzzer as a find.
#define FUZZ_REQUIRE(condition)                                                    \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)

namespace tide::fuzz {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Takes numbers and texts from the front of an input; zeros and empty texts where it ends.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::uint32_t number() {  // little-endian, 16 bits
    const std::uint32_t low = byte();
    return low | static_cast<std::uint32_t>(byte()) << 8U;
  }
  std::string_view text(std::size_t size) {
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(out.size());
    return out;
  }
  std::string_view rest() { return text(rest_.size()); }
  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// Piece sizes that follow from one number, so that an input says how a stream is cut.
class Cuts {
 public:
  explicit Cuts(std::uint32_t seed) : state_(seed * 2654435761U + 1) {}

  // The next piece of `bytes`, at least one byte of it; mostly short.
  std::string_view next(std::string_view& bytes) {
    state_ = state_ * 1664525U + 1013904223U;
    const std::size_t limit = (state_ >> 30U) == 0 ? 70000 : 16;
    const std::size_t size = 1 + (state_ >> 8U) % limit;
    const std::string_view out = bytes.substr(0, size);
    bytes.remove_prefix(out.size());
    return out;
  }

 private:
  std::uint32_t state_;
};

}  // namespace tide::fuzz
