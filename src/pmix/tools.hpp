// The tools that are attached to this server.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "pmix/server.hpp"
#include "pmix/tool_door.hpp"

namespace tide::pmix {

// On the io_context's thread.
class Tools {
 public:
  explicit Tools(ToolDoor& door) : door_(door) {}

  // False: it is refused already, because of what it says of itself, and nobody need be asked.
  bool came(const ProcName& tool);
  // It stays connected, because libpmix 4.2.2 can't refuse one; nothing that it asks for is done.
  void refuse(const ProcName& tool, const Error& why);
  // It has finalized, or its connection has ended, or both. True: this is to be told, and it is one
  // time only.
  bool finalized(const ProcName& tool);
  bool lost(const ProcName& tool);

  [[nodiscard]] bool is_here(const ProcName& tool) const { return here_.contains(tool); }
  [[nodiscard]] bool is_empty() const { return here_.empty(); }
  // Whether libpmix has told everything about it: it finalized before its connection ended.
  [[nodiscard]] bool left_before(const ProcName& tool) const { return left_.contains(tool); }
  [[nodiscard]] std::optional<Error> refusal_of(const ProcName& tool) const;

 private:
  struct Tool {
    std::optional<Error> refused;
  };
  bool gone(const ProcName& tool);

  ToolDoor& door_;
  std::map<ProcName, Tool> here_;
  std::set<ProcName> left_;  // finalized, and connected as far as we know
};

}  // namespace tide::pmix
