// What words choose within a list of nodes: by name, by place, or because nobody uses them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "hosts/host_word.hpp"

namespace tide::hosts {

// A node that may be chosen.
struct Candidate {
  std::string name;
  std::vector<std::string> aliases = {};  // several nodes may have one
  bool usable = true;                     // not left out by what was said before
  bool empty = true;                      // for +e
  bool unasked = true;                    // may be taken by whoever does not name it
};

// What is said of one node, added up. A node that is named once and without a number has slots 0:
// as many as there are. Where it is named again each time counts, for one slot without a number.
struct Tally {
  std::string user;
  std::uint32_t times = 0;
  std::uint32_t without_number = 0;
  std::uint64_t sum = 0;
  std::uint32_t max_slots = 0;

  void add(const HostWord& word);
  [[nodiscard]] std::uint32_t slots() const;
};

struct Choice {
  std::size_t candidate = 0;
  std::string user;
  std::uint32_t slots = 0;
  std::uint32_t max_slots = 0;

  bool operator==(const Choice&) const = default;
};

// The chosen ones in the order of the list. Words that only exclude leave all the others. `list`
// names the list in messages: "this DVM".
Result<std::vector<Choice>> select(std::span<const HostWord> words,
                                   std::span<const Candidate> candidates, std::string_view list);

// Finds nodes by name: as it is, in another spelling or by an alias, or, where that is clear, by
// the part before the first dot.
class NameIndex {
 public:
  explicit NameIndex(std::span<const Candidate> candidates);
  // Several: it could be any of these.
  [[nodiscard]] std::vector<std::size_t> find(std::string_view name) const;

 private:
  using Nodes = std::multimap<std::string, std::size_t, std::less<>>;
  static std::vector<std::size_t> all_in(const Nodes& nodes, std::string_view name);

  std::map<std::string, std::size_t, std::less<>> by_name_;
  // In the usual spelling.
  Nodes by_any_name_;
  Nodes by_short_name_;
};

}  // namespace tide::hosts
