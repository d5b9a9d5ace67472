#include "pmix/tools.hpp"

#include <unistd.h>

namespace tide::pmix {

bool Tools::came(const ProcName& tool) {
  const ToolCard card = door_.card_of(tool);
  left_.erase(tool);
  Tool& made = here_[tool];
  made.refused = card.impossible;
  // Who lies about its user is believed; this is for those who have got here by mistake.
  if (!made.refused && card.user != ::getuid()) {
    made.refused = Error{ErrorCode::kPermissionDenied, "a tool of another user"};
  }
  return !made.refused;
}

void Tools::refuse(const ProcName& tool, const Error& why) {
  if (const auto found = here_.find(tool); found != here_.end()) found->second.refused = why;
}

bool Tools::gone(const ProcName& tool) {
  const auto node = here_.extract(tool);
  if (!node) return false;
  door_.forget(tool);
  return !node.mapped().refused;
}

bool Tools::finalized(const ProcName& tool) {
  if (is_here(tool)) left_.insert(tool);
  return gone(tool);
}

bool Tools::lost(const ProcName& tool) {
  left_.erase(tool);
  return gone(tool);
}

std::optional<Error> Tools::refusal_of(const ProcName& tool) const {
  const auto found = here_.find(tool);
  return found == here_.end() ? std::nullopt : found->second.refused;
}

}  // namespace tide::pmix
