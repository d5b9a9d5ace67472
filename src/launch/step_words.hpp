// What the daemons of one step and whoever started it say to each other over the streams of a
// scheduler's command. Down goes, length first, one StepBlob for all, at once; then, a line each,
// orders. The open input is a life line. Up come lines of which each names its daemon, among what
// the scheduler says, and after whatever it puts before each line.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "launch/remote_session.hpp"

namespace tide::launch {

// Of a StepBlob: some hundred thousand daemons.
inline constexpr std::size_t kMaxStepBlobBytes = std::size_t{16} << 20U;

struct StepWord {
  enum class What : std::uint8_t { kGreets, kJoined, kLeaves, kSays, kEnded };
  What what = What::kSays;
  Rank rank;
  std::uint32_t number = 0;  // the protocol; the pid; how it ended, as waitpid() gave it
  std::string text;          // the version; what it says
  bool operator==(const StepWord&) const = default;
};

// Lines, with their ends.
std::string step_greeting_text(Rank rank, const Greeting& greeting);
std::string step_joined_text(Rank rank, pid_t pid);
std::string step_leaves_text(Rank rank);  // whoever started it wants it to go, and it waits for us
std::string step_says_text(Rank rank, std::string_view line);  // before the end: why
std::string step_ended_text(Rank rank, int wait_status);

// Of one line, wherever in it the word begins.
std::optional<StepWord> step_word_of(std::string_view line);

// An order: the daemon of this rank ends, and the others go on.
std::string end_order_text(Rank rank);
std::optional<Rank> end_order_of(std::string_view line);

// `3: text`, as commands label the lines of their tasks.
struct LabelledLine {
  std::optional<std::uint32_t> label;
  std::string_view text;
};
LabelledLine without_label(std::string_view line);

// Cuts a stream into lines. What is too long for a line is passed over.
class LineReader {
 public:
  explicit LineReader(std::function<void(std::string_view)> take) : take_(std::move(take)) {}
  void feed(std::string_view text);
  void finish();  // what has no end yet is a line, too

 private:
  std::function<void(std::string_view)> take_;
  std::string text_;
  bool too_long_ = false;
};

}  // namespace tide::launch
