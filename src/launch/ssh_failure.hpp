// Why a session came to nothing, told from its end and from what the other side said.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "say/launching.hpp"

namespace tide::launch {

struct SessionEnd {
  bool timed_out = false;
  bool greeted = false;  // prted was there
  bool other_protocol = false;
  int wait_status = 0;          // of the agent, as waitpid() gave it
  std::uint32_t waited_ms = 0;  // for whoever did not answer
  std::string error_output;     // the end of it
};

say::LaunchTrouble trouble_of(const SessionEnd& end);

// The last lines that say something.
std::vector<std::string> last_words(const std::string& error_output);

}  // namespace tide::launch
