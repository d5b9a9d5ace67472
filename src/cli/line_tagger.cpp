#include "cli/line_tagger.hpp"

namespace tide::cli {

void LineTagger::begin_line(std::string& out) {
  if (!inside_line_) out += tag_;
  out += held_;
  held_.clear();
  inside_line_ = false;
}

std::string LineTagger::add(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    if (newline == bytes.npos) break;
    begin_line(out);
    out += bytes.substr(0, newline + 1);
    bytes.remove_prefix(newline + 1);
  }
  held_ += bytes;
  if (held_.size() > kMaxHeldBytes) {
    begin_line(out);
    inside_line_ = true;
  }
  return out;
}

std::string LineTagger::finish() {
  std::string out;
  if (held_.empty() && !inside_line_) return out;
  begin_line(out);
  out += '\n';
  return out;
}

}  // namespace tide::cli
