// What a check of hosts found: for people and for programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tide::head {

struct CheckedHost {
  std::string name;
  std::string version = {};  // of prted there; empty: it did not come to that
  std::uint32_t cores = 0;
  std::uint32_t hwthreads = 0;
  std::vector<std::string> addresses = {};  // that it told
  std::string address = {};                 // that its connection came from
  std::uint64_t took_ms = 0;
  std::string same_as = {};  // an earlier host that is the same machine
  std::string failure = {};  // why it can't be used; empty: it can

  [[nodiscard]] bool usable() const { return failure.empty(); }
};

// A table of the hosts that can be used, the others with their reasons, and the sum. `untried` are
// words on what a start does and the check did not.
std::string check_text(const std::vector<CheckedHost>& hosts, std::string_view untried = "");
std::string check_json(const std::vector<CheckedHost>& hosts);

}  // namespace tide::head
