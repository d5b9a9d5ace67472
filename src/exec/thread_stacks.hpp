// The stacks of threads in what gdb says.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tide::exec {

// Takes gdb's standard output piece by piece and keeps so many bytes from the first thread on. What
// comes before (threads found, libraries read) can be longer than the stacks are.
class ThreadStacks {
 public:
  explicit ThreadStacks(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  void take(std::string_view piece);

  [[nodiscard]] bool empty() const { return kept_.empty(); }
  [[nodiscard]] bool cut() const { return cut_; }
  // Whole lines, and nothing of what follows the last thread.
  [[nodiscard]] std::string text() const;

 private:
  std::size_t most_bytes_;
  std::string line_;  // the beginning of the last one, before there are stacks
  std::string kept_;
  bool cut_ = false;
};

}  // namespace tide::exec
