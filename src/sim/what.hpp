// Names for what is going to happen in a world: enough to tell each thing from all else that is
// under way, and to say it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace tide::sim {

using HostId = std::uint32_t;  // also its port; 0 is the head, a daemon has the number of its rank
inline constexpr HostId kHeadHost = 0;

struct What {
  enum class Kind : std::uint8_t {
    kMessage,   // lane: the end of the link that it comes to
    kBulk,      // the same; control may overtake it, and it overtakes nothing
    kNotice,    // that a link broke, or carries again
    kKnock,     // somebody connects
    kProbe,     // the answer to one
    kLaunch,    // the launcher has started a daemon, or failed
    kReaped,    // the launcher saw a daemon end
    kProcess,   // a process starts, writes, ends
    kClient,    // a client acts or answers
    kStart,     // the start of the DVM
    kTimer,     // of a core
    kArrival,   // somebody comes who wants something: a job, another size
    kDeadline,  // of the network, or a moment of the scenario
    kLateLaunch,
  };
  Kind kind = Kind::kDeadline;
  HostId host = kHeadHost;   // who is told
  std::uint64_t lane = 0;    // of one kind, host and lane the first comes first
  std::uint64_t number = 0;  // in its lane

  // Its moment is part of what it is; all else is merely under way, for as long as it takes.
  [[nodiscard]] bool has_its_time() const { return kind >= Kind::kTimer; }
  // Neither a timer nor a deadline: somebody is doing something.
  [[nodiscard]] bool is_activity() const {
    return kind != Kind::kTimer && kind != Kind::kArrival && kind != Kind::kDeadline;
  }
  auto operator<=>(const What&) const = default;
};

// "message 3 on link 10 to h2"
std::string describe(const What& what);

}  // namespace tide::sim
