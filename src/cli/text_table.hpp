// Columns of text for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tide::cli {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headings) { rows_.push_back(std::move(headings)); }

  // As many cells as headings.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // Every column as wide as its widest cell, two blanks between; no blanks at the end of a line.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// How many characters, not bytes: names may hold more than ASCII.
std::size_t shown_width(const std::string& text);

// The age of something in whole seconds or more: `12 s`, `2 min 5 s`.
std::string short_age(std::uint64_t age_ms);

}  // namespace tide::cli
