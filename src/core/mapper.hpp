// Where the processes of a job go. A pure function of the job and of the nodes as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "say/mapping.hpp"
#include "wire/job.pb.h"

namespace tide::core {

struct MapNode {
  Rank rank;
  std::string name;
  std::uint32_t slots = 0;
  std::uint32_t used = 0;
  say::SlotSource source = say::SlotSource::kGiven;
  std::uint32_t max_slots = 0;  // processes it takes at most; 0: no limit
  bool suspected = false;       // gets only what names it
  std::vector<std::string> aliases = {};
};

struct Placement {
  ProcRank rank;
  std::uint32_t app = 0;
  Rank daemon;
  std::uint32_t local_rank = 0;  // among the processes of this job on its node
};

enum class MapVerdict : std::uint8_t {
  kPlaced,
  kImpossible,  // not even an idle DVM could hold it
  kBusy,        // it would fit if other jobs were not there
};

// What stood in the way, and how far the mapping had come.
struct MapFailure {
  enum class Kind : std::uint8_t { kNoNodes, kTooFewSlots };
  struct Seat {
    std::size_t node = 0;     // index into the candidates
    std::uint32_t taken = 0;  // by app contexts before
    std::uint32_t usable = 0;
    std::optional<std::uint32_t> host_limit;
  };
  Kind kind = Kind::kTooFewSlots;
  int app = 0;  // the app context that has no place
  std::uint32_t asked = 0;
  std::uint32_t free = 0;  // what the seats hold
  std::vector<Seat> seats;
};

struct MapResult {
  MapVerdict verdict = MapVerdict::kPlaced;
  std::vector<Placement> placements;  // in rank order
  std::optional<MapFailure> failure;  // unless placed
};

// `nodes` are the candidates in mapping order; hosts of the job are names of nodes. By slot: a node
// is filled up to its free slots, then the next. By node: round robin over the nodes, each up to
// its free slots. With oversubscription, what is left over once all slots are taken goes round the
// nodes evenly, to none more than its max_slots.
MapResult map_job(const wire::JobSpec& job, const std::vector<MapNode>& nodes);

}  // namespace tide::core
