#include "cli/text_table.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tide::cli {

std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], shown_width(row.at(i)));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      line += row.at(i);
      line.append(widths[i] - shown_width(row.at(i)) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string short_age(std::uint64_t age_ms) {
  return human_duration_ms(age_ms < 1000 ? age_ms : age_ms / 1000 * 1000);
}

}  // namespace tide::cli
