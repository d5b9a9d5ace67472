#include "pmix/tool_door.hpp"

#include <utility>

#include "pmix/convert.hpp"

namespace tide::pmix {

void ToolDoor::open(std::string prefix) {
  const std::lock_guard lock(mutex_);
  prefix_ = std::move(prefix);
}

ProcName ToolDoor::admit(const std::optional<ProcName>& wish, ToolCard card) {
  const std::lock_guard lock(mutex_);
  if (wish && (!is_nspace(wish->nspace) || wish->rank == kAllRanks)) {
    card.impossible = Error{ErrorCode::kInvalidArgument, "a tool can't be called so"};
  } else if (wish && cards_.contains(*wish)) {
    card.impossible = Error{ErrorCode::kAlreadyExists, "a tool " + wish->nspace + " is here"};
  }
  const bool as_wished = wish && !card.impossible;
  ProcName name = as_wished ? *wish : ProcName{prefix_ + std::to_string(++last_), 0};
  cards_[name] = std::move(card);
  return name;
}

ToolCard ToolDoor::card_of(const ProcName& tool) const {
  const std::lock_guard lock(mutex_);
  const auto found = cards_.find(tool);
  return found == cards_.end() ? ToolCard{} : found->second;
}

void ToolDoor::forget(const ProcName& tool) {
  const std::lock_guard lock(mutex_);
  cards_.erase(tool);
}

}  // namespace tide::pmix
