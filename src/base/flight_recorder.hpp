// The last things that happened, in a ring of fixed size that can be written out after a crash.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tide {

class FlightRecorder {
 public:
  static constexpr std::size_t kMaxLineBytes = 246;  // with it one entry is 256 bytes

  struct Line {
    std::uint64_t time_ms = 0;
    std::string text;

    bool operator==(const Line&) const = default;
  };

  // Keeps the last `capacity` lines (at least one); memory is touched only as lines come in.
  explicit FlightRecorder(std::size_t capacity);

  // One writer at a time. Longer lines are cut, control characters become blanks.
  void note(std::uint64_t time_ms, std::string_view text);

  // Oldest first.
  [[nodiscard]] std::vector<Line> lines() const;

  // Lines ever noted, also those that the ring has forgotten.
  [[nodiscard]] std::uint64_t noted() const { return noted_; }

  // Writes "time_ms text" lines, oldest first, with write(2) alone: fit for a signal handler.
  void dump(int fd) const noexcept;

 private:
  struct Entry {
    std::uint64_t time_ms;
    std::uint16_t length;
    std::array<char, kMaxLineBytes> text;
  };
  [[nodiscard]] std::size_t kept() const;
  [[nodiscard]] const Entry& oldest(std::size_t index) const;

  std::size_t capacity_;
  std::uint64_t noted_ = 0;
  std::unique_ptr<Entry[]> entries_;  // NOLINT(modernize-avoid-c-arrays): left uninitialised
};

// On SIGSEGV, SIGABRT, SIGBUS and SIGFPE the recorder is written to `path` (made anew, 0600) and
// the signal takes its usual course. The calling thread also gets a stack of its own for the
// handler. The recorder must live until remove_crash_dump().
Status install_crash_dump(const FlightRecorder* recorder, const std::string& path);
void remove_crash_dump();

}  // namespace tide
