// One word of a hostfile or of a list of hosts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "hosts/host_word.hpp"

namespace tide::hosts {

// Reads words of one line, and keeps where in it a part of a word stands.
class WordParser {
 public:
  // Views must stay valid; `line` is 0 where there are no lines.
  WordParser(std::string_view source, std::string_view text, std::uint32_t line)
      : source_(source), text_(text), line_(line) {}

  // The hosts that `word`, a part of the text, names: more than one where it has ranges.
  [[nodiscard]] Result<std::vector<HostWord>> parse(std::string_view word, std::size_t limit) const;

  // A number of slots; `*` and `auto` are 0, as if nothing was said.
  [[nodiscard]] Result<std::uint32_t> slots(std::string_view text) const;

  [[nodiscard]] Error fault(std::string_view part, say::HostFault fault) const;
  [[nodiscard]] say::HostPlace place_of(std::string_view part) const;

 private:
  [[nodiscard]] Result<std::vector<HostWord>> relative(std::string_view rest, HostWord made) const;
  [[nodiscard]] Status take_user(std::string_view& rest, HostWord& made) const;
  [[nodiscard]] Result<std::vector<HostWord>> named(std::string_view rest, const HostWord& made,
                                                    std::size_t limit) const;

  std::string_view source_;
  std::string_view text_;
  std::uint32_t line_;
};

}  // namespace tide::hosts
