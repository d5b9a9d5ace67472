// What the tests of the cores share: taking lists of actions apart.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/actions.hpp"
#include "core/timers.hpp"

namespace tide::core {

// The actions of one kind, in order.
template <class T>
std::vector<T> all_of(const Actions& actions) {
  std::vector<T> out;
  for (const auto& action : actions) {
    if (const auto* found = std::get_if<T>(&action)) out.push_back(*found);
  }
  return out;
}

// The firing that answers the last timer of this number that was started; all zero if none was.
inline TimerFired firing(const Actions& actions, TimerKind kind, std::uint32_t subject = 0) {
  TimerFired out;
  for (const auto& timer : all_of<StartTimer>(actions)) {
    const TimerFired fired{timer.timer, timer.generation};
    if (TimerBook::kind(fired) == kind && TimerBook::subject(fired) == subject) out = fired;
  }
  return out;
}

// Some line for people that holds `words`: a note, or progress of the start.
inline bool says(const Actions& actions, const std::string& words) {
  for (const auto& note : all_of<Note>(actions)) {
    if (note.text.find(words) != std::string::npos) return true;
  }
  for (const auto& progress : all_of<Progress>(actions)) {
    if (progress.text.find(words) != std::string::npos) return true;
  }
  return false;
}

}  // namespace tide::core
