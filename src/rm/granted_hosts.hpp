// Hosts as schedulers list them, from words to hosts. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "rm/host.hpp"
#include "say/hosts.hpp"

namespace tide::rm {

struct GrantedWord {
  std::string_view text;
  std::uint32_t column = 1;
};

// What stands between blanks; `line` must stay valid.
std::vector<GrantedWord> granted_words(std::string_view line);

class GrantedHosts {
 public:
  // `source` is named in errors: the variable or the file.
  explicit GrantedHosts(std::string source) : source_(std::move(source)) {}

  // A host that comes again has the slots of all mentions together. Only what is a name of a host,
  // and can't be taken for anything else by a command that gets it, is taken. `line` is 0 where
  // there are no lines.
  Status add(const GrantedWord& name, std::uint32_t slots, std::uint32_t line = 0);
  // A number of slots, at least one.
  [[nodiscard]] Result<std::uint32_t> slots(const GrantedWord& number,
                                            std::uint32_t line = 0) const;
  // A line for each slot, with the name of its host.
  Status add_lines(std::string_view text);

  [[nodiscard]] say::HostPlace place_of(const GrantedWord& word, std::uint32_t line) const;
  // In the order of first mention; at least one.
  Result<std::vector<Host>> take();

 private:
  std::string source_;
  std::vector<Host> hosts_;
  std::map<std::string, std::size_t, std::less<>> index_;  // by name
};

}  // namespace tide::rm
