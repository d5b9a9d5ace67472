// Cuts one output stream into lines and begins each with a tag.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tide::cli {

class LineTagger {
 public:
  // A line longer than this is passed on in parts.
  static constexpr std::size_t kMaxHeldBytes = 65536;

  explicit LineTagger(std::string tag) : tag_(std::move(tag)) {}

  // The tagged lines that `bytes` complete; the rest is held until its line is complete.
  std::string add(std::string_view bytes);

  // The stream ended: what is held becomes a line.
  std::string finish();

 private:
  void begin_line(std::string& out);

  std::string tag_;
  std::string held_;
  bool inside_line_ = false;  // the tag of the line under way was already passed on
};

}  // namespace tide::cli
