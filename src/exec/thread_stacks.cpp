#include "exec/thread_stacks.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tide::exec {

namespace {

constexpr std::string_view kFirst = "Thread ";      // how the stack of a thread begins
constexpr std::string_view kLast = "\n[Inferior ";  // gdb lets go of the process
constexpr std::size_t kBeginningOfLine = 64;        // enough to know it by

}  // namespace

void ThreadStacks::take(std::string_view piece) {
  std::string first;
  if (kept_.empty()) {
    line_ += piece;
    const std::size_t begin =
        line_.starts_with(kFirst) ? 0 : line_.find("\n" + std::string(kFirst));
    if (begin == std::string::npos) {
      line_.erase(0, line_.rfind('\n') == std::string::npos ? 0 : line_.rfind('\n'));
      line_.resize(std::min(line_.size(), kBeginningOfLine));
      return;
    }
    first = line_.substr(begin);
    piece = first;
    line_.clear();
  }
  const std::size_t room = most_bytes_ - kept_.size();
  cut_ = cut_ || piece.size() > room;
  kept_ += piece.substr(0, room);
}

std::string ThreadStacks::text() const {
  std::string_view text = kept_;
  if (cut_) text = text.substr(0, text.rfind('\n'));
  text = text.substr(0, text.find(kLast));
  return std::string(trim(text));
}

}  // namespace tide::exec
