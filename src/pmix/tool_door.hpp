// Where tools come in. libpmix 4.2.2 ends the program if a tool is refused, so each gets its name
// at once, in the upcall, and is refused afterwards, by what it asks for.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "pmix/server.hpp"

namespace tide::pmix {

// What is known of a tool when it comes.
struct ToolCard {
  uid_t user = 0;  // as it says itself
  gid_t group = 0;
  // It is called otherwise than it wants to be, which it does not know: nothing that it asks for
  // may be done.
  std::optional<Error> impossible;
};

// Any thread.
class ToolDoor {
 public:
  // No other server of the DVM, not even one that was, may have the same prefix.
  void open(std::string prefix);

  // The name of a tool that has come.
  ProcName admit(const std::optional<ProcName>& wish, ToolCard card);
  [[nodiscard]] ToolCard card_of(const ProcName& tool) const;
  void forget(const ProcName& tool);

 private:
  mutable std::mutex mutex_;
  std::string prefix_;
  std::uint64_t last_ = 0;
  std::map<ProcName, ToolCard> cards_;
};

}  // namespace tide::pmix
